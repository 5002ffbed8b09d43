// SPDX-License-Identifier: Apache-2.0
//
// Enqueue: what a new job is, per-item outcomes of a bulk, repeats by request id, limits.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::JobState;
using core::Keyspace;
using core::Reason;

TEST(Enqueue, PlainJobIsReadyAndCostsOneBody) {
  EngineHarness h;
  h.queue("q");
  const auto done = h.enqueue(job());
  EXPECT_TRUE(done.created);
  EXPECT_EQ(done.state, JobState::kReady);
  EXPECT_EQ(done.key.priority, 100);
  EXPECT_EQ(done.key.seq, 1U);
  EXPECT_EQ(h.state(done.key), JobState::kReady);
  EXPECT_EQ(h.rows(Keyspace::kJob), 1U);
  EXPECT_EQ(h.rows(Keyspace::kSide), 0U);
  EXPECT_EQ(h.rows(Keyspace::kTimer), 0U);
  EXPECT_EQ(h.counters("q").of(JobState::kReady), 1U);
}

// ---- commands that wait for rows are bounded

core::JobRequest keyed(int number) {
  auto request = job();
  request.business_key = "key" + std::to_string(number);
  return request;
}

TEST(Waiting, ManyCommandsThatWaitForRowsMakeTheEngineFull) {
  core::EngineOptions options;
  options.max_waiting_commands = 50;
  EngineHarness h(options);
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  std::size_t waiting = 0;
  while (!h.engine().full() && waiting < 100) {
    h.send(enqueue(keyed(static_cast<int>(waiting++))));
  }
  EXPECT_EQ(waiting, 50U);
  core::Heartbeat beat;
  beat.session_id = "s1";
  beat.leases.push_back(ref(granted));
  const auto call = h.send(beat);
  EXPECT_EQ(h.take_as<core::HeartbeatReply>(call).items[0].beat, core::Beat::kRenewed);
  h.seal();
  EXPECT_TRUE(h.engine().full()) << "a sealed turn alone frees nothing: the rows have not come";
  h.settle();
  EXPECT_FALSE(h.engine().full());
  EXPECT_EQ(h.engine().stats().parked_commands, 0U);
  EXPECT_EQ(h.counters("q").created, waiting + 1);
}

TEST(Waiting, TheirBytesCountToo) {
  EngineHarness h;
  h.queue("q");
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(h.engine().full());
    core::Command command;
    command.body = enqueue(keyed(i));
    command.bytes = core::EngineOptions{}.max_waiting_bytes / 4;
    h.engine().apply(std::move(command), h.now());
  }
  EXPECT_TRUE(h.engine().full());
  h.settle();
  EXPECT_FALSE(h.engine().full());
  EXPECT_EQ(h.counters("q").created, 4U);
}

