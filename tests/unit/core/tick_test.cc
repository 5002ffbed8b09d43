// SPDX-License-Identifier: Apache-2.0
//
// What a due tick becomes: one job per tick whatever crashes, overlap, catch-up, run records.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::JobState;
using core::Keyspace;
using model::CatchUp;
using model::Overlap;
using model::RunOutcome;

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kHour = 60 * kMinute;

core::UpsertScheduler with(std::string id, std::int64_t every_ms, Overlap overlap,
                           CatchUp catch_up = CatchUp::kAll) {
  auto c = scheduler(std::move(id), every_ms);
  c.settings.overlap = overlap;
  c.settings.catch_up.mode = catch_up;
  return c;
}
std::vector<std::int64_t> fired(const EngineHarness& h, const std::string& id) {
  std::vector<std::int64_t> out;
  for (const auto& run : h.runs(id)) {
    if (run.outcome == RunOutcome::kFired) out.push_back(run.first_nominal_ms);
  }
  return out;
}

TEST(Tick, CreatesAJobThatKnowsItsTime) {
  EngineHarness h;
  h.queue("q");
  auto c = with("s", 60'000, Overlap::kAllow);
  c.settings.spec.business_day_offset = -1;
  c.settings.job.payload = "{\"date\":\"{{business_date}}\",\"at\":\"{{nominal_time}}\"}";
  c.settings.job.business_key = "invoices-{{business_date}}-{{nominal_time}}";
  c.settings.job.priority = 150;
  c.settings.job.labels = {{"team", "billing"}};
  h.expect<core::SchedulerReply>(c);
  h.advance(60'000);
  const auto granted = h.take_job("q");
  EXPECT_EQ(granted.body->scheduler_id, "s");
  EXPECT_EQ(granted.body->nominal_ms, std::vector<std::int64_t>{kHarnessStartMs + 60'000});
  EXPECT_EQ(granted.body->business_date, "2026-11-28");
  EXPECT_EQ(granted.body->payload, "{\"date\":\"2026-11-28\",\"at\":\"2026-11-29T12:01:00Z\"}");
  EXPECT_EQ(granted.body->business_key, "invoices-2026-11-28-2026-11-29T12:01:00Z");
  EXPECT_EQ(granted.body->labels.at("team"), "billing");
  EXPECT_EQ(granted.priority, 150);
  const auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].job, granted.key);
  EXPECT_EQ(runs[0].business_date, "2026-11-28");
}

// A HELD entry is asked as an enqueue asks it: one whose job went with its queue holds nothing.
TEST(Tick, AKeyOfADeletedQueueIsFree) {
  EngineHarness h;
  h.queue("q");
  h.queue("old");
  const auto dead = [&](const std::string& queue, const std::string& key) {
    auto request = job(queue);
    request.key_scope = "invoices";
    request.business_key = key;
    h.enqueue(request);
    h.finish(h.take_job(queue), failed(false));
  };
  dead("old", "2026-11-29T12:01:00Z");
  core::DeleteQueue remove;
  remove.queue = "old";
  h.call(remove);
  dead("q", "2026-11-29T12:02:00Z");
  auto c = with("s", 60'000, Overlap::kAllow);
  c.settings.job.key_scope = "invoices";
  c.settings.job.business_key = "{{nominal_time}}";
  h.expect<core::SchedulerReply>(c);
  h.advance(120'000);
  const auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].outcome, RunOutcome::kFired) << runs[0].reason;
  EXPECT_EQ(runs[1].outcome, RunOutcome::kSkipped);
  EXPECT_EQ(runs[1].reason, "BUSINESS_KEY_EXISTS") << "its DEAD job still holds it";
}

TEST(Tick, WakesAParkedCallInTheSameBatch) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kAllow));
  auto call = poll({"q"}, 20'000);
  call.received_mono_ms = h.now().mono_ms;
  const auto id = h.send(call);
  h.advance(999);
  h.move_clocks(1);
  h.seal();
  while (h.step_store()) {
  }
  EXPECT_EQ(h.take_as<core::LeaseReply>(id).jobs.size(), 1U);
}

// One piece of what is under way.
void step(EngineHarness& h) {
  if (h.step_store()) return;
  if (h.reads_ready() > 0) return h.deliver_read(0);
  h.seal();
}

