// SPDX-License-Identifier: Apache-2.0
//
// Processes of the drivers: what became of them, and what they left behind.
#include "driver/process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>

namespace rota::driver {
namespace {

constexpr std::int64_t kPatienceMs = 20'000;

class DriverProcessTest : public testing::Test {
 protected:
  ~DriverProcessTest() override { std::filesystem::remove_all(folder_); }
  void SetUp() override {
    std::string path = testing::TempDir() + "/rota-process-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  Process shell(const std::string& script) {
    auto process = Process::start({"/bin/sh", "-c", script}, folder_ + "/log", true);
    EXPECT_TRUE(process.has_value());
    return process ? std::move(*process) : Process();
  }
  std::string folder_;
};

TEST_F(DriverProcessTest, TheGroupEndsWithItsProcess) {
  Process process = shell("exec cat /dev/zero >/dev/null");
  const pid_t pid = process.pid();
  EXPECT_TRUE(group_lives(pid));
  process.signal(SIGTERM);
  const auto change = process.wait(kPatienceMs);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->signal, SIGTERM);
  EXPECT_FALSE(group_lives(pid));
}

TEST_F(DriverProcessTest, AChildThatIsLeftBehindIsSeen) {
  Process process = shell("tail -f /dev/null & exit 3");
  const pid_t pid = process.pid();
  const auto change = process.wait(kPatienceMs);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->exit_code, 3);
  EXPECT_TRUE(group_lives(pid));
  ::kill(-pid, SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !group_lives(pid); }, kPatienceMs));
}

TEST_F(DriverProcessTest, NoProcessHasNoGroup) {
  EXPECT_FALSE(group_lives(-1));
  EXPECT_FALSE(group_lives(0));
}

// What is given stands above what is inherited, and only in the process that was started.
TEST_F(DriverProcessTest, AnEnvironmentOfItsOwn) {
  const std::string own = getenv("HOME") == nullptr ? "" : getenv("HOME");
  auto process =
      Process::start({"/bin/sh", "-c", "echo \"$HOME $ROTA_ONE $ROTA_TWO <${PATH:+path}>\""},
                     folder_ + "/said", true, {"HOME=/far", "ROTA_ONE=1"});
  ASSERT_TRUE(process.has_value());
  ASSERT_TRUE(process->wait(kPatienceMs).has_value());
  EXPECT_EQ(read_file(folder_ + "/said"), "/far 1  <path>\n");
  EXPECT_EQ(getenv("ROTA_ONE"), nullptr);
  EXPECT_EQ(getenv("HOME") == nullptr ? std::string() : std::string(getenv("HOME")), own);
}

// A kill that found nothing to kill is none.
TEST_F(DriverProcessTest, AServerThatDoesNotRunIsNotKilled) {
  ServerProcess server("/bin/false", folder_ + "/data", folder_ + "/log", "127.0.0.1:0");
  EXPECT_FALSE(server.kill());
  EXPECT_FALSE(server.start(true));
  EXPECT_FALSE(server.kill());
}

}  // namespace
}  // namespace rota::driver