TEST(Waiting, BatchesKeptForAnOpenReadCountToo) {
  core::EngineOptions options;
  options.max_kept_bytes = 100'000;
  EngineHarness h(options);
  h.queue("q");
  h.send(enqueue(keyed(0)));
  h.seal();  // its read is under way from here on
  while (h.reads_ready() == 0 && h.step_store()) {
  }
  ASSERT_EQ(h.reads_ready(), 1U);
  auto large = job();
  large.payload = std::string(30'000, 'x');
  int batches = 0;
  for (; !h.engine().full() && batches < 100; ++batches) {
    h.send(enqueue(large));
    h.seal();
    while (h.commit_in_flight() && h.step_store()) {
    }
  }
  EXPECT_EQ(batches, 4);
  h.settle();
  EXPECT_FALSE(h.engine().full());
  EXPECT_EQ(h.engine().stats().kept_batches, 0U);
}

TEST(Enqueue, SequencesAreDensePerQueue) {
  EngineHarness h;
  h.queue("q");
  h.queue("r");
  EXPECT_EQ(h.enqueue(job("q")).key.seq, 1U);
  EXPECT_EQ(h.enqueue(job("r")).key.seq, 1U);
  EXPECT_EQ(h.enqueue(job("q")).key.seq, 2U);
}

TEST(Enqueue, BulkAnswersEachItemAndRefusesOnlyTheBadOnes) {
  EngineHarness h;
  h.queue("q");
  auto bad = job();
  bad.invalid = base::invalid_field("jobs[1].kind", "empty");
  const auto reply = h.expect<core::EnqueueReply>(enqueue({job(), bad, job("nowhere"), job()}));
  ASSERT_EQ(reply.items.size(), 4U);
  EXPECT_TRUE(std::get<core::EnqueuedJob>(reply.items[0]).created);
  EXPECT_EQ(std::get<core::Error>(reply.items[1]).field, "jobs[1].kind");
  EXPECT_EQ(std::get<core::Error>(reply.items[2]).reason, Reason::kQueueNotFound);
  EXPECT_EQ(std::get<core::Error>(reply.items[2]).meta.at("queue"), "nowhere");
  EXPECT_EQ(std::get<core::EnqueuedJob>(reply.items[3]).key.seq, 2U);
}

// Must show 6: an answer that was lost is given again, also by the next process.
TEST(Enqueue, RepeatedRequestGetsTheFirstAnswer) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(job(), "req-1");
  const auto born = h.named;
  h.enqueue(job());
  EXPECT_GT(h.named, born);
  const auto again = h.enqueue(job(), "req-1");
  EXPECT_EQ(again.key, first.key);
  EXPECT_TRUE(again.created);
  EXPECT_EQ(h.named, born) << "the commit that created the job, not that of the repeat";
  h.crash();
  EXPECT_EQ(h.enqueue(job(), "req-1").key, first.key);
  EXPECT_EQ(h.named, born);
  EXPECT_EQ(h.counters("q").created, 2U);
}

TEST(Enqueue, RepeatOfABulkReturnsEveryOutcomeAgain) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.expect<core::EnqueueReply>(enqueue({job(), job("nowhere"), job()}, "bulk"));
  const auto born = h.named;
  h.enqueue(job());
  h.crash();
  const auto again = h.expect<core::EnqueueReply>(enqueue({job(), job("nowhere"), job()}, "bulk"));
  ASSERT_EQ(again.items.size(), 3U);
  EXPECT_EQ(std::get<core::EnqueuedJob>(again.items[0]).key,
            std::get<core::EnqueuedJob>(first.items[0]).key);
  EXPECT_EQ(std::get<core::Error>(again.items[1]), std::get<core::Error>(first.items[1]));
  EXPECT_EQ(h.named, born);
  EXPECT_EQ(h.counters("q").created, 3U);
}

TEST(Enqueue, RequestIdWithAnotherBodyIsRefused) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job(), "req");
  EXPECT_EQ(h.enqueue_refused(job("q", "other"), "req").reason, Reason::kRequestIdReused);
  EXPECT_EQ(h.counters("q").created, 1U);
}

TEST(Enqueue, RefusedCallIsNotRemembered) {
  EngineHarness h;
  EXPECT_EQ(h.enqueue_refused(job(), "req").reason, Reason::kQueueNotFound);
  h.queue("q");
  EXPECT_TRUE(h.enqueue(job(), "req").created);
}

TEST(Enqueue, SameRequestTwiceInOneBatchCreatesOneJob) {
  EngineHarness h;
  h.queue("q");
  const auto a = h.send(enqueue(job(), "req"));
  const auto b = h.send(enqueue(job(), "req"));
  h.settle();
  const auto first = h.take_as<core::EnqueueReply>(a);
  const auto second = h.take_as<core::EnqueueReply>(b);
  EXPECT_EQ(std::get<core::EnqueuedJob>(first.items[0]).key,
            std::get<core::EnqueuedJob>(second.items[0]).key);
  EXPECT_EQ(h.counters("q").created, 1U);
}

