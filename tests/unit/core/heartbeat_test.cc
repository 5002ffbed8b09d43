// SPDX-License-Identifier: Apache-2.0
//
// The life of a lease: renewal and its cap, expiry, attempt timeout, stalls of the server.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::Beat;
using core::JobState;
using model::AttemptOutcome;

// C119: run length is irrelevant while heartbeats arrive.
TEST(Heartbeat, KeepsALeaseForAsLongAsItComes) {
  EngineHarness h;
  h.set_checks(false);
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  for (int i = 0; i < 282; ++i) {  // 47 minutes, one each 10 s
    h.advance(10'000);
    EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
  }
  h.finish(granted, succeeded());
  EXPECT_EQ(h.final_record(key)->attempts, 1U);
}

TEST(Heartbeat, GrantsTheFullTtlFromReceipt) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  h.advance(29'000);
  EXPECT_EQ(h.beat(granted).renewed_for_ms, 30'000);
}

TEST(Heartbeat, PlainRenewalLeavesAtOnce) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  h.send(enqueue(job()));
  h.seal();  // a commit is in flight and stays there
  const auto call = h.send(core::Heartbeat{"s1", {ref(granted)}});
  EXPECT_EQ(h.take_as<core::HeartbeatReply>(call).items[0].beat, Beat::kRenewed);
}

// Tokens can be guessed. Until a grant is durable nobody is told of it, not even who did guess.
TEST(Heartbeat, OfALeaseThatIsNotDurableYetWaits) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto lease_call = h.send(lease({"q"}));
  h.seal();  // granted, and the commit is in flight
  const auto beat = h.send(core::Heartbeat{"s1", {{key, 1}}});
  EXPECT_FALSE(h.take(beat).has_value());
  h.settle();
  ASSERT_EQ(h.take_as<core::LeaseReply>(lease_call).jobs.at(0).token, 1U);
  EXPECT_EQ(h.take_as<core::HeartbeatReply>(beat).items[0].beat, Beat::kRenewed);
}

TEST(Heartbeat, NewsWaitForTheirBatch) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  h.send(core::CancelJob{key, ""});
  const auto call = h.send(core::Heartbeat{"s1", {ref(granted)}});
  EXPECT_FALSE(h.take(call).has_value());
  h.settle();
  EXPECT_EQ(h.take_as<core::HeartbeatReply>(call).items[0].beat, Beat::kCancelRequested);
}

// C130: the new process of a worker does not keep the old one's leases alive.
TEST(Heartbeat, AnotherSessionOfTheSameWorkerIsTold) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q", "s1");
  EXPECT_EQ(h.beat(granted, "s2").beat, Beat::kLost);
  h.advance(30'000);
  EXPECT_EQ(h.counters("q").of(JobState::kRunning), 0U);
}

TEST(Heartbeat, AnswersEachLeaseOfTheCall) {
  EngineHarness h;
  h.queue("q");
  for (int i = 0; i < 3; ++i) h.enqueue(job());
  const auto reply = h.lease(lease({"q"}, 3));
  h.finish(reply.jobs[1], succeeded());
  core::Heartbeat beat{"s1", {}};
  for (const auto& granted : reply.jobs) beat.leases.push_back(ref(granted));
  const auto answer = h.expect<core::HeartbeatReply>(beat);
  ASSERT_EQ(answer.items.size(), 3U);
  EXPECT_EQ(answer.items[0].beat, Beat::kRenewed);
  EXPECT_EQ(answer.items[1].beat, Beat::kLost);
  EXPECT_EQ(answer.items[2].beat, Beat::kRenewed);
}

// ---- expiry

