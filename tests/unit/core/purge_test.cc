// SPDX-License-Identifier: Apache-2.0
//
// Purge with its barrier, operations, and retention by age and by count.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::JobState;
using core::Keyspace;
using core::Reason;

constexpr std::int64_t kTenMinutes = 600'000;

core::OperationReply purge(EngineHarness& h, const std::string& request_id = {}) {
  core::PurgeQueue c;
  c.queue = "q";
  c.request = {request_id, request_id.empty() ? "" : "body"};
  return h.expect<core::OperationReply>(c);
}
model::Operation operation(EngineHarness& h, std::uint64_t number) {
  return h.expect<core::OperationReply>(core::GetOperation{number}).operation;
}

TEST(Purge, RemovesWhatWaitsAndLeavesTheRest) {
  EngineHarness h;
  h.queue("q");
  const auto running = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  for (int i = 0; i < 5; ++i) h.enqueue(job());
  auto later = job();
  later.run_at_ms = h.wall_ms() + 60'000;
  h.enqueue(later);
  const auto moved = h.enqueue(job()).key;
  core::UpdateJob update;
  update.key = moved;
  update.priority = 7;
  h.call(update);
  const auto number = purge(h).operation.number;
  const auto done = operation(h, number);
  EXPECT_TRUE(done.done);
  EXPECT_FALSE(done.cancelled);
  EXPECT_EQ(done.removed, 7U);
  const auto counters = h.counters("q");
  EXPECT_EQ(counters.removed, 7U);
  EXPECT_EQ(counters.of(JobState::kCancelled), 0U);
  EXPECT_EQ(counters.waiting(), 0U);
  EXPECT_EQ(h.state(running), JobState::kRunning);
  EXPECT_EQ(h.rows(Keyspace::kTimer), 0U);
  EXPECT_EQ(h.rows(Keyspace::kJob), 1U);
  h.finish(granted, succeeded());
}

TEST(Purge, OpenOnesOfAQueueAreBounded) {
  core::EngineOptions options;
  options.max_operations_per_queue = 3;
  options.max_operation_reads = 2;
  EngineHarness h(options);
  h.queue("q");
  h.queue("other");
  h.enqueue(job());
  std::vector<core::CallId> calls;
  const auto send = [&](const std::string& queue) {
    core::PurgeQueue c;
    c.queue = queue;
    return h.send(c);
  };
  for (int i = 0; i < 3; ++i) calls.push_back(send("q"));
  const auto refused = send("q");
  calls.push_back(send("other"));
  h.seal();
  EXPECT_LE(h.reads_open(), options.max_operation_reads) << "not all are read at once";
  h.settle();
  const auto error = h.take_as<core::Error>(refused);
  EXPECT_EQ(error.reason, Reason::kOverloaded);
  EXPECT_EQ(error.field, "queue");
  EXPECT_NE(error.message.find("the limit is 3"), std::string::npos) << error.message;
  std::uint64_t removed = 0;
  for (const core::CallId call : calls) {
    const auto done = operation(h, h.take_as<core::OperationReply>(call).operation.number);
    EXPECT_TRUE(done.done);
    removed += done.removed;
  }
  EXPECT_EQ(removed, 1U);
  EXPECT_EQ(h.engine().stats().open_operations, 0U);
  EXPECT_TRUE(operation(h, purge(h).operation.number).done) << "there is room again";
}

TEST(Purge, JobsEnqueuedAfterItSurvive) {
  core::EngineOptions options;
  options.page_rows = 2;
  EngineHarness h(options);
  h.queue("q");
  for (int i = 0; i < 9; ++i) h.enqueue(job());
  h.send(core::PurgeQueue{"q", {}});
  h.seal();
  while (h.step_store()) {
  }
  const auto call = h.send(enqueue(job()));
  h.settle();
  const auto kept = std::get<core::EnqueuedJob>(h.take_as<core::EnqueueReply>(call).items[0]).key;
  EXPECT_EQ(h.counters("q").of(JobState::kReady), 1U);
  EXPECT_EQ(h.take_job("q").key, kept);
}

