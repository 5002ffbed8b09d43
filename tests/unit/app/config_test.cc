// SPDX-License-Identifier: Apache-2.0
#include "app/config.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace rota::app {
namespace {

using base::kMiB;

// A file that is removed with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    char name[] = "/tmp/rota-config-XXXXXX";
    const int handle = mkstemp(name);
    EXPECT_GE(handle, 0);
    close(handle);
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void expect_refused(const std::vector<std::string>& args, const Environment& environment,
                    const std::string& field, const std::string& fault) {
  const auto config = load_config(args, environment);
  ASSERT_FALSE(config) << "accepted; expected: " << fault;
  EXPECT_NE(config.error().field.find(field), std::string::npos) << to_string(config.error());
  EXPECT_NE(config.error().message.find(fault), std::string::npos) << to_string(config.error());
}

TEST(LoadConfig, DefaultsServeOnLoopback) {
  const auto config = load_config({"--data", "/d"}, {});
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->mode, Mode::kServe);
  EXPECT_EQ(config->options.data, "/d");
  EXPECT_EQ(config->options.listen, "127.0.0.1:7500");
  EXPECT_FALSE(config->options.allow_plaintext_private);
  EXPECT_EQ(config->origins.at("data"), "flag --data");
  EXPECT_EQ(config->origins.at("listen"), "default");
  EXPECT_EQ(config->origins.size(), base::option_table().size());
}

TEST(LoadConfig, FlagWinsOverEnvironmentOverFile) {
  const TemporaryFile file(
      "data = '/file'\nlisten = '127.0.0.1:1'\n[limits]\npayload_bytes = '1MiB'\n"
      "parked_polls = 7\n");
  const Environment environment = {
      {"ROTA_LISTEN", "127.0.0.1:2"}, {"ROTA_LIMITS_PAYLOAD_BYTES", "2MiB"}, {"ROTA_OTHER", "x"}};
  const auto config = load_config(
      {"--config", file.path(), "--limits-payload-bytes=3MiB", "--reflection"}, environment);
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->options.data, "/file");
  EXPECT_EQ(config->options.listen, "127.0.0.1:2");
  EXPECT_EQ(config->options.payload_bytes, 3 * kMiB);
  EXPECT_EQ(config->options.parked_polls, 7);
  EXPECT_TRUE(config->options.reflection);
  EXPECT_EQ(config->origins.at("data"), "file " + file.path() + ":1");
  EXPECT_EQ(config->origins.at("listen"), "environment ROTA_LISTEN");
  EXPECT_EQ(config->origins.at("limits.payload_bytes"), "flag --limits-payload-bytes");
  EXPECT_EQ(config->origins.at("limits.parked_polls"), "file " + file.path() + ":5");
}

