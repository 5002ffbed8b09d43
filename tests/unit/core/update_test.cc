// SPDX-License-Identifier: Apache-2.0
//
// Changes of a waiting job (priority, run time, start deadline), delayed jobs, and timers.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::JobState;
using core::Keyspace;
using core::Reason;

core::UpdateJob set_priority(const core::JobKey& key, int priority) {
  core::UpdateJob c;
  c.key = key;
  c.priority = static_cast<std::uint8_t>(priority);
  return c;
}
core::UpdateJob set_run_at(const core::JobKey& key, std::int64_t at) {
  core::UpdateJob c;
  c.key = key;
  c.run_at_ms = at;
  return c;
}
core::UpdateJob set_deadline(const core::JobKey& key, std::int64_t at) {
  core::UpdateJob c;
  c.key = key;
  c.start_deadline_ms = at;
  return c;
}
core::JobRequest delayed(EngineHarness& h, std::int64_t ms) {
  auto r = job();
  r.run_at_ms = h.wall_ms() + ms;
  return r;
}

// ---- priority

TEST(UpdatePriority, MovesAReadyJobAndKeepsItsId) {
  EngineHarness h;
  h.queue("q");
  const auto a = h.enqueue(job()).key;
  const auto b = h.enqueue(job()).key;
  const auto reply = h.expect<core::JobReply>(set_priority(b, 200));
  EXPECT_EQ(reply.key, b);
  EXPECT_EQ(reply.state, JobState::kReady);
  EXPECT_EQ(h.rows(Keyspace::kJob), 3U);  // two bodies and a pointer
  const auto granted = h.take_job("q");
  EXPECT_EQ(granted.key, b);
  EXPECT_EQ(granted.priority, 200);
  EXPECT_EQ(h.rows(Keyspace::kJob), 2U);
  h.finish(granted, succeeded());
  EXPECT_EQ(h.final_record(b)->priority, 200);
  EXPECT_EQ(h.take_job("q").key, a);
}

TEST(UpdatePriority, BackAgainLeavesNoTrace) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  h.call(set_priority(key, 5));
  h.call(set_priority(key, 250));
  EXPECT_EQ(h.rows(Keyspace::kJob), 2U);
  h.call(set_priority(key, 100));
  EXPECT_EQ(h.rows(Keyspace::kJob), 1U);
  EXPECT_EQ(h.rows(Keyspace::kSide), 0U);
  EXPECT_EQ(h.counters("q").levels.size(), 1U);
}

TEST(UpdatePriority, SurvivesRetryReleaseAndRestart) {
  EngineHarness h;
  h.queue("q", with_retry(retries(5, 0)));
  const auto low = h.enqueue(job()).key;
  const auto key = h.enqueue(job()).key;
  h.call(set_priority(key, 200));
  h.finish(h.take_job("q"), failed());
  h.crash();
  auto granted = h.take_job("q");
  EXPECT_EQ(granted.key, key);
  h.crash();
  h.finish(granted, released());
  granted = h.take_job("q");
  EXPECT_EQ(granted.key, key);
  EXPECT_EQ(granted.attempt, 3U);
  h.finish(granted, succeeded());
  EXPECT_EQ(h.take_job("q").key, low);
}