TEST(Expiry, LeaseWithoutHeartbeatEndsLostAndIsRetried) {
  EngineHarness h;
  h.queue("q", with_retry(retries(3, 1'000)));
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  h.advance(29'999);
  EXPECT_EQ(h.state(key), JobState::kRunning);
  h.advance(1);
  EXPECT_EQ(h.state(key), JobState::kScheduled);
  const auto side = *h.side(key);
  EXPECT_EQ(side.attempts_used, 1U);
  EXPECT_EQ(side.history.back().outcome, AttemptOutcome::kLost);
  EXPECT_EQ(side.history.back().token, granted.token);
  EXPECT_FALSE(side.history.back().by_finish);
  EXPECT_EQ(h.rows(core::Keyspace::kGrant), 0U);
  h.advance(2'000);  // back-off and jitter
  EXPECT_EQ(h.take_job("q").attempt, 2U);
}

// C142: the slot of a dead worker is part of its lease.
TEST(Expiry, SlotIsFreeWithTheLease) {
  EngineHarness h;
  h.queue("q", with_limit(1));
  for (int i = 0; i < 3; ++i) h.enqueue(job());
  auto call = lease({"q"});
  call.lease_ttl_ms = 15'000;
  h.lease(call);
  const auto next = h.send(poll({"q"}, 60'000));
  h.advance(14'999);
  EXPECT_FALSE(h.take(next).has_value());
  h.advance(1);
  EXPECT_EQ(h.take_as<core::LeaseReply>(next).jobs.size(), 1U);
}

// C128: a crash on the last attempt kills the job, not the queue.
TEST(Expiry, LastAttemptLostIsDeadAndOthersRun) {
  EngineHarness h;
  core::QueuePatch patch = with_retry(retries(1));
  patch.concurrency_limit = std::optional<std::uint32_t>(1);
  h.queue("q", patch);
  const auto first = h.enqueue(job()).key;
  for (int i = 0; i < 10; ++i) h.enqueue(job());
  h.take_job("q");
  h.advance(30'000);
  EXPECT_EQ(h.state(first), JobState::kDead);
  EXPECT_EQ(h.side(first)->dead_reason, "MAX_ATTEMPTS");
  for (int i = 0; i < 10; ++i) h.finish(h.take_job("q"), succeeded());
}

// C157: a job that kills its worker has its tries counted.
TEST(Expiry, LostAttemptsAreBounded) {
  EngineHarness h;
  h.queue("q", with_retry(retries(4, 0)));
  const auto key = h.enqueue(job()).key;
  int starts = 0;
  while (h.state(key) != JobState::kDead && starts < 10) {
    const auto reply = h.lease(lease({"q"}));
    starts += static_cast<int>(reply.jobs.size());
    h.advance(31'100);
  }
  EXPECT_EQ(starts, 4);
}

// C123: thousands of short jobs, expiry on the side: nothing runs twice, nothing empty.
TEST(Expiry, FinishedJobsAreNeverTakenBack) {
  EngineHarness h;
  h.set_checks(false);
  h.queue("q");
  auto request = job();
  request.payload = "body";
  for (int i = 0; i < 300; ++i) h.enqueue(request);
  std::set<core::JobKey> seen;
  for (int i = 0; i < 300; ++i) {
    const auto granted = h.take_job("q");
    EXPECT_EQ(granted.body->payload, "body");
    EXPECT_TRUE(seen.insert(granted.key).second);
    h.finish(granted, succeeded());
    h.advance(50);
  }
  h.advance(40'000);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 300U);
}

// ---- attempt timeout

// C138: heartbeats do not keep an attempt beyond its timeout.
TEST(AttemptTimeout, CapsTheRenewal) {
  EngineHarness h;
  h.queue("q", with_retry(retries(2)));
  auto request = job();
  request.attempt_timeout_ms = 45'000;
  const auto key = h.enqueue(request).key;
  const auto granted = h.take_job("q");
  EXPECT_EQ(granted.time_left_ms, 45'000);
  h.advance(20'000);
  EXPECT_EQ(h.beat(granted).renewed_for_ms, 25'000);
  h.advance(20'000);
  EXPECT_EQ(h.beat(granted).renewed_for_ms, 5'000);
  h.advance(5'000);
  EXPECT_EQ(h.side(key)->history.back().outcome, AttemptOutcome::kTimedOut);
  EXPECT_EQ(h.side(key)->attempts_used, 1U);
  EXPECT_EQ(h.beat(granted).beat, Beat::kLost);
}

TEST(AttemptTimeout, QueueDefaultIsOneHour) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  EXPECT_EQ(h.take_job("q").time_left_ms, 3'600'000);
}

// C120: "none" is a name, not a number that is already over.
TEST(AttemptTimeout, NoneMeansNone) {
  EngineHarness h;
  h.queue("q");
  auto request = job();
  request.attempt_timeout_ms = model::kNoTimeout;
  const auto key = h.enqueue(request).key;
  const auto granted = h.take_job("q");
  EXPECT_EQ(granted.time_left_ms, model::kNoTimeout);
  for (int i = 0; i < 500; ++i) {
    h.jump(20'000);
    ASSERT_EQ(h.beat(granted).renewed_for_ms, 30'000);
  }
  h.crash();
  h.jump(20'000);
  EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
  EXPECT_EQ(h.state(key), JobState::kRunning);
}

TEST(AttemptTimeout, ShorterThanTheTtlEndsTheLease) {
  EngineHarness h;
  h.queue("q", with_retry(retries(1)));
  auto request = job();
  request.attempt_timeout_ms = 1'000;
  const auto key = h.enqueue(request).key;
  h.take_job("q");
  h.advance(1'000);
  EXPECT_EQ(h.state(key), JobState::kDead);
}

// ---- C195: time in which the server itself was stuck does not count

TEST(Stall, MovesDeadlinesByItsLength) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  h.take_job("q");
  h.move_clocks(25'000);
  h.stalled(25'000);
  h.settle();
  h.advance(29'000);
  EXPECT_EQ(h.state(key), JobState::kRunning);
  h.advance(1'000);
  EXPECT_NE(h.state(key), JobState::kRunning);
}

TEST(Stall, LongerThanTheTtlCountsWhole) {
  EngineHarness h;
  h.queue("q");
  auto request = job();
  request.attempt_timeout_ms = 60'000;
  const auto key = h.enqueue(request).key;
  const auto granted = h.take_job("q");
  h.advance(10'000);
  h.move_clocks(100'000);  // SIGSTOP, a machine that was suspended
  h.stalled(100'000);
  h.settle();
  EXPECT_EQ(h.state(key), JobState::kRunning);
  EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
  // The attempt timeout has moved along: 50 s of it are left.
  h.advance(29'999);
  EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
  h.advance(20'000);
  EXPECT_EQ(h.state(key), JobState::kRunning);
  h.advance(1);
  EXPECT_NE(h.state(key), JobState::kRunning) << "the timeout still ends it";
  EXPECT_EQ(h.beat(granted).beat, Beat::kLost);
}

TEST(Stall, ARowOfStallsWithoutAHeartbeatComesToAnEnd) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  h.stalled(20'000);
  h.stalled(20'000);  // what came before is less than a ttl
  h.stalled(20'000);  // 40 s are enough
  h.advance(69'999);
  EXPECT_EQ(h.state(granted.key), JobState::kRunning);
  EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
  h.stalled(30'000);  // a new row
  h.stalled(30'000);
  h.advance(59'999);
  EXPECT_EQ(h.state(granted.key), JobState::kRunning);
  h.advance(1);
  EXPECT_NE(h.state(granted.key), JobState::kRunning);
  EXPECT_EQ(h.beat(granted).beat, Beat::kLost);
}

// A disk that is slow for good: the lease of a worker that beats stays, its attempt timeout comes.
TEST(Stall, SlowCommitsMoveAnAttemptTimeoutByOneTtlInAll) {
  EngineHarness h;
  h.queue("q");
  auto request = job();
  request.attempt_timeout_ms = 60'000;
  const auto key = h.enqueue(request).key;
  const auto granted = h.take_job("q");
  std::int64_t lived_ms = 0;
  while (h.state(key) == JobState::kRunning && lived_ms < 600'000) {
    h.stalled(900, core::Stall::kCommit);
    h.advance(1'000);
    lived_ms += 1'000;
    h.beat(granted);
  }
  EXPECT_EQ(lived_ms, 90'000) << "60 s, and one ttl of 30 s";
  EXPECT_EQ(h.history(key).back().outcome, model::AttemptOutcome::kTimedOut);
}

TEST(Stall, ASlowCommitStillMovesTheLease) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  h.take_job("q");
  h.stalled(25'000, core::Stall::kCommit);
  h.advance(54'999);
  EXPECT_EQ(h.state(key), JobState::kRunning);
  h.advance(1);
  EXPECT_NE(h.state(key), JobState::kRunning);
}

// The server's ttl starts when the commit completes.
TEST(Stall, LeaseCountsFromTheCommitOfItsGrant) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.send(poll({"q"}));
  h.seal();
  h.move_clocks(60'000);  // a slow disk
  h.settle();
  EXPECT_EQ(h.counters("q").of(JobState::kRunning), 1U);
  h.advance(29'999);
  EXPECT_EQ(h.counters("q").of(JobState::kRunning), 1U);
}

}  // namespace
}  // namespace rota::testing