TEST(LoadConfig, AMistypedVariableIsNamedAndOthersAreNot) {
  const auto config = load_config({"--data", "d"}, {{"ROTA_LITSEN", "127.0.0.1:7501"},
                                                    {"ROTA_LISTEN", "127.0.0.1:7502"},
                                                    {"ROTA_SERVICE_PORT_GRPC", "7500"},
                                                    {"LISTEN", "127.0.0.1:7503"}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->options.listen, "127.0.0.1:7502");
  EXPECT_EQ(config->warnings, std::vector<std::string>{"environment ROTA_LITSEN is no option; did "
                                                       "you mean ROTA_LISTEN?"});
}

TEST(LoadConfig, TakesTheFileFromTheEnvironment) {
  const TemporaryFile file("data = '/file'\nlate_tolerance = '1m'\nreflection = true\n");
  const auto config = load_config({}, {{"ROTA_CONFIG", file.path()}});
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->options.late_tolerance_ms, 60'000);
  EXPECT_TRUE(config->options.reflection);
}

TEST(LoadConfig, FlagsCanBeSwitchedOff) {
  const auto config =
      load_config({"--data=/d", "--reflection=false"}, {{"ROTA_REFLECTION", "true"}});
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_FALSE(config->options.reflection);
}

TEST(LoadConfig, RefusesWhatItDoesNotKnowAndSuggests) {
  expect_refused({"--lisetn", "x"}, {}, "--lisetn", "did you mean --listen?");
  expect_refused({"--limits-payload-byte=1"}, {}, "--limits-payload-byte",
                 "--limits-payload-bytes?");
  expect_refused({"--no-sync"}, {}, "--no-sync", "unknown flag");
  expect_refused({"/data"}, {}, "command line", "unexpected argument");
  expect_refused({"--data"}, {}, "command line", "--data");
  expect_refused({"--data", "a", "--data", "b"}, {}, "command line", "--data");
  expect_refused({"--check", "a", "--version"}, {}, "command line", "only one");
}

TEST(LoadConfig, RefusesBadValuesAndNamesThePlaceToChangeThem) {
  expect_refused({"--data=/d", "--limits-payload-bytes", "5MiB"}, {}, "--limits-payload-bytes",
                 "limits.payload_bytes: 5MiB, limit 1 to 4MiB");
  expect_refused({"--data=/d"}, {{"ROTA_LATE_TOLERANCE", "10"}}, "ROTA_LATE_TOLERANCE", "unit");
  expect_refused({}, {}, "data", "--data DIR");
  const TemporaryFile unknown("data = '/d'\n[limits]\npayload_byte = 1\n");
  expect_refused({"--config", unknown.path()}, {}, unknown.path() + ":3",
                 "did you mean limits.payload_bytes?");
  const TemporaryFile type("data = 5\n");
  expect_refused({"--config", type.path()}, {}, type.path() + ":1", "type");
  const TemporaryFile list("[limits]\nqueues = [1]\n");
  expect_refused({"--config", list.path()}, {}, list.path() + ":2", "type");
  const TemporaryFile broken("data = \n");
  expect_refused({"--config", broken.path()}, {}, broken.path() + ":1", "");
  expect_refused({"--config", "/nowhere/rota.toml"}, {}, "/nowhere/rota.toml", "");
}

TEST(LoadConfig, RefusesWhatIsNoConfigurationFile) {
  const auto refused = [](const std::string& path, const std::string& fault) {
    expect_refused({"--data", "/d", "--config", path}, {}, path, fault);
    expect_refused({"--data", "/d"}, {{"ROTA_CONFIG", path}}, path, fault);
  };
  refused("/", "is a directory");
  refused("/dev/null", "is neither a file nor a pipe");
  refused("/dev/zero", "is neither a file nor a pipe");
  refused("/no/such/file", "cannot be read: No such file or directory");
  const TemporaryFile large("#" + std::string(1024 * 1024, 'x') + "\n");
  refused(large.path(), "has more than 1 MiB");
  if (geteuid() != 0) {  // root reads everything
    const TemporaryFile secret("data = '/d'\n");
    ASSERT_EQ(chmod(secret.path().c_str(), 0), 0);
    refused(secret.path(), "cannot be read: Permission denied");
  }
}

TEST(LoadConfig, ReadsAPipe) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const std::string text = "data = '/from/pipe'\n";
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  const auto config = load_config({"--config", "/dev/fd/" + std::to_string(ends[0])}, {});
  close(ends[0]);
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->options.data, "/from/pipe");
}

TEST(LoadConfig, KnowsItsModes) {
  EXPECT_EQ(load_config({"--version"}, {}).value().mode, Mode::kVersion);
  EXPECT_EQ(load_config({"--help"}, {}).value().mode, Mode::kHelp);
  EXPECT_EQ(load_config({"-h"}, {}).value().mode, Mode::kHelp);
  EXPECT_EQ(load_config({"--print-config"}, {}).value().mode, Mode::kPrintConfig);
  const auto check = load_config({"--check", "/d"}, {});
  EXPECT_EQ(check.value().mode, Mode::kCheck);
  EXPECT_EQ(check.value().directory, "/d");
  const auto disk = load_config({"--check-disk=/d"}, {});
  EXPECT_EQ(disk.value().mode, Mode::kCheckDisk);
  EXPECT_EQ(disk.value().directory, "/d");
}

TEST(PrintConfig, CanBeReadBack) {
  const auto first = load_config({"--data", "/with \"quotes\"", "--limits-payload-bytes=1MiB",
                                  "--log-format=json", "--late-tolerance=1m30s", "--reflection"},
                                 {});
  ASSERT_TRUE(first) << to_string(first.error());
  const std::string text = print_config(*first);
  EXPECT_NE(text.find("# flag --late-tolerance"), std::string::npos) << text;
  const TemporaryFile file(text);
  const auto second = load_config({"--config", file.path()}, {});
  ASSERT_TRUE(second) << to_string(second.error()) << text;
  for (const base::OptionInfo& info : base::option_table()) {
    EXPECT_EQ(option_text(second->options, info), option_text(first->options, info)) << info.key;
  }
}

TEST(HelpText, NamesEveryOption) {
  const std::string help = help_text();
  for (const base::OptionInfo& info : base::option_table()) {
    EXPECT_NE(help.find(info.flag()), std::string::npos) << info.key;
  }
}

}  // namespace
}  // namespace rota::app
