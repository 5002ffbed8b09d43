// SPDX-License-Identifier: Apache-2.0
// The script is static, so that it works without the program; here it is held against the table.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "rota/command_line.h"

namespace rota::cli {
namespace {

using Words = std::set<std::string>;

// What bash offers behind `words`, the last of which is being typed.
Words offered(const std::vector<std::string>& words) {
  std::string command = "source '" ROTA_COMPLETION "'; COMP_WORDS=(rota";
  for (const std::string& word : words) command += " '" + word + "'";
  command += "); COMP_CWORD=" + std::to_string(words.size());
  command += "; _rota; printf '%s\\n' \"${COMPREPLY[@]}\"";
  std::FILE* bash = popen(("bash --norc -c \"" +
                           [&] {
                             std::string quoted;
                             for (const char c : command) {
                               if (c == '"' || c == '$' || c == '\\' || c == '`') quoted += '\\';
                               quoted += c;
                             }
                             return quoted;
                           }() +
                           "\"")
                              .c_str(),
                          "r");
  std::string text;
  std::array<char, 4096> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), bash)) {
    text.append(piece.data(), got);
  }
  EXPECT_EQ(pclose(bash), 0) << command;
  Words found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) found.insert(line);
  }
  return found;
}

TEST(Completion, OffersTheNouns) {
  Words wanted = {"help"};
  for (const Noun& noun : nouns()) wanted.insert(std::string(noun.name));
  EXPECT_EQ(offered({""}), wanted);
  EXPECT_EQ(offered({"sch"}), Words{"scheduler"});
}

TEST(Completion, OffersTheVerbsOfEachNoun) {
  for (const Noun& noun : nouns()) {
    Words wanted;
    for (const Verb& verb : noun.verbs) wanted.insert(std::string(verb.name));
    EXPECT_EQ(offered({std::string(noun.name), ""}), wanted) << noun.name;
  }
}

TEST(Completion, OffersTheOptionsOfEachVerb) {
  for (const Noun& noun : nouns()) {
    for (const Verb& verb : noun.verbs) {
      const auto options = long_options(noun, verb);
      EXPECT_EQ(offered({std::string(noun.name), std::string(verb.name), "--"}),
                Words(options.begin(), options.end()))
          << noun.name << " " << verb.name;
    }
  }
}

TEST(Completion, OffersTheValuesOfOptionsThatHaveFew) {
  EXPECT_EQ(offered({"job", "list", "-o", ""}), (Words{"table", "json", "jsonl", "name"}));
  EXPECT_EQ(offered({"--server", "h:1", "queue", "pu"}), Words{"purge"});
}

}  // namespace
}  // namespace rota::cli
