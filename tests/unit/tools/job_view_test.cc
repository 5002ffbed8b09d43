// SPDX-License-Identifier: Apache-2.0
#include "rota/job_view.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/time_format.h"

namespace rota::cli {
namespace {

template <class Message>
Message message(const std::string& text) {
  Message parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parsed)) << text;
  return parsed;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const View kView = {.now_ms = *base::parse_time("2026-11-25T00:10:00Z")};

TEST(JobView, ADeadJobShowsItsAttemptsAndTheWayBack) {
  const auto job = message<v1::Job>(R"(
    id: "0g7k9" queue: "invoices" kind: "daily-invoice" state: JOB_STATE_DEAD priority: 100
    business_key: "run/2026-11-24" attempt_count: 2 attempts_used: 2 retry { max_attempts: 2 }
    final_reason: "MAX_ATTEMPTS" create_time { seconds: 1795564800 }
    finish_time { seconds: 1795565051 }
    attempts { number: 1 fencing_token: 8839 worker_id: "w-7f" outcome: ATTEMPT_OUTCOME_LOST
               start_time { seconds: 1795564900 } end_time { seconds: 1795564930 }
               failure { message: "no heartbeat for 30 s" } }
    attempts { number: 2 fencing_token: 8842 worker_id: "w-2a" outcome: ATTEMPT_OUTCOME_FAILED
               start_time { seconds: 1795565050 } end_time { seconds: 1795565051 }
               failure { message: "exit 3" } log_tail: "one\nError: connect ECONNREFUSED\n" })");
  const std::string text = job_text(job, kView);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "0g7k9  invoices/daily-invoice  DEAD after 2 of 2 attempts (MAX_ATTEMPTS)   "
            "key run/2026-11-24   redrive: rota job redrive 0g7k9");
  EXPECT_TRUE(contains(text, "#  TOKEN  WORKER"));
  EXPECT_TRUE(contains(text, "failed   exit 3; last line: Error: connect ECONNREFUSED"));
  EXPECT_TRUE(contains(text, "no heartbeat for 30 s"));
  EXPECT_LT(text.find("8842"), text.find("8839"));  // newest first
  EXPECT_TRUE(contains(text, "30 s"));
}

TEST(JobView, OtherStatesShowWhatTheyWaitFor) {
  auto job = message<v1::Job>(R"(id: "a" queue: "q" kind: "k" state: JOB_STATE_SCHEDULED
    priority: 200 due_time { seconds: 1795565460 } labels { key: "a" value: "1" }
    payload { data: "{}" } scheduler_id: "s" nominal_times { seconds: 1795564800 }
    business_date: "2026-11-24")");
  std::string text = job_text(job, kView);
  EXPECT_TRUE(contains(text, "due")) << text;
  EXPECT_TRUE(contains(text, "priority   200"));
  EXPECT_TRUE(contains(text, "a=1"));
  EXPECT_TRUE(contains(text, "{}  (2 bytes, application/json)"));
  EXPECT_TRUE(contains(text, "s, tick 2026-11-25T00:00:00Z, business date 2026-11-24"));
  job = message<v1::Job>(R"(id: "a" state: JOB_STATE_SUCCEEDED attempt_count: 3
                            result { data: "ok" })");
  EXPECT_TRUE(contains(job_text(job, kView), "SUCCEEDED in attempt 3"));
  EXPECT_EQ(ended_text(job, kView), "a SUCCEEDED in attempt 3: ok\n");
}

TEST(JobView, AListHasANoteForWhatIsUnusual) {
  const auto note = [](const std::string& text) {
    return job_cells(message<v1::Job>(text), kView).back();
  };
  EXPECT_EQ(job_cells(v1::Job(), kView).size(), job_header().size());
  EXPECT_EQ(note("state: JOB_STATE_BLOCKED blocked_by: \"scheduler x\""), "waits for scheduler x");
  EXPECT_EQ(note("state: JOB_STATE_RUNNING cancel_requested: true"), "cancel requested");
  EXPECT_EQ(note("state: JOB_STATE_DEAD failure { message: \"exit 3\" }"), "exit 3");
  EXPECT_TRUE(contains(note("state: JOB_STATE_SCHEDULED due_time { seconds: 1795565460 }"),
                       "due in 1 min"));
}