TEST(Enqueue, RequestsAreForgottenAfterTheirTime) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job(), "req");
  EXPECT_EQ(h.rows(Keyspace::kRequest), 2U);  // the answer and its expiry
  h.jump(3'600'000 + 61'000);
  h.advance(3'000);
  EXPECT_EQ(h.rows(Keyspace::kRequest), 0U);
  EXPECT_EQ(h.enqueue(job(), "req").key.seq, 2U);
}

TEST(Enqueue, MaxWaitingRefusesWithAdviceAndLetsInAgain) {
  EngineHarness h;
  core::QueuePatch patch;
  patch.max_waiting = std::optional<std::uint64_t>(2);
  h.queue("q", patch);
  h.enqueue(job());
  auto later = job();
  later.run_at_ms = h.wall_ms() + 60'000;
  h.enqueue(later);  // SCHEDULED waits too
  const auto refused = h.enqueue_refused(job());
  EXPECT_EQ(refused.reason, Reason::kQueueFull);
  EXPECT_GT(refused.retry_after_ms, 0);
  h.take_job("q");
  EXPECT_TRUE(h.enqueue(job()).created);
}

// C178: anything stored can be delivered.
TEST(Enqueue, LargePayloadLiesApart) {
  EngineHarness h;
  h.queue("q");
  auto large = job();
  large.payload = std::string(5'000, 'x');
  const auto done = h.enqueue(large);
  EXPECT_EQ(h.row(Keyspace::kPayload, model::keys::job(done.key)), large.payload);
  const auto granted = h.take_job("q");
  EXPECT_TRUE(granted.body->payload_apart);
  EXPECT_EQ(granted.body->payload_bytes, 5'000U);
  EXPECT_TRUE(granted.body->payload.empty());
  h.finish(granted, succeeded());
  EXPECT_EQ(h.rows(Keyspace::kPayload), 0U);
}

TEST(Enqueue, SmallPayloadIsInTheBody) {
  EngineHarness h;
  h.queue("q");
  auto small = job();
  small.payload = std::string(4'096, 'x');
  h.enqueue(small);
  EXPECT_EQ(h.rows(Keyspace::kPayload), 0U);
  EXPECT_EQ(h.take_job("q").body->payload, small.payload);
}

// C176: names are not parsed by separators.
TEST(Enqueue, QueuesWithSeparatorsInTheirNamesStayApart) {
  EngineHarness h;
  for (const char* name : {"a:b", "a", "x.y", "q/1", "q"}) h.queue(name);
  auto first = job("a:b");
  first.business_key = "c";
  auto second = job("a");
  second.business_key = "b:c";
  EXPECT_TRUE(h.enqueue(first).created);
  EXPECT_TRUE(h.enqueue(second).created);
  EXPECT_TRUE(h.nothing_to_lease("q"));
  EXPECT_EQ(h.take_job("a").key.seq, 1U);
  EXPECT_TRUE(h.nothing_to_lease("a"));
}

TEST(Enqueue, EveryFieldReachesTheWorker) {
  EngineHarness h;
  h.queue("q");
  auto full = job();
  full.payload = "{}";
  full.priority = 7;
  full.labels = {{"traceparent", "00-1"}};
  full.business_key = "k";
  full.attempt_timeout_ms = 90'000;
  full.retry = retries(3);
  h.enqueue(full);
  const auto granted = h.take_job("q");
  EXPECT_EQ(granted.queue, "q");
  EXPECT_EQ(granted.body->kind, "work");
  EXPECT_EQ(granted.body->content_type, "text/plain");
  EXPECT_EQ(granted.body->labels.at("traceparent"), "00-1");
  EXPECT_EQ(granted.body->business_key, "k");
  EXPECT_EQ(granted.body->key_scope, "q");
  EXPECT_EQ(granted.priority, 7);
  EXPECT_EQ(granted.max_attempts, 3U);
  EXPECT_EQ(granted.attempt, 1U);
  EXPECT_EQ(granted.time_left_ms, 90'000);
}

}  // namespace
}  // namespace rota::testing
