// SPDX-License-Identifier: Apache-2.0
//
// Queues: settings, pause and resume, the concurrency limit, deletion and re-creation, explain.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::JobState;
using core::Keyspace;
using core::Reason;
using core::WhyReason;

TEST(Queue, SetIsIdempotentAndKeepsWhatIsNotNamed) {
  EngineHarness h;
  EXPECT_TRUE(h.queue("q", with_limit(3)).created);
  const auto same = h.queue("q", with_limit(3));
  EXPECT_FALSE(same.created);
  EXPECT_FALSE(same.changed);
  EXPECT_EQ(same.queue.version, 1U);
  const auto changed = h.queue("q", with_retry(retries(9)));
  EXPECT_TRUE(changed.changed);
  EXPECT_EQ(changed.queue.settings.concurrency_limit, 3U);
  EXPECT_EQ(changed.before->settings.retry.max_attempts, 5U);
  EXPECT_EQ(changed.queue.version, 2U);
  EXPECT_FALSE(h.queue("q", with_limit({})).queue.settings.concurrency_limit.has_value());
}

TEST(Queue, EtagGuardsAgainstLostUpdates) {
  EngineHarness h;
  h.queue("q");
  core::SetQueue c;
  c.queue = "q";
  c.patch = with_limit(1);
  c.etag = "2";
  EXPECT_EQ(h.refusal(c).reason, Reason::kEtagMismatch);
  c.etag = "1";
  EXPECT_TRUE(h.expect<core::QueueReply>(c).changed);
  c.queue = "nowhere";
  EXPECT_EQ(h.refusal(c).reason, Reason::kEtagMismatch);
}

TEST(Queue, SetIsRepeatedByRequestId) {
  EngineHarness h;
  core::SetQueue c;
  c.queue = "q";
  c.request = {"r", "body"};
  EXPECT_TRUE(h.expect<core::QueueReply>(c).created);
  const auto created = h.named;
  h.enqueue(job());
  h.crash();
  EXPECT_TRUE(h.expect<core::QueueReply>(c).created);
  EXPECT_EQ(h.named, created);
  c.request.body_hash = "other";
  EXPECT_EQ(h.refusal(c).reason, Reason::kRequestIdReused);
}

TEST(Queue, NumberOfQueuesIsBounded) {
  core::EngineOptions options;
  options.max_queues = 2;
  EngineHarness h(options);
  h.queue("a");
  h.queue("b");
  core::SetQueue c;
  c.queue = "c";
  EXPECT_EQ(h.refusal(c).reason, Reason::kTooManyQueues);
}

// ---- pause