TEST(Purge, JobThatComesBackFromAWorkerSurvives) {
  core::EngineOptions options;
  options.page_rows = 1;
  EngineHarness h(options);
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  for (int i = 0; i < 5; ++i) h.enqueue(job());
  h.send(core::PurgeQueue{"q", {}});
  h.seal();
  while (h.step_store()) {
  }
  h.send(finish(granted, released()));
  h.settle();
  EXPECT_EQ(h.take_job("q").key, key);
  EXPECT_TRUE(h.nothing_to_lease("q"));
}

TEST(Purge, GrantThatMeetsAPurgedJobRemovesIt) {
  core::EngineOptions options;
  options.page_rows = 1;
  EngineHarness h(options);
  h.queue("q");
  for (int i = 0; i < 6; ++i) h.enqueue(job());
  h.send(core::PurgeQueue{"q", {}});
  h.seal();
  while (h.step_store()) {
  }
  const auto lease_call = h.send(lease({"q"}, 10));
  const auto enqueue_call = h.send(enqueue(job()));
  h.settle();
  const auto kept =
      std::get<core::EnqueuedJob>(h.take_as<core::EnqueueReply>(enqueue_call).items[0]).key;
  const auto reply = h.take_as<core::LeaseReply>(lease_call);
  ASSERT_EQ(reply.jobs.size(), 1U);
  EXPECT_EQ(reply.jobs[0].key, kept);
  EXPECT_EQ(operation(h, 1).removed, 6U);
}

// What a purge deleted is not crossed again: the first lease afterwards, here after a restart,
// begins where the jobs begin.
TEST(Purge, TheFirstLeaseAfterItDoesNotCrossWhatItDeleted) {
  core::EngineOptions options;
  options.window_rows = 8;
  options.page_rows = 8;
  EngineHarness h(options);
  h.queue("q");
  std::vector<core::JobKey> moved;
  for (int i = 0; i < 300; ++i) {
    auto low = job();
    low.priority = i % 3 == 0 ? 10 : 100;
    const auto key = h.enqueue(low).key;
    if (i % 5 == 0) moved.push_back(key);
  }
  for (const auto& key : moved) {
    core::UpdateJob update;
    update.key = key;
    update.priority = 200;
    h.call(update);
  }
  h.send(core::PurgeQueue{"q", {}});
  h.seal();
  while (h.step_store()) {
  }
  std::vector<core::JobKey> kept;
  for (const std::uint8_t priority : {200, 100, 10}) {
    auto late = job();
    late.priority = priority;
    const auto call = h.send(enqueue(late));
    h.settle();
    kept.push_back(std::get<core::EnqueuedJob>(h.take_as<core::EnqueueReply>(call).items[0]).key);
  }
  EXPECT_EQ(h.counters("q").removed, 300U);
  h.crash();  // the figure counts from here
  for (const auto& key : kept) EXPECT_EQ(h.take_job("q").key, key);
  EXPECT_LE(h.store().stats().largest_scan_rows, 16U);
}

// The same for jobs that were cancelled one by one while nobody asked for any.
TEST(Head, IsLookedForBehindManyDeletionsWithoutAPoll) {
  core::EngineOptions options;
  options.window_rows = 8;
  options.page_rows = 8;
  options.head_advance_rows = 50;
  EngineHarness h(options);
  h.queue("q");
  std::vector<core::JobKey> all;
  for (int i = 0; i < 400; ++i) all.push_back(h.enqueue(job()).key);
  const auto last = all.back();
  all.pop_back();
  for (const auto& key : all) h.call(core::CancelJob{key, ""});
  EXPECT_GE(h.counters("q").levels.at(100).head, 300U);
  EXPECT_LE(h.counters("q").levels.at(100).head, last.seq);
  h.crash();
  EXPECT_EQ(h.take_job("q").key, last);
  EXPECT_LE(h.store().stats().largest_scan_rows, 110U);
}

TEST(Purge, GoesOnAfterACrash) {
  core::EngineOptions options;
  options.page_rows = 2;
  EngineHarness h(options);
  h.queue("q");
  for (int i = 0; i < 20; ++i) h.enqueue(job());
  h.send(core::PurgeQueue{"q", {}});
  for (int i = 0; i < 3; ++i) {
    h.seal();
    while (h.step_store()) {
    }
    while (h.reads_ready() > 0) h.deliver_read(0);
  }
  h.crash();
  h.settle();
  EXPECT_EQ(h.counters("q").waiting(), 0U);
  EXPECT_EQ(operation(h, 1).removed, 20U);
  EXPECT_TRUE(operation(h, 1).done);
}

