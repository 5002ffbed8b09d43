// SPDX-License-Identifier: Apache-2.0
#include "bin/exec_handler.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "rota/testing.h"

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

TEST(ExecHandlerTest, MissingCommandIsAFailedAttempt) {
  FakeContext context(a_job());
  ExecHandler handler({"/nowhere/at/all"}, 1s);
  const Outcome outcome = handler(context);
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kFailed);
  EXPECT_TRUE(outcome.retryable());
  EXPECT_NE(outcome.why().find("/nowhere/at/all"), std::string::npos);
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
Outcome stop_in_the_middle(const std::string& script, Millis grace) {
  FakeContext context(a_job());
  const std::string fifo =
      std::filesystem::temp_directory_path() / ("rota-exec-" + std::to_string(getpid()));
  std::filesystem::remove(fifo);
  EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::thread stopper([&] {
    std::ifstream begun(fifo);
    std::string line;
    std::getline(begun, line);
    context.request_stop();
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
