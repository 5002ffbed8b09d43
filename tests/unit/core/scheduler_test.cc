// SPDX-License-Identifier: Apache-2.0
//
// Declarations of schedulers: stable id, revision, edits, pause and resume, delete and re-create.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::Declared;
using core::JobState;
using core::Keyspace;
using core::Reason;
using model::RunOutcome;

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kHour = 60 * kMinute;

core::UpsertScheduler allow(std::string id, std::int64_t every_ms) {
  auto c = scheduler(std::move(id), every_ms);
  c.settings.overlap = model::Overlap::kAllow;
  return c;
}
core::UpsertScheduler cron(std::string id, std::string expression, std::string zone = "UTC") {
  auto c = scheduler(std::move(id), 0);
  c.settings.spec.cron = std::move(expression);
  c.settings.spec.time_zone = std::move(zone);
  c.settings.overlap = model::Overlap::kAllow;
  return c;
}
core::SchedulerReply declare(EngineHarness& h, const core::UpsertScheduler& c) {
  return h.expect<core::SchedulerReply>(c);
}
// Nominal times of the runs that fired.
std::vector<std::int64_t> fired(const EngineHarness& h, const std::string& id) {
  std::vector<std::int64_t> out;
  for (const auto& run : h.runs(id)) {
    if (run.outcome == RunOutcome::kFired) out.push_back(run.first_nominal_ms);
  }
  return out;
}