// C089, C096, C150: cursor, record and job are one batch. Each tick is met by a crash, so many
// steps after it came due, with the batch in flight lost and kept.
void crash_at_any_point(const std::string& business_key) {
  constexpr int kSteps = 8;
  constexpr int kTicks = 4 * kSteps;
  EngineHarness h;
  h.queue("q");
  auto c = with("s", 1'000, Overlap::kAllow);
  c.settings.job.business_key = business_key;
  h.expect<core::SchedulerReply>(c);
  for (int i = 0; i < kTicks; ++i) {
    h.move_clocks(1'000);
    for (int n = 0; n < i % kSteps; ++n) step(h);
    h.crash(i / kSteps % 2 == 0);
    h.settle();
  }
  const auto times = fired(h, "s");
  EXPECT_EQ(times.size(), static_cast<std::size_t>(kTicks));
  EXPECT_EQ(std::set<std::int64_t>(times.begin(), times.end()).size(), times.size());
  EXPECT_EQ(h.counters("q").created, static_cast<std::uint64_t>(kTicks));
}
TEST(Tick, CrashAtAnyPointNeverDoublesOrLosesATick) { crash_at_any_point(""); }
// Its jobs come turns after the tick was planned, when its key has been looked up.
TEST(Tick, CrashWhileItsKeyIsLookedUpNeverDoublesOrLosesATick) {
  crash_at_any_point("run-{{nominal_time}}");
}

// C086: two schedules on one queue at the same minute.
TEST(Tick, TwoSchedulersOnOneQueueMakeTwoJobs) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("a", 60'000, Overlap::kSkip));
  h.expect<core::SchedulerReply>(with("b", 60'000, Overlap::kSkip));
  h.advance(60'000);
  EXPECT_EQ(h.counters("q").created, 2U);
}

// C087: many schedulers due at once, over several turns.
TEST(Tick, ManyDueAtOnceAllFire) {
  core::EngineOptions options;
  options.max_ticks_per_turn = 4;
  EngineHarness h(options);
  h.queue("q");
  for (int i = 0; i < 20; ++i) {
    h.expect<core::SchedulerReply>(with("s" + std::to_string(i), 60'000, Overlap::kAllow));
  }
  h.move_clocks(60'000);
  h.settle();
  EXPECT_EQ(h.counters("q").created, 20U);
}

// C097: due times are found from the last processed one, not from a window around now.
TEST(Tick, SlowLoopLosesNothing) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", 60'000, Overlap::kAllow));
  for (int i = 0; i < 60; ++i) h.jump(60'200);
  EXPECT_EQ(fired(h, "s").size(), 60U);
}

TEST(Tick, StartAndEndBoundIt) {
  EngineHarness h;
  h.queue("q");
  auto c = with("s", 1'000, Overlap::kAllow);
  c.settings.spec.start_ms = h.wall_ms() + 3'000;
  c.settings.spec.end_ms = h.wall_ms() + 6'000;
  h.expect<core::SchedulerReply>(c);
  h.advance(10'000);
  EXPECT_EQ(fired(h, "s").size(), 3U);  // 3, 4, 5: start inclusive, end exclusive
}

TEST(Tick, StartWithinExpiresTheJob) {
  EngineHarness h;
  h.queue("q");
  auto c = with("s", 60'000, Overlap::kAllow);
  c.settings.job.start_within_ms = 5'000;
  h.expect<core::SchedulerReply>(c);
  h.advance(64'999);
  EXPECT_EQ(h.counters("q").of(JobState::kReady), 1U);
  h.advance(1);
  EXPECT_EQ(h.counters("q").of(JobState::kExpired), 1U);
}

TEST(Tick, FullQueueIsARecordedSkip) {
  EngineHarness h;
  core::QueuePatch patch;
  patch.max_waiting = std::optional<std::uint64_t>(1);
  h.queue("q", patch);
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kAllow));
  h.advance(3'000);
  const auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].reason, "QUEUE_FULL");
  EXPECT_EQ(runs[1].count, 2U);
}

// ---- overlap

// C084, C099, C110: suppressed slots are recorded, later ones still fire.
TEST(Overlap, SkipDropsTheTickAndFiresTheNextOne) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kSkip));
  h.advance(1'000);
  const auto granted = h.take_job("q");
  h.advance(2'500);
  h.finish(granted, succeeded());
  h.advance(500);
  const auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[1].outcome, RunOutcome::kSkipped);
  EXPECT_EQ(runs[1].reason, "PREVIOUS_RUN_UNFINISHED");
  EXPECT_EQ(runs[1].count, 2U);  // neighbours share a record
  EXPECT_EQ(runs[1].job, granted.key);
  EXPECT_EQ(runs[2].outcome, RunOutcome::kFired);
}

TEST(Overlap, RetryingRunCountsAsUnfinishedDeadDoesNot) {
  EngineHarness h;
  h.queue("q", with_retry(retries(2, 1'500)));
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kSkip));
  h.advance(1'000);
  h.finish(h.take_job("q"), failed());
  h.advance(1'000);
  EXPECT_EQ(h.runs("s").back().outcome, RunOutcome::kSkipped);
  h.advance(500);
  h.finish(h.take_job("q"), failed());  // DEAD
  h.advance(500);
  EXPECT_EQ(h.runs("s").back().outcome, RunOutcome::kFired);
}

TEST(Overlap, RedrivenRunCountsAgain) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kSkip));
  h.advance(1'000);
  const auto key = h.take_job("q");
  h.finish(key, failed(false));
  h.expect<core::JobReply>(core::RedriveJob{key.key});
  h.advance(1'000);
  EXPECT_EQ(h.runs("s").back().reason, "PREVIOUS_RUN_UNFINISHED");
  h.expect<core::JobReply>(core::CancelJob{key.key, ""});
  h.advance(1'000);
  EXPECT_EQ(h.runs("s").back().outcome, RunOutcome::kFired);
}

TEST(Overlap, AllowRunsThemBesideEachOther) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kAllow));
  h.advance(5'000);
  EXPECT_EQ(h.lease(lease({"q"}, 10)).jobs.size(), 5U);
}

// C107's rule for scheduled runs: never two at once; one waits, further ones are skipped.
TEST(Overlap, WaitOneHoldsOneBackAndSkipsTheRest) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kWaitOne));
  h.advance(1'000);
  const auto first = h.take_job("q");
  h.advance(3'000);
  EXPECT_EQ(h.counters("q").of(JobState::kBlocked), 1U);
  EXPECT_EQ(h.rows(Keyspace::kBlocked), 1U);
  EXPECT_TRUE(h.nothing_to_lease("q"));
  auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[1].outcome, RunOutcome::kFired);
  EXPECT_EQ(runs[2].reason, "WAITING_RUN_EXISTS");
  EXPECT_EQ(runs[2].count, 2U);
  EXPECT_EQ(runs[2].job, runs[1].job);
  const auto r = h.expect<core::ExplainReply>(core::ExplainJob{runs[1].job, 1});
  EXPECT_EQ(r.reasons.at(0), core::WhyReason::kBlocked);

  h.crash();
  h.finish(first, succeeded());
  const auto second = h.take_job("q");
  EXPECT_EQ(second.key, runs[1].job);
  EXPECT_EQ(second.body->nominal_ms[0], kHarnessStartMs + 2'000);  // the earlier time stays
  EXPECT_EQ(h.rows(Keyspace::kBlocked), 0U);
  h.advance(1'000);
  EXPECT_EQ(h.counters("q").of(JobState::kBlocked), 1U);
}

TEST(Overlap, WaitingRunCanBeCancelled) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kWaitOne));
  h.advance(1'000);
  const auto first = h.take_job("q");
  h.advance(1'000);
  const auto waiting = h.runs("s").back().job;
  h.expect<core::JobReply>(core::CancelJob{waiting, ""});
  EXPECT_EQ(h.rows(Keyspace::kBlocked), 0U);
  h.advance(1'000);
  EXPECT_EQ(h.counters("q").of(JobState::kBlocked), 1U);  // the next tick waits
  h.finish(first, succeeded());
  h.take_job("q");
}

TEST(Overlap, WaitingRunExpiresAndCanBePurged) {
  EngineHarness h;
  h.queue("q");
  auto c = with("s", 1'000, Overlap::kWaitOne);
  c.settings.job.start_within_ms = 2'500;
  h.expect<core::SchedulerReply>(c);
  h.advance(1'000);
  const auto first = h.take_job("q");
  h.advance(3'500);
  EXPECT_EQ(h.counters("q").of(JobState::kExpired), 1U);  // also in BLOCKED
  h.advance(500);
  EXPECT_EQ(h.counters("q").of(JobState::kBlocked), 1U);
  h.call(core::PurgeQueue{"q", {}});
  EXPECT_EQ(h.counters("q").of(JobState::kBlocked), 0U);
  EXPECT_EQ(h.rows(Keyspace::kBlocked), 0U);
  h.finish(first, succeeded());
  h.advance(1'000);
  h.take_job("q");
}

TEST(Overlap, CrashBetweenEndAndUnblockingLosesNobody) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kWaitOne));
  h.advance(1'000);
  const auto first = h.take_job("q");
  h.advance(1'000);
  h.send(finish(first, succeeded()));
  h.seal();
  while (h.step_store()) {
  }
  h.crash();
  h.settle();  // the start goes on with the unblocking
  const auto second = h.take_job("q");
  ASSERT_NE(second.body, nullptr);
  EXPECT_EQ(second.body->nominal_ms[0], kHarnessStartMs + 2'000);
}

// ---- catch-up

// C103: down for ten hours, once with ALL and once with LATEST.
TEST(CatchUpPolicy, AllFiresEveryMissedTickInOrder) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", kHour, Overlap::kAllow, CatchUp::kAll));
  h.move_clocks(10 * kHour + kMinute);
  h.crash();
  h.settle();
  EXPECT_EQ(fired(h, "s").size(), 10U);
  std::int64_t last = 0;
  for (const auto& granted : h.lease(lease({"q"}, 100)).jobs) {
    EXPECT_GT(granted.body->nominal_ms[0], last);
    last = granted.body->nominal_ms[0];
  }
}

TEST(CatchUpPolicy, LatestFiresTheNewestAndRecordsTheRest) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", kHour, Overlap::kAllow, CatchUp::kLatest));
  h.move_clocks(10 * kHour + kMinute);
  h.crash();
  h.settle();
  const auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].outcome, RunOutcome::kMissed);
  EXPECT_EQ(runs[0].reason, "SUPERSEDED_BY_LATER");
  EXPECT_EQ(runs[0].count, 9U);
  EXPECT_EQ(runs[1].outcome, RunOutcome::kFired);
  EXPECT_EQ(runs[1].reason, "CATCH_UP");
  EXPECT_EQ(runs[1].first_nominal_ms, kHarnessStartMs + 10 * kHour);
}

// C101: an outage leaves a trace.
TEST(CatchUpPolicy, NoneRecordsWhatWasMissed) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", kHour, Overlap::kAllow, CatchUp::kNone));
  h.move_clocks(3 * kHour + kMinute);
  h.crash();
  h.settle();
  const auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].outcome, RunOutcome::kMissed);
  EXPECT_EQ(runs[0].count, 3U);
  EXPECT_EQ(h.counters("q").created, 0U);
}

TEST(CatchUpPolicy, ShortRestartLosesNothingUnderNone) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", kHour, Overlap::kAllow, CatchUp::kNone));
  h.advance(kHour - 1'000);
  h.move_clocks(3'000);  // down for 3 s over the tick: within late_tolerance
  h.crash();
  h.settle();
  EXPECT_EQ(fired(h, "s").size(), 1U);
}

// C095, C105: no number of missed ticks disables a schedule or costs memory.
TEST(CatchUpPolicy, YearsOfMissedSecondsAreOneRecord) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kAllow, CatchUp::kLatest));
  h.move_clocks(174LL * 365 * 24 * kHour);
  h.crash();
  h.settle();
  auto runs = h.runs("s");
  EXPECT_LE(runs.size(), 20U);
  EXPECT_GT(runs[0].count, 100'000U);
  const auto before = fired(h, "s").size();
  h.set_checks(false);
  h.advance(3'000);
  EXPECT_EQ(fired(h, "s").size(), before + 3);
}

// How many ticks of the scheduler each batch holds.
std::map<core::CommitSeq, std::uint64_t> ticks_by_batch(const EngineHarness& h,
                                                        const std::string& id) {
  std::map<core::CommitSeq, std::uint64_t> out;
  for (const auto& run : h.runs(id)) out[run.seq] += run.count;
  return out;
}

// At most so many ticks of one scheduler in a batch keep the others on time, however many of them
// are catching up.
TEST(CatchUpPolicy, LongCatchUpDoesNotHoldUpOthers) {
  for (const std::uint32_t ticks_in_a_turn : {10U, 30U}) {  // not all get their turn at once; all
    core::EngineOptions options;
    options.max_ticks_per_scheduler = 5;
    options.max_ticks_per_turn = ticks_in_a_turn;
    EngineHarness h(options);
    h.queue("q");
    for (const char* id : {"a", "b", "c"}) {
      h.expect<core::SchedulerReply>(with(id, kMinute, Overlap::kAllow, CatchUp::kAll));
    }
    h.expect<core::SchedulerReply>(with("z", kHour, Overlap::kAllow, CatchUp::kAll));
    h.move_clocks(kHour);
    h.settle();
    const core::CommitSeq first = ticks_by_batch(h, "a").begin()->first;
    for (const char* id : {"a", "b", "c"}) {
      EXPECT_EQ(fired(h, id).size(), 60U);
      const auto batches = ticks_by_batch(h, id);
      EXPECT_LE(batches.begin()->first, first + 1) << id << " waits for others to catch up";
      for (const auto& [seq, ticks] : batches) EXPECT_LE(ticks, 5U) << id << " in batch " << seq;
    }
    EXPECT_EQ(fired(h, "z").size(), 1U);
    EXPECT_LE(ticks_by_batch(h, "z").begin()->first, first + 1);
  }
}

// The same with rows to be read for the ticks, which are then decided in a later turn.
TEST(CatchUpPolicy, SoManyTicksInABatchWithBusinessKeysToo) {
  core::EngineOptions options;
  options.max_ticks_per_scheduler = 5;
  EngineHarness h(options);
  h.queue("q");
  auto c = with("s", kMinute, Overlap::kAllow, CatchUp::kAll);
  c.settings.job.business_key = "{{nominal_time}}";
  h.expect<core::SchedulerReply>(c);
  h.move_clocks(kHour);
  h.settle();
  EXPECT_EQ(fired(h, "s").size(), 60U);
  for (const auto& [seq, ticks] : ticks_by_batch(h, "s")) EXPECT_LE(ticks, 5U) << seq;
}

TEST(CatchUpPolicy, SkipDecidesLateTicksTooInCommitOrder) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", kMinute, Overlap::kSkip, CatchUp::kAll));
  h.move_clocks(5 * kMinute);
  h.crash();
  h.settle();
  const auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].outcome, RunOutcome::kFired);
  EXPECT_EQ(runs[1].count, 4U);
}

TEST(CatchUpPolicy, EveryTickIsCoveredOnce) {
  for (const auto mode : {CatchUp::kNone, CatchUp::kLatest, CatchUp::kAll}) {
    for (const auto overlap : {Overlap::kSkip, Overlap::kWaitOne, Overlap::kAllow}) {
      EngineHarness h;
      h.queue("q");
      h.expect<core::SchedulerReply>(with("s", 1'000, overlap, mode));
      h.advance(3'000);
      h.move_clocks(60'000);
      h.crash();
      h.advance(2'000);
      h.call(core::PauseScheduler{"s", ""});
      h.advance(5'000);
      h.call(core::ResumeScheduler{"s"});
      h.advance(3'000);
      std::uint64_t covered = 0;
      std::int64_t last = 0;
      for (const auto& run : h.runs("s")) {
        EXPECT_GT(run.first_nominal_ms, last);
        last = run.last_nominal_ms;
        covered += run.count;
      }
      EXPECT_EQ(covered, 73U) << static_cast<int>(mode) << " " << static_cast<int>(overlap);
    }
  }
}

// ---- business key of a template

TEST(TickKey, TickWhoseKeyExistsIsARecordedSkip) {
  EngineHarness h;
  h.queue("q");
  auto c = with("s", kHour, Overlap::kAllow);
  c.settings.job.business_key = "daily-{{business_date}}";
  h.expect<core::SchedulerReply>(c);
  h.advance(2 * kHour);
  const auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].outcome, RunOutcome::kSkipped);
  EXPECT_EQ(runs[1].reason, "BUSINESS_KEY_EXISTS");
  EXPECT_EQ(runs[1].job, runs[0].job);
  h.set_checks(false);
  h.jump(11 * kHour);  // the next day's first tick
  EXPECT_EQ(fired(h, "s").size(), 2U);
}

TEST(TickKey, TwoTicksOfOneBatchWithOneKeyMakeOneJob) {
  EngineHarness h;
  h.queue("q");
  auto c = with("s", kMinute, Overlap::kAllow, CatchUp::kAll);
  c.settings.job.business_key = "{{business_date}}";
  h.expect<core::SchedulerReply>(c);
  h.move_clocks(5 * kMinute);
  h.settle();
  EXPECT_EQ(h.counters("q").created, 1U);
  EXPECT_EQ(fired(h, "s").size(), 1U);
}

// ---- run records

TEST(RunRecords, AreBoundedInNumberAndAge) {
  core::EngineOptions options;
  options.max_scheduler_runs = 5;
  options.run_retention_ms = kHour;
  EngineHarness h(options);
  h.set_checks(false);
  h.queue("q");
  h.expect<core::SchedulerReply>(with("s", 1'000, Overlap::kAllow));
  h.advance(30'000);
  EXPECT_LE(h.runs("s").size(), 10U);
  EXPECT_EQ(h.runs("s").back().first_nominal_ms, h.wall_ms());
  h.call(core::DeleteScheduler{"s"});
  h.jump(25 * kHour);
  h.advance(5'000);
  EXPECT_TRUE(h.runs("s").empty());
}

// The last record stays open for ticks that do not run for the same reason. When it is removed, the
// next tick must not bring it back, or the count of records would be short of one for ever.
TEST(RunRecords, OneThatIsRemovedIsNotContinued) {
  core::EngineOptions options;
  options.run_retention_ms = kHour;
  EngineHarness h(options);
  h.queue("q");
  h.expect<core::SchedulerReply>(scheduler("s", kMinute));
  const auto pause_for = [&](std::int64_t ms) {
    h.expect<core::SchedulerReply>(core::PauseScheduler{"s", "deploy"});
    h.advance(ms);
    h.expect<core::SchedulerReply>(core::ResumeScheduler{"s"});
  };
  pause_for(3 * kMinute);
  ASSERT_EQ(h.runs("s").size(), 1U);
  ASSERT_EQ(h.runs("s")[0].count, 3U);
  pause_for(2 * kMinute);  // PAUSED again: the record goes on
  ASSERT_EQ(h.runs("s").size(), 1U);
  ASSERT_EQ(h.runs("s")[0].count, 5U);

  const std::int64_t paused_ms = h.wall_ms();
  h.expect<core::SchedulerReply>(core::PauseScheduler{"s", "deploy"});
  h.advance(3 * kHour);
  ASSERT_TRUE(h.runs("s").empty());  // an hour old, and nothing came after it
  const auto resumed = h.expect<core::SchedulerReply>(core::ResumeScheduler{"s"});
  ASSERT_EQ(h.runs("s").size(), 1U);
  EXPECT_EQ(h.runs("s")[0].first_nominal_ms, paused_ms + kMinute);
  EXPECT_EQ(h.runs("s")[0].count, 180U);
  EXPECT_EQ(resumed.state.runs, 1U);
}

// Every tick is covered by one run record, also those that an edit takes away.
TEST(Edit, TicksOwedByTheOldSpecificationAreRecorded) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(scheduler("s", 60'000));
  h.expect<core::SchedulerReply>(core::PauseScheduler{"s", "deploy"});
  h.move_clocks(600'000);
  h.settle();
  h.expect<core::SchedulerReply>(scheduler("s", 120'000));
  h.settle();
  std::uint64_t covered = 0;
  for (const model::RunRecord& run : h.runs("s")) {
    EXPECT_EQ(run.outcome, model::RunOutcome::kMissed);
    EXPECT_EQ(run.reason, "PAUSED");
    covered += run.count;
  }
  EXPECT_EQ(covered, 10U);
}

}  // namespace
}  // namespace rota::testing
