// SPDX-License-Identifier: Apache-2.0
//
// The recount finds nothing in what the engine wrote, and finds each kind of contradiction when a
// row is changed behind its back.
#include "app/recount.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/keys.h"
#include "model/queue.h"
#include "model/records.h"
#include "model/scheduler.h"
#include "support/engine_harness.h"

namespace rota::app {
namespace {

namespace keys = model::keys;
using core::Keyspace;
using model::JobKey;
using rota::testing::EngineHarness;
using rota::testing::failed;
using rota::testing::job;
using rota::testing::succeeded;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A store with one of everything.
class RecountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    h_.queue("q", rota::testing::with_retry(rota::testing::retries(2, 60'000)));
    h_.queue("other");
    core::JobRequest keyed = job();
    keyed.business_key = "invoice-1";
    done_ = h_.enqueue(keyed, "request-1").key;
    h_.finish(h_.take_job("q"), succeeded("paid"));
    dead_ = h_.enqueue(job()).key;
    h_.finish(h_.take_job("q"), failed(false));
    retrying_ = h_.enqueue(job()).key;
    h_.finish(h_.take_job("q"), failed());
    running_ = h_.enqueue(job()).key;
    h_.take_job("q");
    core::JobRequest large = job();
    large.payload = std::string(10'000, 'p');
    large.business_key = "invoice-2";
    large_ = h_.enqueue(large).key;
    core::JobRequest late = job();
    late.start_deadline_ms = h_.wall_ms() + 3'600'000;
    deadline_ = h_.enqueue(late).key;
    moved_ = h_.enqueue(job()).key;
    h_.expect<core::JobReply>(core::UpdateJob{moved_, std::uint8_t{7}, {}, {}});
    core::JobRequest delayed = job("other");
    delayed.run_at_ms = h_.wall_ms() + 3'600'000;
    h_.enqueue(delayed);
    h_.expect<core::JobReply>(core::CancelJob{h_.enqueue(job("other")).key, "no more"});
    core::UpsertScheduler upsert = rota::testing::scheduler("nightly", 60'000, "other");
    upsert.settings.overlap = model::Overlap::kWaitOne;
    h_.expect<core::SchedulerReply>(upsert);
    h_.advance(200'000);  // a job that is READY, one that waits for it, and skipped ticks
  }

  RecountReport report() {
    auto counted = recount(h_.store());
    EXPECT_TRUE(counted) << base::to_string(counted.error());
    return *counted;
  }
  // What is found after a change behind the engine's back.
  std::vector<std::string> after(const std::function<void(core::Batch&)>& change) {
    auto batch = std::make_shared<core::Batch>();
    change(*batch);
    core::InlineExecutor executor;
    const auto store = h_.disk().take_over(executor);
    store->commit(batch, store->last_committed() + 1,
                  [](core::CommitSeq, core::Outcome outcome, const std::string& detail) {
                    EXPECT_EQ(outcome, core::Outcome::kCommitted) << detail;
                  });
    auto counted = recount(*store);
    EXPECT_TRUE(counted);
    return counted->contradictions;
  }
  std::string row(Keyspace keyspace, const std::string& key) {
    const auto value = h_.row(keyspace, key);
    EXPECT_TRUE(value);
    return value.value_or("");
  }

  EngineHarness h_;
  JobKey done_, dead_, retrying_, running_, large_, deadline_, moved_;
};

TEST_F(RecountTest, WhatTheEngineWroteIsConsistent) {
  const RecountReport counted = report();
  EXPECT_THAT(counted.contradictions, IsEmpty()) << to_text(counted);
  ASSERT_EQ(counted.queues.size(), 2U);
  const QueueCount& q = counted.queues[0];
  const auto in = [&](model::JobState s) { return q.in_state[static_cast<std::size_t>(s)]; };
  EXPECT_EQ(q.name, "q");
  EXPECT_EQ(q.created, 7U);
  EXPECT_EQ(in(model::JobState::kSucceeded), 1U);
  EXPECT_EQ(in(model::JobState::kDead), 1U);
  EXPECT_EQ(in(model::JobState::kExpired), 0U);
  EXPECT_EQ(counted.schedulers, 1U);
  EXPECT_EQ(counted.remembered_requests, 1U);
  EXPECT_GE(counted.run_records, 2U);
  EXPECT_THAT(to_text(counted), HasSubstr("0 contradictions"));
}

TEST_F(RecountTest, ALostBodyIsFound) {
  const auto found = after([&](core::Batch& b) { b.del(Keyspace::kJob, keys::job(large_)); });
  EXPECT_THAT(found, Contains(HasSubstr("counts")));
  EXPECT_THAT(found, Contains(HasSubstr("does not have it"))) << "its business key";
}

TEST_F(RecountTest, ALostSideRecordIsFound) {
  const auto found = after([&](core::Batch& b) { b.del(Keyspace::kSide, keys::job(dead_)); });
  EXPECT_THAT(found, Contains(HasSubstr("DEAD")));
}

TEST_F(RecountTest, ADamagedRecordIsFound) {
  const auto found = after([&](core::Batch& b) {
    std::string body = row(Keyspace::kJob, keys::job(large_));
    body[body.size() / 2] = static_cast<char>(body[body.size() / 2] ^ 1);
    b.put(Keyspace::kJob, keys::job(large_), body);
  });
  EXPECT_THAT(found, Contains(HasSubstr("is damaged")));
}

TEST_F(RecountTest, ALostPayloadIsFound) {
  EXPECT_THAT(after([&](core::Batch& b) { b.del(Keyspace::kPayload, keys::job(large_)); }),
              Contains(HasSubstr("has lost its payload")));
}

TEST_F(RecountTest, AStrayPayloadIsFound) {
  EXPECT_THAT(
      after([&](core::Batch& b) { b.put(Keyspace::kPayload, keys::job(deadline_), "stray"); }),
      Contains(HasSubstr("needs none")));
}

TEST_F(RecountTest, ALostTimerIsFound) {
  const auto found = after([&](core::Batch& b) {
    const auto side = h_.side(retrying_);
    ASSERT_TRUE(side);
    if (side->claim == model::Claim::kScheduled) {
      b.del(Keyspace::kTimer, keys::timer({side->due_ms, keys::TimerKind::kPromote, retrying_}));
    }
    std::int64_t deadline_ms = 0;
    model::JobBody body;
    ASSERT_TRUE(model::decode(row(Keyspace::kJob, keys::job(deadline_)), &body));
    deadline_ms = body.start_deadline_ms;
    b.del(Keyspace::kTimer, keys::timer({deadline_ms, keys::TimerKind::kStartDeadline, deadline_}));
  });
  EXPECT_THAT(found, Contains(HasSubstr("has a start deadline and no timer")));
}

TEST_F(RecountTest, AStrayTimerIsFound) {
  const std::int64_t later_ms = h_.wall_ms() + 1'000'000;
  EXPECT_THAT(
      after([&](core::Batch& b) {
        b.put(Keyspace::kTimer, keys::timer({later_ms, keys::TimerKind::kPromote, large_}), "");
      }),
      Contains(HasSubstr("nothing waits for")));
}

TEST_F(RecountTest, ALostPointerIsFound) {
  EXPECT_THAT(after([&](core::Batch& b) { b.del(Keyspace::kJob, keys::ready(moved_, 7)); }),
              Contains(HasSubstr("has a changed priority and no pointer")));
}

TEST_F(RecountTest, AWrongCounterIsFound) {
  const auto found = after([&](core::Batch& b) {
    const std::string key = keys::queue_counters(large_.queue);
    model::QueueCounters counters;
    ASSERT_TRUE(model::decode(row(Keyspace::kQueueState, key), &counters));
    ++counters.created;
    ++counters.of(model::JobState::kReady);
    b.put(Keyspace::kQueueState, key, model::encode(counters));
  });
  EXPECT_THAT(found, Contains(HasSubstr("READY, there are")));
}

TEST_F(RecountTest, CountersThatDoNotAddUpAreFound) {
  EXPECT_THAT(after([&](core::Batch& b) {
                const std::string key = keys::queue_counters(large_.queue);
                model::QueueCounters counters;
                ASSERT_TRUE(model::decode(row(Keyspace::kQueueState, key), &counters));
                ++counters.removed;
                b.put(Keyspace::kQueueState, key, model::encode(counters));
              }),
              Contains(HasSubstr("do not add up")));
}

TEST_F(RecountTest, ABusinessKeyWithoutOwnerIsFound) {
  EXPECT_THAT(after([&](core::Batch& b) {
                b.del(Keyspace::kLedger, keys::ledger("default", "q", "invoice-2"));
              }),
              Contains(HasSubstr("does not hold its business key")));
}

TEST_F(RecountTest, AWrongUnfinishedCountIsFound) {
  EXPECT_THAT(after([&](core::Batch& b) {
                const std::string key = keys::scheduler_state("default", "nightly");
                model::SchedulerState state;
                ASSERT_TRUE(model::decode(row(Keyspace::kScheduler, key), &state));
                ++state.unfinished;
                b.put(Keyspace::kScheduler, key, model::encode(state));
              }),
              Contains(HasSubstr("unfinished jobs, there are")));
}

TEST_F(RecountTest, AnOverdueGrantThatDoesNotExistIsFound) {
  const auto found = after([&](core::Batch& b) {
    b.put(Keyspace::kMeta, keys::overdue_grant(999),
          model::encode(model::OverdueGrant{h_.wall_ms()}));
  });
  EXPECT_THAT(found, Contains(HasSubstr("grant 999 is overdue")));
}

TEST_F(RecountTest, AJobGrantedTwiceIsFound) {
  EXPECT_THAT(after([&](core::Batch& b) {
                for (const std::uint64_t token : {1'000'001ULL, 1'000'002ULL}) {
                  model::Grant grant;
                  grant.entries.push_back({.job = large_, .attempt = 1, .token = token});
                  b.put(Keyspace::kGrant, keys::grant(token), model::encode(grant));
                }
              }),
              Contains(HasSubstr("is granted twice")));
}

// A grant is kept until its last job has ended, and each attempt of a job may stand in another one.
TEST_F(RecountTest, AJobThatIsGoneMayStandInSeveralOldGrants) {
  EXPECT_THAT(after([&](core::Batch& b) {
                for (const std::uint64_t token : {1, 2}) {
                  model::Grant grant;
                  grant.entries.push_back({.job = done_, .attempt = 1, .token = token});
                  b.put(Keyspace::kGrant, keys::grant(1'000'000 + token), model::encode(grant));
                }
              }),
              Not(Contains(HasSubstr("is granted twice"))));
}

TEST_F(RecountTest, AFinalRecordThatRetentionWouldMissIsFound) {
  const auto found = after([&](core::Batch& b) {
    model::FinalRecord record;
    ASSERT_TRUE(model::decode(row(Keyspace::kFinal, keys::final_record(done_)), &record));
    b.del(Keyspace::kFinal, keys::final_index(done_.queue, model::JobState::kSucceeded,
                                              record.ended_ms, record.ended_seq));
  });
  EXPECT_THAT(found, Contains(HasSubstr("not listed for retention")));
}

TEST_F(RecountTest, AReadyJobBelowTheHeadOfItsLevelIsFound) {
  EXPECT_THAT(after([&](core::Batch& b) {
                const std::string key = keys::queue_counters(large_.queue);
                model::QueueCounters counters;
                ASSERT_TRUE(model::decode(row(Keyspace::kQueueState, key), &counters));
                for (auto& [priority, level] : counters.levels) level.head = counters.next_seq;
                b.put(Keyspace::kQueueState, key, model::encode(counters));
              }),
              Contains(HasSubstr("below the head of its priority")));
}

TEST_F(RecountTest, RowsThatCannotBeReadAreAnError) {
  h_.disk().fail_read_after(0);
  EXPECT_FALSE(recount(h_.store()));
}

}  // namespace
}  // namespace rota::app
