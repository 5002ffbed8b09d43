// SPDX-License-Identifier: Apache-2.0
#include "runtime/lease_board.h"

#include <gtest/gtest.h>

#include "model/keys.h"
#include "model/records.h"
#include "store/memory_store.h"

namespace rota::runtime {
namespace {

using core::JobEvent;
using model::JobKey;
using model::Keyspace;

JobKey job(std::uint32_t queue, std::uint64_t seq, std::uint8_t priority = 100) {
  return {.queue = queue, .priority = priority, .seq = seq};
}

JobEvent granted(JobKey key, std::uint64_t token, std::string session = "s") {
  return {.kind = JobEvent::Kind::kGranted,
          .key = key,
          .state = model::JobState::kRunning,
          .seq = token,
          .token = token,
          .attempt = 1,
          .holder = std::make_shared<const core::LeaseHolder>(
              core::LeaseHolder{.worker_id = "w", .session_id = std::move(session)}),
          .at_ms = 5};
}

JobEvent ended(JobKey key, std::uint64_t token, JobEvent::Kind kind) {
  return {.kind = kind, .key = key, .seq = token + 100, .token = token};
}

TEST(LeaseBoard, HoldsAnAttemptFromItsGrantToItsEnd) {
  LeaseBoard board;
  board.publish({granted(job(1, 1), 7)});
  const auto running = board.find(job(1, 1));
  ASSERT_TRUE(running);
  EXPECT_EQ(running->token, 7U);
  EXPECT_EQ(running->holder->worker_id, "w");
  EXPECT_EQ(running->granted_seq, 7U);
  EXPECT_EQ(board.seq(), 7U);
  board.publish({ended(job(1, 1), 7, JobEvent::Kind::kAttemptEnded)});
  EXPECT_FALSE(board.find(job(1, 1)));
  EXPECT_EQ(board.of_session("s", 10).count, 0U);
}

TEST(LeaseBoard, EveryEndOfAJobEndsItsAttempt) {
  LeaseBoard board;
  board.publish({granted(job(1, 1), 1), granted(job(1, 2), 2)});
  board.publish(
      {ended(job(1, 1), 1, JobEvent::Kind::kFinal), ended(job(1, 2), 0, JobEvent::Kind::kRemoved)});
  EXPECT_EQ(board.size(), 0U);
}

TEST(LeaseBoard, TheEndOfAnOlderAttemptLeavesTheNewerOne) {
  LeaseBoard board;
  board.publish({granted(job(1, 1), 9)});
  board.publish({ended(job(1, 1), 8, JobEvent::Kind::kAttemptEnded)});
  EXPECT_TRUE(board.find(job(1, 1)));
}

TEST(LeaseBoard, AChangeOfAWaitingJobIsNoEnd) {
  LeaseBoard board;
  board.publish({granted(job(1, 1), 9)});
  board.publish({ended(job(1, 1), 9, JobEvent::Kind::kChanged)});
  EXPECT_TRUE(board.find(job(1, 1)));
}

TEST(LeaseBoard, PagesOfAQueueInReadyOrder) {
  LeaseBoard board;
  board.publish({granted(job(1, 1), 1), granted(job(1, 2, 200), 2), granted(job(1, 3), 3),
                 granted(job(2, 1), 4)});
  const auto first = board.page(1, {}, 2);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].key, job(1, 2, 200)) << "higher priority first";
  EXPECT_EQ(first[1].key, job(1, 1));
  const auto second = board.page(1, first[1].key, 2);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].key, job(1, 3));
  EXPECT_TRUE(board.page(3, {}, 10).empty());
}

TEST(LeaseBoard, LeasesOfASession) {
  LeaseBoard board;
  for (std::uint64_t i = 1; i <= 5; ++i) board.publish({granted(job(1, i), i, "a")});
  board.publish({granted(job(1, 9), 9, "b")});
  const SessionLeases leases = board.of_session("a", 3);
  EXPECT_EQ(leases.count, 5U);
  EXPECT_EQ(leases.first.size(), 3U);
  EXPECT_EQ(leases.first[0].second, 1U);
}

TEST(LeaseBoard, ARestartKnowsTheLeasesThatHaveNotEnded) {
  core::InlineExecutor executor;
  auto disk = store::MemoryDisk::create();
  const auto store = disk->open(executor);
  auto batch = std::make_shared<core::Batch>();
  model::Grant grant;
  grant.worker_id = "w";
  grant.session_id = "s";
  grant.granted_seq = 3;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    grant.entries.push_back({.job = job(1, i), .attempt = 1, .token = 10 + i});
  }
  batch->put(Keyspace::kGrant, model::keys::grant(11), model::encode(grant));
  // 1 runs; 2 has ended and waits for its retry; 3 is gone.
  batch->put(Keyspace::kJob, model::keys::job(job(1, 1)), model::encode(model::JobBody{}));
  batch->put(Keyspace::kJob, model::keys::job(job(1, 2)), model::encode(model::JobBody{}));
  model::Side side;
  side.last_token = 12;
  batch->put(Keyspace::kSide, model::keys::job(job(1, 2)), model::encode(side));
  store->commit(batch, 1, [](core::CommitSeq, core::Outcome outcome, const std::string&) {
    ASSERT_EQ(outcome, core::Outcome::kCommitted);
  });

  LeaseBoard board;
  ASSERT_TRUE(board.load(*store));
  EXPECT_EQ(board.size(), 1U);
  const auto running = board.find(job(1, 1));
  ASSERT_TRUE(running);
  EXPECT_EQ(running->token, 11U);
  EXPECT_EQ(running->holder->session_id, "s");
}

TEST(LeaseBoard, ADamagedGrantRecordIsRefused) {
  core::InlineExecutor executor;
  auto disk = store::MemoryDisk::create();
  const auto store = disk->open(executor);
  auto batch = std::make_shared<core::Batch>();
  batch->put(Keyspace::kGrant, model::keys::grant(11), "garbage");
  store->commit(batch, 1, [](core::CommitSeq, core::Outcome, const std::string&) {});
  LeaseBoard board;
  EXPECT_FALSE(board.load(*store));
}

}  // namespace
}  // namespace rota::runtime
