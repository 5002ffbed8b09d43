// SPDX-License-Identifier: Apache-2.0
//
// The container files, as far as a parser can prove them: no container engine is needed here.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "app/config.h"
#include "base/duration.h"
#include "tidy/source_tree.h"

namespace rota::tidy {
namespace {

using Words = std::vector<std::string>;

class Container : public testing::Test {
 protected:
  static void SetUpTestSuite() { tree = new std::vector<SourceFile>(read_tree(ROTA_SOURCE_DIR)); }
  static void TearDownTestSuite() { delete tree; }

  static const SourceFile* find(const std::string& path) {
    const auto found = std::find_if(tree->begin(), tree->end(),
                                    [&](const SourceFile& source) { return source.path == path; });
    return found == tree->end() ? nullptr : &*found;
  }

  static bool is_folder(const std::string& path) {
    return std::any_of(tree->begin(), tree->end(), [&](const SourceFile& source) {
      return source.path.starts_with(path + "/");
    });
  }

  static YAML::Node compose() { return YAML::LoadFile(ROTA_SOURCE_DIR "/docker-compose.yml"); }

  static std::vector<SourceFile>* tree;
};

std::vector<SourceFile>* Container::tree = nullptr;

Words words_of(const YAML::Node& node) { return node.as<Words>(); }

// The instructions of a Dockerfile with their continuation lines joined: "COPY a b".
std::vector<std::string> instructions(const SourceFile& source) {
  std::vector<std::string> joined;
  bool open = false;
  for (std::string line : source.lines) {
    if (line.empty() || line.starts_with("#")) continue;
    const bool goes_on = line.ends_with("\\");
    if (goes_on) line.pop_back();
    if (open) {
      joined.back() += line;
    } else {
      joined.push_back(line);
    }
    open = goes_on;
  }
  return joined;
}

bool holds(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

TEST_F(Container, ComposeRunsOneServerAndTwoWorkers) {
  const YAML::Node root = compose();
  ASSERT_TRUE(root.IsMap());
  for (const auto& entry : root) {
    const auto key = entry.first.as<std::string>();
    EXPECT_TRUE(key == "services" || key == "volumes") << key;
  }
  const YAML::Node services = root["services"];
  ASSERT_TRUE(services["server"] && services["worker"] && services["queues"]);
  EXPECT_EQ(services["worker"]["deploy"]["replicas"].as<int>(), 2);
  for (const auto& entry : services) {
    const YAML::Node service = entry.second;
    EXPECT_TRUE(service["init"].as<bool>()) << entry.first;
    EXPECT_EQ(service["image"].as<std::string>(), "rota");
    if (entry.first.as<std::string>() == "server") continue;
    EXPECT_EQ(service["depends_on"]["server"]["condition"].as<std::string>(), "service_healthy");
    EXPECT_EQ(service["environment"]["ROTA_ADDRESS"].as<std::string>(), "server:7500");
  }
}

TEST_F(Container, ComposePublishesOnLoopbackOnly) {
  int published = 0;
  for (const auto& entry : compose()["services"]) {
    for (const auto& port : entry.second["ports"]) {
      ++published;
      EXPECT_TRUE(port.as<std::string>().starts_with("127.0.0.1:")) << port;
    }
    EXPECT_FALSE(entry.second["network_mode"]) << entry.first;
  }
  EXPECT_EQ(published, 1);
}

TEST_F(Container, TheServerTakesItsCommandLine) {
  Words command = words_of(compose()["services"]["server"]["command"]);
  ASSERT_EQ(command.front(), "rota-server");
  command.erase(command.begin());
  const auto config = app::load_config(command, {{"ROTA_DATA", "/var/lib/rota"}});
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->options.listen, "0.0.0.0:7500");
  EXPECT_TRUE(config->options.allow_plaintext_private);
}

TEST_F(Container, TheServerKeepsItsDataAndIsGivenTimeToDrain) {
  const YAML::Node root = compose();
  const YAML::Node server = root["services"]["server"];
  const auto mount = server["volumes"][0].as<std::string>();
  const std::string volume = mount.substr(0, mount.find(':'));
  bool declared = false;
  for (const auto& entry : root["volumes"]) declared |= entry.first.as<std::string>() == volume;
  EXPECT_TRUE(declared) << volume;
  EXPECT_EQ(mount.substr(mount.find(':') + 1), "/var/lib/rota");

  const auto grace = base::parse_duration(server["stop_grace_period"].as<std::string>());
  ASSERT_TRUE(grace);
  EXPECT_GT(*grace, base::ServerOptions{}.drain_timeout_ms);
  EXPECT_EQ(words_of(server["healthcheck"]["test"]), Words({"CMD", "rota", "server", "health"}));
  for (const char* span : {"interval", "timeout", "start_period"}) {
    EXPECT_TRUE(base::parse_duration(server["healthcheck"][span].as<std::string>())) << span;
  }
}

TEST_F(Container, WorkersRunACommandForEachJobOfTheDeclaredQueue) {
  const YAML::Node services = compose()["services"];
  const Words worker = words_of(services["worker"]["command"]);
  ASSERT_GE(worker.size(), 4u);
  EXPECT_EQ(worker[0], "rota-worker");
  EXPECT_EQ(worker[1], "exec");
  EXPECT_TRUE(holds(worker, "--"));
  const auto queue = std::find(worker.begin(), worker.end(), "--queue") + 1;
  ASSERT_NE(queue, worker.end());
  const Words declare = words_of(services["queues"]["command"]);
  EXPECT_EQ(Words(declare.begin(), declare.begin() + 3), Words({"rota", "queue", "set"}));
  EXPECT_EQ(declare[3], *queue);
}

TEST_F(Container, ImageHasTwoStagesAndRunsWithoutRoot) {
  const SourceFile* dockerfile = find("Dockerfile");
  ASSERT_NE(dockerfile, nullptr);
  const auto lines = instructions(*dockerfile);
  const std::set<std::string> known = {"FROM", "WORKDIR", "COPY", "RUN",       "USER",
                                       "ENV",  "EXPOSE",  "CMD",  "STOPSIGNAL"};
  int stages = 0;
  for (const std::string& line : lines) {
    EXPECT_TRUE(known.contains(line.substr(0, line.find(' ')))) << line;
    if (line.starts_with("FROM ")) {
      ++stages;
      EXPECT_TRUE(line.starts_with("FROM debian:12-slim")) << line;
    }
  }
  EXPECT_EQ(stages, 2);
  EXPECT_TRUE(holds(lines, "USER rota"));
  EXPECT_TRUE(holds(lines, "STOPSIGNAL SIGTERM"));
  EXPECT_TRUE(holds(lines, "ENV ROTA_DATA=/var/lib/rota"));
  EXPECT_TRUE(holds(lines, "CMD [\"rota-server\"]"));
}

TEST_F(Container, ImageCopiesOnlyWhatExistsAndIsNotIgnored) {
  const SourceFile* ignore = find(".dockerignore");
  const SourceFile* dockerfile = find("Dockerfile");
  ASSERT_TRUE(ignore != nullptr && dockerfile != nullptr);
  std::set<std::string> sent;  // the top-level names that reach the build
  for (const std::string& line : ignore->lines) {
    if (line.starts_with("!")) sent.insert(line.substr(1));
  }
  for (const std::string& name : sent) {
    EXPECT_TRUE(find(name) != nullptr || is_folder(name)) << ".dockerignore names " << name;
  }
  for (const std::string& line : instructions(*dockerfile)) {
    if (!line.starts_with("COPY ") || line.starts_with("COPY --from=")) continue;
    std::istringstream in(line);
    std::string word;
    in >> word >> word;
    if (word == ".") continue;
    EXPECT_NE(find(word), nullptr) << line;
    EXPECT_TRUE(sent.contains(word.substr(0, word.find('/')))) << line;
  }
}

TEST_F(Container, ImageInstallsGroupsThatThePackageListHas) {
  const SourceFile* packages = find("tools/packages.txt");
  ASSERT_NE(packages, nullptr);
  std::set<std::string> groups;
  std::set<std::string> runtime;
  for (const std::string& line : packages->lines) {
    if (line.empty() || line.starts_with("#")) continue;
    std::istringstream in(line);
    std::string group;
    std::string package;
    in >> group >> package;
    groups.insert(group);
    if (group == "runtime") runtime.insert(package);
  }
  EXPECT_EQ(groups,
            (std::set<std::string>{"bench", "build", "check", "fuzz", "peers", "runtime", "test"}));
  EXPECT_TRUE(runtime.contains("tzdata")) << "schedulers need zone data";
  int installs = 0;
  for (const std::string& line : instructions(*find("Dockerfile"))) {
    const std::string call = "/install-packages ";
    const std::size_t at = line.find(call);
    if (!line.starts_with("RUN ") || at == std::string::npos) continue;
    ++installs;
    const std::string rest = line.substr(at + call.size());
    EXPECT_TRUE(groups.contains(rest.substr(0, rest.find(' ')))) << line;
  }
  EXPECT_EQ(installs, 2);
}

}  // namespace
}  // namespace rota::tidy
