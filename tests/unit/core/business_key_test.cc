// SPDX-License-Identifier: Apache-2.0
//
// Business keys: one test for each row of the table "the key's job is ... / enqueue with the same
// key and fingerprint".
#include <gtest/gtest.h>

#include "base/limits.h"
#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::JobState;
using core::Keyspace;
using core::Reason;

core::JobRequest keyed(std::string key = "k", std::string payload = "p") {
  auto r = job();
  r.business_key = std::move(key);
  r.payload = std::move(payload);
  return r;
}

TEST(BusinessKey, WaitingJobIsReturned) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  const auto again = h.enqueue(keyed());
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.key, first.key);
  EXPECT_EQ(again.state, JobState::kReady);
  EXPECT_EQ(h.counters("q").created, 1U);
}

// What is told of an existing job is told as of now: it may be finished, and not be when it was
// made. A repeat of that call tells it as it was then.
TEST(BusinessKey, AnExistingJobIsToldAsOfTheNewestCommit) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  const auto born = h.named;
  h.finish(h.take_job("q"), succeeded("result"));
  const auto done = h.named;
  ASSERT_GT(done, born);
  const auto found = h.enqueue(keyed(), "req");
  EXPECT_EQ(found.key, first.key);
  EXPECT_EQ(found.result, "result");
  const auto told = h.named;
  EXPECT_GE(told, done) << "the commit that the state and the result are as of";
  h.enqueue(job());
  EXPECT_EQ(h.enqueue(keyed(), "req").state, JobState::kSucceeded);
  EXPECT_EQ(h.named, told);
}

// Of many large results an answer holds what fits; the jobs are told all the same, and each of them
// alone with its result. A call with the same key many times is no way around it.
TEST(BusinessKey, ResultsThatAreTooLargeTogetherAreLeftOut) {
  EngineHarness h;
  h.queue("q");
  constexpr std::size_t kJobs = 20;
  const std::string result(base::limits::kResultBytesMax, 'r');
  constexpr std::size_t kFit = core::kEnqueueResultsBytesMax / base::limits::kResultBytesMax;
  static_assert(kFit < kJobs);
  std::vector<core::JobRequest> all;
  for (std::size_t i = 0; i < kJobs; ++i) {
    all.push_back(keyed("k" + std::to_string(i)));
    h.enqueue(all.back());
    h.finish(h.take_job("q"), succeeded(result));
  }
  const auto with_results = [&](const core::EnqueueReply& reply) {
    std::size_t with = 0;
    for (const auto& item : reply.items) {
      const auto& job = std::get<core::EnqueuedJob>(item);
      EXPECT_FALSE(job.created);
      EXPECT_EQ(job.state, JobState::kSucceeded);
      EXPECT_EQ(job.result_omitted, !job.result.has_value()) << "told in any case";
      with += job.result ? 1 : 0;
    }
    EXPECT_EQ(reply.items.size(), kJobs);
    return with;
  };
  EXPECT_EQ(with_results(h.expect<core::EnqueueReply>(enqueue(all, "bulk"))), kFit);
  EXPECT_EQ(with_results(h.expect<core::EnqueueReply>(enqueue(all, "bulk"))), kFit) << "a repeat";
  EXPECT_EQ(h.enqueue(all.back()).result, result);
  const std::vector<core::JobRequest> same(kJobs, all.front());
  EXPECT_LE(with_results(h.expect<core::EnqueueReply>(enqueue(same))), kFit);
  EXPECT_EQ(h.counters("q").created, kJobs);
}

TEST(BusinessKey, RunningJobIsReturned) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  const auto granted = h.take_job("q");
  EXPECT_EQ(h.enqueue(keyed()).state, JobState::kRunning);
  h.call(core::CancelJob{first.key, ""});
  EXPECT_EQ(h.enqueue(keyed()).key, first.key);  // cancel requested: still its job
  h.finish(granted, succeeded());
}

TEST(BusinessKey, JobWaitingForRetryIsReturned) {
  EngineHarness h;
  h.queue("q", with_retry(retries(3)));
  const auto first = h.enqueue(keyed());
  h.finish(h.take_job("q"), failed());
  const auto again = h.enqueue(keyed());
  EXPECT_EQ(again.key, first.key);
  EXPECT_EQ(again.state, JobState::kScheduled);
}