// C083: three nodes declare the same scheduler: one schedule.
TEST(Declare, SameAgainChangesNothing) {
  EngineHarness h;
  h.queue("q");
  const auto first = declare(h, allow("s", 1'000));
  EXPECT_EQ(first.declared, Declared::kCreated);
  ASSERT_EQ(first.next_ms.size(), 3U);
  EXPECT_EQ(first.next_ms[0], h.wall_ms() + 1'000);
  const auto commits = h.store().last_committed();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(declare(h, allow("s", 1'000)).declared, Declared::kUnchanged);
  }
  EXPECT_EQ(h.store().last_committed(), commits);
  h.advance(10'000);
  EXPECT_EQ(fired(h, "s").size(), 10U);
}

TEST(Declare, FirstTickIsStrictlyAfterCreation) {
  EngineHarness h;
  h.queue("q");
  ASSERT_EQ(h.wall_ms() % 1'000, 0);
  declare(h, allow("s", 1'000));
  h.settle();
  EXPECT_TRUE(h.runs("s").empty());
  h.advance(1'000);
  EXPECT_EQ(fired(h, "s"), std::vector<std::int64_t>{h.wall_ms()});
}

TEST(Declare, OlderRevisionChangesNothing) {
  EngineHarness h;
  h.queue("q");
  auto c = allow("s", 1'000);
  c.revision = 5;
  declare(h, c);
  auto old = allow("s", 9'000);
  old.revision = 4;
  const auto reply = declare(h, old);
  EXPECT_EQ(reply.declared, Declared::kOlderRevision);
  EXPECT_EQ(reply.scheduler.settings.spec.every_ms, 1'000);
  c.revision = 6;
  EXPECT_EQ(declare(h, c).declared, Declared::kUnchanged);
  old.revision = 5;
  EXPECT_EQ(declare(h, old).declared, Declared::kOlderRevision);
}

// C082: each change is read back, and no run of the old cadence follows.
TEST(Declare, ChangedIntervalTakesEffectAtOnce) {
  EngineHarness h;
  h.queue("q");
  declare(h, allow("s", 3'000));
  for (const std::int64_t every : {8'000, 4'000, 9'000, 2'000}) {
    h.advance(5'000);
    const auto before = fired(h, "s").size();
    const auto reply = declare(h, allow("s", every));
    EXPECT_EQ(reply.declared, Declared::kChanged);
    EXPECT_EQ(reply.changed, std::vector<std::string>{"every"});
    EXPECT_EQ(reply.scheduler.settings.spec.every_ms, every);
    EXPECT_EQ(reply.next_ms[0] % every, 0);
    EXPECT_GT(reply.next_ms[0], h.wall_ms());
    h.advance(reply.next_ms[0] - h.wall_ms());
    const auto times = fired(h, "s");
    ASSERT_EQ(times.size(), before + 1);
    EXPECT_EQ(times.back(), reply.next_ms[0]);
  }
}

// C112: an edit fires nothing by itself.
TEST(Declare, EditToATimeBetweenLastRunAndNowFiresNothing) {
  EngineHarness h;  // 12:00
  h.queue("q");
  declare(h, cron("s", "0 13 * * *"));
  h.set_checks(false);
  h.jump(2 * kHour);  // 14:00; 13:00 is late and fires by LATEST
  ASSERT_EQ(fired(h, "s").size(), 1U);
  const auto reply = declare(h, cron("s", "30 13 * * *"));
  EXPECT_EQ(reply.next_ms[0], kHarnessStartMs + 25 * kHour + kHour / 2);
  h.advance(3'000);
  EXPECT_EQ(fired(h, "s").size(), 1U);
}

// C094, C113: an edit of the zone alone recomputes the next run.
TEST(Declare, ZoneEditRecomputes) {
  EngineHarness h;  // 12:00Z
  h.queue("q");
  declare(h, cron("s", "0 21 * * *", "+08:00"));                     // 13:00Z
  const auto reply = declare(h, cron("s", "0 21 * * *", "+02:00"));  // 19:00Z
  EXPECT_EQ(reply.changed, std::vector<std::string>{"time_zone"});
  EXPECT_EQ(reply.next_ms[0], kHarnessStartMs + 7 * kHour);
  h.jump(kHour);
  EXPECT_TRUE(fired(h, "s").empty());
  h.jump(6 * kHour);
  EXPECT_EQ(fired(h, "s").size(), 1U);
}

TEST(Declare, EditOfTheTemplateKeepsTheCursor) {
  EngineHarness h;
  h.queue("q");
  declare(h, allow("s", 1'000));
  h.move_clocks(3'000);
  auto c = allow("s", 1'000);
  c.settings.job.kind = "other";
  EXPECT_EQ(declare(h, c).changed, std::vector<std::string>{"job"});
  EXPECT_EQ(fired(h, "s").size(), 3U);
}

TEST(Declare, RefusalsNameTheFieldAndChangeNothing) {
  EngineHarness h;
  h.queue("q");
  auto c = cron("s", "*/0 * * * *");
  EXPECT_EQ(h.refusal(c).reason, Reason::kBadCron);
  c = cron("s", "0 0 31 4 *");
  EXPECT_EQ(h.refusal(c).reason, Reason::kBadCron);
  c = cron("s", "0 9 * * *", "Mars/Olympus");
  EXPECT_EQ(h.refusal(c).reason, Reason::kUnknownTimeZone);
  c = allow("s", 1'000);
  c.settings.job.queue = "nowhere";
  const auto error = h.refusal(c);
  EXPECT_EQ(error.reason, Reason::kQueueNotFound);
  EXPECT_EQ(error.field, "job.queue");
  c = allow("s", 1'000);
  c.settings.job.business_key = "constant";
  EXPECT_EQ(h.refusal(c).reason, Reason::kBusinessKeyNeedsTime);
  c = allow("s", 1'000);
  c.etag = "7";
  EXPECT_EQ(h.refusal(c).reason, Reason::kEtagMismatch);
  EXPECT_EQ(h.engine().stats().schedulers, 0U);
  EXPECT_EQ(h.refusal(core::PauseScheduler{"s", ""}).reason, Reason::kSchedulerNotFound);
}

TEST(Declare, NumberOfSchedulersIsBounded) {
  core::EngineOptions options;
  options.max_schedulers = 1;
  EngineHarness h(options);
  h.queue("q");
  declare(h, allow("a", 1'000));
  EXPECT_EQ(h.refusal(allow("b", 1'000)).reason, Reason::kTooManySchedulers);
  EXPECT_EQ(declare(h, allow("a", 2'000)).declared, Declared::kChanged);
}

// Must show 6: a declaration whose answer was lost.
TEST(Declare, IsRepeatedByRequestIdAfterACrash) {
  EngineHarness h;
  h.queue("q");
  auto c = allow("s", 1'000);
  c.request = {"r", "body"};
  EXPECT_EQ(declare(h, c).declared, Declared::kCreated);
  const auto created = h.named;
  h.enqueue(job());
  h.crash();
  EXPECT_EQ(declare(h, c).declared, Declared::kCreated);
  EXPECT_EQ(h.named, created);
  c.request.body_hash = "other";
  EXPECT_EQ(h.refusal(c).reason, Reason::kRequestIdReused);
}

// ---- pause and resume

TEST(PauseScheduler, TicksAreMissedWithTheReason) {
  EngineHarness h;
  h.queue("q");
  EXPECT_FALSE(declare(h, allow("s", 1'000)).next_ms.empty());
  h.advance(2'000);
  const auto paused = h.expect<core::SchedulerReply>(core::PauseScheduler{"s", "month end"});
  EXPECT_TRUE(paused.scheduler.paused);
  EXPECT_EQ(paused.scheduler.pause_note, "month end");
  const auto again = h.expect<core::SchedulerReply>(core::PauseScheduler{"s", ""});
  EXPECT_EQ(again.scheduler.pause_note, "month end") << "a pause without a note says nothing new";
  EXPECT_EQ(again.scheduler.version, paused.scheduler.version);
  EXPECT_TRUE(declare(h, allow("s", 1'000)).next_ms.empty()) << "none of them would run";
  h.advance(5'000);
  EXPECT_EQ(fired(h, "s").size(), 2U);
  h.expect<core::SchedulerReply>(core::ResumeScheduler{"s"});
  h.advance(1'000);
  const auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[2].outcome, RunOutcome::kMissed);
  EXPECT_EQ(runs[2].reason, "PAUSED");
  EXPECT_EQ(runs[2].count, 5U);
  EXPECT_EQ(runs[3].outcome, RunOutcome::kFired);
}

TEST(PauseScheduler, UpsertNeverChangesIt) {
  EngineHarness h;
  h.queue("q");
  declare(h, allow("s", 1'000));
  h.call(core::PauseScheduler{"s", ""});
  EXPECT_TRUE(declare(h, allow("s", 2'000)).scheduler.paused);
  h.crash();
  h.advance(4'000);
  EXPECT_TRUE(fired(h, "s").empty());
}

// ---- delete and re-create

// C080: the slot after the second creation runs.
TEST(DeleteScheduler, ReCreatedWithinOnePeriodRunsItsNextSlot) {
  EngineHarness h;
  h.queue("q");
  const auto first = declare(h, allow("test", 180'000));
  h.advance(180'000);
  ASSERT_EQ(fired(h, "test").size(), 1U);
  h.finish(h.take_job("q"), succeeded());
  h.expect<core::SchedulerReply>(core::DeleteScheduler{"test"});
  h.advance(10'000);
  const auto second = declare(h, allow("test", 180'000));
  EXPECT_EQ(second.declared, Declared::kCreated);
  EXPECT_GT(second.scheduler.generation, first.scheduler.generation);
  h.advance(170'000);
  EXPECT_EQ(fired(h, "test").size(), 2U);
  h.take_job("q");
}

TEST(DeleteScheduler, LeavesItsJobsAndOverlapCountsThem) {
  EngineHarness h;
  h.queue("q");
  declare(h, scheduler("s", 1'000));
  h.advance(1'000);
  const auto granted = h.take_job("q");
  h.call(core::DeleteScheduler{"s"});
  EXPECT_EQ(h.state(granted.key), JobState::kRunning);
  declare(h, scheduler("s", 1'000));
  h.crash();
  h.advance(1'000);
  EXPECT_EQ(h.runs("s").back().reason, "PREVIOUS_RUN_UNFINISHED");
  h.finish(granted, succeeded());
  h.advance(1'000);
  EXPECT_EQ(h.runs("s").back().outcome, RunOutcome::kFired);
}

TEST(DeleteScheduler, TicksOfAPauseHaveARunRecordThatSaysSo) {
  EngineHarness h;
  h.queue("q");
  declare(h, allow("s", 1'000));
  h.expect<core::SchedulerReply>(core::PauseScheduler{"s", "holiday"});
  h.advance(3'500);
  EXPECT_TRUE(h.runs("s").empty());
  h.expect<core::SchedulerReply>(core::DeleteScheduler{"s"});
  const auto runs = h.runs("s");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].outcome, RunOutcome::kMissed);
  EXPECT_EQ(runs[0].reason, "PAUSED");
  EXPECT_EQ(runs[0].count, 3U);
}

TEST(DeleteScheduler, StopsTicking) {
  EngineHarness h;
  h.queue("q");
  declare(h, allow("s", 1'000));
  h.advance(2'000);
  h.call(core::DeleteScheduler{"s"});
  h.crash();
  h.advance(5'000);
  EXPECT_EQ(fired(h, "s").size(), 2U);
  EXPECT_EQ(h.counters("q").created, 2U);
}

// ---- deleted schedulers rest

std::uint64_t in_memory(EngineHarness& h) { return h.engine().stats().scheduler_entries; }

bool has_state(EngineHarness& h, const std::string& id) {
  return h.row(Keyspace::kScheduler, model::keys::scheduler_state("default", id)).has_value();
}

TEST(RestingScheduler, LeavesTheMemoryWhenItsJobsHaveEndedAndKeepsItsRuns) {
  EngineHarness h;
  h.queue("q");
  declare(h, allow("s", 1'000));
  h.advance(3'000);
  ASSERT_EQ(h.runs("s").size(), 3U);
  h.call(core::DeleteScheduler{"s"});
  EXPECT_EQ(in_memory(h), 1U) << "its jobs still count";
  for (int i = 0; i < 3; ++i) h.finish(h.take_job("q"), succeeded());
  EXPECT_EQ(in_memory(h), 0U);
  EXPECT_TRUE(has_state(h, "s"));
  EXPECT_EQ(h.runs("s").size(), 3U);
  h.crash();
  EXPECT_EQ(in_memory(h), 0U);
  // Declared again it goes on with its records.
  const auto again = declare(h, allow("s", 1'000));
  EXPECT_EQ(again.declared, Declared::kCreated);
  EXPECT_EQ(again.state.runs, 3U);
  h.advance(2'000);
  EXPECT_EQ(h.runs("s").size(), 5U);
  EXPECT_EQ(h.counters("q").created, 5U);
}

TEST(RestingScheduler, ItsRedrivenJobCountsForTheNextOfItsName) {
  EngineHarness h;
  h.queue("q", with_retry(retries(1)));
  auto skip = scheduler("s", 60'000);
  skip.settings.overlap = model::Overlap::kSkip;
  declare(h, skip);
  h.advance(60'000);
  const auto dying = h.take_job("q");
  h.finish(dying, failed());
  h.call(core::DeleteScheduler{"s"});
  ASSERT_EQ(in_memory(h), 0U);
  h.crash();
  EXPECT_EQ(h.expect<core::JobReply>(core::RedriveJob{dying.key}).state, JobState::kReady);
  EXPECT_EQ(in_memory(h), 1U);
  h.crash();
  EXPECT_EQ(in_memory(h), 1U) << "it has a job that is not finished";
  declare(h, skip);
  h.advance(60'000);
  EXPECT_EQ(h.runs("s").back().reason, "PREVIOUS_RUN_UNFINISHED");
  h.finish(h.take_job("q"), succeeded());
  h.advance(60'000);
  EXPECT_EQ(h.runs("s").back().outcome, RunOutcome::kFired);
}

TEST(RestingScheduler, ANewOneOfItsNameDoesNotWaitForARedrivenJobThatHasEnded) {
  EngineHarness h;
  h.queue("q", with_retry(retries(1)));
  auto skip = scheduler("s", 60'000);
  skip.settings.overlap = model::Overlap::kSkip;
  declare(h, skip);
  h.advance(60'000);
  const auto dying = h.take_job("q");
  h.finish(dying, failed());
  h.call(core::DeleteScheduler{"s"});
  h.expect<core::JobReply>(core::RedriveJob{dying.key});
  h.finish(h.take_job("q"), succeeded());
  EXPECT_EQ(in_memory(h), 0U);
  declare(h, skip);
  h.advance(60'000);
  EXPECT_EQ(h.runs("s").back().outcome, RunOutcome::kFired);
}

// However many there are, a walk takes a few at a time into memory; and in the end nothing is left.
TEST(RestingScheduler, RunRecordsOfManyGoWhenTheyAreOldEnough) {
  core::EngineOptions options;
  options.run_retention_ms = 2 * kHour;
  EngineHarness h(options);
  h.set_checks(false);
  h.queue("q");
  constexpr int kMany = 300;
  const auto id = [](int i) { return "s" + std::to_string(i); };
  for (int i = 0; i < kMany; ++i) declare(h, allow(id(i), 1'000));
  h.advance(2'000);
  for (int i = 0; i < kMany; ++i) h.call(core::DeleteScheduler{id(i)});
  while (h.counters("q").of(JobState::kReady) > 0) {
    for (const auto& job : h.lease(lease({"q"}, 100)).jobs) h.finish(job, succeeded());
  }
  EXPECT_EQ(in_memory(h), 0U);
  EXPECT_GE(h.rows(Keyspace::kRun), 2U * kMany);
  h.crash();
  EXPECT_EQ(in_memory(h), 0U);
  h.advance(kHour);
  EXPECT_GE(h.rows(Keyspace::kRun), 2U * kMany) << "none is old enough";
  EXPECT_EQ(in_memory(h), 0U);
  std::uint64_t most = 0;
  for (int minute = 0; minute < 5 * 60; ++minute) {
    h.move_clocks(60'000);
    for (int turn = 0; turn < 3; ++turn) {
      h.seal();
      while (h.step_store()) {
      }
      if (h.reads_ready() > 0) h.deliver_read(0);
      most = std::max(most, in_memory(h));
    }
    h.settle();
  }
  EXPECT_EQ(h.rows(Keyspace::kRun), 0U);
  for (int i = 0; i < kMany; ++i) EXPECT_FALSE(has_state(h, id(i)));
  EXPECT_EQ(in_memory(h), 0U);
  EXPECT_LE(most, 64U);
}

// What was deleted and has jobs left counts neither in the figures nor for the limit.
TEST(SchedulerLimit, CountsDeclaredOnesOnly) {
  core::EngineOptions options;
  options.max_schedulers = 2;
  EngineHarness h(options);
  h.queue("q");
  h.expect<core::SchedulerReply>(scheduler("a", 1'000));
  h.expect<core::SchedulerReply>(scheduler("b", 3'600'000));
  EXPECT_EQ(h.refusal(scheduler("c", 3'600'000)).reason, core::Reason::kTooManySchedulers);
  h.advance(2'000);
  ASSERT_GT(h.counters("q").created, 0U);
  h.expect<core::SchedulerReply>(core::DeleteScheduler{"a"});
  EXPECT_EQ(h.engine().stats().schedulers, 1U);
  h.expect<core::SchedulerReply>(scheduler("c", 3'600'000));
  EXPECT_EQ(h.engine().stats().schedulers, 2U);
  EXPECT_EQ(h.refusal(scheduler("d", 3'600'000)).reason, core::Reason::kTooManySchedulers);
  h.crash();
  EXPECT_EQ(h.engine().stats().schedulers, 2U);
  EXPECT_EQ(h.refusal(scheduler("d", 3'600'000)).reason, core::Reason::kTooManySchedulers);
}

}  // namespace
}  // namespace rota::testing
