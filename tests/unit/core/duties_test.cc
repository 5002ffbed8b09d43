// SPDX-License-Identifier: Apache-2.0
//
// The engine's own work: bounded in each batch, proportional to what there is to do, fair between
// those it is done for, and over when the server drains.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::JobState;
using core::Keyspace;

constexpr std::int64_t kSecond = 1'000;
constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::size_t kMiB = 1U << 20;

// ---- drain

TEST(Drain, APurgeUnderWayDoesNotHoldItUp) {
  core::EngineOptions options;
  options.page_rows = 2;
  EngineHarness h(options);
  h.queue("q");
  for (int i = 0; i < 40; ++i) h.enqueue(job());
  h.send(core::PurgeQueue{"q", {}});
  h.seal();
  h.engine().drain();
  h.settle();
  EXPECT_FALSE(h.more());
  EXPECT_EQ(h.reads_open(), 0U);
  EXPECT_EQ(h.engine().stats().open_operations, 1U);
  EXPECT_GT(h.rows(Keyspace::kJob), 30U) << "it went on although the server drains";
  h.crash();
  h.settle();
  EXPECT_EQ(h.rows(Keyspace::kJob), 0U);
  EXPECT_EQ(h.engine().stats().open_operations, 0U);
}

TEST(Drain, BeginsNothingButLetsWorkEnd) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto running = h.take_job("q");
  auto later = job();
  later.run_at_ms = h.wall_ms() + kSecond;
  const auto delayed = h.enqueue(later).key;
  auto ticking = scheduler("s", kSecond);
  ticking.settings.overlap = model::Overlap::kAllow;
  h.expect<core::SchedulerReply>(ticking);
  h.engine().drain();
  h.advance(5 * kSecond);
  EXPECT_EQ(h.runs("s").size(), 0U);
  EXPECT_EQ(h.state(delayed), JobState::kScheduled);
  EXPECT_EQ(h.finish(running, succeeded()).state, JobState::kSucceeded);
  h.crash();
  h.settle();
  EXPECT_EQ(h.state(delayed), JobState::kReady);
  EXPECT_GE(h.runs("s").size(), 5U) << "what came due meanwhile is not forgotten";
}

// ---- a nearly full disk

TEST(HeldTicks, MakeNoJobsAndAreLeftToTheCatchUpPolicyAfterwards) {
  EngineHarness h;
  h.queue("q");
  auto none = scheduler("none", 10 * kSecond);
  none.settings.catch_up.mode = model::CatchUp::kNone;
  auto all = scheduler("all", 10 * kSecond);
  all.settings.catch_up.mode = model::CatchUp::kAll;
  all.settings.overlap = model::Overlap::kAllow;
  h.expect<core::SchedulerReply>(none);
  h.expect<core::SchedulerReply>(all);
  h.engine().hold_ticks(true);
  h.advance(60 * kSecond);
  EXPECT_EQ(h.counters("q").created, 0U);
  EXPECT_TRUE(h.engine().stats().ticks_held);
  h.engine().hold_ticks(false);
  h.settle();
  EXPECT_FALSE(h.engine().stats().ticks_held);
  std::uint64_t fired = 0;
  for (const auto& run : h.runs("all")) {
    EXPECT_EQ(run.outcome, model::RunOutcome::kFired);
    fired += run.count;
  }
  EXPECT_EQ(fired, 6U);
  std::uint64_t missed = 0;
  for (const auto& run : h.runs("none")) {
    if (run.outcome == model::RunOutcome::kMissed) missed += run.count;
  }
  EXPECT_GE(missed, 4U) << "each tick has its record";
}

// ---- bounded in bytes

