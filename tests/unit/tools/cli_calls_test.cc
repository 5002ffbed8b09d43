// SPDX-License-Identifier: Apache-2.0
// Commands over real gRPC, against a server that the test steers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "rota/ids.h"
#include "support/fake_server/fake_server.h"
#include "tools_support.h"

namespace rota::cli {
namespace {

using std::chrono::milliseconds;
using test::FakeServer;
using test::Trouble;

// Standard input holds `text`, at most as much as a pipe takes, while this lives.
class StandardInput {
 public:
  explicit StandardInput(const std::string& text) : before_(dup(STDIN_FILENO)) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(ends[1]);
    EXPECT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }

 private:
  int before_;
};

// Of json, one array, or of jsonl.
std::vector<nlohmann::json> elements(const std::string& out) {
  if (out.rfind('[', 0) == 0) return nlohmann::json::parse(out);
  std::vector<nlohmann::json> all;
  std::istringstream text(out);
  for (std::string line; std::getline(text, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

TEST(CliCalls, EnqueuesAJobWithAllItsFields) {
  FakeServer server;
  const Ran ran = run({"job",
                       "enqueue",
                       "mail",
                       "welcome",
                       "--payload",
                       "{\"user\":42}",
                       "--priority",
                       "7",
                       "--business-key",
                       "welcome/42",
                       "--label",
                       "a=1",
                       "--label",
                       "b=2",
                       "--delay",
                       "10m",
                       "--attempt-timeout",
                       "none",
                       "--max-attempts",
                       "3",
                       "--request-id",
                       "r-1",
                       "--server",
                       server.address(),
                       "-o",
                       "name"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(server.enqueues.size(), 1U);
  const auto& request = server.enqueues[0];
  EXPECT_EQ(request.request_id(), "r-1");
  const auto& job = request.job();
  EXPECT_EQ(job.queue(), "mail");
  EXPECT_EQ(job.kind(), "welcome");
  EXPECT_EQ(job.payload().data(), "{\"user\":42}");
  EXPECT_EQ(job.priority(), 7);
  EXPECT_EQ(job.business_key(), "welcome/42");
  EXPECT_EQ(job.labels().at("b"), "2");
  EXPECT_EQ(job.delay().seconds(), 600);
  EXPECT_TRUE(job.no_attempt_timeout());
  EXPECT_EQ(job.retry().max_attempts(), 3);
  EXPECT_FALSE(ran.out.empty());
  EXPECT_EQ(ran.out.back(), '\n');
}

TEST(CliCalls, RepeatsACallWhoseAnswerWasLostWithItsRequestId) {
  FakeServer server;
  server.next("EnqueueJob", Trouble::kLoseAnswer);
  const Ran ran = run({"job", "enqueue", "q", "k", "--server", server.address()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(server.enqueues.size(), 2U);
  EXPECT_EQ(server.accepted.size(), 1U);
  EXPECT_EQ(server.enqueues[0].request_id(), server.enqueues[1].request_id());
}

TEST(CliCalls, ErrorsOfTheServerDecideTheExitCode) {
  FakeServer server;
  server.next("EnqueueJob", Trouble::kInvalid);
  Ran ran = run({"job", "enqueue", "q", "k", "--server", server.address()});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err.rfind("error: INVALID_FIELD: KIND: ", 0), 0U) << ran.err;
  server.next("EnqueueJob", Trouble::kBusy);
  // Asked again when it said, unless that is too late.
  ran = run({"job", "enqueue", "q", "k", "--server", server.address(), "--timeout", "1s"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_NE(ran.err.find("OVERLOADED"), std::string::npos) << ran.err;
  server.next("EnqueueJob", Trouble::kHang);
  ran = run({"job", "enqueue", "q", "k", "--server", server.address(), "--timeout", "100ms"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_NE(ran.err.find("it may have happened, the same again with --request-id "),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("--request-id " + server.enqueues.back().request_id()), std::string::npos);
}

TEST(CliCalls, ACallOfJsonLinesHasTheTimeoutOfAnyOther) {
  FakeServer server;
  const auto time_left = [&](std::vector<std::string> more) {
    const StandardInput input("{\"queue\": \"q\", \"kind\": \"k\"}\n");
    std::vector<std::string> words = {"job", "enqueue", "-", "--server", server.address()};
    words.insert(words.end(), more.begin(), more.end());
    server.bulk_time_left.clear();
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(server.bulk_time_left.size(), 1U);
    return server.bulk_time_left.empty() ? milliseconds(0) : server.bulk_time_left[0];
  };
  // What is gone by the time that the call arrives depends on how busy this machine is.
  const milliseconds by_default = time_left({});
  EXPECT_LE(by_default, milliseconds(10'100)) << "as --help says";
  EXPECT_GT(by_default, milliseconds(4'000));
  EXPECT_LE(time_left({"--timeout", "3s"}), milliseconds(3'100));
  EXPECT_GT(time_left({"--timeout", "5m"}), milliseconds(60'000));
  EXPECT_GT(time_left({"--wait-for-server", "5m"}), milliseconds(60'000));
}

TEST(CliCalls, JsonLinesThatAServerHasNoRoomForAreRefusedInTime) {
  FakeServer server;
  server.always("BulkEnqueueJobs", Trouble::kBusy);
  const StandardInput input("{\"queue\": \"q\", \"kind\": \"k\"}\n");
  const Ran ran = run({"job", "enqueue", "-", "--server", server.address(), "--timeout", "1s"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_NE(ran.out.find("\"reason\": \"OVERLOADED\""), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("mayHaveHappened"), std::string::npos) << "it was refused: " << ran.out;
  EXPECT_NE(ran.err.find("0 jobs accepted, 1 refused"), std::string::npos) << ran.err;
}

TEST(CliCalls, ADeleteWhoseAnswerWasLostIsDone) {
  FakeServer server;
  server.next("DeleteQueue", Trouble::kLoseAnswer);
  Ran ran = run({"queue", "delete", "q", "--yes", "--server", server.address()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "deleted q\n");
  ran = run({"queue", "delete", "q", "--yes", "--server", server.address()});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.out, "");
  server.next("DeleteQueue", Trouble::kHang);
  ran = run({"queue", "delete", "q", "--yes", "--server", server.address(), "--timeout", "200ms"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_NE(ran.err.find("the same command again is safe"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("--request-id"), std::string::npos) << "the command has no such option";
}

TEST(CliCalls, SeveralIdsAreInFlightAndAnsweredInTheirOrder) {
  FakeServer server;
  server.cancels_answered_from = kIdCallsInFlight;
  std::vector<std::string> words = {"job",   "cancel",  "--server", server.address(),
                                    "--yes", "--color", "never"};
  std::string wanted;
  for (int i = 0; i < 150; ++i) {
    const std::string id = (i == 40 ? "gone" : "id") + std::to_string(i);
    words.push_back(id);
    if (i != 40) wanted += id + " CANCELLED\n";
  }
  const Ran ran = run(words);
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.out, wanted);
  EXPECT_EQ(ran.err.rfind("error: JOB_NOT_FOUND: no such job (gone40)\n", 0), 0U) << ran.err;
  EXPECT_EQ(server.cancels.size(), 150U);
  EXPECT_EQ(server.most_cancels_at_once, static_cast<int>(kIdCallsInFlight));
}

TEST(CliCalls, EachOfSeveralIdsHasItsElementInJson) {
  FakeServer server;
  for (const std::string form : {"json", "jsonl"}) {
    const Ran ran =
        run({"job", "cancel", "b", "gone", "a", "--yes", "--server", server.address(), "-o", form});
    EXPECT_EQ(ran.code, 3) << ran.err;
    const auto all = elements(ran.out);
    ASSERT_EQ(all.size(), 3U) << ran.out;
    EXPECT_EQ(all[0]["id"], "b");
    EXPECT_EQ(all[0]["state"], "JOB_STATE_CANCELLED");
    EXPECT_FALSE(all[0].contains("error"));
    EXPECT_EQ(all[1]["id"], "gone");
    EXPECT_EQ(all[1]["error"]["reason"], "JOB_NOT_FOUND");
    EXPECT_EQ(all[1]["error"]["message"], "no such job") << "the id stands beside it";
    EXPECT_FALSE(all[1].contains("state"));
    EXPECT_EQ(all[2]["id"], "a");
    EXPECT_EQ(ran.err.rfind("error: JOB_NOT_FOUND: no such job (gone)\n", 0), 0U) << ran.err;
  }
  // One that is named alone is an object as before, or nothing.
  Ran ran = run({"job", "cancel", "a", "--server", server.address(), "-o", "json"});
  EXPECT_EQ(nlohmann::json::parse(ran.out)["id"], "a");
  ran = run({"job", "cancel", "gone", "--server", server.address(), "-o", "json"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.out, "");
  // One on standard input is one of a list.
  const StandardInput input("a\n");
  ran = run({"job", "cancel", "-", "--server", server.address(), "-o", "json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(nlohmann::json::parse(ran.out).at(0)["id"], "a");
}

TEST(CliCalls, IdsThatWereNotTriedHaveTheirElementsToo) {
  FakeServer server;
  server.stop();
  std::vector<std::string> words = {"job", "redrive", "--server", server.address(), "-o", "jsonl"};
  for (int i = 0; i < 100; ++i) words.push_back("id" + std::to_string(i));
  const Ran ran = run(words);
  EXPECT_EQ(ran.code, 6);
  const auto all = elements(ran.out);
  ASSERT_EQ(all.size(), 100U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]["id"], "id" + std::to_string(i));
    EXPECT_EQ(all[i]["error"]["reason"], "SERVER_UNREACHABLE");
    EXPECT_FALSE(all[i]["error"].contains("mayHaveHappened")) << all[i];
  }
  EXPECT_EQ(all[99]["error"]["message"].get<std::string>().rfind("not tried: ", 0), 0U) << all[99];
  EXPECT_NE(ran.err.find("99 of 100 ids were not tried\n"), std::string::npos) << ran.err;
}

TEST(CliCalls, AServerThatIsAwayIsReportedOnceForManyIds) {
  FakeServer server;
  server.stop();
  std::vector<std::string> words = {"job", "cancel", "--server", server.address(), "--yes"};
  for (int i = 0; i < 100; ++i) words.push_back("id" + std::to_string(i));
  const Ran ran = run(words);
  EXPECT_EQ(ran.code, 6);
  EXPECT_EQ(ran.out, "");
  const std::size_t first = ran.err.find("SERVER_UNREACHABLE");
  EXPECT_NE(first, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("SERVER_UNREACHABLE", first + 1), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("99 of 100 ids were not tried\n"), std::string::npos) << ran.err;
}

TEST(CliCalls, AWaitThatTheServerEndsSaysHowToSurviveThat) {
  FakeServer server;
  server.stop();
  const std::string hint = "the wait has ended, the job goes on; with --wait-for-server";
  Ran ran = run({"job", "wait", "0g7k9", "--server", server.address()});
  EXPECT_EQ(ran.code, 6);
  EXPECT_NE(ran.err.find(hint), std::string::npos) << ran.err;
  ran = run({"job", "wait", "0g7k9", "--server", server.address(), "--wait-for-server", "10ms"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_EQ(ran.err.find(hint), std::string::npos) << ran.err;
}

TEST(CliCalls, APreviewNeedsASchedulerOrASchedule) {
  const Ran ran = run({"scheduler", "preview"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err.rfind("error: INVALID_FIELD: SCHEDULER: give a saved SCHEDULER, or --cron or "
                          "--every",
                          0),
            0U)
      << ran.err;
}

TEST(CliCalls, WaitsForAServerOnlyWhenAsked) {
  FakeServer server;
  server.stop();
  EXPECT_EQ(run({"job", "enqueue", "q", "k", "--server", server.address()}).code, 6);
  std::thread starter([&] { server.start(); });
  const Ran ran =
      run({"job", "enqueue", "q", "k", "--server", server.address(), "--wait-for-server", "20s"});
  starter.join();
  EXPECT_EQ(ran.code, 0) << ran.err;
}

}  // namespace
}  // namespace rota::cli
