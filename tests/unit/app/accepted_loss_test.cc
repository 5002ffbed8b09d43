// SPDX-License-Identifier: Apache-2.0
#include "app/accepted_loss.h"

#include <gtest/gtest.h>

#include "model/keys.h"
#include "model/records.h"
#include "store/memory_store.h"

namespace rota::app {
namespace {

using core::Keyspace;

class AcceptedLossTest : public testing::Test {
 protected:
  void put_meta(const std::string& value) {
    auto batch = std::make_shared<core::Batch>();
    batch->put(Keyspace::kMeta, model::keys::engine_meta(), value);
    store_->commit(batch, store_->last_committed() + 1,
                   [](core::CommitSeq, core::Outcome, const std::string&) {});
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

TEST_F(AcceptedLossTest, TokensJumpAndNothingElseChanges) {
  model::EngineMeta before;
  before.next_token = 77;
  before.next_queue = 5;
  before.now_ms = 1'796'040'000'000;
  put_meta(model::encode(before));
  const core::CommitSeq seq = store_->last_committed();
  ASSERT_TRUE(jump_tokens(*store_));
  EXPECT_EQ(store_->last_committed(), seq + 1);
  EXPECT_EQ(meta().next_token, 77 + kTokenJump);
  EXPECT_EQ(meta().next_queue, 5U);
  EXPECT_EQ(meta().now_ms, before.now_ms);
  // Once more, after a start that was cut short: still far below 2^53.
  ASSERT_TRUE(jump_tokens(*store_));
  EXPECT_EQ(meta().next_token, 77 + 2 * kTokenJump);
  EXPECT_LT(meta().next_token, std::uint64_t{1} << 53U);
}

TEST_F(AcceptedLossTest, AnEmptyStoreJumpsTooAndADamagedRecordDoesNot) {
  ASSERT_TRUE(jump_tokens(*store_));
  EXPECT_EQ(meta().next_token, 1 + kTokenJump);
  put_meta("damage");
  const core::CommitSeq seq = store_->last_committed();
  EXPECT_FALSE(jump_tokens(*store_));
  EXPECT_EQ(store_->last_committed(), seq);
}

TEST_F(AcceptedLossTest, ACommitThatFailsIsSaid) {
  disk_->fail_commit(store_->last_committed() + 1, store::CommitFault::kUnknownApplied);
  EXPECT_FALSE(jump_tokens(*store_));
}

}  // namespace
}  // namespace rota::app
