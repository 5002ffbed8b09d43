// SPDX-License-Identifier: Apache-2.0
#include "rota/bulk_enqueue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tools_support.h"

namespace rota::cli {
namespace {

// A server of bulk calls that answers when the test lets it. Thread-safe.
class Calls {
 public:
  using Done = std::function<void(Result<v1::BulkEnqueueJobsResponse>)>;

  BulkSend sender() {
    return [this](v1::BulkEnqueueJobsRequest request, Done done) {
      std::unique_lock lock(mutex_);
      requests_.push_back(request);
      in_flight_ = std::max(in_flight_, ++waiting_now_);
      waiting_.push_back({std::move(request), std::move(done)});
      changed_.notify_all();
      if (held_) return;
      lock.unlock();
      answer_all();
    };
  }
  void hold() { held_ = true; }

  // Waits until `count` calls were ever sent.
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20),
                             [&] { return requests_.size() >= count; });
  }
  // Answers one of the waiting calls, by its place among them.
  void answer(std::size_t place = 0, std::optional<Error> error = std::nullopt) {
    std::unique_lock lock(mutex_);
    auto call = std::move(waiting_[place]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
    --waiting_now_;
    lock.unlock();
    if (error) {
      call.second(*error);
    } else {
      call.second(accept(call.first));
    }
  }
  void answer_all() {
    while (true) {
      {
        std::lock_guard lock(mutex_);
        if (waiting_.empty()) return;
      }
      answer();
    }
  }
  std::vector<v1::BulkEnqueueJobsRequest> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }
  int most_in_flight() {
    std::lock_guard lock(mutex_);
    return in_flight_;
  }

 private:
  // Kind "bad" is refused, kind "old" existed.
  static v1::BulkEnqueueJobsResponse accept(const v1::BulkEnqueueJobsRequest& request) {
    v1::BulkEnqueueJobsResponse response;
    for (const auto& job : request.jobs()) {
      auto* result = response.add_results();
      if (job.kind() == "bad") {
        result->mutable_error()->set_code(5);
        result->mutable_error()->set_reason("QUEUE_NOT_FOUND");
        result->mutable_error()->set_field("queue");
        result->mutable_error()->set_message("no queue \"nope\"");
      } else if (job.has_delay()) {
        result->mutable_error()->set_code(3);
        result->mutable_error()->set_reason("INVALID_FIELD");
        result->mutable_error()->set_field("no_attempt_timeout");
        result->mutable_error()->set_message("not together with run_at");
      } else {
        result->mutable_job()->set_id("id" + job.payload().data());
        result->mutable_job()->set_created(job.kind() != "old");
      }
    }
    return response;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::BulkEnqueueJobsRequest> requests_;
  std::deque<std::pair<v1::BulkEnqueueJobsRequest, Done>> waiting_;
  int waiting_now_ = 0, in_flight_ = 0;
  bool held_ = false;
};

// A run over a pipe whose writing end the test holds.
class Feed {
 public:
  Feed(Calls& calls, BulkOptions options) : bulk_(calls.sender(), std::move(options)) {
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    thread_ = std::thread([this] { summary_ = bulk_.run(ends_[0], out_.file()); });
  }
  ~Feed() {
    if (thread_.joinable()) finish();
    close(ends_[0]);
  }
  void put(const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t wrote = write(ends_[1], text.data() + done, text.size() - done);
      ASSERT_GT(wrote, 0);
      done += static_cast<std::size_t>(wrote);
    }
  }
  void close_input() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  BulkSummary finish() {
    close_input();
    return wait();
  }
  // Until it ends by itself.
  BulkSummary wait() {
    thread_.join();
    return summary_;
  }
  // After finish().
  std::vector<nlohmann::json> lines() {
    std::vector<nlohmann::json> all;
    std::istringstream text(out_.text());
    for (std::string line; std::getline(text, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  std::string text() { return out_.text(); }

 private:
  int ends_[2] = {-1, -1};
  Capture out_;
  BulkEnqueue bulk_;
  BulkSummary summary_;
  std::thread thread_;
};

std::string job_line(int number, const std::string& kind = "k") {
  return R"({"queue": "q", "kind": ")" + kind + R"(", "payload": ")" + std::to_string(number) +
         "\"}\n";
}

TEST(BulkEnqueue, WritesOneLineForEachLineInOrder) {
  Calls calls;
  Feed run(calls, {});
  run.put(job_line(1) + "\n" + "nonsense\n" + job_line(2, "old") + job_line(3, "bad") +
          R"({"queue": "q", "pririty": 1})" + "\n" + job_line(4));
  const BulkSummary summary = run.finish();
  EXPECT_EQ(run.text().substr(0, run.text().find('\n')), R"({"id": "id1", "created": true})");
  const auto lines = run.lines();
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[1]["line"], 3);
  EXPECT_EQ(lines[1]["error"]["reason"], "INVALID_JSON");
  EXPECT_EQ(lines[2]["created"], false);
  EXPECT_EQ(lines[3]["line"], 5);
  EXPECT_EQ(lines[3]["error"]["reason"], "QUEUE_NOT_FOUND");
  EXPECT_EQ(lines[3]["error"]["field"], "queue");
  EXPECT_EQ(lines[3]["error"]["message"], "no queue \"nope\"");
  EXPECT_EQ(lines[4]["error"]["field"], "pririty");
  EXPECT_EQ(lines[5]["id"], "id4");
  EXPECT_EQ(summary.created, 2);
  EXPECT_EQ(summary.existed, 1);
  EXPECT_EQ(summary.refused, 3);
  EXPECT_EQ(summary.code, 2);  // of the first refused: the nonsense
  EXPECT_FALSE(summary.stopped);
  EXPECT_NE(summary.text().find("3 jobs accepted (1 existed already), 3 refused"),
            std::string::npos)
      << summary.text();
}