TEST(BusinessKey, SucceededReturnsTheResult) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  h.finish(h.take_job("q"), succeeded("invoice 17"));
  const auto again = h.enqueue(keyed());
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.key, first.key);
  EXPECT_EQ(again.state, JobState::kSucceeded);
  EXPECT_EQ(again.result, "invoice 17");
}

// C152: retention of the job record changes nothing; the ledger's own does.
TEST(BusinessKey, LedgerEntryOutlivesTheJobRecordAndThenEnds) {
  EngineHarness h;
  model::Retention retention;
  retention.succeeded_ms = 0;
  retention.ledger_ms = 600'000;
  h.queue("q", with_retention(retention));
  const auto first = h.enqueue(keyed());
  h.finish(h.take_job("q"), succeeded("r"));
  EXPECT_EQ(h.state(first.key), JobState::kUnknown);
  h.jump(599'000);
  EXPECT_EQ(h.enqueue(keyed()).result, "r");
  h.jump(2'000);
  EXPECT_TRUE(h.enqueue(keyed()).created);  // also before the sweep has come by
}

TEST(BusinessKey, ExpiredLedgerEntriesAreSwept) {
  EngineHarness h;
  model::Retention retention;
  retention.ledger_ms = 600'000;
  h.queue("q", with_retention(retention));
  h.enqueue(keyed());
  h.finish(h.take_job("q"), succeeded("r"));
  EXPECT_EQ(h.rows(Keyspace::kLedger), 2U);
  h.jump(601'000);
  h.advance(65'000);
  EXPECT_EQ(h.rows(Keyspace::kLedger), 0U);
}

TEST(BusinessKey, SweepLeavesAYoungerEntryOfTheSameKey) {
  EngineHarness h;
  model::Retention retention;
  retention.ledger_ms = 600'000;
  h.queue("q", with_retention(retention));
  h.enqueue(keyed());
  h.finish(h.take_job("q"), succeeded("old"));
  h.jump(600'500);
  const auto second = h.enqueue(keyed());
  EXPECT_TRUE(second.created);
  h.advance(65'000);
  EXPECT_EQ(h.enqueue(keyed()).key, second.key);
}

TEST(BusinessKey, DeadJobIsReturned) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  h.finish(h.take_job("q"), failed(false));
  const auto again = h.enqueue(keyed());
  EXPECT_EQ(again.key, first.key);
  EXPECT_EQ(again.state, JobState::kDead);
  EXPECT_FALSE(again.created);
}

TEST(BusinessKey, DeadJobIsRedrivenOnRequest) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  h.finish(h.take_job("q"), failed(false));
  auto again = keyed();
  again.on_dead = core::OnDead::kRedrive;
  const auto answer = h.enqueue(again, "req");
  const auto redriven = h.named;
  EXPECT_EQ(answer.key, first.key);
  EXPECT_EQ(answer.state, JobState::kReady);
  EXPECT_FALSE(answer.created);
  h.enqueue(job());
  EXPECT_EQ(h.enqueue(again, "req").key, first.key);
  EXPECT_EQ(h.named, redriven);
  EXPECT_EQ(h.take_job("q").attempt, 2U);
}

TEST(BusinessKey, CancelledFreesTheKey) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  h.call(core::CancelJob{first.key, ""});
  const auto second = h.enqueue(keyed());
  EXPECT_TRUE(second.created);
  EXPECT_NE(second.key, first.key);
}

TEST(BusinessKey, ExpiredFreesTheKey) {
  EngineHarness h;
  h.queue("q");
  auto late = keyed();
  late.start_deadline_ms = h.wall_ms() + 1'000;
  h.enqueue(late);
  h.advance(1'001);
  EXPECT_TRUE(h.enqueue(keyed()).created);
}

// C149: a delayed job that an operator deletes gives its key back at once.
TEST(BusinessKey, CancelledDelayedJobFreesTheKeyAtOnce) {
  EngineHarness h;
  h.queue("q");
  auto later = keyed();
  later.run_at_ms = h.wall_ms() + 3'600'000;
  const auto first = h.enqueue(later);
  h.call(core::CancelJob{first.key, ""});
  h.call(core::DeleteJob{first.key});
  EXPECT_TRUE(h.enqueue(keyed()).created);
}

TEST(BusinessKey, PurgedJobFreesTheKey) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(keyed());
  h.call(core::PurgeQueue{"q", {}});
  EXPECT_TRUE(h.enqueue(keyed()).created);
}

TEST(BusinessKey, DeletedDeadJobFreesTheKey) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  h.finish(h.take_job("q"), failed(false));
  h.expect<core::JobReply>(core::DeleteJob{first.key});
  EXPECT_TRUE(h.enqueue(keyed()).created);
}

// C148: deleting the record of an ended job never takes the key from its present owner.
TEST(BusinessKey, DeletingAnOldJobLeavesTheNewOwner) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  h.call(core::CancelJob{first.key, ""});
  auto later = keyed();
  later.run_at_ms = h.wall_ms() + 36'000'000;
  const auto second = h.enqueue(later);
  h.expect<core::JobReply>(core::DeleteJob{first.key});
  EXPECT_EQ(h.enqueue(keyed()).key, second.key);
}

TEST(BusinessKey, DeletedRecordOfASuccessKeepsTheEffect) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  h.finish(h.take_job("q"), succeeded("r"));
  h.expect<core::JobReply>(core::DeleteJob{first.key});
  const auto again = h.enqueue(keyed());
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.result, "r");
}

