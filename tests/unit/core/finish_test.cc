// SPDX-License-Identifier: Apache-2.0
//
// Reports of workers: each outcome, repeats, tokens that no longer hold.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::JobState;
using core::Keyspace;
using core::Reason;
using model::AttemptOutcome;

TEST(Finish, SuccessLeavesAFinalRecordOnly) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  const auto done = h.finish(granted, succeeded("result"));
  EXPECT_EQ(done.state, JobState::kSucceeded);
  EXPECT_FALSE(done.already_ended);
  EXPECT_EQ(h.rows(Keyspace::kJob) + h.rows(Keyspace::kSide) + h.rows(Keyspace::kGrant), 0U);
  const auto record = *h.final_record(key);
  EXPECT_EQ(record.result, "result");
  EXPECT_EQ(record.attempts, 1U);
  ASSERT_EQ(record.history.size(), 1U);
  EXPECT_EQ(record.history[0].outcome, AttemptOutcome::kSucceeded);
  EXPECT_EQ(record.history[0].worker_id, "worker-s1");
  EXPECT_LT(record.history[0].granted_seq, record.history[0].ended_seq);
}

TEST(Finish, FailureIsRetriedWithItsErrorKept) {
  EngineHarness h;
  h.queue("q", with_retry(retries(3, 1'000)));
  const auto key = h.enqueue(job()).key;
  auto outcome = failed(true, "no connection");
  outcome.log_tail = "last words";
  const auto done = h.finish(h.take_job("q"), outcome);
  EXPECT_EQ(done.state, JobState::kScheduled);
  EXPECT_EQ(done.recorded, AttemptOutcome::kFailed);
  const auto attempt = h.history(key).at(0);
  EXPECT_EQ(attempt.failure.message, "no connection");
  EXPECT_EQ(attempt.log_tail, "last words");
  h.advance(1'000);
  EXPECT_EQ(h.take_job("q").attempt, 2U);
}

TEST(Finish, NotRetryableFailureIsDead) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  EXPECT_EQ(h.finish(h.take_job("q"), failed(false)).state, JobState::kDead);
  EXPECT_EQ(h.side(key)->dead_reason, "NOT_RETRYABLE");
  EXPECT_EQ(h.rows(Keyspace::kJob), 1U);  // body and payload stay for a redrive
}

TEST(Finish, SnoozeUsesNoAttempt) {
  EngineHarness h;
  h.queue("q", with_retry(retries(1)));
  const auto key = h.enqueue(job()).key;
  EXPECT_EQ(h.finish(h.take_job("q"), snoozed(5'000)).state, JobState::kScheduled);
  EXPECT_EQ(h.side(key)->attempts_used, 0U);
  h.advance(4'999);
  EXPECT_TRUE(h.nothing_to_lease("q"));
  h.advance(1);
  EXPECT_EQ(h.take_job("q").attempt, 2U);
  EXPECT_EQ(h.history(key).at(0).outcome, AttemptOutcome::kSnoozed);
}

// C172, C173: what is returned at shutdown goes back at once, in its old place, uncounted.
TEST(Finish, ReleaseKeepsOrderAndUsesNoAttempt) {
  EngineHarness h;
  h.queue("q", with_retry(retries(1)));
  const auto first = h.enqueue(job()).key;
  h.enqueue(job());
  for (int deploy = 0; deploy < 3; ++deploy) {
    const auto granted = h.take_job("q");
    EXPECT_EQ(granted.key, first);
    EXPECT_EQ(h.finish(granted, released("SHUTDOWN")).state, JobState::kReady);
  }
  const auto granted = h.take_job("q");
  EXPECT_EQ(granted.key, first);
  EXPECT_EQ(granted.attempt, 4U);
  EXPECT_EQ(h.finish(granted, succeeded()).state, JobState::kSucceeded);
}

TEST(Finish, NoHandlerPutsOffLongerEachTime) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  std::int64_t expected = 1'000;
  for (int i = 0; i < 8; ++i) {
    h.finish(h.take_job("q"), released("NO_HANDLER"));
    EXPECT_EQ(h.side(key)->due_ms - h.wall_ms(), expected);
    h.advance(expected);
    expected = std::min<std::int64_t>(expected * 2, 60'000);
  }
  // An attempt of a worker that knows the kind begins the count anew.
  h.finish(h.take_job("q"), snoozed(0));
  h.finish(h.take_job("q"), released("STILL_RUNNING_HERE"));
  EXPECT_EQ(h.side(key)->due_ms - h.wall_ms(), 1'000);
}

TEST(Finish, ReleasesAreBounded) {
  EngineHarness h;
  h.set_checks(false);
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  int grants = 0;
  for (; grants < 1'100; ++grants) {
    const auto reply = h.lease(lease({"q"}));
    if (reply.jobs.empty()) break;
    h.finish(reply.jobs[0], released());
  }
  EXPECT_EQ(grants, 1'000);
  EXPECT_EQ(h.state(key), JobState::kDead);
  EXPECT_EQ(h.side(key)->dead_reason, "TOO_MANY_RELEASES");
  EXPECT_EQ(h.side(key)->history.size(),
            static_cast<std::size_t>(base::limits::kAttemptHistoryMax));
}

// One call may end 1,000 attempts, each of which writes the history of its job again.
TEST(Finish, ABatchOfLongHistoriesIsBounded) {
  constexpr std::uint32_t kJobs = 40;
  EngineHarness h;
  h.set_checks(false);
  h.queue("q", with_retry(retries(1'000, 0)));
  core::JobKey key;
  for (std::uint32_t i = 0; i < kJobs; ++i) key = h.enqueue(job()).key;
  auto outcome = failed(true, std::string(base::limits::kFailureMessageBytesMax, 'm'));
  outcome.failure.detail.assign(base::limits::kFailureDetailBytesMax, 'd');
  outcome.log_tail.assign(base::limits::kLogTailBytesMax, 'l');
  core::GrantedJob first;
  for (int attempt = 0; attempt < base::limits::kAttemptHistoryMax; ++attempt) {
    const auto granted = h.lease(lease({"q"}, kJobs)).jobs;
    ASSERT_EQ(granted.size(), kJobs);
    if (attempt == 0) first = granted[0];
    core::FinishJobs all{"s1", {}};
    for (const auto& one : granted) all.items.push_back({ref(one), outcome, {}});
    h.expect<core::FinishReply>(all);
  }
  EXPECT_LE(h.largest_batch_bytes,
            kJobs * static_cast<std::size_t>(base::limits::kAttemptHistoryBytesMax + 8 * 1024));
  EXPECT_EQ(h.history(key).back().log_tail, outcome.log_tail);
  const auto again = h.finish(first, succeeded());  // of the oldest token that is remembered
  EXPECT_TRUE(again.already_ended);
  EXPECT_EQ(again.recorded, AttemptOutcome::kFailed);
}

// The token authorises, whoever reports: the effect exists. A renewal is for the session that holds
// the lease, or a worker that was started again would keep alive what nobody works on.
TEST(Finish, AnotherSessionWithTheTokenMayReportAndMayNotRenew) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q", "s1");
  h.advance(20'000);
  EXPECT_EQ(h.beat(granted, "s2").beat, core::Beat::kLost);
  core::FinishJobs call = finish(granted, succeeded("done"));
  call.session_id = "s2";
  const auto reply = h.expect<core::FinishReply>(call);
  const auto* done = std::get_if<core::FinishedJob>(&reply.items.at(0));
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->state, JobState::kSucceeded);
  EXPECT_EQ(h.final_record(granted.key)->history.at(0).session_id, "s1") << "who held it";

  h.enqueue(job());
  const auto lost = h.take_job("q", "s1");
  h.advance(20'000);
  EXPECT_EQ(h.beat(lost, "s2").beat, core::Beat::kLost);
  h.advance(10'000);  // a ttl since its grant
  call = finish(lost, succeeded());
  call.session_id = "s2";
  EXPECT_EQ(std::get<core::Error>(h.expect<core::FinishReply>(call).items.at(0)).reason,
            Reason::kLeaseLost);
}

// ---- repeats and stale tokens

TEST(FinishRepeat, IsAnsweredWithTheRecordedOutcome) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  h.finish(granted, succeeded("first"));
  const auto again = h.finish(granted, failed());  // whatever the repeat carries
  EXPECT_TRUE(again.already_ended);
  EXPECT_EQ(again.recorded, AttemptOutcome::kSucceeded);
  EXPECT_EQ(again.state, JobState::kSucceeded);
  EXPECT_EQ(h.final_record(granted.key)->result, "first");
}

// Must show 6.
TEST(FinishRepeat, AlsoAfterACrash) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  h.send(finish(granted, succeeded("r")));
  h.seal();
  h.crash(/*keep_pending=*/true);
  const auto again = h.finish(granted, succeeded("r"));
  EXPECT_TRUE(again.already_ended);
  EXPECT_EQ(again.recorded, AttemptOutcome::kSucceeded);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 1U);
}

TEST(FinishRepeat, OfABatchThatWasLostIsAccepted) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  h.send(finish(granted, succeeded("r")));
  h.seal();
  h.crash(/*keep_pending=*/false);
  EXPECT_FALSE(h.finish(granted, succeeded("r")).already_ended);
}

TEST(FinishRepeat, AlsoWhileALaterAttemptRuns) {
  EngineHarness h;
  h.queue("q", with_retry(retries(5, 0)));
  h.enqueue(job());
  const auto first = h.take_job("q");
  h.finish(first, failed());
  const auto second = h.take_job("q");
  for (int pass = 0; pass < 2; ++pass) {
    const auto again = h.finish(first, failed());
    EXPECT_TRUE(again.already_ended);
    EXPECT_EQ(again.recorded, AttemptOutcome::kFailed);
    EXPECT_EQ(again.state, JobState::kRunning);
    h.crash();
  }
  EXPECT_EQ(h.finish(second, succeeded()).state, JobState::kSucceeded);
  EXPECT_EQ(h.finish(first, failed()).recorded, AttemptOutcome::kFailed);
}

TEST(FinishRepeat, WithinOneCall) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  auto call = finish(granted, succeeded());
  call.items.push_back(call.items[0]);
  const auto reply = h.expect<core::FinishReply>(call);
  EXPECT_FALSE(std::get<core::FinishedJob>(reply.items[0]).already_ended);
  const auto& repeat = std::get<core::FinishedJob>(reply.items[1]);
  EXPECT_TRUE(repeat.already_ended);
  EXPECT_EQ(repeat.recorded, AttemptOutcome::kSucceeded);
  EXPECT_EQ(repeat.state, JobState::kSucceeded);
}

// Must show 7; C122: what is reported under a lost lease changes no counter.
TEST(FinishStale, ExpiredLeaseIsLost) {
  EngineHarness h;
  h.queue("q", with_retry(retries(5, 0)));
  const auto key = h.enqueue(job()).key;
  const auto first = h.take_job("q");
  h.advance(30'000);
  EXPECT_EQ(h.finish_refused(first, succeeded()).reason, Reason::kLeaseLost);
  h.advance(2'000);
  const auto second = h.take_job("q");
  const auto before = h.counters("q");
  EXPECT_EQ(h.finish_refused(first, succeeded()).reason, Reason::kLeaseLost);
  EXPECT_EQ(h.counters("q"), before);
  EXPECT_EQ(h.state(key), JobState::kRunning);
  h.finish(second, succeeded());
  EXPECT_EQ(h.finish_refused(first, succeeded()).reason, Reason::kLeaseLost);
}

TEST(FinishStale, TokenThatWasNeverGivenIsLost) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  auto granted = h.take_job("q");
  granted.token += 100;
  EXPECT_EQ(h.finish_refused(granted, succeeded()).reason, Reason::kLeaseLost);
  EXPECT_EQ(h.counters("q").of(JobState::kRunning), 1U);
}

TEST(FinishStale, JobWhoseRecordIsGoneIsUnknown) {
  EngineHarness h;
  model::Retention retention;
  retention.succeeded_ms = 0;
  h.queue("q", with_retention(retention));
  h.enqueue(job());
  const auto granted = h.take_job("q");
  h.finish(granted, succeeded());
  EXPECT_EQ(h.finish_refused(granted, succeeded()).reason, Reason::kUnknownLease);
}

// C178: a refused item keeps the lease, so that the worker can report again.
TEST(FinishStale, RefusedItemKeepsTheLease) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.enqueue(job());
  const auto a = h.take_job("q");
  const auto b = h.take_job("q");
  core::FinishJobs call{"s1", {}};
  call.items.push_back({ref(a), succeeded(), base::make_error(Reason::kResultTooLarge, "5 MB")});
  call.items.push_back({ref(b), succeeded(), {}});
  const auto reply = h.expect<core::FinishReply>(call);
  EXPECT_EQ(std::get<core::Error>(reply.items[0]).reason, Reason::kResultTooLarge);
  EXPECT_EQ(std::get<core::FinishedJob>(reply.items[1]).state, JobState::kSucceeded);
  EXPECT_EQ(h.state(a.key), JobState::kRunning);
  h.finish(a, failed(false));
}

// Commit order decides between a completion and an expiry.
TEST(FinishStale, FinishInTheTurnOfTheExpiryIsAccepted) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  h.move_clocks(30'000);
  const auto call = h.send(finish(granted, succeeded()));  // arrives before the turn expires it
  h.settle();
  EXPECT_TRUE(
      std::holds_alternative<core::FinishedJob>(h.take_as<core::FinishReply>(call).items[0]));
}

}  // namespace
}  // namespace rota::testing