TEST(BulkEnqueue, ErrorsNameFieldsAsTheLinesHaveThem) {
  Calls calls;
  Feed run(calls, {});
  run.put(R"({"queue": "q", "kind": "k", "delay": "5s"})" + std::string("\n"));
  run.finish();
  const auto lines = run.lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["error"]["field"], "noAttemptTimeout");
  EXPECT_EQ(lines[0]["error"]["message"], "not together with runAt");
}

TEST(BulkEnqueue, AnEmptyInputIsNoCall) {
  Calls calls;
  Feed run(calls, {});
  run.put("\n  \n");
  const BulkSummary summary = run.finish();
  EXPECT_EQ(summary.code, 0);
  EXPECT_EQ(run.text(), "");
  EXPECT_TRUE(calls.requests().empty());
}

TEST(BulkEnqueue, CutsCallsAtAThousandLinesAndKeepsSomeInFlight) {
  Calls calls;
  calls.hold();
  Feed run(calls, {.in_flight = 3, .request_id = "r"});
  std::string input;
  for (int i = 0; i < 5'500; ++i) input += job_line(i);
  std::thread writer([&] {
    run.put(input);
    run.close_input();
  });
  ASSERT_TRUE(calls.wait_for(3));
  // Answered out of order; written in order all the same.
  calls.answer(2);
  calls.answer(1);
  calls.answer(0);
  ASSERT_TRUE(calls.wait_for(6));
  calls.answer_all();
  writer.join();
  const BulkSummary summary = run.finish();
  EXPECT_EQ(summary.created, 5'500);
  EXPECT_EQ(calls.most_in_flight(), 3);
  const auto requests = calls.requests();
  ASSERT_EQ(requests.size(), 6U);
  EXPECT_EQ(requests[0].jobs_size(), 1'000);
  EXPECT_EQ(requests[5].jobs_size(), 500);
  EXPECT_EQ(requests[0].request_id(), "r:0");
  EXPECT_EQ(requests[5].request_id(), "r:5");
  const auto lines = run.lines();
  ASSERT_EQ(lines.size(), 5'500U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ASSERT_EQ(lines[i]["id"], "id" + std::to_string(i));
  }
}

TEST(BulkEnqueue, CutsCallsAtEightMebibytes) {
  Calls calls;
  Feed run(calls, {.in_flight = 2, .request_id = "r"});
  const std::string payload(3 * 1024 * 1024, 'x');
  std::string input;
  for (int i = 0; i < 7; ++i) input += R"({"kind": "k", "payload": ")" + payload + "\"}\n";
  run.put(input);
  const BulkSummary summary = run.finish();
  EXPECT_EQ(summary.created, 7);
  const auto requests = calls.requests();
  ASSERT_EQ(requests.size(), 4U);
  for (const auto& request : requests) {
    EXPECT_LE(request.ByteSizeLong(), 8U * 1024 * 1024);
  }
}

TEST(BulkEnqueue, SendsWhatThereIsWhenTheInputPauses) {
  Calls calls;
  calls.hold();
  Feed run(calls, {});
  run.put(job_line(1));
  ASSERT_TRUE(calls.wait_for(1));
  // What comes while a call is in flight goes together in the next.
  run.put(job_line(2));
  run.put(job_line(3));
  calls.answer();
  ASSERT_TRUE(calls.wait_for(2));
  calls.answer_all();
  run.put(job_line(4));
  ASSERT_TRUE(calls.wait_for(3));
  calls.answer_all();
  EXPECT_EQ(run.finish().created, 4);
  const auto requests = calls.requests();
  EXPECT_EQ(requests[0].jobs_size(), 1);
  EXPECT_NE(requests[0].request_id(), requests[1].request_id());
}

TEST(BulkEnqueue, StopsWhenTheServerIsAway) {
  Calls calls;
  calls.hold();
  Feed run(calls, {.in_flight = 1});
  run.put(job_line(1));
  ASSERT_TRUE(calls.wait_for(1));
  run.put(job_line(2));
  Error away;
  away.code = Code::kUnavailable;
  away.reason = "SERVER_UNREACHABLE";
  away.message = "gone";
  away.may_have_happened = true;
  away.request_id = "id-of-the-call";
  calls.answer(0, away);
  const BulkSummary summary = run.finish();
  EXPECT_EQ(summary.code, 6);
  ASSERT_TRUE(summary.stopped);
  EXPECT_EQ(calls.requests().size(), 1U);
  const auto lines = run.lines();
  ASSERT_GE(lines.size(), 1U);
  EXPECT_EQ(lines[0]["line"], 1);
  EXPECT_EQ(lines[0]["error"]["reason"], "SERVER_UNREACHABLE");
  EXPECT_EQ(lines[0]["error"]["mayHaveHappened"], true);
  EXPECT_EQ(lines[0]["error"]["requestId"], "id-of-the-call");
  EXPECT_EQ(lines[0]["error"]["message"], "gone; the job may have been created");
  if (lines.size() > 1) {  // read before the answer, and never sent
    EXPECT_EQ(lines[1]["line"], 2);
    EXPECT_FALSE(lines[1]["error"].contains("mayHaveHappened"));
    EXPECT_EQ(lines[1]["error"]["message"], "gone");
  }
  EXPECT_EQ(summary.unknown, 1);
  EXPECT_EQ(summary.unsent, static_cast<std::int64_t>(lines.size()) - 1);
  EXPECT_EQ(summary.refused, 0);
  EXPECT_NE(summary.text().find("0 jobs accepted, 0 refused, 1 unknown (they may have been "
                                "created)"),
            std::string::npos)
      << summary.text();
  EXPECT_NE(summary.text().find("stopped after line"), std::string::npos);
}

TEST(BulkEnqueue, WhatReachedNoServerIsNotRefused) {
  Calls calls;
  calls.hold();
  Feed run(calls, {.in_flight = 1});
  run.put(job_line(1));
  ASSERT_TRUE(calls.wait_for(1));
  Error away;
  away.code = Code::kUnavailable;
  away.reason = "SERVER_UNREACHABLE";
  away.message = "failed to connect";
  calls.answer(0, away);
  const BulkSummary summary = run.finish();
  EXPECT_EQ(summary.code, 6);
  EXPECT_EQ(summary.unsent, 1);
  EXPECT_EQ(summary.refused + summary.unknown, 0);
  EXPECT_FALSE(run.lines().at(0)["error"].contains("mayHaveHappened"));
  EXPECT_NE(summary.text().find(", 0 refused, 1 not sent;"), std::string::npos) << summary.text();
}

TEST(BulkEnqueue, AnAnswerThatIsTooShortLeavesTheRestUnknown) {
  Capture out;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const std::string input = job_line(1) + job_line(2);
  ASSERT_EQ(write(ends[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
  close(ends[1]);
  BulkEnqueue bulk(
      [](v1::BulkEnqueueJobsRequest,
         std::function<void(Result<v1::BulkEnqueueJobsResponse>)> done) {
        v1::BulkEnqueueJobsResponse one;
        one.add_results()->mutable_job()->set_id("id1");
        done(one);
      },
      {.request_id = "r"});
  const BulkSummary summary = bulk.run(ends[0], out.file());
  close(ends[0]);
  EXPECT_EQ(summary.existed, 1);
  EXPECT_EQ(summary.unknown, 1);
  EXPECT_EQ(summary.refused, 0);
  EXPECT_EQ(summary.code, 1);
  EXPECT_NE(out.text().find("\"mayHaveHappened\": true, \"requestId\": \"r:0\""), std::string::npos)
      << out.text();
}

TEST(BulkEnqueue, GoesOnAfterAnOverload) {
  Calls calls;
  calls.hold();
  Feed run(calls, {.in_flight = 1});
  run.put(job_line(1));
  ASSERT_TRUE(calls.wait_for(1));
  Error busy;
  busy.code = Code::kExhausted;
  busy.reason = "OVERLOADED";
  calls.answer(0, busy);
  run.put(job_line(2));
  ASSERT_TRUE(calls.wait_for(2));
  calls.answer();
  const BulkSummary summary = run.finish();
  EXPECT_EQ(summary.code, 6);
  EXPECT_FALSE(summary.stopped);
  EXPECT_EQ(summary.created, 1);
  EXPECT_EQ(summary.refused, 1);
}

TEST(BulkEnqueue, ASignalEndsALineThatIsTooLong) {
  Calls calls;
  calls.hold();
  Feed run(calls, {});
  // Over the limit of a line, and no end of it: what came before it is sent meanwhile.
  const std::string piece(1024 * 1024, 'x');
  run.put(job_line(1));
  for (int i = 0; i < 40; ++i) run.put(piece);
  ASSERT_TRUE(calls.wait_for(1));
  BulkEnqueue::stop(SIGTERM);
  calls.answer();
  const BulkSummary summary = run.wait();  // with its input still open
  EXPECT_EQ(summary.code, 143);
  EXPECT_EQ(summary.created, 1);
  const auto lines = run.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["id"], "id1");
  EXPECT_EQ(lines[1]["line"], 2);
  EXPECT_EQ(lines[1]["error"]["reason"], "INVALID_FIELD");
}

TEST(BulkEnqueue, ALineWithoutAnEndEndsTheCommand) {
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(zeros, 0);
  Calls calls;
  Capture out;
  BulkEnqueue bulk(calls.sender(), {});
  const BulkSummary summary = bulk.run(zeros, out.file());
  close(zeros);
  EXPECT_EQ(summary.code, 2);
  ASSERT_TRUE(summary.stopped);
  EXPECT_EQ(summary.stopped->reason, "INPUT_UNREADABLE");
  EXPECT_EQ(summary.stopped->message, "line 1 has no end: nothing behind it was read");
  EXPECT_TRUE(calls.requests().empty());
  const auto line = nlohmann::json::parse(out.text());  // one line
  EXPECT_EQ(line["line"], 1);
}

TEST(BulkEnqueue, ASignalEndsTheInputAndKeepsTheAcknowledgements) {
  Calls calls;
  calls.hold();
  Feed run(calls, {.in_flight = 1});
  run.put(job_line(1));
  ASSERT_TRUE(calls.wait_for(1));
  BulkEnqueue::stop(SIGTERM);
  calls.answer();
  const BulkSummary summary = run.finish();
  EXPECT_EQ(summary.code, 143);
  EXPECT_EQ(summary.created, 1);
  EXPECT_EQ(run.lines()[0]["id"], "id1");
}

TEST(BulkEnqueue, ASecondSignalGivesUpWhatIsInFlight) {
  Calls calls;
  calls.hold();
  Feed run(calls, {.in_flight = 1, .request_id = "r"});
  run.put(job_line(1));
  std::string others;
  for (int i = 2; i <= 1'001; ++i) others += job_line(i);
  run.put(others);
  ASSERT_TRUE(calls.wait_for(1));  // 1,000 lines; the last is for the next call
  BulkEnqueue::stop(SIGINT);
  BulkEnqueue::stop(SIGINT);
  const BulkSummary summary = run.wait();  // with input and call still open
  EXPECT_EQ(summary.code, 130);
  EXPECT_EQ(summary.unknown, 1'000);
  EXPECT_EQ(summary.created + summary.refused, 0);
  EXPECT_LE(summary.unsent, 1);
  const auto lines = run.lines();
  ASSERT_GE(lines.size(), 1'000U);
  EXPECT_EQ(lines[0]["error"]["reason"], "INTERRUPTED");
  EXPECT_EQ(lines[999]["error"]["mayHaveHappened"], true);
  EXPECT_EQ(lines[999]["error"]["requestId"], "r:0");
  if (lines.size() > 1'000U) {  // read before the signal
    EXPECT_FALSE(lines[1'000]["error"].contains("mayHaveHappened"));
  }
  calls.answer();  // too late; nobody reads it
}

}  // namespace
}  // namespace rota::cli
