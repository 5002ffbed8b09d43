// SPDX-License-Identifier: Apache-2.0
//
// Retries, back-off, give-up, the dead letter and redrive.
#include <gtest/gtest.h>

#include <set>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::JobState;
using core::Reason;

// Fails the job once and returns the delay until its next try.
std::int64_t fail_once(EngineHarness& h, const core::JobKey& key) {
  h.finish(h.take_job("q"), failed());
  const auto side = h.side(key);
  if (!side || side->claim != model::Claim::kScheduled) return -1;
  const std::int64_t delay = side->due_ms - h.wall_ms();
  h.jump(delay);
  return delay;
}

TEST(Backoff, ExponentialWithCap) {
  EngineHarness h;
  model::RetryPolicy policy = retries(10, 1'000);
  policy.factor = 2;
  policy.cap_ms = 6'000;
  h.queue("q", with_retry(policy));
  const auto key = h.enqueue(job()).key;
  for (const std::int64_t expected : {1'000, 2'000, 4'000, 6'000, 6'000}) {
    EXPECT_EQ(fail_once(h, key), expected);
  }
}

TEST(Backoff, ListRepeatsItsLast) {
  EngineHarness h;
  model::RetryPolicy policy = retries(10);
  policy.delays_ms = {500, 7'000};
  h.queue("q", with_retry(policy));
  const auto key = h.enqueue(job()).key;
  for (const std::int64_t expected : {500, 7'000, 7'000}) EXPECT_EQ(fail_once(h, key), expected);
}

TEST(Backoff, SaturatesInsteadOfOverflowing) {
  EngineHarness h;
  h.set_checks(false);
  model::RetryPolicy policy = retries(1'000, 1'000);
  policy.factor = 100;
  policy.cap_ms = 30LL * 24 * 3'600'000;
  h.queue("q", with_retry(policy));
  const auto key = h.enqueue(job()).key;
  std::int64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    last = fail_once(h, key);
    ASSERT_GE(last, 0);
    ASSERT_LE(last, policy.cap_ms);
  }
  EXPECT_EQ(last, policy.cap_ms);
}

TEST(Backoff, JitterIsAFunctionOfJobAndAttempt) {
  model::RetryPolicy policy = retries(5, 10'000);
  policy.jitter = 0.5;
  std::set<std::int64_t> delays;
  std::vector<std::int64_t> first;
  for (int pass = 0; pass < 2; ++pass) {
    EngineHarness h;
    h.queue("q", with_retry(policy));
    for (int i = 0; i < 20; ++i) {
      const auto key = h.enqueue(job()).key;
      h.finish(h.take_job("q"), failed());
      const std::int64_t delay = h.side(key)->due_ms - h.wall_ms();
      EXPECT_GE(delay, 10'000);
      EXPECT_LE(delay, 15'000);
      delays.insert(delay);
      if (pass == 0) {
        first.push_back(delay);
      } else {
        EXPECT_EQ(delay, first[static_cast<std::size_t>(i)]);
      }
    }
  }
  EXPECT_GT(delays.size(), 15U);
}

TEST(Backoff, WorkersOwnDelayComesFirst) {
  EngineHarness h;
  h.queue("q", with_retry(retries(5, 1'000)));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed_retry_after(42'000));
  EXPECT_EQ(h.side(key)->due_ms - h.wall_ms(), 42'000);
}

TEST(Backoff, JobsOwnPolicyComesBeforeTheQueues) {
  EngineHarness h;
  h.queue("q", with_retry(retries(5, 1'000)));
  auto request = job();
  request.retry = retries(2, 9'000);
  const auto key = h.enqueue(request).key;
  EXPECT_EQ(fail_once(h, key), 9'000);
  EXPECT_EQ(fail_once(h, key), -1);
  EXPECT_EQ(h.state(key), JobState::kDead);
}

// C135: every path to DEAD checks the same counter.
TEST(Retry, FailedLostAndTimedOutShareOneBudget) {
  EngineHarness h;
  h.queue("q", with_retry(retries(3, 0)));
  auto request = job();
  request.attempt_timeout_ms = 60'000;
  const auto key = h.enqueue(request).key;
  h.finish(h.take_job("q"), failed());
  h.take_job("q");
  h.advance(31'001);  // lost
  EXPECT_EQ(h.side(key)->attempts_used, 2U);
  const auto last = h.take_job("q");
  h.advance(20'000);
  h.beat(last);
  h.advance(20'000);
  h.beat(last);
  h.advance(20'000);  // timed out
  EXPECT_EQ(h.state(key), JobState::kDead);
  EXPECT_EQ(h.side(key)->attempts_used, 3U);
}

TEST(Retry, LostAttemptsOfOneWorkerAreSpread) {
  EngineHarness h;
  h.queue("q", with_retry(retries(5, 0)));
  std::vector<core::JobKey> keys;
  for (int i = 0; i < 20; ++i) keys.push_back(h.enqueue(job()).key);
  h.lease(lease({"q"}, 20));
  h.jump(30'000);
  std::set<std::int64_t> dues;
  for (const auto& key : keys) {
    const auto side = *h.side(key);
    EXPECT_LE(side.due_ms - h.wall_ms(), 1'000);
    dues.insert(side.due_ms);
  }
  EXPECT_GT(dues.size(), 10U);
}

TEST(Retry, GivesUpWhenTheNextTryWouldBeTooLate) {
  EngineHarness h;
  model::RetryPolicy policy = retries(100, 10'000);
  policy.give_up_after_ms = 25'000;
  h.queue("q", with_retry(policy));
  const auto key = h.enqueue(job()).key;
  EXPECT_EQ(fail_once(h, key), 10'000);
  EXPECT_EQ(fail_once(h, key), 10'000);
  EXPECT_EQ(fail_once(h, key), -1);
  EXPECT_EQ(h.side(key)->dead_reason, "GAVE_UP");
}

TEST(Retry, KeepsItsPlaceInLine) {
  EngineHarness h;
  h.queue("q", with_retry(retries(5, 1'000)));
  const auto first = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed());
  h.enqueue(job());
  h.advance(1'000);
  EXPECT_EQ(h.take_job("q").key, first);
}

// ---- redrive

// C159: a fresh budget, recorded as such; numbers go on.
TEST(Redrive, GivesAFreshBudgetToTheSameJob) {
  EngineHarness h;
  h.queue("q", with_retry(retries(2, 0)));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed());
  h.finish(h.take_job("q"), failed());
  EXPECT_EQ(h.state(key), JobState::kDead);
  const auto reply = h.expect<core::JobReply>(core::RedriveJob{key});
  EXPECT_EQ(reply.state, JobState::kReady);
  EXPECT_EQ(h.side(key)->redrives, 1U);
  EXPECT_EQ(h.side(key)->attempts_used, 0U);
  const auto third = h.take_job("q");
  EXPECT_EQ(third.attempt, 3U);
  EXPECT_EQ(third.key, key);
  h.finish(third, failed());
  h.finish(h.take_job("q"), succeeded());
  const auto record = *h.final_record(key);
  EXPECT_EQ(record.attempts, 4U);
  EXPECT_EQ(record.redrives, 1U);
  EXPECT_EQ(record.history.size(), 4U);
}

TEST(Redrive, OnlyOfADeadJob) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto waiting = h.refusal(core::RedriveJob{key});
  EXPECT_EQ(waiting.reason, Reason::kNotDead);
  EXPECT_EQ(waiting.meta.at("state"), "READY");
  const auto granted = h.take_job("q");
  EXPECT_EQ(h.refusal(core::RedriveJob{key}).reason, Reason::kNotDead);
  h.finish(granted, succeeded());
  EXPECT_EQ(h.refusal(core::RedriveJob{key}).reason, Reason::kNotDead);
  EXPECT_EQ(h.refusal(core::RedriveJob{{9, 100, 9}}).reason, Reason::kJobNotFound);
}

TEST(Redrive, RepeatedWithItsRequestIdHappensOnce) {
  EngineHarness h;
  h.queue("q", with_retry(retries(1, 0)));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed());
  const core::RedriveJob once{key, {"redrive-1", "body"}};
  EXPECT_EQ(h.expect<core::JobReply>(once).state, JobState::kReady);
  const auto redriven = h.named;
  EXPECT_EQ(h.expect<core::JobReply>(once).state, JobState::kReady);
  // It runs, dies again, and the server restarts: the repeat still answers the first answer and
  // leaves the job alone.
  h.finish(h.take_job("q"), failed());
  ASSERT_EQ(h.state(key), JobState::kDead);
  h.crash();
  EXPECT_EQ(h.expect<core::JobReply>(once).state, JobState::kReady);
  EXPECT_EQ(h.named, redriven);
  EXPECT_EQ(h.state(key), JobState::kDead);
  EXPECT_EQ(h.side(key)->redrives, 1U);
  EXPECT_EQ(h.refusal(core::RedriveJob{key, {"redrive-1", "other"}}).reason,
            Reason::kRequestIdReused);
  // A refusal is not remembered, and another id is another redrive.
  EXPECT_EQ(h.expect<core::JobReply>(core::RedriveJob{key, {"redrive-2", "body"}}).state,
            JobState::kReady);
  EXPECT_EQ(h.side(key)->redrives, 2U);
  EXPECT_EQ(h.refusal(core::RedriveJob{key, {"redrive-3", "body"}}).reason, Reason::kNotDead);
  h.finish(h.take_job("q"), failed());
  EXPECT_EQ(h.expect<core::JobReply>(core::RedriveJob{key, {"redrive-3", "body"}}).state,
            JobState::kReady);
}

TEST(Redrive, WorksAfterARestartWithTheLargePayload) {
  EngineHarness h;
  h.queue("q");
  auto large = job();
  large.payload = std::string(9'000, 'x');
  const auto key = h.enqueue(large).key;
  h.finish(h.take_job("q"), failed(false));
  h.crash();
  h.expect<core::JobReply>(core::RedriveJob{key});
  EXPECT_TRUE(h.take_job("q").body->payload_apart);
  EXPECT_EQ(h.rows(core::Keyspace::kPayload), 1U);
}

TEST(Redrive, HorizonOfRetriesBeginsAnew) {
  EngineHarness h;
  model::RetryPolicy policy = retries(100, 10'000);
  policy.give_up_after_ms = 15'000;
  h.queue("q", with_retry(policy));
  const auto key = h.enqueue(job()).key;
  fail_once(h, key);
  fail_once(h, key);
  ASSERT_EQ(h.state(key), JobState::kDead);
  h.jump(3'600'000);
  h.expect<core::JobReply>(core::RedriveJob{key});
  EXPECT_EQ(fail_once(h, key), 10'000);
}

TEST(Delete, OfADeadJobLeavesNothing) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed(false));
  const auto reply = h.expect<core::JobReply>(core::DeleteJob{key});
  EXPECT_EQ(reply.state, JobState::kUnknown);
  EXPECT_EQ(h.state(key), JobState::kUnknown);
  EXPECT_EQ(h.rows(core::Keyspace::kJob) + h.rows(core::Keyspace::kSide), 0U);
  EXPECT_EQ(h.counters("q").removed, 1U);
  EXPECT_EQ(h.refusal(core::DeleteJob{key}).reason, Reason::kJobNotFound);
}

TEST(Delete, IsRefusedBeforeTheEnd) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  EXPECT_EQ(h.refusal(core::DeleteJob{key}).reason, Reason::kNotFinal);
  h.take_job("q");
  EXPECT_EQ(h.refusal(core::DeleteJob{key}).reason, Reason::kNotFinal);
}

}  // namespace
}  // namespace rota::testing