TEST(JobView, AnEnqueueSaysWhetherTheKeyFoundAJob) {
  EXPECT_EQ(enqueued_text(
                message<v1::EnqueuedJob>(R"(id: "a" created: true state: JOB_STATE_READY)"), kView),
            "a created, READY\n");
  EXPECT_EQ(enqueued_text(message<v1::EnqueuedJob>(
                              R"(id: "a" state: JOB_STATE_SUCCEEDED result { data: "7" })"),
                          kView),
            "a existed already for this business key, SUCCEEDED; result: 7\n");
  EXPECT_TRUE(
      contains(enqueued_text(message<v1::EnqueuedJob>(R"(id: "a" state: JOB_STATE_DEAD)"), kView),
               "rota job redrive a"));
}

TEST(JobView, AnExplanationIsASentenceWithTheNextStep) {
  const auto explanation = message<v1::Explanation>(R"(
    job_id: "0g7p4" state: JOB_STATE_READY reason: REASON_CONCURRENCY_LIMIT
    other_reasons: REASON_NO_WORKER_ASKS
    text: "queue 'invoices' allows 2 at once and 2 run" queue: "invoices" position: 3
    ready_count: 7 running_count: 2 concurrency_limit: 2
    holders { job_id: "0g7m2" attempt: 2 worker_id: "w-2a" fencing_token: 9
              lease_remaining { seconds: 12 } }
    holders { job_id: "0g7m3" attempt: 1 worker_id: "w-2b" fencing_token: 10
              lease_remaining { seconds: 20 } })");
  EXPECT_EQ(explanation_text(explanation, kView),
            "READY, not running: queue 'invoices' allows 2 at once and 2 run. Third of 7 in line.\n"
            "  also: no worker asks for the queue\n"
            "  held by 0g7m2 (attempt 2, w-2a, token 9, lease for 12 s)\n"
            "  held by 0g7m3 (attempt 1, w-2b, token 10, lease for 20 s)\n"
            "  rota queue set invoices --concurrency N raises the limit\n");
  EXPECT_EQ(explanation_text(message<v1::Explanation>(R"(job_id: "a" state: JOB_STATE_SUCCEEDED
                               reason: REASON_FINAL text: "it has ended: SUCCEEDED")"),
                             kView),
            "SUCCEEDED: it has ended: SUCCEEDED.\n  rota job get a shows its attempts\n");
}

TEST(JobView, AnExplanationOfAJobThatHasEndedSaysHow) {
  auto explanation = message<v1::Explanation>(R"(job_id: "a" state: JOB_STATE_DEAD
                                                 reason: REASON_FINAL)");
  auto job = message<v1::Job>(R"(id: "a" state: JOB_STATE_DEAD final_reason: "MAX_ATTEMPTS"
                                 attempt_count: 3 attempts_used: 3 retry { max_attempts: 3 }
                                 failure { message: "exit 3" })");
  EXPECT_EQ(explanation_text(explanation, kView, &job),
            "DEAD: it has ended after 3 of 3 attempts (MAX_ATTEMPTS).\n  last error: exit 3\n"
            "  rota job redrive a\n  rota job get a shows its attempts\n");
  job = message<v1::Job>(R"(id: "a" state: JOB_STATE_CANCELLED final_reason: "wrong customer")");
  EXPECT_EQ(explanation_text(explanation, kView, &job),
            "CANCELLED: it has ended (wrong customer).\n  rota job get a shows its attempts\n");
}

TEST(JobView, AnExplanationOfAJobThatWaitsHasItsStartDeadline) {
  auto explanation = message<v1::Explanation>(R"(job_id: "a" state: JOB_STATE_READY
      reason: REASON_PAUSED text: "queue 'q' is paused" queue: "q")");
  EXPECT_FALSE(contains(explanation_text(explanation, kView), "EXPIRED"));
  put_time(kView.now_ms + 60'000, explanation.mutable_start_deadline());
  EXPECT_TRUE(contains(explanation_text(explanation, kView), "Z  in 1 min, else it ends EXPIRED\n"))
      << explanation_text(explanation, kView);
}

}  // namespace
}  // namespace rota::cli
