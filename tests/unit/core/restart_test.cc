// SPDX-License-Identifier: Apache-2.0
//
// Restart: leases live on (R1, R2), the clock never goes back, nothing half done.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "model/bytes.h"
#include "model/fields.h"
#include "model/keys.h"
#include "model/records.h"
#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::Beat;
using core::JobState;
using core::Keyspace;

TEST(Restart, LeasesLiveWithAFullTtlAndABoundedJitter) {
  EngineHarness h;
  h.queue("q");
  std::vector<core::JobKey> keys;
  for (int i = 0; i < 10; ++i) keys.push_back(h.enqueue(job()).key);
  h.lease(lease({"q"}, 10));
  h.advance(29'000);
  h.crash();
  h.advance(29'999);
  EXPECT_EQ(h.counters("q").of(JobState::kRunning), 10U);
  h.advance(6'001);  // ttl / 5
  EXPECT_EQ(h.counters("q").of(JobState::kRunning), 0U);
}

TEST(Restart, WorkerGoesOnWithItsToken) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  h.crash();
  EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
  h.crash();
  EXPECT_EQ(h.finish(granted, succeeded()).state, JobState::kSucceeded);
}

TEST(Restart, AttemptTimeoutGoesOnButLeavesOneTtl) {
  EngineHarness h;
  h.queue("q", with_retry(retries(1)));
  auto request = job();
  request.attempt_timeout_ms = 60'000;
  const auto key = h.enqueue(request).key;
  const auto granted = h.take_job("q");
  h.move_clocks(59'000);
  h.crash();
  h.advance(20'000);
  EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
  EXPECT_EQ(h.state(key), JobState::kRunning);
  h.advance(17'000);
  EXPECT_EQ(h.state(key), JobState::kDead);
}

core::QueuePatch with_timeout(std::int64_t ms) {
  core::QueuePatch patch;
  patch.attempt_timeout_ms = ms;
  return patch;
}

core::LeaseJobs named_lease() {
  auto call = lease({"q"}, 10);
  call.request_id = "r";
  return call;
}

// Its worker was told of it; what is set meanwhile is for those that are granted later.
TEST(Restart, ARunningAttemptKeepsTheTimeoutItWasGranted) {
  struct Case {
    std::int64_t granted, set, left;
  };
  for (const Case& c : {Case{90'000, 40'000, 80'000}, Case{90'000, 900'000, 80'000},
                        Case{90'000, model::kNoTimeout, 80'000},
                        Case{model::kNoTimeout, 90'000, model::kNoTimeout}}) {
    EngineHarness h;
    h.queue("q", with_timeout(c.granted));
    h.enqueue(job());
    ASSERT_EQ(h.lease(named_lease()).jobs.at(0).time_left_ms, c.granted);
    h.queue("q", with_timeout(c.set));
    h.advance(10'000);
    for (int restart = 0; restart < 2; ++restart) {
      h.crash();
      EXPECT_EQ(h.lease(named_lease()).jobs.at(0).time_left_ms, c.left)
          << "granted " << c.granted << ", set " << c.set;
    }
    h.enqueue(job());
    EXPECT_EQ(h.take_job("q").time_left_ms, c.set);
  }
}

// Grants of a server that did not store it: by what the queue says now, as that server did.
TEST(Restart, AGrantOfTheFirstFormatHasTheTimeoutOfToday) {
  EngineHarness h;
  h.queue("q", with_timeout(90'000));
  h.enqueue(job());
  const auto granted = h.lease(named_lease()).jobs.at(0);
  const std::string key = model::keys::grant(granted.token);
  model::Grant grant;
  ASSERT_TRUE(model::decode(*h.row(Keyspace::kGrant, key), &grant));
  model::Writer w(1);
  for (const auto& text :
       {grant.session_id, grant.worker_id, grant.principal, grant.request_hash}) {
    w.str(text);
  }
  w.svarint(grant.ttl_ms);
  w.svarint(grant.granted_ms);
  w.varint(grant.granted_seq);
  w.varint(1);
  model::put_key(w, granted.key);
  w.varint(granted.attempt);
  w.varint(granted.token);
  w.varint(model::kPermitQueue);
  h.queue("q", with_timeout(200'000));
  auto batch = std::make_shared<core::Batch>();
  batch->put(Keyspace::kGrant, key, w.seal());
  h.store().commit(std::move(batch), h.store().last_committed() + 1,
                   [](core::CommitSeq, core::Outcome outcome, const std::string&) {
                     EXPECT_EQ(outcome, core::Outcome::kCommitted);
                   });
  while (h.step_store()) {
  }
  h.crash();
  EXPECT_EQ(h.lease(named_lease()).jobs.at(0).time_left_ms, 200'000);
}

TEST(Restart, LongTimeoutIsNotStretched) {
  EngineHarness h;
  h.queue("q", with_retry(retries(1)));
  auto request = job();
  request.attempt_timeout_ms = 200'000;
  const auto key = h.enqueue(request).key;
  const auto granted = h.take_job("q");
  h.move_clocks(50'000);
  h.crash();
  for (int i = 0; i < 14; ++i) {
    h.advance(10'000);
    EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
  }
  h.advance(10'000);
  EXPECT_EQ(h.state(key), JobState::kDead);
}

TEST(Restart, PartlyFinishedGrantComesBackWithWhatIsLeft) {
  EngineHarness h;
  h.queue("q", with_retry(retries(5, 60'000)));
  for (int i = 0; i < 4; ++i) h.enqueue(job());
  const auto reply = h.lease(lease({"q"}, 4));
  h.finish(reply.jobs[0], succeeded());
  h.finish(reply.jobs[1], failed());
  h.finish(reply.jobs[2], failed(false));
  h.crash();
  EXPECT_EQ(h.counters("q").of(JobState::kRunning), 1U);
  EXPECT_EQ(h.engine().stats().live_leases, 1U);
  EXPECT_EQ(h.finish(reply.jobs[3], succeeded()).state, JobState::kSucceeded);
  EXPECT_EQ(h.rows(Keyspace::kGrant), 0U);
}

// ---- a grant that is overdue at a start (R5): after 10 times the 30 s that the harness asks for

core::JobRequest endless_job() {
  auto request = job();
  request.attempt_timeout_ms = model::kNoTimeout;
  return request;
}

// A server that dies every ten seconds, and the lease of a worker that is long dead.
TEST(Restart, AServerThatKeepsCrashingGivesBackTheJobOfADeadWorker) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(endless_job()).key;
  const auto granted = h.take_job("q");
  for (int seconds = 10; seconds <= 330; seconds += 10) {
    h.advance(10'000);
    EXPECT_EQ(h.state(key), JobState::kRunning) << seconds << " s after the grant";
    h.crash();
    h.settle();
  }
  EXPECT_EQ(h.rows(Keyspace::kMeta), 2U);
  h.advance(10'000);
  h.crash();
  h.advance(10'000);
  EXPECT_NE(h.state(key), JobState::kRunning) << "overdue since 310 s, and no start gave it more";
  EXPECT_EQ(h.rows(Keyspace::kMeta), 1U) << "the row went with its grant";
  EXPECT_EQ(h.beat(granted).beat, Beat::kLost);
  h.advance(10'000);
  EXPECT_GT(h.take_job("q", "s2").token, granted.token);
}

TEST(Restart, AnOverdueLeaseWhoseWorkerIsHeardOfIsExtendedByStartsAgain) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(endless_job()).key;
  const auto granted = h.take_job("q");
  for (int i = 0; i < 33; ++i) {
    h.advance(10'000);
    h.crash();
    h.settle();
  }
  EXPECT_EQ(h.rows(Keyspace::kMeta), 2U);
  EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
  EXPECT_EQ(h.rows(Keyspace::kMeta), 1U);
  for (int i = 0; i < 2; ++i) {
    h.advance(10'000);
    h.crash();
  }
  h.advance(9'000);
  EXPECT_EQ(h.state(key), JobState::kRunning) << "29 s after its heartbeat";
  EXPECT_EQ(h.finish(granted, succeeded()).state, JobState::kSucceeded);
  EXPECT_EQ(h.rows(Keyspace::kMeta), 1U);
}

// What a heartbeat promises must not be taken back by a start that still finds the row.
TEST(Restart, ARenewalOfAnOverdueLeaseIsAnsweredWhenItIsDurable) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(endless_job());
  const auto granted = h.take_job("q");
  for (int i = 0; i < 32; ++i) {
    h.advance(10'000);
    h.crash();
    h.settle();
  }
  const auto beat = [&] { return h.send(core::Heartbeat{"s1", {{granted.key, granted.token}}}); };
  const auto first = beat();
  const auto second = beat();
  EXPECT_FALSE(h.take(first));
  EXPECT_FALSE(h.take(second)) << "nor one that finds the row gone from memory";
  h.seal();
  const auto third = beat();
  EXPECT_FALSE(h.take(third)) << "nor while the commit is under way";
  h.settle();
  for (const auto call : {first, second, third}) EXPECT_TRUE(h.take(call));
  EXPECT_TRUE(h.take(beat())) << "a plain one again";
}

// An attempt that may last longer is not overdue before.
TEST(Restart, ALeaseWithinItsAttemptTimeoutIsNotOverdue) {
  EngineHarness h;
  h.queue("q");
  auto request = job();
  request.attempt_timeout_ms = 600'000;
  h.enqueue(request);
  const auto granted = h.take_job("q");
  for (int i = 0; i < 60; ++i) {
    h.advance(10'000);
    h.crash();
    h.settle();
    ASSERT_EQ(h.rows(Keyspace::kMeta), 1U) << i;
  }
  EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
}

// A start that finds the clock far ahead has not seen that time pass.
TEST(Restart, AJumpOfTheClockDoesNotEndAnOverdueLease) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(endless_job()).key;
  const auto granted = h.take_job("q");
  for (int i = 0; i < 32; ++i) {
    h.advance(10'000);
    h.crash();
    h.settle();
  }
  h.step_wall(base::limits::kStartGapMs + 1);
  h.crash();
  h.advance(29'999);
  EXPECT_EQ(h.state(key), JobState::kRunning);
  EXPECT_EQ(h.beat(granted).beat, Beat::kRenewed);
}

// C150: after a crash at any commit each job is in exactly one state and is answered with it.
TEST(Restart, EveryCommitBoundaryIsAConsistentState) {
  for (int crash_at = 0; crash_at < 14; ++crash_at) {
    for (const bool keep : {false, true}) {
      EngineHarness h;
      h.queue("q", with_retry(retries(2, 0)));
      auto request = job();
      request.business_key = "k";
      int commits = 0;
      bool crashed = false;
      const auto step = [&](const core::CommandBody& body) {
        if (crashed) return;
        h.send(body);
        h.seal();
        if (commits++ == crash_at) {
          h.crash(keep);
          h.settle();
          crashed = true;
          return;
        }
        h.settle();
      };
      step(enqueue(request));
      core::GrantedJob granted;
      for (int attempt = 0; attempt < 2 && !crashed; ++attempt) {
        step(lease({"q"}));
        if (crashed) break;
        for (const auto& event : h.events) {
          if (event.kind != core::JobEvent::Kind::kGranted) continue;
          granted.key = event.key;
          granted.token = event.token;
        }
        step(finish(granted, failed()));
      }
      if (granted.key.valid()) step(core::RedriveJob{granted.key});
      step(lease({"q"}));
      // Whatever was reached: the same enqueue finds one job, and it can still be run to its end.
      const auto answer = h.enqueue(request);
      EXPECT_NE(answer.state, JobState::kUnknown);
      EXPECT_EQ(h.counters("q").created, 1U);
      if (answer.state == JobState::kDead) h.call(core::RedriveJob{answer.key});
      h.advance(40'000);
      const auto reply = h.lease(lease({"q"}));
      if (reply.jobs.empty()) {
        EXPECT_EQ(h.state(answer.key), JobState::kDead);
      } else {
        EXPECT_EQ(h.finish(reply.jobs[0], succeeded()).state, JobState::kSucceeded);
      }
    }
  }
}

TEST(Restart, TimeNeverGoesBack) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto before = h.engine().stats().now_ms;
  h.step_wall(-3'600'000);
  h.crash();
  h.enqueue(job());
  EXPECT_GE(h.engine().stats().now_ms, before);
  EXPECT_GT(h.engine().stats().behind_ms, 3'500'000);
  h.take_job("q");  // leases, READY jobs and finishes go on
}

TEST(Restart, DamagedRecordIsRefusedByName) {
  for (const auto& [keyspace, key, what] :
       {std::tuple{Keyspace::kQueueState, model::keys::queue_settings(1),
                   "queue-state with key 0x71"},
        std::tuple{Keyspace::kQueueState, model::keys::queue_counters(1),
                   "queue-state with key 0x63"},
        std::tuple{Keyspace::kMeta, model::keys::engine_meta(), "keyspace meta"},
        std::tuple{Keyspace::kGrant, model::keys::grant(1), "keyspace grant"}}) {
    EngineHarness h;
    h.queue("q");
    h.enqueue(job());
    h.take_job("q");
    auto bytes = h.row(keyspace, key);
    ASSERT_TRUE(bytes.has_value()) << what;
    (*bytes)[bytes->size() / 2] = static_cast<char>((*bytes)[bytes->size() / 2] ^ 1);
    auto batch = std::make_shared<core::Batch>();
    batch->put(keyspace, key, *bytes);
    h.store().commit(batch, h.store().last_committed() + 1,
                     [](core::CommitSeq, core::Outcome, std::string) {});
    while (h.step_store()) {
    }
    const NoZones zones;
    core::Engine engine({}, zones);
    auto loaded = engine.load(h.store(), h.now());
    ASSERT_FALSE(loaded.has_value()) << what;
    EXPECT_NE(loaded.error().message.find(what), std::string::npos) << loaded.error().message;
  }
}

TEST(Restart, CountersThatContradictTheLeasesAreRefused) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.take_job("q");
  auto batch = std::make_shared<core::Batch>();
  batch->del(Keyspace::kGrant, model::keys::grant(1));
  h.store().commit(batch, h.store().last_committed() + 1,
                   [](core::CommitSeq, core::Outcome, std::string) {});
  while (h.step_store()) {
  }
  const NoZones zones;
  core::Engine engine({}, zones);
  auto loaded = engine.load(h.store(), h.now());
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().message.find("running"), std::string::npos);
}

// A lease call whose jobs have all ended never grants again, also after a restart.
TEST(Restart, SpentRequestOfALeaseCallIsRemembered) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  auto first = lease({"q"});
  first.request_id = "r1";
  const auto granted = h.lease(first);
  ASSERT_EQ(granted.jobs.size(), 1U);
  h.finish(granted.jobs[0], succeeded());
  auto second = first;
  second.request_id = "r2";
  h.enqueue(job());
  const auto live = h.lease(second);
  ASSERT_EQ(live.jobs.size(), 1U);
  const auto waiting = h.enqueue(job()).key;
  for (int restart = 0; restart < 2; ++restart) {
    h.crash();
    const auto again = h.lease(first);
    EXPECT_TRUE(again.request_spent);
    EXPECT_TRUE(again.jobs.empty());
    const auto adopted = h.lease(second);
    EXPECT_FALSE(adopted.request_spent);
    ASSERT_EQ(adopted.jobs.size(), 1U);
    EXPECT_EQ(adopted.jobs[0].token, live.jobs[0].token);
  }
  EXPECT_EQ(h.state(waiting), JobState::kReady) << "no repeat took another job";
  // As long as other request ids, and no longer.
  h.finish(live.jobs[0], succeeded());
  h.advance(3'600'000 + 61'000);
  EXPECT_EQ(h.rows(Keyspace::kRequest), 0U);
  h.crash();
  EXPECT_FALSE(h.lease(first).request_spent);
}

// While a jump of the clock holds deletions back, a restart forgets none of them by age.
TEST(Restart, SpentRequestOutlivesAJumpOfTheClock) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  auto first = lease({"q"});
  first.request_id = "r1";
  const auto granted = h.lease(first);
  ASSERT_EQ(granted.jobs.size(), 1U);
  h.finish(granted.jobs[0], succeeded());
  const auto waiting = h.enqueue(job()).key;
  h.step_wall(24 * 3'600'000);
  h.enqueue(job());  // the hold is stored with the next batch
  h.crash();
  const auto again = h.lease(first);
  EXPECT_TRUE(again.request_spent);
  EXPECT_TRUE(again.jobs.empty());
  EXPECT_EQ(h.state(waiting), JobState::kReady) << "the repeat took another job";
}

// Must show 8, the engine's part: start-up does not read what waits.
TEST(Restart, WaitingJobsAreNotRead) {
  core::EngineOptions options;
  options.window_rows = 10;
  options.page_rows = 10;
  EngineHarness h(options);
  h.set_checks(false);
  h.queue("q");
  for (int i = 0; i < 40; ++i) {
    h.send(enqueue(std::vector<core::JobRequest>(50, job())));
    h.settle();
  }
  h.crash();
  EXPECT_EQ(h.engine().stats().window_rows, 0U);
  h.take_job("q");
  EXPECT_LE(h.engine().stats().window_rows, 10U);
  EXPECT_LE(h.store().stats().largest_scan_rows, 50U);
}

// ---- the clock

TEST(Clock, ForwardStepHoldsSchedulersAndDeletions) {
  EngineHarness h;
  model::Retention retention;
  retention.succeeded_ms = 600'000;
  h.queue("q", with_retention(retention));
  h.expect<core::SchedulerReply>(scheduler("s", 60'000));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), succeeded());
  h.step_wall(365LL * 24 * 3'600'000);
  h.settle();
  EXPECT_TRUE(h.engine().stats().schedulers_held);
  EXPECT_TRUE(h.engine().stats().deletions_held);
  h.advance(30'000);
  EXPECT_TRUE(h.runs("s").empty());
  EXPECT_EQ(h.state(key), JobState::kSucceeded);
  h.advance(95'000);  // schedulers are held for a minute
  EXPECT_FALSE(h.runs("s").empty());
  EXPECT_EQ(h.state(key), JobState::kSucceeded);
  h.set_checks(false);
  h.jump(3'600'000);
  h.advance(10'000);
  EXPECT_FALSE(h.engine().stats().deletions_held);
  EXPECT_EQ(h.state(key), JobState::kUnknown);
}

TEST(Clock, ForwardStepFreesNoKeyAndPassesNoDeadline) {
  EngineHarness h;
  h.queue("q");
  auto keyed = job();
  keyed.business_key = "k";
  keyed.payload_hash = "hash";
  const auto first = h.enqueue(keyed);
  h.finish(h.take_job("q"), succeeded());
  auto hurried = job();
  hurried.start_deadline_ms = h.wall_ms() + 24LL * 3'600'000;
  const auto waiting = h.enqueue(hurried);
  h.step_wall(2LL * 365 * 24 * 3'600'000);
  h.settle();
  const auto again = h.enqueue(keyed);
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.key, first.key);
  EXPECT_EQ(h.state(waiting.key), JobState::kReady);
  EXPECT_EQ(h.take_job("q").key, waiting.key);
}

TEST(Clock, DeadlinesHeldBackByAForwardStepPassWhenTheHoldEnds) {
  EngineHarness h;
  h.queue("q");
  auto hurried = job();
  hurried.start_deadline_ms = h.wall_ms() + 3'600'000;
  const auto waiting = h.enqueue(hurried);
  h.step_wall(365LL * 24 * 3'600'000);
  h.settle();
  EXPECT_EQ(h.state(waiting.key), JobState::kReady);
  h.set_checks(false);
  h.jump(3'700'000);
  h.advance(10'000);
  EXPECT_EQ(h.state(waiting.key), JobState::kExpired);
}

TEST(Clock, ARestartDoesNotEndTheHoldOnDeletions) {
  EngineHarness h;
  model::Retention retention;
  retention.succeeded_ms = 600'000;
  h.queue("q", with_retention(retention));
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), succeeded());
  h.step_wall(365LL * 24 * 3'600'000);
  h.settle();
  ASSERT_TRUE(h.engine().stats().deletions_held);
  h.crash();
  EXPECT_TRUE(h.engine().stats().deletions_held);
  h.advance(20 * 60'000);
  EXPECT_EQ(h.state(key), JobState::kSucceeded);
  h.crash();
  EXPECT_TRUE(h.engine().stats().deletions_held);
  h.advance(39 * 60'000);
  EXPECT_EQ(h.state(key), JobState::kSucceeded);
  h.advance(2 * 60'000);  // an hour in all, over three processes
  EXPECT_FALSE(h.engine().stats().deletions_held);
  EXPECT_EQ(h.state(key), JobState::kUnknown);
  h.enqueue(job());
  h.crash();
  EXPECT_FALSE(h.engine().stats().deletions_held);
}

// What a hold keeps back is not kept in memory: timers are read again when it ends.
TEST(Clock, ManyHeldDeadlinesPassAfterTheHoldAndKeepNoOtherTimerOff) {
  core::EngineOptions options;
  options.timer_window_rows = 3;
  options.page_rows = 2;
  EngineHarness h(options);
  h.queue("q");
  constexpr int kJobs = 20;
  std::vector<core::JobKey> hurried;
  for (int i = 0; i < kJobs; ++i) {
    auto request = job();
    request.start_deadline_ms = h.wall_ms() + 3'600'000 + i;
    hurried.push_back(h.enqueue(request).key);
  }
  auto patient = job();
  patient.start_deadline_ms = h.wall_ms() + 3'600'005;
  const auto taken = h.enqueue(patient).key;
  core::CancelJob cancel;
  cancel.key = taken;
  auto later = job();
  later.run_at_ms = h.wall_ms() + 7'200'000;
  const auto delayed = h.enqueue(later).key;
  h.step_wall(365LL * 24 * 3'600'000);
  h.settle();
  EXPECT_EQ(h.state(delayed), JobState::kReady) << "behind all of them";
  EXPECT_LE(h.engine().stats().timer_rows, 3U);
  h.call(cancel);
  EXPECT_EQ(h.state(taken), JobState::kCancelled);
  h.crash();
  h.advance(1'000);
  for (const auto& key : hurried) EXPECT_EQ(h.state(key), JobState::kReady);
  h.advance(3'600'000);
  for (const auto& key : hurried) EXPECT_EQ(h.state(key), JobState::kExpired);
  EXPECT_EQ(h.state(taken), JobState::kCancelled);
  EXPECT_EQ(h.state(delayed), JobState::kReady);
  EXPECT_EQ(h.rows(core::Keyspace::kTimer), 0U);
}

TEST(Clock, StartAfterALongGapHoldsDeletions) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), succeeded());
  h.move_clocks(40LL * 24 * 3'600'000);
  h.crash();
  EXPECT_TRUE(h.engine().stats().deletions_held);
  h.advance(5'000);
  EXPECT_EQ(h.state(key), JobState::kSucceeded);
}

// C115, second half; C116: after a step back nothing fires twice and engine time stands still.
TEST(Clock, StepBackFiresNothingTwice) {
  EngineHarness h;
  h.queue("q");
  auto c = scheduler("s", 60'000);
  c.settings.overlap = model::Overlap::kAllow;
  h.expect<core::SchedulerReply>(c);
  h.advance(180'000);
  const auto before = h.runs("s").size();
  EXPECT_EQ(before, 3U);
  h.step_wall(-2 * 3'600'000);
  h.advance(300'000);
  EXPECT_EQ(h.runs("s").size(), before);
  EXPECT_GT(h.engine().stats().behind_ms, 0);
  h.take_job("q");
}

}  // namespace
}  // namespace rota::testing
