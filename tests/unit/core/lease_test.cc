// SPDX-License-Identifier: Apache-2.0
//
// Lease calls: order, sizes, parking and waking, repeats by request id, callers that are gone.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::JobState;
using core::Keyspace;
using core::Reason;

core::JobRequest with_priority(int priority) {
  auto r = job();
  r.priority = static_cast<std::uint8_t>(priority);
  return r;
}

TEST(Lease, HigherPriorityFirstThenSequence) {
  EngineHarness h;
  h.queue("q");
  const auto low = h.enqueue(with_priority(10)).key;
  const auto a = h.enqueue(with_priority(100)).key;
  const auto top = h.enqueue(with_priority(255)).key;
  const auto b = h.enqueue(with_priority(100)).key;
  const auto bottom = h.enqueue(with_priority(0)).key;
  const auto reply = h.lease(lease({"q"}, 10));
  ASSERT_EQ(reply.jobs.size(), 5U);
  EXPECT_EQ(reply.jobs[0].key, top);
  EXPECT_EQ(reply.jobs[1].key, a);
  EXPECT_EQ(reply.jobs[2].key, b);
  EXPECT_EQ(reply.jobs[3].key, low);
  EXPECT_EQ(reply.jobs[4].key, bottom);
}

// C162, the documented rule: strict order.
TEST(Lease, LowPriorityWaitsWhileHigherArrives) {
  EngineHarness h;
  h.queue("q");
  const auto low = h.enqueue(with_priority(1)).key;
  for (int i = 0; i < 20; ++i) {
    h.enqueue(with_priority(200));
    EXPECT_NE(h.take_job("q").key, low);
  }
  EXPECT_EQ(h.counters("q").levels.at(1).ready, 1U);  // what "oldest waiting" is read from
  EXPECT_EQ(h.take_job("q").key, low);
}

TEST(Lease, NothingToDoIsAnEmptyAnswer) {
  EngineHarness h;
  h.queue("q");
  const auto reply = h.lease(lease({"q"}));
  EXPECT_TRUE(reply.jobs.empty());
  EXPECT_FALSE(reply.request_spent);
  EXPECT_EQ(h.engine().stats().parked_polls, 0U);
}

TEST(Lease, UnknownQueueIsRefusedByName) {
  EngineHarness h;
  h.queue("q");
  const auto error = h.refusal(lease({"q", "nowhere"}));
  EXPECT_EQ(error.reason, Reason::kQueueNotFound);
  EXPECT_EQ(error.meta.at("queue"), "nowhere");
}

TEST(Lease, NeverMoreJobsThanFreeSlots) {  // C164
  EngineHarness h;
  h.queue("q");
  for (int i = 0; i < 5; ++i) h.enqueue(job());
  EXPECT_EQ(h.lease(lease({"q"}, 3)).jobs.size(), 3U);
  EXPECT_EQ(h.lease(lease({"q"}, 3)).jobs.size(), 2U);
}