TEST(Purge, CanBeCancelledHalfWay) {
  core::EngineOptions options;
  options.page_rows = 2;
  EngineHarness h(options);
  h.queue("q");
  for (int i = 0; i < 20; ++i) h.enqueue(job());
  h.send(core::PurgeQueue{"q", {}});
  for (int i = 0; i < 3; ++i) {
    h.seal();
    while (h.step_store()) {
    }
    while (h.reads_ready() > 0) h.deliver_read(0);
  }
  const auto cancelled = h.expect<core::OperationReply>(core::CancelOperation{1}).operation;
  EXPECT_TRUE(cancelled.done);
  EXPECT_TRUE(cancelled.cancelled);
  const auto left = h.counters("q").of(JobState::kReady);
  EXPECT_GT(left, 0U);
  EXPECT_EQ(left + cancelled.removed, 20U);
  EXPECT_EQ(h.lease(lease({"q"}, 100)).jobs.size(), left);
  EXPECT_EQ(h.refusal(core::CancelOperation{1}).reason, Reason::kOperationDone);
}

TEST(Purge, IsRepeatedByRequestId) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto first = purge(h, "r").operation;
  EXPECT_EQ(h.named, first.barrier);
  h.enqueue(job());
  h.crash();
  EXPECT_EQ(purge(h, "r").operation.number, first.number);
  EXPECT_EQ(h.named, first.barrier) << "jobs of later commits survive, as this one did";
  EXPECT_EQ(h.counters("q").of(JobState::kReady), 1U);
  EXPECT_EQ(h.refusal(core::GetOperation{99}).reason, Reason::kOperationNotFound);
}

// ---- retention

model::Retention keep(std::int64_t ms) {
  model::Retention r;
  r.succeeded_ms = r.cancelled_ms = r.dead_ms = ms;
  return r;
}