TEST(Pause, NothingIsGrantedTimersGoOnCallsStayParked) {
  EngineHarness h;
  h.queue("q");
  const auto reply = h.expect<core::QueueReply>(core::PauseQueue{"q", "maintenance"});
  EXPECT_TRUE(reply.queue.paused);
  EXPECT_EQ(reply.queue.pause_note, "maintenance");
  EXPECT_EQ(reply.queue.paused_by, "local");
  const auto again = h.expect<core::QueueReply>(core::PauseQueue{"q", ""});
  EXPECT_EQ(again.queue.pause_note, "maintenance") << "a pause without a note says nothing new";
  EXPECT_EQ(again.queue.version, reply.queue.version);
  const auto call = h.send(poll({"q"}, 60'000));
  h.enqueue(job());
  auto later = job();
  later.run_at_ms = h.wall_ms() + 1'000;
  h.enqueue(later);
  h.advance(1'000);
  EXPECT_EQ(h.counters("q").of(JobState::kReady), 2U);
  EXPECT_FALSE(h.take(call).has_value());
  EXPECT_TRUE(h.nothing_to_lease("q"));
  h.expect<core::QueueReply>(core::ResumeQueue{"q"});
  EXPECT_EQ(h.take_as<core::LeaseReply>(call).jobs.size(), 1U);
}

// C168: one stored boolean, last writer wins.
TEST(Pause, ResumeRightAfterPauseRuns) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.take_job("q");
  h.send(core::PauseQueue{"q", ""});
  h.send(core::ResumeQueue{"q"});
  h.settle();
  h.enqueue(job());
  h.take_job("q");
}

TEST(Pause, SurvivesARestartAndChangesNothingTwice) {
  EngineHarness h;
  h.queue("q");
  h.call(core::PauseQueue{"q", "n"});
  EXPECT_FALSE(h.expect<core::QueueReply>(core::PauseQueue{"q", "n"}).changed);
  h.crash();
  h.enqueue(job());
  EXPECT_TRUE(h.nothing_to_lease("q"));
  EXPECT_TRUE(h.expect<core::QueueReply>(core::ResumeQueue{"q"}).changed);
  EXPECT_FALSE(h.expect<core::QueueReply>(core::ResumeQueue{"q"}).changed);
  h.take_job("q");
}

// ---- limit

// C146: per queue, over all workers; lowering stops nothing.
TEST(Limit, HoldsOverAllSessions) {
  EngineHarness h;
  h.queue("q", with_limit(2));
  for (int i = 0; i < 5; ++i) h.enqueue(job());
  const auto a = h.take_job("q", "s1");
  h.take_job("q", "s2");
  EXPECT_TRUE(h.lease(lease({"q"}, 8, "s3")).jobs.empty());
  h.finish(a, succeeded());
  EXPECT_EQ(h.lease(lease({"q"}, 8, "s3")).jobs.size(), 1U);
}

TEST(Limit, LoweredBelowRunningGrantsNothingUntilBelow) {
  EngineHarness h;
  h.queue("q", with_limit(4));
  for (int i = 0; i < 8; ++i) h.enqueue(job());
  const auto reply = h.lease(lease({"q"}, 4));
  const auto counters = h.queue("q", with_limit(1)).counters;
  EXPECT_EQ(counters.of(JobState::kRunning), 4U);
  const auto call = h.send(poll({"q"}, 600'000));
  for (std::size_t i = 0; i < 3; ++i) {
    h.finish(reply.jobs[i], succeeded());
    EXPECT_FALSE(h.take(call).has_value());
  }
  h.finish(reply.jobs[3], succeeded());
  EXPECT_EQ(h.take_as<core::LeaseReply>(call).jobs.size(), 1U);
}

TEST(Limit, RaisedWakesParkedCallsInTheSameBatch) {
  EngineHarness h;
  h.queue("q", with_limit(1));
  for (int i = 0; i < 5; ++i) h.enqueue(job());
  h.take_job("q");
  const auto call = h.send(poll({"q"}, 60'000, 8));
  h.settle();
  core::SetQueue c;
  c.queue = "q";
  c.patch = with_limit(3);
  h.send(c);
  h.seal();
  h.settle();
  EXPECT_EQ(h.take_as<core::LeaseReply>(call).jobs.size(), 2U);
}

// C143: job B arrives while A ends, again and again: never two at once, nobody left.
TEST(Limit, HandOverLosesNobody) {
  EngineHarness h;
  h.set_checks(false);
  h.queue("q", with_limit(1));
  h.enqueue(job());
  auto running = h.take_job("q");
  for (int i = 0; i < 300; ++i) {
    const auto call = h.send(poll({"q"}, 60'000));
    h.settle();
    h.send(enqueue(job()));
    h.send(finish(running, succeeded()));
    h.settle();
    auto reply = h.take(call);
    ASSERT_TRUE(reply.has_value()) << "cycle " << i;
    running = std::get<core::LeaseReply>(*reply).jobs.at(0);
  }
  EXPECT_EQ(h.counters("q").waiting(), 0U);
}

TEST(Limit, RecoveredLeasesCountFromTheFirstMoment) {  // R2
  EngineHarness h;
  h.queue("q", with_limit(2));
  for (int i = 0; i < 4; ++i) h.enqueue(job());
  h.lease(lease({"q"}, 2));
  h.crash();
  EXPECT_TRUE(h.nothing_to_lease("q"));
}

// ---- delete

TEST(DeleteQueue, IsRefusedWhileAnythingWaitsOrRuns) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  EXPECT_EQ(h.refusal(core::DeleteQueue{"q"}).reason, Reason::kQueueNotEmpty);
  const auto granted = h.take_job("q");
  EXPECT_EQ(h.refusal(core::DeleteQueue{"q"}).reason, Reason::kQueueNotEmpty);
  h.finish(granted, succeeded());
  h.expect<core::QueueReply>(core::DeleteQueue{"q"});
  EXPECT_EQ(h.refusal(lease({"q"})).reason, Reason::kQueueNotFound);
}

TEST(DeleteQueue, IsRefusedWhileASchedulerNamesIt) {
  EngineHarness h;
  h.queue("q");
  h.expect<core::SchedulerReply>(scheduler("s", 60'000));
  const auto error = h.refusal(core::DeleteQueue{"q"});
  EXPECT_EQ(error.reason, Reason::kQueueInUse);
  EXPECT_EQ(error.meta.at("schedulerId"), "s");
  h.call(core::DeleteScheduler{"s"});
  h.expect<core::QueueReply>(core::DeleteQueue{"q"});
}

TEST(DeleteQueue, AnswersItsParkedCalls) {
  EngineHarness h;
  h.queue("q");
  h.queue("r");
  const auto call = h.send(poll({"q", "r"}, 60'000));
  h.settle();
  h.call(core::DeleteQueue{"q"});
  EXPECT_TRUE(h.take_as<core::LeaseReply>(call).jobs.empty());
  EXPECT_EQ(h.engine().stats().parked_polls, 0U);
}

TEST(DeleteQueue, RemovesWhatIsLeftAndTheNameStartsAnew) {
  EngineHarness h;
  h.queue("q", with_retry(retries(1)));
  auto keyed = job();
  keyed.business_key = "k";
  keyed.payload = std::string(6'000, 'x');
  const auto dead = h.enqueue(keyed).key;
  h.finish(h.take_job("q"), failed());
  for (int i = 0; i < 5; ++i) {
    h.enqueue(job());
    h.finish(h.take_job("q"), succeeded());
  }
  const auto old_number = h.queue("q").queue.number;
  h.call(core::DeleteQueue{"q"});
  const auto fresh = h.queue("q");
  EXPECT_GT(fresh.queue.number, old_number);
  EXPECT_EQ(fresh.counters.created, 0U);
  EXPECT_EQ(h.state(dead), JobState::kUnknown);
  // The dead job's key is free at once, and the sweep does not take it from its new owner.
  const auto again = h.enqueue(keyed);
  EXPECT_TRUE(again.created);
  h.crash();
  h.advance(10'000);
  EXPECT_EQ(h.enqueue(keyed).key, again.key);
  EXPECT_EQ(h.rows(Keyspace::kFinal), 0U);
  EXPECT_EQ(h.rows(Keyspace::kJob), 1U);
  EXPECT_EQ(h.rows(Keyspace::kSide), 0U);
  EXPECT_EQ(h.rows(Keyspace::kPayload), 1U);
  EXPECT_EQ(h.rows(Keyspace::kQueueState), 2U);
}

TEST(DeleteQueue, KeysOfItsDeadJobsAreFreed) {
  EngineHarness h;
  h.queue("q");
  auto keyed = job();
  keyed.business_key = "k";
  h.enqueue(keyed);
  h.finish(h.take_job("q"), failed(false));
  h.call(core::DeleteQueue{"q"});
  h.advance(10'000);
  EXPECT_EQ(h.rows(Keyspace::kLedger), 0U);
}

// Its rows go in slices, and meanwhile its keys are free: the entry may be another job's by then.
TEST(DeleteQueue, AKeyThatAnotherJobHasTakenSinceStays) {
  EngineHarness h;
  h.queue("q");
  h.queue("old");
  auto keyed = job("old");
  keyed.key_scope = "invoices";
  keyed.business_key = "k";
  h.enqueue(keyed);
  h.finish(h.take_job("old"), failed(false));
  h.send(core::DeleteQueue{"old"});
  keyed.queue = "q";
  const auto call = h.send(enqueue(keyed));  // before anything of the queue is swept
  h.settle();
  h.advance(10'000);
  const auto answer = h.take_as<core::EnqueueReply>(call);
  const auto* owner = std::get_if<core::EnqueuedJob>(&answer.items.at(0));
  ASSERT_NE(owner, nullptr);
  EXPECT_TRUE(owner->created);
  EXPECT_EQ(h.rows(Keyspace::kLedger), 1U);
  const auto again = h.enqueue(keyed);
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.key, owner->key);
}

// ---- explain

core::ExplainReply why(EngineHarness& h, const core::JobKey& key) {
  return h.expect<core::ExplainReply>(core::ExplainJob{key, 2});
}
bool has(const core::ExplainReply& r, WhyReason reason) {
  return std::count(r.reasons.begin(), r.reasons.end(), reason) == 1;
}

TEST(Explain, NobodyAsks) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto r = why(h, key);
  EXPECT_TRUE(has(r, WhyReason::kNobodyAsks));
  EXPECT_EQ(r.last_asked_ms_ago, -1);
  EXPECT_EQ(r.queue, "q");
  EXPECT_EQ(r.ahead, 0U);
}

TEST(Explain, FirstInLineWithNobodyThereSaysThatNobodyAsks) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.take_job("q");  // its worker asked a moment ago, and has gone since
  const auto key = h.enqueue(job()).key;
  const auto r = why(h, key);
  EXPECT_EQ(r.ahead, 0U);
  EXPECT_TRUE(has(r, WhyReason::kNobodyAsks));
  EXPECT_FALSE(has(r, WhyReason::kAheadInLine)) << "nothing comes before it";
  EXPECT_GE(r.last_asked_ms_ago, 0);
}

TEST(Explain, PausedWithNoteAndWho) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  h.call(core::PauseQueue{"q", "month end"});
  const auto r = why(h, key);
  EXPECT_EQ(r.reasons.at(0), WhyReason::kPaused);
  EXPECT_EQ(r.pause_note, "month end");
  EXPECT_EQ(r.paused_by, "local");
}

TEST(Explain, LimitNamesTheHolders) {
  EngineHarness h;
  h.queue("q", with_limit(3));
  for (int i = 0; i < 3; ++i) h.enqueue(job());
  h.lease(lease({"q"}, 3));
  const auto key = h.enqueue(job()).key;
  const auto r = why(h, key);
  EXPECT_EQ(r.reasons.at(0), WhyReason::kLimit);
  EXPECT_EQ(r.limit, 3U);
  EXPECT_EQ(r.running, 3U);
  EXPECT_EQ(r.holders.size(), 2U);  // as many as were asked for
  EXPECT_EQ(r.holders[0].worker_id, "worker-s1");
  EXPECT_EQ(r.holders[0].lease_left_ms, 30'000);
}

TEST(Explain, RunTimeRetryAndStartDeadline) {
  EngineHarness h;
  h.queue("q", with_retry(retries(3, 9'000)));
  auto later = job();
  later.run_at_ms = h.wall_ms() + 5'000;
  later.start_deadline_ms = h.wall_ms() + 8'000;
  const auto key = h.enqueue(later).key;
  auto r = why(h, key);
  EXPECT_EQ(r.reasons.at(0), WhyReason::kRunTime);
  EXPECT_EQ(r.until_ms, h.wall_ms() + 5'000);
  EXPECT_EQ(r.start_deadline_ms, h.wall_ms() + 8'000);
  const auto second = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed());
  r = why(h, second);
  EXPECT_EQ(r.reasons.at(0), WhyReason::kRetryWait);
  EXPECT_EQ(r.until_ms, h.wall_ms() + 9'000);
}

// Who asks for the second in line must not be told to wait when nobody works at all.
TEST(Explain, InLineWithNobodyThereForAWhileSaysThatToo) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.take_job("q");
  h.enqueue(job());
  const auto second = h.enqueue(job()).key;
  auto r = why(h, second);
  EXPECT_EQ(r.reasons.at(0), WhyReason::kAheadInLine);
  EXPECT_FALSE(has(r, WhyReason::kNobodyAsks)) << "its workers may all be busy";
  h.advance(5'001);
  r = why(h, second);
  EXPECT_EQ(r.reasons.at(0), WhyReason::kAheadInLine);
  EXPECT_TRUE(has(r, WhyReason::kNobodyAsks));
  h.expect<core::QueueReply>(core::PauseQueue{"q", "stop"});
  EXPECT_FALSE(has(why(h, second), WhyReason::kNobodyAsks)) << "a worker would change nothing";
}

TEST(Explain, RunningFinalAndInLine) {
  EngineHarness h;
  h.queue("q", with_limit(1));
  const auto a = h.enqueue(job()).key;
  const auto b = h.enqueue(job()).key;
  const auto c = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  auto r = why(h, a);
  EXPECT_TRUE(has(r, WhyReason::kRunning));
  EXPECT_EQ(r.holders.at(0).token, granted.token);
  r = why(h, c);
  EXPECT_TRUE(has(r, WhyReason::kAheadInLine));
  EXPECT_EQ(r.ahead, 1U);
  h.call(core::CancelJob{a, ""});
  EXPECT_TRUE(why(h, a).cancel_requested);
  h.call(core::CancelJob{b, ""});
  EXPECT_TRUE(has(why(h, b), WhyReason::kFinal));
}

TEST(Explain, ChangesNothing) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto before = h.store().last_committed();
  why(h, key);
  EXPECT_EQ(h.store().last_committed(), before);
}

}  // namespace
}  // namespace rota::testing
