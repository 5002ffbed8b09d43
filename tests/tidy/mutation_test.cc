// SPDX-License-Identifier: Apache-2.0
//
// The known mistakes: each is planted at one place, the one its row names, and nothing of them is
// in what is shipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutation.h"
#include "tidy/source_tree.h"

namespace rota::tidy {
namespace {

struct Row {
  base::Mistake mistake;
  const char* id;
  const char* name;
  const char* where;
  const char* sentence;
};

constexpr Row kTable[] = {
#define ROTA_MISTAKE(id, name, where, sentence) {base::Mistake::id, #id, name, where, sentence},
#include "base/mistakes.inc"
#undef ROTA_MISTAKE
};

#ifdef ROTA_MUTATION
constexpr bool kCompiledIn = true;
#else
constexpr bool kCompiledIn = false;

template <std::size_t... rows>
constexpr bool none_is_planted(std::index_sequence<rows...>) {
  return !(base::planted(kTable[rows].mistake) || ...);
}
static_assert(none_is_planted(std::make_index_sequence<std::size(kTable)>()));
#endif

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// Names of mistakes and of the switch that the program holds.
std::set<std::string> traces_in(const std::string& path) {
  const std::string bytes = bytes_of(path);
  std::set<std::string> found;
  const auto look_for = [&](const std::string& text) {
    if (bytes.find(text) != std::string::npos) found.insert(text);
  };
  for (const Row& row : kTable) look_for(row.name);
  look_for("planted_mistake");
  look_for("MISTAKE PLANTED");
  return found;
}

int exit_code(const std::string& command) {
  const int status = std::system((command + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Mutation, EveryMistakeIsPlantedOnceAndWhereItsRowSays) {
  const auto tree = read_tree(ROTA_SOURCE_DIR);
  ASSERT_GT(tree.size(), 100U);
  std::set<std::string> names;
  for (const Row& row : kTable) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    EXPECT_TRUE(std::regex_match(row.name, std::regex("[a-z]+(-[a-z]+)+"))) << row.name;
    EXPECT_STRNE(row.sentence, "");
    const std::regex use("planted\\((base::)?Mistake::" + std::string(row.id) + "\\)");
    std::vector<std::string> places;
    for (const SourceFile& file : tree) {
      if (!file.path.starts_with("server/") && !file.path.starts_with("client/") &&
          !file.path.starts_with("worker/")) {
        continue;
      }
      if (file.path == "server/base/mutation.h") continue;  // explains the use
      for (const std::string& line : file.lines) {
        if (std::regex_search(line, use)) places.push_back(file.path);
      }
    }
    ASSERT_EQ(places.size(), 1U) << row.name;
    EXPECT_TRUE(places[0] == row.where || places[0] == "server/" + std::string(row.where))
        << row.name << " is planted in " << places[0] << ", its row says " << row.where;
  }
}

TEST(Mutation, NothingOfThemIsInAnOrdinaryBuild) {
  const auto own = traces_in("/proc/self/exe");  // the search finds what is there
  for (const Row& row : kTable) EXPECT_THAT(own, testing::Contains(row.name));
  for (const char* program : {ROTA_SERVER_BINARY, ROTA_WORKER_LIBRARY}) {
    if (kCompiledIn) {
      EXPECT_THAT(traces_in(program), testing::Contains("MISTAKE PLANTED")) << program;
    } else {
      EXPECT_THAT(traces_in(program), testing::IsEmpty()) << program;
    }
  }
}

TEST(Mutation, ANameThatIsNotInTheTableIsRefusedWhereThereIsATable) {
  const std::string version = std::string(ROTA_SERVER_BINARY) + " --version";
  EXPECT_EQ(exit_code(version), 0);
  EXPECT_EQ(exit_code("ROTA_MISTAKE=no-such-mistake " + version), kCompiledIn ? 2 : 0);
  EXPECT_EQ(exit_code("ROTA_MISTAKE=" + std::string(kTable[0].name) + " " + version), 0);
}

}  // namespace
}  // namespace rota::tidy
