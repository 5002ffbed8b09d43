// SPDX-License-Identifier: Apache-2.0
#include "bin/exec_handler.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "bin/child.h"
#include "internal/clock.h"
#include "rota/testing.h"
#include "src/line_budget.h"

namespace rota::worker {
namespace {

using namespace std::chrono_literals;
using testing::FakeContext;

Job a_job(std::string payload = "") {
  Job job;
  job.id = "0g7k9";
  job.queue = "q";
  job.kind = "k";
  job.payload = std::move(payload);
  job.attempt = 2;
  job.fencing_token = 8842;
  return job;
}

Outcome run(const std::string& script, FakeContext& context, Millis grace = 5s) {
  ExecHandler handler({"sh", "-c", script}, grace);
  return handler(context);
}

Outcome run(const std::string& script, std::string payload = "") {
  FakeContext context(a_job(std::move(payload)));
  return run(script, context);
}

TEST(ExecHandlerTest, PayloadInResultOut) {
  const Outcome outcome = run("cat; echo done >&2", "in\0put");
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kSucceeded);
  EXPECT_EQ(outcome.result(), "in");
  EXPECT_FALSE(outcome.is_truncated());
}

TEST(ExecHandlerTest, LargePayloadThroughAPipe) {
  const std::string payload(3'000'000, 'p');
  EXPECT_EQ(run("wc -c | tr -d ' \\n'", payload).result(), "3000000");
}

TEST(ExecHandlerTest, PayloadNeedNotBeRead) {
  EXPECT_EQ(run("exit 0", std::string(1'000'000, 'p')).kind(), Outcome::Kind::kSucceeded);
}

TEST(ExecHandlerTest, IdentityIsInTheEnvironment) {
  Job job = a_job();
  job.business_key = "run/1";
  job.scheduler_id = "invoices/daily";
  job.nominal_times = {Time(Millis(1'764'460'800'000))};
  job.business_date = {std::chrono::year(2025), std::chrono::month(11), std::chrono::day(30)};
  FakeContext context(std::move(job));
  const Outcome outcome =
      run("echo $ROTA_JOB_ID $ROTA_ATTEMPT $ROTA_FENCING_TOKEN $ROTA_QUEUE $ROTA_KIND "
          "$ROTA_BUSINESS_KEY $ROTA_SCHEDULER_ID $ROTA_NOMINAL_TIME $ROTA_BUSINESS_DATE",
          context);
  EXPECT_EQ(outcome.result(),
            "0g7k9 2 8842 q k run/1 invoices/daily 2025-11-30T00:00:00Z 2025-11-30\n");
}

TEST(ExecHandlerTest, WhatTheWorkerAddsWinsOverItsOwnEnvironment) {
  setenv("ROTA_ADDRESS", "other:1", 1);
  FakeContext context(a_job());
  ExecHandler handler({"sh", "-c", "echo $ROTA_ADDRESS $ROTA_JOB_ID"}, 5s,
                      {"ROTA_ADDRESS=here:7500"});
  EXPECT_EQ(handler(context).result(), "here:7500 0g7k9\n");
  unsetenv("ROTA_ADDRESS");
}

TEST(ExecHandlerTest, ExitCodes) {
  const Outcome failed = run("echo 'Error: no' >&2; exit 3");
  EXPECT_EQ(failed.kind(), Outcome::Kind::kFailed);
  EXPECT_TRUE(failed.retryable());
  EXPECT_EQ(failed.why(), "exit 3; stderr: \"Error: no\"");
  EXPECT_EQ(failed.type(), "exit");
  EXPECT_EQ(run("exit 75").kind(), Outcome::Kind::kSnoozed);
  const Outcome killed = run("kill -9 $$");
  EXPECT_EQ(killed.why(), "signal KILL");
  EXPECT_TRUE(killed.retryable());
}

class Lines {
 public:
  internal::LogFunction function() {
    return [this](int level, std::string_view line) {
      std::lock_guard lock(mutex_);
      EXPECT_EQ(level, 2);
      all_.emplace_back(line);
    };
  }
  std::vector<std::string> all() const {
    std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

TEST(ExecHandlerTest, AMissingCommandIsAFailedAttempt) {
  Lines lines;
  for (const char* command : {"/nowhere/at/all", "/etc/passwd", "/"}) {
    ExecHandler handler({command}, 1s, {}, lines.function());
    FakeContext context(a_job());
    const Outcome outcome = handler(context);
    EXPECT_EQ(outcome.kind(), Outcome::Kind::kFailed);
    EXPECT_TRUE(outcome.retryable());
    EXPECT_EQ(outcome.type(), "spawn");
    EXPECT_TRUE(outcome.why().starts_with("cannot start '" + std::string(command) + "': "))
        << outcome.why();
  }
  EXPECT_TRUE(lines.all().empty()) << "the worker tells of failed attempts";
}

// Too few descriptors for the pipes of a command can be made while it lives. A sanitizer needs two
// to look at an object.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int first_free = dup(STDIN_FILENO);
    close(first_free);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(first_free) + 4;
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(ExecHandlerTest, AShortageOfTheMachineIsNotHeldAgainstTheJob) {
  Lines lines;
  ExecHandler handler({"true"}, 1s, {}, lines.function());
  const auto pause_at = [&](int attempt) {
    Job job = a_job();
    job.attempt = attempt;
    FakeContext context(job);
    const NoMoreFiles shortage;
    const Time before = std::chrono::floor<Millis>(std::chrono::system_clock::now());
    const Outcome outcome = handler(context);
    EXPECT_EQ(outcome.kind(), Outcome::Kind::kSnoozed);
    EXPECT_EQ(context.lines(),
              std::vector<std::string>{"cannot start 'true': Too many open files"});
    return outcome.until().value_or(before) - before;
  };
  const auto first = pause_at(1), third = pause_at(3), late = pause_at(100);
  EXPECT_GE(first, 1s);
  EXPECT_LT(first, 3s);
  EXPECT_GE(third, 4s);
  EXPECT_LT(third, 6s);
  EXPECT_GE(late, 60s);
  EXPECT_LT(late, 62s);
  const auto all = lines.all();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1], "job 0g7k9, attempt 3 is put off: cannot start 'true': Too many open files");
}

TEST(ExecHandlerTest, AnEnvironmentTooLargeIsTheFaultOfTheJob) {
  Job job = a_job();
  job.business_key = std::string(1'000'000, 'k');
  FakeContext context(std::move(job));
  const Outcome outcome = run("exit 0", context);
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kFailed);
  EXPECT_EQ(outcome.type(), "spawn");
}

