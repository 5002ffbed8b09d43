// SPDX-License-Identifier: Apache-2.0
//
// What the memory store can do beyond the port: crashes and faults on demand.
#include "store/memory_store.h"

#include <gtest/gtest.h>

#include "conformance/held_executor.h"
#include "conformance/store_box.h"

namespace rota::testing {
namespace {

using core::Batch;
using core::CommitSeq;
using core::Keyspace;
using core::Outcome;
using core::ReadError;
using store::CommitFault;
using store::MemoryDisk;

class MemoryStoreTest : public ::testing::Test {
 protected:
  void submit(core::ShardStore& store, CommitSeq seq) {
    auto batch = std::make_shared<Batch>();
    batch->put(Keyspace::kJob, padded(seq), "v");
    store.commit(batch, seq,
                 [this](CommitSeq, Outcome outcome, std::string) { outcomes_.push_back(outcome); });
  }
  std::shared_ptr<MemoryDisk> disk_ = MemoryDisk::create();
  HeldExecutor held_;
  core::InlineExecutor inline_;
  std::vector<Outcome> outcomes_;
};

TEST_F(MemoryStoreTest, ACrashKeepsAsManyPendingBatchesAsTheTestSays) {
  for (std::size_t keep = 0; keep <= 3; ++keep) {
    disk_ = MemoryDisk::create();
    auto store = disk_->open(held_);
    for (CommitSeq seq = 1; seq <= 3; ++seq) submit(*store, seq);
    EXPECT_EQ(disk_->pending(), 3U);
    store.reset();
    held_.run_all();  // pieces of a store that is gone do nothing and answer nobody
    EXPECT_TRUE(outcomes_.empty());
    EXPECT_EQ(disk_->settle_pending(keep), keep);
    store = disk_->open(held_);
    EXPECT_EQ(store->last_committed(), keep);
    EXPECT_EQ(disk_->rows(Keyspace::kJob), keep);
    EXPECT_EQ(store->epoch(), 2U);
  }
}

TEST_F(MemoryStoreTest, UndecidedPendingBatchesAreLost) {
  auto store = disk_->open(held_);
  submit(*store, 1);
  store.reset();
  store = disk_->open(held_);
  EXPECT_EQ(store->last_committed(), 0U);
  EXPECT_EQ(disk_->pending(), 0U);
}

TEST_F(MemoryStoreTest, UnknownInBothTruths) {
  for (const CommitFault fault : {CommitFault::kUnknownApplied, CommitFault::kUnknownLost}) {
    disk_ = MemoryDisk::create();
    outcomes_.clear();
    auto store = disk_->open(inline_);
    disk_->fail_commit(2, fault);
    for (CommitSeq seq = 1; seq <= 3; ++seq) submit(*store, seq);
    EXPECT_EQ(outcomes_,
              (std::vector<Outcome>{Outcome::kCommitted, Outcome::kUnknown, Outcome::kUnknown}));
    store.reset();
    disk_->settle_pending(10);  // nothing behind an unknown batch can be kept
    const CommitSeq expected = fault == CommitFault::kUnknownApplied ? 2 : 1;
    EXPECT_EQ(disk_->last_committed(), expected);
    store = disk_->open(inline_);
    submit(*store, expected + 1);
    EXPECT_EQ(outcomes_.back(), Outcome::kCommitted);
  }
}

TEST_F(MemoryStoreTest, TheOldOwnerIsToldAfterATakeover) {
  auto old_owner = disk_->open(inline_);
  submit(*old_owner, 1);
  auto new_owner = disk_->take_over(inline_);
  EXPECT_GT(new_owner->epoch(), old_owner->epoch());
  submit(*old_owner, 2);
  submit(*new_owner, 2);
  submit(*old_owner, 3);
  EXPECT_EQ(outcomes_, (std::vector<Outcome>{Outcome::kCommitted, Outcome::kNotOwner,
                                             Outcome::kCommitted, Outcome::kNotOwner}));
  core::ReadResult result;
  std::string detail;
  EXPECT_EQ(old_owner->snapshot_read({}, &result, &detail), ReadError::kNotOwner);
  old_owner.reset();  // does not release the new owner's hold
  EXPECT_EQ(disk_->open(inline_), nullptr);
  EXPECT_EQ(disk_->last_committed(), 2U);
}

TEST_F(MemoryStoreTest, AnInjectedReadFailureFailsTheStore) {
  auto store = disk_->open(inline_);
  disk_->fail_read_after(1);
  core::ReadResult result;
  std::string detail;
  EXPECT_EQ(store->snapshot_read({}, &result, &detail), ReadError::kNone);
  EXPECT_EQ(store->snapshot_read({}, &result, &detail), ReadError::kFailed);
  EXPECT_EQ(store->snapshot_read({}, &result, &detail), ReadError::kFailed);
  submit(*store, 1);
  EXPECT_EQ(outcomes_.back(), Outcome::kUnknown);
}

TEST_F(MemoryStoreTest, ShortPagesPressureAndIncarnation) {
  disk_->begin_incarnation();
  auto store = disk_->open(inline_);
  EXPECT_EQ(store->incarnation(), 2U);
  for (CommitSeq seq = 1; seq <= 5; ++seq) submit(*store, seq);
  disk_->set_page_rows(2);
  Driver driver(*store);
  int pages = 0;
  core::ScanSpec spec;
  spec.keyspace = Keyspace::kJob;
  spec.end = "z";
  EXPECT_EQ(driver.scan_all(spec, &pages).size(), 5U);
  EXPECT_EQ(pages, 3);
  disk_->set_pressure(core::Pressure::kRefuseNew);
  EXPECT_EQ(store->pressure(), core::Pressure::kRefuseNew);
}

}  // namespace
}  // namespace rota::testing