TEST(UpdatePriority, OfADelayedJobCountsWhenItIsDue) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(delayed(h, 5'000)).key;
  EXPECT_EQ(h.expect<core::JobReply>(set_priority(key, 200)).state, JobState::kScheduled);
  h.enqueue(job());
  h.advance(5'000);
  EXPECT_EQ(h.take_job("q").key, key);
}

TEST(UpdatePriority, OfARunningOrEndedJobIsRefused) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  EXPECT_EQ(h.refusal(set_priority(key, 1)).reason, Reason::kJobRunning);
  h.finish(granted, succeeded());
  EXPECT_EQ(h.refusal(set_priority(key, 1)).reason, Reason::kAlreadyFinal);
}

TEST(UpdatePriority, JobsOutsideTheWindow) {
  core::EngineOptions options;
  options.window_rows = 2;
  options.page_rows = 1;
  EngineHarness h(options);
  h.queue("q");
  std::vector<core::JobKey> keys;
  for (int i = 0; i < 10; ++i) keys.push_back(h.enqueue(job()).key);
  h.call(set_priority(keys[9], 150));
  h.call(set_priority(keys[0], 50));
  h.call(set_priority(keys[8], 120));
  EXPECT_EQ(h.take_job("q").key, keys[9]);
  EXPECT_EQ(h.take_job("q").key, keys[8]);
  for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(h.take_job("q").key, keys[i]);
  EXPECT_EQ(h.take_job("q").key, keys[0]);
}

// ---- run time

TEST(UpdateRunTime, DelaysAndHastens) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  EXPECT_EQ(h.expect<core::JobReply>(set_run_at(key, h.wall_ms() + 10'000)).state,
            JobState::kScheduled);
  EXPECT_TRUE(h.nothing_to_lease("q"));
  h.call(set_run_at(key, h.wall_ms() + 3'000));
  EXPECT_EQ(h.rows(Keyspace::kTimer), 1U);
  h.advance(3'000);
  EXPECT_EQ(h.state(key), JobState::kReady);
  h.call(set_run_at(key, h.wall_ms() + 9'000));
  EXPECT_EQ(h.expect<core::JobReply>(set_run_at(key, 0)).state, JobState::kReady);
  EXPECT_EQ(h.take_job("q").key, key);
}

TEST(UpdateRunTime, OfAJobWaitingForRetry) {
  EngineHarness h;
  h.queue("q", with_retry(retries(3, 60'000)));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed());
  h.call(set_run_at(key, 0));
  EXPECT_EQ(h.take_job("q").attempt, 2U);
}

// ---- delayed jobs

TEST(Delayed, RunsWhenDueNotBefore) {
  EngineHarness h;
  h.queue("q");
  const auto call = h.send(poll({"q"}, 60'000));
  const auto key = h.enqueue(delayed(h, 5'000));
  EXPECT_EQ(key.state, JobState::kScheduled);
  h.advance(4'999);
  EXPECT_FALSE(h.take(call).has_value());
  h.advance(1);
  EXPECT_EQ(h.take_as<core::LeaseReply>(call).jobs.size(), 1U);
}

TEST(Delayed, KeepsItsSequence) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(delayed(h, 1'000)).key;
  h.enqueue(job());
  h.advance(1'000);
  EXPECT_EQ(h.take_job("q").key, first);
}

TEST(Delayed, RunTimeInThePastIsReadyAtOnce) {
  EngineHarness h;
  h.queue("q");
  EXPECT_EQ(h.enqueue(delayed(h, -1'000)).state, JobState::kReady);
}

// C153: an idle server, nothing else happens, ten thousand times.
TEST(Delayed, EachOfTenThousandStartsOnTime) {
  core::EngineOptions options;
  options.timer_window_rows = 1;
  options.page_rows = 1;
  EngineHarness h(options);
  h.set_checks(false);
  model::Retention retention;
  retention.succeeded_ms = 0;
  h.queue("q", with_retention(retention));
  for (int i = 0; i < 10'000; ++i) {
    h.enqueue(delayed(h, 2'000));
    auto c = poll({"q"}, 30'000);
    c.received_mono_ms = h.now().mono_ms;
    const auto call = h.send(c);
    h.advance(2'000);
    auto reply = h.take(call);
    ASSERT_TRUE(reply.has_value()) << "cycle " << i;
    h.finish(std::get<core::LeaseReply>(*reply).jobs.at(0), succeeded());
  }
}

TEST(Delayed, ManyBeyondTheTimerWindow) {
  core::EngineOptions options;
  options.timer_window_rows = 2;
  options.page_rows = 1;
  options.max_timers_per_turn = 3;
  EngineHarness h(options);
  h.queue("q");
  for (int i = 40; i > 0; --i) h.enqueue(delayed(h, i * 250));
  h.crash();
  for (int i = 1; i <= 40; ++i) {
    h.advance(250);
    EXPECT_EQ(h.counters("q").of(JobState::kReady), static_cast<std::uint64_t>(i));
  }
  EXPECT_EQ(h.rows(Keyspace::kTimer), 0U);
}

// None in memory and the next one on the disk, far away: nothing else wakes the engine until it is
// due (a sweep does so each full minute).
TEST(Delayed, TheFirstBeyondAnEmptyTimerWindowIsOnTime) {
  core::EngineOptions options;
  options.timer_window_rows = 2;
  options.page_rows = 1;
  EngineHarness h(options);
  h.queue("q");
  for (const std::int64_t due_ms : {1'000, 30'000, 57'000}) h.enqueue(delayed(h, due_ms));
  const std::int64_t due_ms = h.wall_ms() + 57'000;
  h.crash();
  h.advance(50'000);
  EXPECT_EQ(h.engine().stats().timer_rows, 0U);
  for (int i = 0; i < 2; ++i) h.take_job("q");
  const auto call = h.send(poll({"q"}, 20'000));
  h.advance(20'000);
  EXPECT_EQ(h.take_as<core::LeaseReply>(call).jobs.size(), 1U);
  ASSERT_FALSE(h.events.empty());
  EXPECT_EQ(h.events.back().kind, core::JobEvent::Kind::kGranted);
  EXPECT_EQ(h.events.back().at_ms, due_ms);
}

TEST(Delayed, ManyDueAtOnceComeInBoundedTurns) {
  core::EngineOptions options;
  options.max_timers_per_turn = 7;
  EngineHarness h(options);
  h.queue("q");
  for (int i = 0; i < 50; ++i) h.enqueue(delayed(h, 1'000));
  h.jump(1'000);
  EXPECT_EQ(h.counters("q").of(JobState::kReady), 50U);
}

// C117, C154: due times are stored, not waits; a frozen process is late, never off.
TEST(Delayed, FrozenProcessStartsItAtOnceOnContinue) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(delayed(h, 4 * 3'600'000));
  h.jump(6 * 3'600'000);
  EXPECT_EQ(h.counters("q").of(JobState::kReady), 1U);
}

TEST(Delayed, DueDuringDowntimeRunsAfterTheStart) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(delayed(h, 10'000));
  h.move_clocks(60'000);
  h.crash();
  h.settle();
  EXPECT_EQ(h.take_job("q").attempt, 1U);
}

TEST(Delayed, StorePagesThatEndEarlyHoldNobodyBack) {
  EngineHarness h;
  h.queue("q");
  for (int i = 0; i < 20; ++i) h.enqueue(delayed(h, 1'000 + i));
  for (int i = 0; i < 20; ++i) h.enqueue(job());
  h.crash();
  h.disk().set_page_rows(1);
  for (int i = 0; i < 20; ++i) h.take_job("q");
  h.advance(2'000);
  EXPECT_EQ(h.counters("q").of(JobState::kReady), 20U);
}

// ---- start deadline

TEST(StartDeadline, ReadyJobExpires) {
  EngineHarness h;
  h.queue("q");
  auto request = job();
  request.start_deadline_ms = h.wall_ms() + 5'000;
  const auto key = h.enqueue(request).key;
  h.advance(4'999);
  EXPECT_EQ(h.state(key), JobState::kReady);
  h.advance(1);
  EXPECT_EQ(h.state(key), JobState::kExpired);
  EXPECT_EQ(h.rows(Keyspace::kTimer), 0U);
}

TEST(StartDeadline, IsCheckedAtTheGrant) {
  EngineHarness h;
  h.queue("q");
  auto request = job();
  request.start_deadline_ms = h.wall_ms() + 5'000;
  const auto late = h.enqueue(request).key;
  const auto next = h.enqueue(job()).key;
  h.move_clocks(5'000);
  EXPECT_EQ(h.take_job("q").key, next);
  EXPECT_EQ(h.state(late), JobState::kExpired);
  h.enqueue(job());  // an expiry at the grant does not stop the matching for good
  h.take_job("q");
}

TEST(StartDeadline, DelayedJobExpiresToo) {
  EngineHarness h;
  h.queue("q");
  auto request = delayed(h, 10'000);
  request.start_deadline_ms = h.wall_ms() + 5'000;
  const auto key = h.enqueue(request).key;
  h.advance(5'000);
  EXPECT_EQ(h.state(key), JobState::kExpired);
  EXPECT_EQ(h.rows(Keyspace::kTimer), 0U);
}

TEST(StartDeadline, EndsWithTheFirstGrant) {
  EngineHarness h;
  h.queue("q", with_retry(retries(5, 0)));
  auto request = job();
  request.start_deadline_ms = h.wall_ms() + 5'000;
  const auto key = h.enqueue(request).key;
  const auto granted = h.take_job("q");
  EXPECT_EQ(h.rows(Keyspace::kTimer), 0U);
  h.advance(6'000);
  h.finish(granted, released());
  EXPECT_EQ(h.state(key), JobState::kReady);
  EXPECT_EQ(h.take_job("q").key, key);
}

TEST(StartDeadline, CanBeMovedAndTakenAway) {
  EngineHarness h;
  h.queue("q");
  const auto a = h.enqueue(job()).key;
  const auto b = h.enqueue(job()).key;
  h.call(set_deadline(a, h.wall_ms() + 1'000));
  h.call(set_deadline(a, h.wall_ms() + 3'000));
  h.call(set_deadline(b, h.wall_ms() + 1'000));
  h.call(set_deadline(b, 0));
  EXPECT_EQ(h.rows(Keyspace::kTimer), 1U);
  h.advance(2'999);
  EXPECT_EQ(h.state(a), JobState::kReady);
  h.advance(1);
  EXPECT_EQ(h.state(a), JobState::kExpired);
  EXPECT_EQ(h.state(b), JobState::kReady);
}

TEST(StartDeadline, CannotBeSetAfterTheFirstStart) {
  EngineHarness h;
  h.queue("q", with_retry(retries(5, 60'000)));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed());
  const auto error = h.refusal(set_deadline(key, h.wall_ms() + 1'000));
  EXPECT_EQ(error.reason, Reason::kInvalidState);
  EXPECT_EQ(error.field, "start_deadline");
}

TEST(StartDeadline, PriorityChangeKeepsIt) {
  EngineHarness h;
  h.queue("q");
  auto request = job();
  request.start_deadline_ms = h.wall_ms() + 5'000;
  const auto key = h.enqueue(request).key;
  h.call(set_priority(key, 200));
  h.crash();
  h.advance(5'000);
  EXPECT_EQ(h.state(key), JobState::kExpired);
  EXPECT_EQ(h.rows(Keyspace::kJob) + h.rows(Keyspace::kSide) + h.rows(Keyspace::kTimer), 0U);
}

}  // namespace
}  // namespace rota::testing
