// SPDX-License-Identifier: Apache-2.0
//
// The program behind tools/quickstart, run as it is: every promise of the main job holds, and
// without the guard of the database the doubled invoices are shown. What its judge finds wrong is
// tested beside it (tests/unit/tools/quickstart_check_test.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "driver/process.h"

namespace rota::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kPatienceMs = 180'000;

class QuickstartTest : public testing::Test {
 protected:
  ~QuickstartTest() override { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    std::string path = testing::TempDir() + "/rota-quickstart-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }

  // The exit code; -1 when it had to be killed. `said_` is what it printed.
  int run(std::vector<std::string> more) {
    std::vector<std::string> command = {
        ROTA_QUICKSTART_BINARY, "--bin",       ROTA_BINARIES, "--folder", folder_,
        "--customers",          ROTA_CUSTOMERS};
    command.insert(command.end(), more.begin(), more.end());
    auto process = driver::Process::start(command, folder_ + "/said.txt", true);
    if (!process) return -1;
    const auto change = process->wait(kPatienceMs);
    said_ = driver::read_file(folder_ + "/said.txt");
    return change && change->signal == 0 ? change->exit_code : -1;
  }

  // Lines of the table of promises, and how many of them hold.
  std::pair<int, int> promises() const {
    std::istringstream lines(said_);
    int all = 0, hold = 0;
    bool table = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("[5/5]")) {
        table = true;
      } else if (table && line.starts_with("      ")) {
        ++all;
        if (line.ends_with(" yes")) ++hold;
      } else {
        table = false;
      }
    }
    return {all, hold};
  }

  std::string folder_, said_;
};

constexpr int kPromises = 11;

TEST_F(QuickstartTest, EveryPromiseHolds) {
  EXPECT_EQ(run({}), 0) << said_;
  EXPECT_EQ(promises(), std::pair(kPromises, kPromises)) << said_;
  EXPECT_THAT(said_, HasSubstr("12 attempts, 10 invoices, 0 double"));
  EXPECT_THAT(said_, HasSubstr("write refused by the database"));
  EXPECT_THAT(said_, HasSubstr("no process left behind"));
  EXPECT_THAT(said_, Not(HasSubstr("FAILED")));
}

TEST_F(QuickstartTest, WithoutTheGuardInvoicesAreDoubled) {
  EXPECT_EQ(run({"--without-guard"}), 0) << said_;
  EXPECT_EQ(promises(), std::pair(kPromises, kPromises - 1)) << said_;
  EXPECT_THAT(said_, HasSubstr("12 attempts, 12 invoices, 2 double"));
  EXPECT_THAT(said_, HasSubstr("2 customers were invoiced twice"));
  EXPECT_THAT(said_, Not(HasSubstr("write refused by the database")));
}

// The driver says so when it cannot run, and does not pass for a run in which all is well.
TEST_F(QuickstartTest, WithoutItsProgramsItDoesNotRun) {
  EXPECT_EQ(run({"--bin", folder_}), 2) << said_;
  EXPECT_EQ(promises(), std::pair(0, 0)) << said_;
}

}  // namespace
}  // namespace rota::e2e