TEST(ExecHandlerTest, FloodsOfWarningsAreBounded) {
  using internal::LineBudget;
  Lines lines;
  LineBudget budget(lines.function());
  const internal::BootTime begin = internal::BootClock::now();
  for (int i = 0; i < 1'000; ++i) budget.warn("line", begin);
  EXPECT_EQ(lines.all().size(), std::size_t{LineBudget::kLines});
  budget.warn("later", begin + LineBudget::kSpan);
  auto all = lines.all();
  ASSERT_EQ(all.size(), std::size_t{LineBudget::kLines + 2});
  EXPECT_EQ(all[all.size() - 2], "940 more lines of this sort were left out");
  EXPECT_EQ(all.back(), "later");
  budget.flush();
  EXPECT_EQ(lines.all().size(), all.size());
}

TEST(ExecHandlerTest, CommandsAreLookedForAsExecDoes) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("rota-path-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "directory");
  std::ofstream(folder / "plain") << "text";
  std::ofstream(folder / "program") << "exit 0";
  std::filesystem::permissions(folder / "program", std::filesystem::perms::owner_all);
  const auto in = [&](const char* name) { return (folder / name).string(); };
  EXPECT_EQ(command_fault("sh"), 0);
  EXPECT_EQ(command_fault(in("program")), 0);
  EXPECT_EQ(command_fault(""), ENOENT);
  EXPECT_EQ(command_fault("no-such-command-anywhere"), ENOENT);
  EXPECT_EQ(command_fault(in("nothing")), ENOENT);
  EXPECT_EQ(command_fault(in("plain")), EACCES);
  EXPECT_EQ(command_fault(in("directory")), EACCES);
  EXPECT_EQ(command_fault(in("plain/below")), ENOTDIR);

  const std::string path = std::getenv("PATH");
  setenv("PATH", ("/nowhere:" + folder.string()).c_str(), 1);
  EXPECT_EQ(command_fault("program"), 0);
  EXPECT_EQ(command_fault("plain"), EACCES);
  EXPECT_EQ(command_fault("sh"), ENOENT);
  setenv("PATH", path.c_str(), 1);
  std::filesystem::remove_all(folder);
}

TEST(ExecHandlerTest, OnlyTheBeginOfALongResultIsKept) {
  const Outcome outcome = run("yes 0123456 | head -c 1000000");
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kSucceeded);
  EXPECT_EQ(outcome.result().size(), 256u * 1024);
  EXPECT_TRUE(outcome.is_truncated());
}

TEST(ExecHandlerTest, PrintedLinesAreLogged) {
  FakeContext context(a_job());
  run("printf 'a\\nb\\n'; printf 'no end' >&2", context);
  std::string all;
  for (const auto& line : context.lines()) all += line;
  EXPECT_NE(all.find("a\nb\n"), std::string::npos);
  EXPECT_NE(all.find("no end"), std::string::npos);
}