TEST(Retention, RecordsGoWhenTheyAreOldEnough) {
  EngineHarness h;
  h.queue("q", with_retention(keep(kTenMinutes)));
  const auto done = h.enqueue(job()).key;
  h.finish(h.take_job("q"), succeeded());
  const auto dead = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed(false));
  const auto cancelled = h.enqueue(job()).key;
  h.call(core::CancelJob{cancelled, ""});
  h.jump(kTenMinutes - 1'000);
  h.advance(900);
  for (const auto& key : {done, dead, cancelled}) EXPECT_TRUE(model::is_final(h.state(key)));
  h.advance(5'000);
  for (const auto& key : {done, dead, cancelled}) EXPECT_EQ(h.state(key), JobState::kUnknown);
  EXPECT_EQ(h.counters("q").removed, 3U);
  EXPECT_EQ(h.rows(Keyspace::kFinal), 0U);
  EXPECT_EQ(h.rows(Keyspace::kJob) + h.rows(Keyspace::kSide), 0U);
}

TEST(Retention, ByCountTheOldestGo) {
  EngineHarness h;
  model::Retention r = keep(model::kForever);
  r.succeeded_count = 3;
  h.queue("q", with_retention(r));
  std::vector<core::JobKey> keys;
  for (int i = 0; i < 10; ++i) {
    keys.push_back(h.enqueue(job()).key);
    h.finish(h.take_job("q"), succeeded());
    h.jump(10);
  }
  h.advance(5'000);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 3U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(h.state(keys[i]), i < 7 ? JobState::kUnknown : JobState::kSucceeded);
  }
}

TEST(Retention, ByCountWithinOneBatch) {
  EngineHarness h;
  model::Retention r = keep(model::kForever);
  r.succeeded_count = 4;
  h.queue("q", with_retention(r));
  for (int i = 0; i < 10; ++i) h.enqueue(job());
  core::FinishJobs call{"s1", {}};
  for (const auto& granted : h.lease(lease({"q"}, 10)).jobs) {
    call.items.push_back({ref(granted), succeeded(), {}});
  }
  h.call(call);
  h.advance(5'000);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 4U);
  EXPECT_EQ(h.counters("q").removed, 6U);
}

// More rows that are not due than one page holds: the sweep comes to rest and finds them later.
TEST(Retention, ManyYoungRecordsAreLeftAlone) {
  EngineHarness h;
  h.set_checks(false);
  h.queue("q", with_retention(keep(kTenMinutes)));
  for (int i = 0; i < 150; ++i) {
    h.enqueue(job());
    h.finish(h.take_job("q"), succeeded());
    h.jump(1);
  }
  h.advance(3'000);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 150U);
  h.jump(kTenMinutes - 3'000);
  h.advance(3'000);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 0U);
}

// Two deaths of one job in one millisecond are in the index twice, and removed once.
TEST(Retention, TwoDeathsInOneMillisecondAreRemovedOnce) {
  EngineHarness h;
  h.queue("q", with_retention(keep(kTenMinutes)));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed(false));
  h.call(core::RedriveJob{key});
  h.finish(h.take_job("q"), failed(false));
  h.jump(kTenMinutes + 1'000);
  h.advance(3'000);
  EXPECT_EQ(h.state(key), JobState::kUnknown);
  EXPECT_EQ(h.counters("q").removed, 1U);
}

TEST(Retention, ZeroKeepsNothing) {
  EngineHarness h;
  h.queue("q", with_retention(keep(0)));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), succeeded());
  EXPECT_EQ(h.state(key), JobState::kUnknown);
  EXPECT_EQ(h.counters("q").removed, 1U);
  EXPECT_EQ(h.rows(Keyspace::kFinal), 0U);
}

TEST(Retention, RedrivenJobIsNotTakenByItsOldDeath) {
  EngineHarness h;
  h.queue("q", with_retention(keep(kTenMinutes)));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed(false));
  h.jump(kTenMinutes - 5'000);
  h.call(core::RedriveJob{key});
  h.finish(h.take_job("q"), failed(false));
  h.advance(20'000);
  EXPECT_EQ(h.state(key), JobState::kDead);
  h.jump(kTenMinutes);
  h.advance(5'000);
  EXPECT_EQ(h.state(key), JobState::kUnknown);
}

TEST(Retention, ShorterSettingTakesEffectSoon) {
  EngineHarness h;
  h.queue("q", with_retention(keep(90LL * 24 * 3'600'000)));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), succeeded());
  h.jump(kTenMinutes);
  h.advance(3'000);
  EXPECT_EQ(h.state(key), JobState::kSucceeded);
  h.queue("q", with_retention(keep(kTenMinutes)));
  h.advance(3'000);
  EXPECT_EQ(h.state(key), JobState::kUnknown);
}

TEST(Retention, GoesOnAfterARestart) {
  EngineHarness h;
  h.queue("q", with_retention(keep(kTenMinutes)));
  for (int i = 0; i < 30; ++i) {
    h.enqueue(job());
    h.finish(h.take_job("q"), succeeded());
    h.jump(1);
  }
  h.crash();
  h.jump(kTenMinutes + 1'000);
  h.advance(1'500);
  h.crash();
  h.advance(8'000);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 0U);
  EXPECT_EQ(h.rows(Keyspace::kFinal), 0U);
}

TEST(Retention, OneBusyQueueDoesNotHoldUpTheOthers) {
  EngineHarness h;
  h.set_checks(false);
  for (const char* name : {"a", "b", "c"}) h.queue(name, with_retention(keep(kTenMinutes)));
  for (int i = 0; i < 3; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    for (int n = 0; n < (i == 0 ? 500 : 1); ++n) {
      h.enqueue(job(name));
      h.finish(h.take_job(name), succeeded());
      if (n % 5 == 0) h.jump(1);
    }
  }
  h.jump(kTenMinutes + 1'000);
  h.advance(6'000);
  EXPECT_EQ(h.counters("b").of(JobState::kSucceeded), 0U);
  EXPECT_EQ(h.counters("c").of(JobState::kSucceeded), 0U);
}

}  // namespace
}  // namespace rota::testing