TEST(Lease, ReplyIsBoundedInBytesButNeverEmptyForIt) {
  EngineHarness h;
  h.queue("q");
  auto big = job();
  big.payload = std::string(4'000, 'x');
  for (int i = 0; i < 4; ++i) h.enqueue(big);
  auto call = lease({"q"}, 10);
  call.max_bytes = 11'000;
  EXPECT_EQ(h.lease(call).jobs.size(), 2U);
  call.max_bytes = 1;
  EXPECT_EQ(h.lease(call).jobs.size(), 1U);
}

TEST(Lease, ReplyCountsLabelsKeysAndNamesToo) {
  EngineHarness h;
  h.queue("q");
  auto labelled = job();
  for (int i = 0; i < 32; ++i) labelled.labels["label" + std::to_string(i)] = std::string(100, 'x');
  for (int i = 0; i < 3; ++i) h.enqueue(labelled);
  auto call = lease({"q"}, 10);
  call.max_bytes = 7'000;  // each takes over 3,400 bytes although it has no payload
  EXPECT_EQ(h.lease(call).jobs.size(), 1U);
  call.max_bytes = 12'000;
  EXPECT_EQ(h.lease(call).jobs.size(), 2U);
}

TEST(Lease, OneCallOverSeveralQueues) {
  EngineHarness h;
  h.queue("q");
  h.queue("r");
  h.enqueue(job("r"));
  h.enqueue(job("q"));
  const auto reply = h.lease(lease({"q", "r", "q"}, 10));
  EXPECT_EQ(reply.jobs.size(), 2U);
  EXPECT_EQ(h.rows(Keyspace::kGrant), 1U);  // one record per reply
}

// A backlog in one queue of a worker keeps nothing from the others, whichever is older.
TEST(Lease, QueuesOfAWorkerTakeTurns) {
  EngineHarness h;
  for (const char* name : {"a", "b", "c"}) {
    h.queue(name);
    for (int i = 0; i < 6; ++i) h.enqueue(job(name));
  }
  std::string served;
  for (int i = 0; i < 6; ++i) {
    const auto reply = h.lease(lease({"c", "a"}, 2));
    ASSERT_EQ(reply.jobs.size(), 2U);
    EXPECT_EQ(reply.jobs[0].queue, reply.jobs[1].queue);
    served += reply.jobs[0].queue;
  }
  EXPECT_EQ(served, "acacac");
  EXPECT_EQ(h.counters("b").of(core::JobState::kReady), 6U);
}

TEST(Lease, ACancelIsToldUntilItsLeaseEnds) {
  EngineHarness h;
  h.queue("q");
  for (int i = 0; i < 3; ++i) h.enqueue(job());
  const auto first = h.take_job("q"), second = h.take_job("q");
  for (const auto& held : {first, second}) h.expect<core::JobReply>(core::CancelJob{held.key, ""});
  using Tokens = std::vector<std::uint64_t>;
  h.crash();
  EXPECT_EQ(h.lease(lease({"q"}, 1, "other")).cancel_tokens, Tokens());
  EXPECT_EQ(h.lease(lease({"q"})).cancel_tokens, Tokens({first.token, second.token}));
  h.finish(first, failed());
  EXPECT_EQ(h.lease(lease({"q"})).cancel_tokens, Tokens({second.token}));
  h.finish(second, succeeded());
  EXPECT_EQ(h.lease(lease({"q"})).cancel_tokens, Tokens());
}

TEST(Lease, TokensGrowAlsoAcrossRestart) {
  EngineHarness h;
  h.queue("q");
  std::uint64_t last = 0;
  for (int i = 0; i < 6; ++i) {
    h.enqueue(job());
    const auto granted = h.take_job("q");
    EXPECT_GT(granted.token, last);
    EXPECT_LE(granted.token, model::kMaxToken);
    last = granted.token;
    if (i % 2 == 1) h.crash();
  }
}

// ---- waiting

TEST(Lease, ParkedCallGetsTheJobInTheBatchThatEnqueuesIt) {
  EngineHarness h;
  h.queue("q");
  const auto call = h.send(poll({"q"}));
  h.settle();
  EXPECT_FALSE(h.take(call).has_value());
  EXPECT_EQ(h.engine().stats().parked_polls, 1U);
  h.send(enqueue(job()));
  h.seal();
  h.settle();
  EXPECT_EQ(h.take_as<core::LeaseReply>(call).jobs.size(), 1U);
  EXPECT_EQ(h.engine().stats().parked_polls, 0U);
}

TEST(Lease, WaitEndsEmpty) {
  EngineHarness h;
  h.queue("q");
  auto call = poll({"q"}, 5'000);
  call.received_mono_ms = h.now().mono_ms;
  const auto id = h.send(call);
  h.advance(4'999);
  EXPECT_FALSE(h.take(id).has_value());
  h.advance(1);
  const auto reply = h.take_as<core::LeaseReply>(id);
  EXPECT_TRUE(reply.jobs.empty());
  EXPECT_EQ(reply.granted_after_ms, 5'000);
}

TEST(Lease, GrantedAfterTellsHowLongTheCallWaited) {
  EngineHarness h;
  h.queue("q");
  auto call = poll({"q"}, 20'000);
  call.received_mono_ms = h.now().mono_ms;
  const auto id = h.send(call);
  h.advance(7'000);
  h.enqueue(job());
  const auto reply = h.take_as<core::LeaseReply>(id);
  ASSERT_EQ(reply.jobs.size(), 1U);
  EXPECT_EQ(reply.granted_after_ms, 7'000);
  EXPECT_EQ(reply.lease_ttl_ms, 30'000);
}

TEST(Lease, CallsAreServedInTheOrderTheyCame) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.send(poll({"q"}));
  const auto second = h.send(poll({"q"}));
  h.settle();
  h.enqueue(job());
  EXPECT_EQ(h.take_as<core::LeaseReply>(first).jobs.size(), 1U);
  EXPECT_FALSE(h.take(second).has_value());
}

TEST(Lease, NothingIsGrantedToACallAboutToDie) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  auto call = poll({"q"});
  call.received_mono_ms = h.now().mono_ms;
  call.caller_deadline_mono_ms = h.now().mono_ms + 200;
  EXPECT_TRUE(h.lease(call).jobs.empty());
  EXPECT_EQ(h.counters("q").of(JobState::kReady), 1U);
}

// Commits that take so long; returns what four of them take, as the engine reckons.
std::int64_t slow_commits(EngineHarness& h, std::int64_t took_ms) {
  std::int64_t latency_ms = 0;
  for (int i = 0; i < 12; ++i) {
    h.send(enqueue(job("other")));
    h.seal();
    h.move_clocks(took_ms);
    while (h.commit_in_flight()) h.step_store();
    latency_ms = (latency_ms * 7 + took_ms) / 8;
  }
  return 4 * latency_ms;
}

// On a slow disk the answer would come too late although 250 ms are left.
TEST(Lease, NothingIsGrantedToACallThatEndsBeforeTheCommitWould) {
  for (const bool in_time : {false, true}) {
    EngineHarness h;
    h.queue("q");
    h.queue("other");
    const std::int64_t margin_ms = slow_commits(h, 400);
    ASSERT_GT(margin_ms, 1'000);
    h.send(enqueue(job()));
    auto call = lease({"q"});
    call.caller_deadline_mono_ms = h.now().mono_ms + margin_ms + (in_time ? 1 : 0);
    const auto id = h.send(call);
    h.seal();
    while (h.commit_in_flight()) h.step_store();
    EXPECT_EQ(h.take_as<core::LeaseReply>(id).jobs.size(), in_time ? 1U : 0U);
    EXPECT_EQ(h.counters("q").of(JobState::kReady), in_time ? 0U : 1U);
  }
}

// The disk has become slow since the call was parked.
TEST(Lease, AParkedCallIsJudgedByTheCommitsOfNow) {
  EngineHarness h;
  h.queue("q");
  h.queue("other");
  auto call = poll({"q"}, 20'000);
  call.caller_deadline_mono_ms = h.now().mono_ms + 12 * 400 + 1'000;
  const auto parked = h.send(call);
  const auto healthy = h.send(poll({"q"}, 20'000, 1, "s2"));
  ASSERT_GT(slow_commits(h, 400), 1'000);
  ASSERT_FALSE(h.take(parked).has_value());
  h.send(enqueue(job()));
  h.seal();
  while (h.commit_in_flight()) h.step_store();
  EXPECT_TRUE(h.take_as<core::LeaseReply>(parked).jobs.empty());
  EXPECT_EQ(h.take_as<core::LeaseReply>(healthy).jobs.size(), 1U) << "the next in line has it";
}

TEST(Lease, ParkedCallIsAnsweredBeforeItsCallersDeadline) {
  EngineHarness h;
  h.queue("q");
  auto call = poll({"q"}, 20'000);
  call.received_mono_ms = h.now().mono_ms;
  call.caller_deadline_mono_ms = h.now().mono_ms + 5'000;
  const auto id = h.send(call);
  h.advance(4'750);
  EXPECT_TRUE(h.take(id).has_value());
}

TEST(Lease, TooManyParkedCallsAreRefused) {
  core::EngineOptions options;
  options.max_polls = 2;
  EngineHarness h(options);
  h.queue("q");
  h.send(poll({"q"}));
  h.send(poll({"q"}));
  h.settle();
  EXPECT_EQ(h.refusal(poll({"q"})).reason, Reason::kTooManyPolls);
}

TEST(Lease, ASessionThatParksCallsWithoutEndIsRefusedAndOthersAreNot) {
  EngineHarness h;
  h.queue("q");
  for (int i = 0; i < base::limits::kParkedPollsPerSessionMax; ++i) h.send(poll({"q"}));
  h.settle();
  const auto refusal = h.refusal(poll({"q"}));
  EXPECT_EQ(refusal.reason, Reason::kTooManyPolls);
  EXPECT_NE(refusal.message.find("64 parked lease calls of one session"), std::string::npos)
      << refusal.message;
  auto other = poll({"q"});
  other.session_id = "s2";
  const auto parked = h.send(other);
  h.settle();
  EXPECT_FALSE(h.take(parked).has_value()) << "parked, not refused";
}

TEST(Lease, DrainAnswersEveryParkedCallAndGrantsNothing) {
  EngineHarness h;
  h.queue("q");
  const auto parked = h.send(poll({"q"}));
  h.settle();
  h.engine().drain();
  h.settle();
  EXPECT_TRUE(h.take_as<core::LeaseReply>(parked).jobs.empty());
  h.enqueue(job());
  EXPECT_TRUE(h.lease(poll({"q"})).jobs.empty());
}

// A job enqueued while the window's rows are on their way does not overtake the head on disk.
TEST(Lease, OrderHoldsBeyondTheWindow) {
  core::EngineOptions options;
  options.window_rows = 2;
  options.page_rows = 1;
  EngineHarness h(options);
  h.queue("q");
  std::vector<core::JobKey> keys;
  for (int i = 0; i < 20; ++i) keys.push_back(h.enqueue(with_priority(i % 2 == 0 ? 50 : 60)).key);
  std::sort(keys.begin(), keys.end());
  for (const auto& key : keys) EXPECT_EQ(h.take_job("q").key, key);
  EXPECT_TRUE(h.nothing_to_lease("q"));
}

// "Empty is not idle": a call that does not wait still waits for the refill under way.
// The page begins behind the old end of the window; what the burst pushes out lies before it.
TEST(Lease, ABurstThatEvictsWhileAPageIsReadLosesNobody) {
  core::EngineOptions options;
  options.window_rows = 4;
  options.page_rows = 4;
  EngineHarness h(options);
  h.queue("q");
  for (int i = 0; i < 12; ++i) h.enqueue(job());
  EXPECT_EQ(h.lease(lease({"q"}, 4)).jobs.size(), 4U);
  const auto call = h.send(poll({"q"}));
  h.seal();
  ASSERT_EQ(h.reads_open(), 1U);
  for (int i = 0; i < 6; ++i) h.send(enqueue(with_priority(200)));
  h.seal();
  h.settle();
  auto last = h.take_as<core::LeaseReply>(call).jobs.at(0);
  EXPECT_EQ(last.priority, 200);
  for (int i = 0; i < 5; ++i) {
    const auto next = h.take_job("q");
    EXPECT_EQ(next.priority, 200);
    EXPECT_EQ(next.key.seq, last.key.seq + 1);
    last = next;
  }
  EXPECT_EQ(h.take_job("q").priority, 100);
}

TEST(Lease, WaitZeroIsNotAnsweredEmptyWhileRowsAreOnDisk) {
  core::EngineOptions options;
  options.window_rows = 1;
  options.page_rows = 1;
  EngineHarness h(options);
  h.queue("q");
  for (int i = 0; i < 3; ++i) h.enqueue(job());
  h.crash();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(h.nothing_to_lease("q"));
  EXPECT_TRUE(h.nothing_to_lease("q"));
}

// ---- repeats

core::LeaseJobs named(const char* request_id, std::int64_t wait_ms = 0) {
  auto c = poll({"q"}, wait_ms);
  c.request_id = request_id;
  return c;
}

TEST(LeaseRepeat, ReturnsTheLiveLeasesRenewed) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.enqueue(job());
  const auto first = h.lease(named("r"));
  h.advance(25'000);
  const auto again = h.lease(named("r"));
  ASSERT_EQ(again.jobs.size(), 1U);
  EXPECT_EQ(again.jobs[0].key, first.jobs[0].key);
  EXPECT_EQ(again.jobs[0].token, first.jobs[0].token);
  h.advance(25'000);  // beyond the first grant's own ttl
  EXPECT_EQ(h.state(first.jobs[0].key), JobState::kRunning);
}

// Must show 6.
TEST(LeaseRepeat, WorksAfterACrash) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.enqueue(job());
  const auto first = h.lease(named("r"));
  h.crash();
  const auto again = h.lease(named("r"));
  ASSERT_EQ(again.jobs.size(), 1U);
  EXPECT_EQ(again.jobs[0].token, first.jobs[0].token);
  EXPECT_EQ(again.jobs[0].attempt, 1U);
  EXPECT_EQ(h.counters("q").of(JobState::kRunning), 1U);
}

TEST(LeaseRepeat, CommittedButUnansweredGrantIsFoundAfterACrash) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.send(named("r"));
  h.seal();
  h.crash(/*keep_pending=*/true);
  EXPECT_EQ(h.lease(named("r")).jobs.size(), 1U);
  EXPECT_EQ(h.counters("q").of(JobState::kRunning), 1U);
}

TEST(LeaseRepeat, LostGrantIsMadeAnewAfterACrash) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.send(named("r"));
  h.seal();
  h.crash(/*keep_pending=*/false);
  const auto reply = h.lease(named("r"));
  ASSERT_EQ(reply.jobs.size(), 1U);
  EXPECT_EQ(reply.jobs[0].attempt, 1U);
}

TEST(LeaseRepeat, TakesThePlaceOfTheParkedCall) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.send(named("r", 20'000));
  h.settle();
  const auto second = h.send(named("r", 20'000));
  h.settle();
  EXPECT_EQ(h.take_as<core::Error>(first).reason, Reason::kPollReplaced);
  h.enqueue(job());
  h.enqueue(job());
  EXPECT_EQ(h.take_as<core::LeaseReply>(second).jobs.size(), 1U);
  EXPECT_EQ(h.counters("q").of(JobState::kRunning), 1U);
}

TEST(LeaseRepeat, KeepsThePlaceInLine) {
  EngineHarness h;
  h.queue("q");
  h.send(named("r", 20'000));
  h.settle();
  h.send(named("behind", 20'000));
  h.settle();
  const auto repeat = h.send(named("r", 20'000));
  h.settle();
  h.enqueue(job());
  EXPECT_EQ(h.take_as<core::LeaseReply>(repeat).jobs.size(), 1U);
}

TEST(LeaseRepeat, SpentRequestNeverGetsASecondSet) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.enqueue(job());
  const auto first = h.lease(named("r"));
  h.finish(first.jobs[0], succeeded());
  const auto again = h.lease(named("r"));
  EXPECT_TRUE(again.jobs.empty());
  EXPECT_TRUE(again.request_spent);
}

TEST(LeaseRepeat, OnlyWhatIsStillLiveIsReturned) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.enqueue(job());
  auto call = named("r");
  call.max_jobs = 2;
  const auto first = h.lease(call);
  ASSERT_EQ(first.jobs.size(), 2U);
  h.finish(first.jobs[0], succeeded());
  const auto again = h.lease(call);
  ASSERT_EQ(again.jobs.size(), 1U);
  EXPECT_EQ(again.jobs[0].token, first.jobs[1].token);
}

TEST(LeaseRepeat, AnotherSessionsRequestIdIsItsOwn) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  h.enqueue(job());
  h.lease(named("r"));
  auto other = named("r");
  other.session_id = "s2";
  EXPECT_EQ(h.lease(other).jobs.size(), 1U);
}

// ---- callers that are gone

TEST(LeaseGone, ParkedCallIsForgotten) {
  EngineHarness h;
  h.queue("q");
  const auto call = h.send(poll({"q"}));
  h.settle();
  h.engine().drop_call(call);
  h.enqueue(job());
  EXPECT_FALSE(h.take(call).has_value());
  EXPECT_EQ(h.counters("q").of(JobState::kReady), 1U);
}

TEST(LeaseGone, UnansweredGrantGoesBackWithoutUsingAnAttempt) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  h.send(core::AbandonGrant{"s1", {ref(granted)}});
  h.settle();
  EXPECT_EQ(h.state(key), JobState::kReady);
  EXPECT_EQ(h.side(key)->attempts_used, 0U);
  EXPECT_EQ(h.take_job("q").attempt, 2U);
}

TEST(LeaseGone, GrantThatARepeatHasTakenOverStays) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto first = h.lease(named("r"));
  h.lease(named("r"));
  h.send(core::AbandonGrant{"s1", {ref(first.jobs[0])}});
  h.settle();
  EXPECT_EQ(h.state(key), JobState::kRunning);
}

TEST(LeaseGone, OldTokenAbandonsNothing) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  auto granted = h.take_job("q");
  granted.token += 1;
  h.send(core::AbandonGrant{"s1", {ref(granted)}});
  h.settle();
  EXPECT_EQ(h.state(key), JobState::kRunning);
}

}  // namespace
}  // namespace rota::testing