// Runs a script that says when it has begun, and tells it to stop then.
Outcome stop_in_the_middle(const std::string& script, Millis grace,
                           StopReason reason = StopReason::kDrain) {
  FakeContext context(a_job());
  const std::string fifo =
      std::filesystem::temp_directory_path() / ("rota-exec-" + std::to_string(getpid()));
  std::filesystem::remove(fifo);
  EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::thread stopper([&] {
    std::ifstream begun(fifo);
    std::string line;
    std::getline(begun, line);
    context.request_stop(reason);
  });
  Outcome outcome = run(script + " '" + fifo + "'; ", context, grace);
  stopper.join();
  std::filesystem::remove(fifo);
  return outcome;
}

TEST(ExecHandlerTest, StopSendsTermFirst) {
  const Outcome outcome = stop_in_the_middle(
      "trap 'exit 7' TERM; begin() { echo > \"$1\"; while :; do sleep 0.05; done; }; begin", 20s);
  EXPECT_TRUE(outcome.why().starts_with("exit 7 after it was told to stop")) << outcome.why();
}

// A shutdown in good order, and not what the job was there for.
TEST(ExecHandlerTest, CodeZeroAfterTermIsNoSuccess) {
  const std::string goes_in_order =
      "trap 'exit 0' TERM; begin() { echo > \"$1\"; while :; do sleep 0.05; done; }; begin";
  for (const StopReason reason : {StopReason::kDrain, StopReason::kTimeout, StopReason::kAtRisk}) {
    const Outcome outcome = stop_in_the_middle(goes_in_order, 20s, reason);
    EXPECT_EQ(outcome.kind(), Outcome::Kind::kFailed);
    EXPECT_TRUE(outcome.retryable());
    EXPECT_TRUE(outcome.why().starts_with("exit 0 after it was told to stop")) << outcome.why();
  }
  // But a cancelled job is not done again.
  EXPECT_EQ(stop_in_the_middle(goes_in_order, 20s, StopReason::kCancel).kind(),
            Outcome::Kind::kSucceeded);
}

// Told to stop by its first line; its second one is seen together with that, and the command has
// ended when the second line was taken.
class StopsBesideTheEnd : public FakeContext {
 public:
  StopsBesideTheEnd(Job job, std::string folder)
      : FakeContext(std::move(job)), folder_(std::move(folder)) {}

  void log(std::string_view line) override {
    if (seen_++ == 0) {
      pid_ = std::atoi(std::string(line).c_str());
      request_stop();
      std::ofstream(folder_ + "/go");
      std::ifstream said(folder_ + "/said");
      std::string word;
      std::getline(said, word);
      return;
    }
    std::ofstream(folder_ + "/end");
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
  }

 private:
  const std::string folder_;
  int seen_ = 0;
  pid_t pid_ = 0;
};

TEST(ExecHandlerTest, WhatEndedBeforeTermKeepsItsSuccess) {
  std::string folder = ::testing::TempDir() + "rota-exec-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const char* name : {"/go", "/said", "/end"}) {
    ASSERT_EQ(mkfifo((folder + name).c_str(), 0600), 0);
  }
  StopsBesideTheEnd context(a_job(), folder);
  const Outcome outcome = run("cd '" + folder +
                                  "'; echo $$; read x < go; echo more >&2; echo x > said; "
                                  "read x < end; exit 0",
                              context);
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kSucceeded);
  std::filesystem::remove_all(folder);
}

TEST(ExecHandlerTest, ThenKill) {
  const Outcome outcome = stop_in_the_middle(
      "trap '' TERM; begin() { echo > \"$1\"; while :; do sleep 0.05; done; }; begin", 100ms);
  EXPECT_EQ(outcome.why(), "signal KILL after it was told to stop");
}

TEST(ExecHandlerTest, AFloodOfOutputDoesNotKeepItFromBeingKilled) {
  const Outcome outcome = stop_in_the_middle(
      "trap '' TERM; begin() { yes & yes >&2 & echo > \"$1\"; while :; do sleep 0.05; done; }; "
      "begin",
      100ms);
  EXPECT_EQ(outcome.why().substr(0, outcome.why().find(';')),
            "signal KILL after it was told to stop");
}

// Whoever is left of the group still writes when the command has ended.
TEST(ExecHandlerTest, AFloodThatOutlivesTheCommandIsCutOff) {
  const Outcome outcome = run("echo first; for i in 1 2 3 4; do yes & done; exit 0");
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kSucceeded);
  EXPECT_TRUE(outcome.result().starts_with("first\n"));
}

TEST(ExecHandlerTest, NothingIsLeftOfTheGroup) {
  const Outcome outcome = run("sleep 1000 & echo $!");
  ASSERT_EQ(outcome.kind(), Outcome::Kind::kSucceeded);
  const pid_t left = std::atoi(outcome.result().c_str());
  ASSERT_GT(left, 0);
  // Killed already; its parent, which reaps it, is no longer ours.
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, left, 0));
  if (descriptor < 0) {
    EXPECT_EQ(errno, ESRCH);
    return;
  }
  pollfd end{descriptor, POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 10'000), 1);
  close(descriptor);
}

}  // namespace
}  // namespace rota::worker