core::WorkerOutcome failed_at_length() {
  auto outcome = failed();
  outcome.failure.detail.assign(16'000, 'x');
  outcome.log_tail.assign(8'000, 'y');
  return outcome;
}

TEST(Window, ChargesSideRecordsWhatTheyHold) {
  EngineHarness h;
  h.queue("q", with_retry(retries(100, 0)));
  h.enqueue(job());
  const auto plain = h.engine().stats().window_bytes;
  for (int i = 0; i < 2; ++i) h.finish(h.take_job("q"), failed_at_length());
  EXPECT_EQ(h.engine().stats().window_rows, 1U);
  EXPECT_GE(h.engine().stats().window_bytes, plain + 2 * 24'000);
  // The same when it comes back from the disk.
  h.crash();
  const auto call = h.send(poll({"q"}, 20'000, 1));
  h.settle();
  const auto granted = h.take_as<core::LeaseReply>(call).jobs.at(0);
  h.finish(granted, released());
  EXPECT_GE(h.engine().stats().window_bytes, plain + 2 * 24'000);
}

// Jobs with a history as long as it may be, more than 8 MiB in all, READY.
constexpr std::size_t kLongJobs = 180;
void make_long_jobs(EngineHarness& h) {
  h.set_checks(false);
  h.queue("q", with_retry(retries(100, 0)));
  for (std::size_t i = 0; i < kLongJobs; ++i) h.enqueue(job());
  for (int attempt = 0; attempt < 3; ++attempt) {
    for (const auto& granted : h.lease(lease({"q"}, kLongJobs)).jobs) {
      h.finish(granted, failed_at_length());
    }
  }
  ASSERT_LT(h.largest_batch_bytes, 2 * kMiB);
}

TEST(Duties, ExpiriesStopWhenTheBatchIsFull) {
  EngineHarness h;
  make_long_jobs(h);
  ASSERT_EQ(h.lease(lease({"q"}, kLongJobs)).jobs.size(), kLongJobs);
  h.move_clocks(30 * kSecond);  // all leases end at once
  h.settle();
  EXPECT_LE(h.largest_batch_bytes, 6 * kMiB);
  h.advance(2 * kSecond);  // as lost ones they wait for a moment
  EXPECT_EQ(h.counters("q").of(JobState::kReady), kLongJobs) << "none is left behind";
}

TEST(Duties, TimersStopWhenTheBatchIsFull) {
  EngineHarness h;
  make_long_jobs(h);
  for (const auto& granted : h.lease(lease({"q"}, kLongJobs)).jobs) {
    h.finish(granted, snoozed(kMinute));
  }
  h.advance(kMinute);
  EXPECT_LE(h.largest_batch_bytes, 6 * kMiB);
  EXPECT_EQ(h.counters("q").of(JobState::kReady), kLongJobs);
  EXPECT_EQ(h.rows(Keyspace::kTimer), 0U);
}

TEST(Duties, TicksWithLargePayloadsAreSpreadOverBatches) {
  EngineHarness h;
  h.set_checks(false);
  h.queue("q");
  auto large = scheduler("s", kSecond);
  large.settings.overlap = model::Overlap::kAllow;
  large.settings.catch_up.mode = model::CatchUp::kAll;
  large.settings.job.payload.assign(200'000, 'x');
  h.expect<core::SchedulerReply>(large);
  h.move_clocks(60 * kSecond);
  h.settle();
  EXPECT_EQ(h.counters("q").created, 60U);
  EXPECT_LE(h.largest_batch_bytes, kMiB) << "of one scheduler, whatever it has to catch up";
}

// ---- proportional to the work

TEST(Retention, SweepsOnlyWhatIsDue) {
  EngineHarness h;
  h.set_checks(false);
  for (int i = 0; i < 50; ++i) {
    const std::string name = "q" + std::to_string(i);
    h.queue(name);
    h.enqueue(job(name));
    h.finish(h.take_job(name), succeeded());
  }
  const auto before = h.engine().stats().sweeps;
  h.advance(10 * kMinute);
  // Request ids and ledger are looked at once a minute, whatever there is.
  EXPECT_LE(h.engine().stats().sweeps - before, 24U);
  EXPECT_EQ(h.counters("q7").of(JobState::kSucceeded), 1U);
  h.advance(24 * kHour);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(h.counters("q" + std::to_string(i)).of(JobState::kSucceeded), 0U) << i;
  }
}

TEST(Retention, ASliceIsBoundedInKeysNotInRowsOfTheIndex) {
  EngineHarness h;
  h.set_checks(false);
  model::Retention retention;
  retention.ledger_ms = 10 * kMinute;
  h.queue("q", with_retention(retention));
  constexpr std::size_t kJobs = 4'000;
  std::vector<core::JobRequest> jobs(kJobs, job());
  for (std::size_t i = 0; i < kJobs; ++i) {
    jobs[i].business_key = "key-" + std::to_string(i);
    jobs[i].payload_hash = "hash";
  }
  h.expect<core::EnqueueReply>(enqueue(std::move(jobs)));
  core::FinishJobs finish;
  finish.session_id = "s1";
  for (const auto& granted : h.lease(lease({"q"}, kJobs)).jobs) {
    finish.items.push_back({ref(granted), succeeded(), {}});
  }
  ASSERT_EQ(finish.items.size(), kJobs);
  h.expect<core::FinishReply>(std::move(finish));  // all end in one commit
  h.largest_batch_ops = 0;
  h.advance(11 * kMinute);
  EXPECT_EQ(h.rows(Keyspace::kLedger), 0U);
  EXPECT_LE(h.largest_batch_ops, 1'100U);
  h.advance(24 * kHour);
  EXPECT_EQ(h.rows(Keyspace::kFinal), 0U);
  EXPECT_LE(h.largest_batch_ops, 1'100U);
}

// A job that is deleted by hand leaves the index with its record, so that a sweep need not read
// what the index names, and takes nothing out of the counters twice.
TEST(Retention, AJobDeletedByHandLeavesTheIndexToo) {
  EngineHarness h;
  h.queue("q");
  std::vector<core::JobKey> keys;
  for (const auto& done : h.expect<core::EnqueueReply>(enqueue(std::vector(6, job()))).items) {
    keys.push_back(std::get<core::EnqueuedJob>(done).key);
  }
  core::FinishJobs finish;
  finish.session_id = "s1";
  for (const auto& granted : h.lease(lease({"q"}, 5)).jobs) {
    finish.items.push_back({ref(granted), succeeded(), {}});
  }
  h.expect<core::FinishReply>(std::move(finish));  // five end in one commit
  h.advance(kSecond);
  h.send(core::CancelJob{keys[5], {}});
  h.send(core::DeleteJob{keys[5]});  // in the batch in which it ended
  h.settle();
  EXPECT_EQ(h.rows(Keyspace::kFinal), 6U) << "five records and the row of the five";
  h.expect<core::JobReply>(core::DeleteJob{keys[1]});
  h.crash();
  h.expect<core::JobReply>(core::DeleteJob{keys[3]});
  EXPECT_EQ(h.rows(Keyspace::kFinal), 4U);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 3U);
  for (const int last : {0, 2, 4}) h.expect<core::JobReply>(core::DeleteJob{keys[last]});
  EXPECT_EQ(h.rows(Keyspace::kFinal), 0U) << "with the last one goes the row";
  h.advance(25 * kHour);
  const auto counters = h.counters("q");
  EXPECT_EQ(counters.of(JobState::kSucceeded), 0U);
  EXPECT_EQ(counters.removed, 6U);
  EXPECT_TRUE(counters.conserved());
}

TEST(Retention, AJobDeletedWhileItsIndexRowIsReadLeavesOnce) {
  EngineHarness h;
  model::Retention retention;
  retention.succeeded_ms = 10 * kMinute;
  h.queue("q", with_retention(retention));
  const auto key = h.enqueue(job()).key;
  h.enqueue(job());
  core::FinishJobs finish;
  finish.session_id = "s1";
  for (const auto& granted : h.lease(lease({"q"}, 2)).jobs) {
    finish.items.push_back({ref(granted), succeeded(), {}});
  }
  h.expect<core::FinishReply>(std::move(finish));
  h.move_clocks(11 * kMinute);
  h.seal();
  while (h.step_store()) {
  }
  ASSERT_EQ(h.reads_ready(), 1U);  // the row that names both is on its way
  h.send(core::DeleteJob{key});
  h.settle();
  const auto counters = h.counters("q");
  EXPECT_EQ(counters.of(JobState::kSucceeded), 0U);
  EXPECT_EQ(counters.removed, 2U);
  EXPECT_TRUE(counters.conserved());
}

// What a server wrote that left deleted jobs in the index is judged by the records themselves.
TEST(Retention, AnIndexRowOfAnEarlierServerMayNameJobsThatAreGone) {
  EngineHarness h;
  h.set_checks(false);
  h.queue("q");
  h.enqueue(job());
  const auto done = h.take_job("q");
  h.finish(done, succeeded());
  const auto record = h.final_record(done.key);
  ASSERT_TRUE(record);
  const std::string index = model::keys::final_index(done.key.queue, JobState::kSucceeded,
                                                     record->ended_ms, record->ended_seq);
  ASSERT_TRUE(h.row(Keyspace::kFinal, index)) << "the record gives the key of its row";
  core::JobKey gone = done.key;
  gone.seq += 7;
  h.disk().damage(Keyspace::kFinal, index, model::encode_job_keys({gone, done.key}));
  model::EngineMeta meta;
  ASSERT_TRUE(model::decode(*h.row(Keyspace::kMeta, model::keys::engine_meta()), &meta));
  EXPECT_EQ(meta.index_exact_from_seq, 0U) << "a new store is exact from its first commit on";
  meta.index_exact_from_seq = model::kIndexNeverExact;  // as a record of format 2 is read
  h.disk().damage(Keyspace::kMeta, model::keys::engine_meta(), model::encode(meta));
  h.crash();
  h.advance(25 * kHour);
  EXPECT_EQ(h.rows(Keyspace::kFinal), 0U);
  const auto counters = h.counters("q");
  EXPECT_EQ(counters.of(JobState::kSucceeded), 0U);
  EXPECT_EQ(counters.removed, 1U);
  EXPECT_TRUE(counters.conserved());
}

// ---- the clock jumps

// A page that was asked for before the jump is not judged by the time after it.
TEST(Retention, AJumpWhileAPageIsReadDeletesNothing) {
  EngineHarness h;
  model::Retention retention;
  retention.succeeded_ms = 10 * kMinute;
  h.queue("q", with_retention(retention));
  h.enqueue(job());
  h.finish(h.take_job("q"), succeeded());
  core::SetQueue changed;  // makes the engine look whether anything is due
  changed.queue = "q";
  changed.patch.concurrency_limit = std::optional<std::uint32_t>(5);
  const std::uint64_t sweeps = h.engine().stats().sweeps;
  h.send(changed);
  h.seal();
  ASSERT_GT(h.engine().stats().sweeps, sweeps);
  while (h.step_store()) {
  }
  ASSERT_GT(h.reads_ready(), 0U);
  h.step_wall(24 * kHour);
  h.settle();
  ASSERT_TRUE(h.engine().stats().deletions_held);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 1U);
  h.advance(kHour - kMinute);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 1U);
  // The hold ends, and it goes.
  h.advance(2 * kMinute);
  EXPECT_EQ(h.counters("q").of(JobState::kSucceeded), 0U);
}

// What was decided by the old settings and is not yet done is judged again by the new ones.
TEST(Retention, ALongerOneHoldsFromItsAnswerOn) {
  EngineHarness h;
  model::Retention retention;
  retention.dead_ms = 10 * kMinute;
  h.queue("q", with_retention(retention));
  h.enqueue(job());
  h.finish(h.take_job("q"), failed(false));
  h.move_clocks(11 * kMinute);
  const auto read = [&] {
    while (h.step_store()) {
    }
    h.seal();
    while (h.step_store()) {
    }
    ASSERT_EQ(h.reads_ready(), 1U);
  };
  read();
  h.deliver_read(0);  // the index: the job is due
  read();             // its record is on its way
  retention.dead_ms = 24 * kHour;
  h.send([&] {
    core::SetQueue longer;
    longer.queue = "q";
    longer.patch.retention = retention;
    return longer;
  }());
  h.settle();
  EXPECT_EQ(h.counters("q").of(JobState::kDead), 1U);
  h.advance(23 * kHour);
  EXPECT_EQ(h.counters("q").of(JobState::kDead), 1U);
  h.advance(kHour);
  EXPECT_EQ(h.counters("q").of(JobState::kDead), 0U);
}

// ---- fair

// A scheduler with a long history beyond its bound does not hold up the others, nor the ended jobs
// of a queue.
TEST(Retention, OneLongHistoryDoesNotStarveTheOthers) {
  core::EngineOptions options;
  options.max_scheduler_runs = 5;
  EngineHarness h(options);
  h.set_checks(false);
  model::Retention retention;
  retention.succeeded_ms = 10 * kMinute;
  h.queue("q", with_retention(retention));
  auto busy = scheduler("busy", kSecond);
  busy.settings.overlap = model::Overlap::kAllow;
  auto calm = scheduler("calm", kMinute);
  calm.settings.overlap = model::Overlap::kAllow;
  h.enqueue(job());
  h.finish(h.take_job("q"), succeeded());
  h.step_wall(11 * kMinute);  // a forward step: nothing is deleted for an hour
  h.settle();
  ASSERT_TRUE(h.engine().stats().deletions_held);
  h.expect<core::SchedulerReply>(busy);
  h.expect<core::SchedulerReply>(calm);
  h.advance(kHour - kMinute);
  ASSERT_TRUE(h.engine().stats().deletions_held);
  ASSERT_GT(h.runs("busy").size(), 3'000U);
  ASSERT_GT(h.runs("calm").size(), 50U);
  ASSERT_EQ(h.counters("q").of(JobState::kSucceeded), 1U);
  // The hold ends. After a few slices the others are done, and the long history is not.
  h.move_clocks(2 * kMinute);
  for (int turn = 0; turn < 12; ++turn) {
    h.seal();
    while (h.step_store()) {
    }
    while (h.reads_ready() > 0) h.deliver_read(0);
  }
  h.seal();
  while (h.step_store()) {
  }
  EXPECT_LE(h.runs("calm").size(), 8U);
  EXPECT_EQ(h.rows(Keyspace::kFinal), 0U);
  EXPECT_GT(h.runs("busy").size(), 1'000U);
  h.settle();
  EXPECT_LE(h.runs("busy").size(), 6U);
}

}  // namespace
}  // namespace rota::testing
