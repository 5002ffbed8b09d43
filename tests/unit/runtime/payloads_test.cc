// SPDX-License-Identifier: Apache-2.0
#include "runtime/payloads.h"

#include <gtest/gtest.h>

#include "core/damage.h"
#include "model/keys.h"
#include "store/memory_store.h"

namespace rota::runtime {
namespace {

model::JobKey job(std::uint64_t seq) { return {.queue = 1, .priority = 100, .seq = seq}; }

core::GrantedJob granted(std::uint64_t seq, bool apart) {
  core::GrantedJob granted_job;
  granted_job.key = job(seq);
  auto body = std::make_shared<model::JobBody>();
  body->kind = "k";
  body->payload_apart = apart;
  if (!apart) body->payload = "inside";
  granted_job.body = body;
  return granted_job;
}

class PayloadsTest : public testing::Test {
 protected:
  void put(std::uint64_t seq, std::string payload) {
    put(model::Keyspace::kPayload, seq, std::move(payload));
  }
  void put(model::Keyspace keyspace, std::uint64_t seq, std::string value) {
    auto batch = std::make_shared<core::Batch>();
    batch->put(keyspace, model::keys::job(job(seq)), std::move(value));
    store_->commit(batch, store_->last_committed() + 1,
                   [](core::CommitSeq, core::Outcome, const std::string&) {});
  }
  core::InlineExecutor executor_;
  std::shared_ptr<store::MemoryDisk> disk_ = store::MemoryDisk::create();
  std::unique_ptr<core::ShardStore> store_ = disk_->open(executor_);
};

TEST_F(PayloadsTest, OnlyThoseThatLieApartAreRead) {
  put(2, "from its row");
  core::LeaseReply reply;
  reply.jobs = {granted(1, false), granted(2, true)};
  const auto shared = reply.jobs[1].body;
  ASSERT_TRUE(needs_payloads(reply));
  ASSERT_FALSE(fill_payloads(*store_, &reply));
  ASSERT_EQ(reply.jobs.size(), 2U);
  EXPECT_EQ(reply.jobs[0].body->payload, "inside");
  EXPECT_EQ(reply.jobs[1].body->payload, "from its row");
  EXPECT_EQ(reply.jobs[1].body->kind, "k");
  EXPECT_TRUE(shared->payload.empty()) << "the engine's own copy stays as it is";
}

TEST_F(PayloadsTest, AJobThatHasEndedMeanwhileIsLeftOut) {
  core::LeaseReply reply;
  reply.jobs = {granted(1, false), granted(2, true)};
  ASSERT_FALSE(fill_payloads(*store_, &reply));
  ASSERT_EQ(reply.jobs.size(), 1U);
  EXPECT_EQ(reply.jobs[0].key, job(1));
}

TEST_F(PayloadsTest, AJobThatIsThereWithoutItsPayloadIsDamage) {
  put(model::Keyspace::kJob, 3, "body");
  core::LeaseReply reply;
  reply.jobs = {granted(2, true), granted(3, true)};
  const auto failure = fill_payloads(*store_, &reply);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, store::FailureKind::kDamage);
  EXPECT_EQ(failure->text, core::missing_text(model::Keyspace::kPayload, model::keys::job(job(3))));
}

TEST_F(PayloadsTest, AReadThatFailsIsReported) {
  disk_->fail_read_after(0);
  core::LeaseReply reply;
  reply.jobs = {granted(2, true)};
  const auto failure = fill_payloads(*store_, &reply);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, store::FailureKind::kIo);
  EXPECT_FALSE(failure->text.empty());
}

TEST_F(PayloadsTest, NothingToReadForSmallOnes) {
  core::LeaseReply reply;
  reply.jobs = {granted(1, false)};
  EXPECT_FALSE(needs_payloads(reply));
}

}  // namespace
}  // namespace rota::runtime