TEST(BusinessKey, AnotherFingerprintIsAConflictThatNamesTheDifference) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(keyed());
  const auto payload = h.enqueue_refused(keyed("k", "other"));
  EXPECT_EQ(payload.reason, Reason::kBusinessKeyConflict);
  EXPECT_EQ(payload.meta.at("differs"), "payload");
  EXPECT_EQ(payload.meta.at("state"), "READY");
  EXPECT_FALSE(payload.meta.at("jobId").empty());
  auto kind = keyed();
  kind.kind = "other";
  kind.content_type = "application/json";
  EXPECT_EQ(h.enqueue_refused(kind).meta.at("differs"), "kind, content_type");
}

TEST(BusinessKey, LabelsPriorityAndRunTimeAreNoDifference) {
  EngineHarness h;
  h.queue("q");
  const auto first = h.enqueue(keyed());
  auto again = keyed();
  again.labels["traceparent"] = "x";
  again.priority = 200;
  again.run_at_ms = h.wall_ms() + 5'000;
  EXPECT_EQ(h.enqueue(again).key, first.key);
}

TEST(BusinessKey, ScopeIsTheQueueUnlessNamed) {
  EngineHarness h;
  h.queue("q");
  h.queue("r");
  const auto in_q = h.enqueue(keyed());
  auto in_r = keyed();
  in_r.queue = "r";
  EXPECT_TRUE(h.enqueue(in_r).created);
  in_r.key_scope = "q";
  EXPECT_EQ(h.enqueue(in_r).key, in_q.key);
}

// Both prefetch "absent"; the second must see the first.
TEST(BusinessKey, TwoConcurrentEnqueuesMakeOneJob) {
  EngineHarness h;
  h.queue("q");
  const auto a = h.send(enqueue(keyed()));
  const auto b = h.send(enqueue(keyed()));
  h.settle();
  const auto first = std::get<core::EnqueuedJob>(h.take_as<core::EnqueueReply>(a).items[0]);
  const auto second = std::get<core::EnqueuedJob>(h.take_as<core::EnqueueReply>(b).items[0]);
  EXPECT_EQ(first.key, second.key);
  EXPECT_NE(first.created, second.created);
}

