// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the checks begin with.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "blackbox/checker.h"

namespace rota::blackbox {

inline Call done(Ns invoked, Ns replied, Seq seq) {
  return {.invoked = invoked,
          .replied = replied,
          .tries = 1,
          .answer = Call::Answer::kDone,
          .seq = seq};
}

inline Call refused(Ns invoked, Ns replied, const std::string& reason) {
  return {.invoked = invoked,
          .replied = replied,
          .tries = 1,
          .answer = Call::Answer::kRefused,
          .reason = reason};
}

// A history in which all is well; each test makes one thing wrong.
//
//   job a, queue q: created in commit 10, attempt 1 (token 1) lost in 14, attempt 2 (token 3, by
//   raw) succeeded in 18 job b, queue q: created in 11, attempt 1 (token 2, by w1) succeeded in 13
//   job c, queue q: created in 12, cancelled in 16
class CheckerTest : public ::testing::Test {
 protected:
  CheckerTest() {
    enqueue("op-a", "a", 100, 110, 10);
    enqueue("op-b", "b", 120, 130, 11);
    enqueue("op-c", "c", 140, 150, 12);
    job("a", "op-a", v1::JOB_STATE_SUCCEEDED);
    job("b", "op-b", v1::JOB_STATE_SUCCEEDED);
    job("c", "op-c", v1::JOB_STATE_CANCELLED);
    attempt(0, 1, 12, 14, v1::ATTEMPT_OUTCOME_LOST, "w1");
    attempt(0, 3, 15, 18, v1::ATTEMPT_OUTCOME_SUCCEEDED, "raw");
    attempt(1, 2, 12, 13, v1::ATTEMPT_OUTCOME_SUCCEEDED, "w1");
    h_.jobs[0].result = "result a";
    h_.jobs[1].result = "result b";
    h_.job_calls.push_back({.call = done(300, 310, 16),
                            .kind = JobCall::Kind::kCancel,
                            .job = "c",
                            .state = v1::JOB_STATE_CANCELLED});
    h_.leases.push_back({.call = done(200, 260, 15),
                         .session = "raw-session",
                         .request = "r1",
                         .max_jobs = 2,
                         .epoch = 1,
                         .granted = {{.job = "a", .token = 3, .attempt = 2}}});
    finish(320, 330, 18);
    h_.executions.push_back({.worker = "w1",
                             .job = "b",
                             .token = 2,
                             .attempt = 1,
                             .began = 160,
                             .ended = 170,
                             .result = "result b",
                             .returned = true});
    h_.executions.push_back(
        {.worker = "w1", .job = "a", .token = 1, .attempt = 1, .began = 160, .ended = 180});
    v1::QueueCounters& totals = h_.totals["q"];
    totals.set_created(3);
    totals.set_succeeded(2);
    totals.set_cancelled(1);
  }

  void enqueue(const std::string& op, const std::string& id, Ns invoked, Ns replied, Seq seq) {
    h_.enqueues.push_back({.call = done(invoked, replied, seq),
                           .op = op,
                           .queue = "q",
                           .kind = std::string(kOk),
                           .max_attempts = 3,
                           .job = id,
                           .created = true,
                           .state = v1::JOB_STATE_READY});
  }
  void job(const std::string& id, const std::string& op, v1::JobState state) {
    h_.jobs.push_back({.id = id,
                       .op = op,
                       .queue = "q",
                       .kind = std::string(kOk),
                       .priority = 100,
                       .state = state});
  }
  void attempt(std::size_t job, std::int64_t token, Seq granted, Seq ended,
               v1::AttemptOutcome outcome, const std::string& worker) {
    JobRecord& record = h_.jobs[job];
    record.attempts.push_back({.number = ++record.attempt_count,
                               .token = token,
                               .worker = worker,
                               .session = worker + "-session",
                               .granted = granted,
                               .ended = ended,
                               .outcome = outcome,
                               .start_ms = 1'000 + granted});
  }
  void finish(Ns invoked, Ns replied, Seq seq) {
    h_.finishes.push_back({.call = done(invoked, replied, seq),
                           .session = "raw-session",
                           .job = "a",
                           .result = "result a",
                           .token = 3,
                           .epoch = 1,
                           .outcome = v1::ATTEMPT_OUTCOME_SUCCEEDED,
                           .recorded = v1::ATTEMPT_OUTCOME_SUCCEEDED});
  }
  void set_limit(Ns invoked, Ns replied, Seq seq, int limit) {
    h_.queue_calls.push_back({.call = done(invoked, replied, seq),
                              .kind = QueueCall::Kind::kLimit,
                              .queue = "q",
                              .limit = limit});
  }

  // All that is found, one a line.
  std::string found() {
    Contradictions contradictions;
    figures_ = check(h_, &contradictions);
    std::string text;
    for (const std::string& one : contradictions.shown()) text += one + "\n";
    return text;
  }

  History h_;
  Figures figures_;
};

}  // namespace rota::blackbox
