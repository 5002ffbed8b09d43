// SPDX-License-Identifier: Apache-2.0
#include "app/accepted_loss.h"

#include <gtest/gtest.h>

#include <map>

#include "model/keys.h"
#include "model/queue.h"
#include "model/records.h"
#include "store/memory_store.h"

namespace rota::app {
namespace {

using core::Keyspace;

class AcceptedLossTest : public testing::Test {
 protected:
  void put_meta(const std::string& value) {
    put(Keyspace::kMeta, {{model::keys::engine_meta(), value}});
  }
  void put(Keyspace keyspace, const std::map<std::string, std::string>& rows) {
    auto batch = std::make_shared<core::Batch>();
    for (const auto& [key, value] : rows) batch->put(keyspace, key, value);
    store_->commit(batch, store_->last_committed() + 1,
                   [](core::CommitSeq, core::Outcome, const std::string&) {});
  }
  std::map<std::string, std::string> rows(Keyspace keyspace) const {
    std::map<std::string, std::string> found;
    std::string detail;
    const auto row = [&](std::string_view key, std::string_view value) {
      found.emplace(key, value);
      return true;
    };
    EXPECT_EQ(store_->load(keyspace, row, &detail), core::ReadError::kNone);
    return found;
  }
  model::EngineMeta meta() const {
    core::ReadSpec spec;
    spec.gets.push_back({Keyspace::kMeta, model::keys::engine_meta()});
    core::ReadResult read;
    std::string detail;
    EXPECT_EQ(store_->snapshot_read(spec, &read, &detail), core::ReadError::kNone);
    model::EngineMeta found;
    EXPECT_TRUE(read.values[0] && model::decode(*read.values[0], &found));
    return found;
  }

  core::InlineExecutor executor_;
  std::shared_ptr<store::MemoryDisk> disk_ = store::MemoryDisk::create();
  std::unique_ptr<core::ShardStore> store_ = disk_->open(executor_);
};

TEST_F(AcceptedLossTest, NumbersJumpAndNothingElseChanges) {
  model::EngineMeta before;
  before.next_token = 77;
  before.next_queue = 5;
  before.now_ms = 1'796'040'000'000;
  put_meta(model::encode(before));
  model::QueueCounters counters;
  counters.created = 9;
  counters.of(model::JobState::kReady) = 9;
  counters.next_seq = 10;
  counters.levels[5] = {.ready = 9, .head = 1};
  const std::map<std::string, std::string> queues = {
      {model::keys::queue_counters(3), model::encode(counters)},
      {model::keys::queue_counters(4), model::encode(model::QueueCounters())},
      {model::keys::queue_settings(3), "settings"},
      {model::keys::queue_dropped(2), "dropped"}};
  put(Keyspace::kQueueState, queues);
  const core::CommitSeq seq = store_->last_committed();
  ASSERT_TRUE(jump_numbers(*store_));
  EXPECT_EQ(store_->last_committed(), seq + 1);
  EXPECT_EQ(meta().next_token, 77 + kTokenJump);
  EXPECT_EQ(meta().next_queue, 5U + kQueueJump);
  EXPECT_EQ(meta().next_operation, before.next_operation + kOperationJump);
  auto expected = queues;
  counters.next_seq += kSequenceJump;
  expected[model::keys::queue_counters(3)] = model::encode(counters);
  model::QueueCounters empty;
  empty.next_seq += kSequenceJump;
  expected[model::keys::queue_counters(4)] = model::encode(empty);
  EXPECT_EQ(rows(Keyspace::kQueueState), expected);
  EXPECT_EQ(meta().now_ms, before.now_ms);
  // Once more, after a start that was cut short: still far below 2^53.
  ASSERT_TRUE(jump_numbers(*store_));
  EXPECT_EQ(meta().next_token, 77 + 2 * kTokenJump);
  EXPECT_LT(meta().next_token, std::uint64_t{1} << 53U);
}

TEST_F(AcceptedLossTest, AnEmptyStoreJumpsTooAndADamagedRecordDoesNot) {
  ASSERT_TRUE(jump_numbers(*store_));
  EXPECT_EQ(meta().next_token, 1 + kTokenJump);
  put_meta("damage");
  core::CommitSeq seq = store_->last_committed();
  EXPECT_FALSE(jump_numbers(*store_));
  EXPECT_EQ(store_->last_committed(), seq);
  put_meta(model::encode(model::EngineMeta()));
  put(Keyspace::kQueueState, {{model::keys::queue_counters(3), "damage"}});
  seq = store_->last_committed();
  EXPECT_FALSE(jump_numbers(*store_));
  EXPECT_EQ(store_->last_committed(), seq);
}

TEST_F(AcceptedLossTest, ACommitThatFailsIsSaid) {
  disk_->fail_commit(store_->last_committed() + 1, store::CommitFault::kUnknownApplied);
  EXPECT_FALSE(jump_numbers(*store_));
}

}  // namespace
}  // namespace rota::app
