// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_queue.h"

#include <gtest/gtest.h>

#include <string>

#include "rpc/convert_time.h"

namespace rota::rpc {
namespace {

std::string refused_field(const v1::SetQueueRequest& request) {
  const auto patch = queue_patch_from_wire(request);
  EXPECT_FALSE(patch);
  return patch ? "" : patch.error().field;
}

TEST(QueuePatch, WithoutAMaskOnlyWhatIsPresentChanges) {
  v1::SetQueueRequest request;
  request.mutable_settings()->set_concurrency_limit(7);
  const auto patch = queue_patch_from_wire(request);
  ASSERT_TRUE(patch);
  EXPECT_EQ(**patch->concurrency_limit, 7U);
  EXPECT_FALSE(patch->max_waiting);
  EXPECT_FALSE(patch->retry);
  EXPECT_FALSE(patch->attempt_timeout_ms);
  EXPECT_FALSE(patch->retention);
}

TEST(QueuePatch, NamedButAbsentGoesBackToTheDefault) {
  v1::SetQueueRequest request;
  request.mutable_update_mask()->add_paths("concurrency_limit");
  request.mutable_update_mask()->add_paths("attempt_timeout");
  const auto patch = queue_patch_from_wire(request);
  ASSERT_TRUE(patch);
  ASSERT_TRUE(patch->concurrency_limit);
  EXPECT_FALSE(*patch->concurrency_limit) << "unlimited";
  EXPECT_EQ(*patch->attempt_timeout_ms, 3'600'000);
}

TEST(QueuePatch, StarMeansAll) {
  v1::SetQueueRequest request;
  request.mutable_update_mask()->add_paths("*");
  const auto patch = queue_patch_from_wire(request);
  ASSERT_TRUE(patch);
  EXPECT_TRUE(patch->concurrency_limit && patch->max_waiting && patch->retry &&
              patch->attempt_timeout_ms && patch->retention);
}

TEST(QueuePatch, BadValuesNameTheirField) {
  v1::SetQueueRequest request;
  request.mutable_settings()->set_concurrency_limit(0);
  EXPECT_EQ(refused_field(request), "concurrency_limit");
  request.mutable_settings()->set_concurrency_limit(1'000'001);
  EXPECT_EQ(refused_field(request), "concurrency_limit");
  request.mutable_settings()->clear_concurrency_limit();
  request.mutable_settings()->set_max_waiting(0);
  EXPECT_EQ(refused_field(request), "max_waiting");
  request.mutable_settings()->clear_max_waiting();
  auto* retention = request.mutable_settings()->mutable_retention();
  put_duration(599'999, retention->mutable_dead_age());
  EXPECT_EQ(refused_field(request), "retention.dead_age");
  retention->clear_dead_age();
  retention->set_ledger_forever(true);
  put_duration(600'000, retention->mutable_ledger_age());
  EXPECT_EQ(refused_field(request), "retention.ledger_forever");
  request.mutable_update_mask()->add_paths("name");
  EXPECT_EQ(refused_field(request), "update_mask");
}

TEST(QueuePatch, RetentionZeroKeepsNothing) {
  v1::SetQueueRequest request;
  put_duration(0, request.mutable_settings()->mutable_retention()->mutable_succeeded_age());
  const auto patch = queue_patch_from_wire(request);
  ASSERT_TRUE(patch);
  EXPECT_EQ(patch->retention->succeeded_ms, 0);
  // What is refused names that way out, which its bounds do not show.
  put_duration(1'000, request.mutable_settings()->mutable_retention()->mutable_succeeded_age());
  const auto refused = queue_patch_from_wire(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "retention.succeeded_age");
  EXPECT_NE(refused.error().message.find(", or 0s to keep nothing"), std::string::npos)
      << refused.error().message;
}

TEST(QueueToWire, SettingsCanBeSentBack) {
  model::Queue queue;
  queue.name = "invoices";
  queue.version = 12;
  queue.settings.concurrency_limit = 3;
  queue.settings.attempt_timeout_ms = model::kNoTimeout;
  queue.settings.retention.ledger_ms = model::kForever;
  v1::Queue wire;
  queue_to_wire(queue, {}, &wire);
  EXPECT_EQ(wire.etag(), "12");
  v1::SetQueueRequest request;
  *request.mutable_settings() = wire.settings();
  request.mutable_update_mask()->add_paths("*");
  const auto patch = queue_patch_from_wire(request);
  ASSERT_TRUE(patch);
  EXPECT_EQ(*patch->concurrency_limit, queue.settings.concurrency_limit);
  EXPECT_EQ(*patch->max_waiting, queue.settings.max_waiting);
  EXPECT_EQ(*patch->attempt_timeout_ms, queue.settings.attempt_timeout_ms);
  EXPECT_EQ(*patch->retry, queue.settings.retry);
  EXPECT_EQ(*patch->retention, queue.settings.retention);
}

TEST(QueueChanges, NameFieldBeforeAndAfter) {
  model::QueueSettings before;
  before.concurrency_limit = 4;
  model::QueueSettings after = before;
  after.concurrency_limit = 1;
  google::protobuf::RepeatedPtrField<v1::FieldChange> changes;
  queue_changes_to_wire(before, after, &changes);
  ASSERT_EQ(changes.size(), 1);
  EXPECT_EQ(changes[0].field(), "concurrency_limit");
  EXPECT_EQ(changes[0].before(), "4");
  EXPECT_EQ(changes[0].after(), "1");
}

TEST(OperationId, OnlyItsOwnTextNamesIt) {
  EXPECT_EQ(*operation_from_wire(operation_id(42)), 42U);
  for (const std::string text : {"42", "op", "op042", "op-1", "op99999999999999999999", "opx"}) {
    const auto number = operation_from_wire(text);
    ASSERT_FALSE(number) << text;
    EXPECT_EQ(number.error().reason, base::Reason::kOperationNotFound);
  }
  EXPECT_EQ(operation_from_wire("").error().reason, base::Reason::kMissingField);
}

}  // namespace
}  // namespace rota::rpc