TEST(BusinessKey, OneBulkWithTheKeyTwiceMakesOneJob) {
  EngineHarness h;
  h.queue("q");
  const auto reply = h.expect<core::EnqueueReply>(enqueue({keyed(), keyed(), keyed("k", "other")}));
  EXPECT_TRUE(std::get<core::EnqueuedJob>(reply.items[0]).created);
  EXPECT_FALSE(std::get<core::EnqueuedJob>(reply.items[1]).created);
  EXPECT_EQ(std::get<core::EnqueuedJob>(reply.items[0]).key,
            std::get<core::EnqueuedJob>(reply.items[1]).key);
  EXPECT_EQ(std::get<core::Error>(reply.items[2]).reason, Reason::kBusinessKeyConflict);
}

// C129: a key whose job was running when everything died: the old job is recovered and runs.
TEST(BusinessKey, KeySurvivesACrashAndItsJobRunsAgain) {
  EngineHarness h;
  h.queue("q", with_retry(retries(3, 0)));
  const auto first = h.enqueue(keyed());
  h.take_job("q");
  h.crash();
  EXPECT_EQ(h.enqueue(keyed()).key, first.key);
  h.advance(40'000);
  EXPECT_EQ(h.take_job("q").key, first.key);
}

// ---- a key that passes from hand to hand

// Turns and commits until nothing is left to do without what the reads would bring.
void run_without_reads(EngineHarness& h) {
  do {
    h.seal();
    while (h.step_store()) {
    }
  } while (h.more());
}

// The job that holds the key ends, and the next one takes it; nothing of that has to be read.
core::JobKey pass_on(EngineHarness& h, const core::JobKey& holder) {
  const auto take = h.send(lease({"q"}));
  run_without_reads(h);
  const auto granted = h.take_as<core::LeaseReply>(take).jobs.at(0);
  EXPECT_EQ(granted.key, holder);
  h.send(core::CancelJob{granted.key, ""});
  h.send(finish(granted, failed()));
  const auto next = h.send(enqueue(keyed()));
  run_without_reads(h);
  return std::get<core::EnqueuedJob>(h.take_as<core::EnqueueReply>(next).items.at(0)).key;
}

// What is read for a call may name another job by the time it comes, which has to be read then.
TEST(KeyInMotion, ACallThatReadsAgainAndAgainFindsTheLastHolder) {
  EngineHarness h;
  h.queue("q");
  core::JobKey holder = h.enqueue(keyed()).key;
  const auto call = h.send(enqueue(keyed(), "r"));
  run_without_reads(h);
  for (int round = 1; round < base::limits::kPrefetchRoundsMax; ++round) {
    ASSERT_EQ(h.reads_ready(), 1U) << "round " << round;
    holder = pass_on(h, holder);
    h.deliver_read(0);
    run_without_reads(h);
    ASSERT_FALSE(h.take(call).has_value());
  }
  ASSERT_EQ(h.reads_ready(), 1U);
  h.deliver_read(0);
  h.settle();
  const auto found = std::get<core::EnqueuedJob>(h.take_as<core::EnqueueReply>(call).items.at(0));
  EXPECT_FALSE(found.created);
  EXPECT_EQ(found.key, holder);
}

TEST(KeyInMotion, ACallIsNotReadForForEver) {
  EngineHarness h;
  h.queue("q");
  core::JobKey holder = h.enqueue(keyed()).key;
  const auto call = h.send(enqueue(keyed(), "r"));
  run_without_reads(h);
  int rounds = 0;
  for (; h.reads_ready() == 1 && rounds < 20; ++rounds) {
    holder = pass_on(h, holder);
    h.deliver_read(0);
    run_without_reads(h);
  }
  EXPECT_EQ(rounds, base::limits::kPrefetchRoundsMax);
  const auto given_up = h.take_as<core::Error>(call);
  EXPECT_EQ(given_up.reason, Reason::kOverloaded) << "worth a repeat";
  EXPECT_GT(given_up.retry_after_ms, 0);
  EXPECT_EQ(h.engine().stats().parked_commands, 0U);
  h.settle();
  EXPECT_EQ(h.engine().stats().kept_batches, 0U) << "nothing is kept for it any more";
  EXPECT_EQ(h.counters("q").created, static_cast<std::uint64_t>(rounds) + 1)
      << "it has changed nothing";
  // Sent again it is the first call of its request id.
  const auto again = h.enqueue(keyed(), "r");
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.key, holder);
}

}  // namespace
}  // namespace rota::testing
