// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_worker.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/limits.h"
#include "model/job_id.h"
#include "rpc/convert_time.h"

namespace rota::rpc {
namespace {

constexpr std::int64_t kMono = 1'000'000;

v1::LeaseJobsRequest good() {
  v1::LeaseJobsRequest request;
  request.set_session_id("session-1");
  request.mutable_worker()->set_worker_id("w-1");
  request.add_queues("invoices");
  request.set_max_jobs(4);
  return request;
}

Caller caller(std::int64_t time_left_ms) {
  return {.principal = "local",
          .name_space = "default",
          .received_mono_ms = kMono,
          .deadline_mono_ms = time_left_ms == INT64_MAX ? INT64_MAX : kMono + time_left_ms};
}

TEST(LeaseFromWire, DefaultsAreThePublishedOnes) {
  const auto lease = lease_from_wire(good(), caller(INT64_MAX), kMono);
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->lease_ttl_ms, 30'000);
  EXPECT_EQ(lease->wait_ms, 20'000);
  EXPECT_EQ(lease->max_jobs, 4U);
}

TEST(LeaseFromWire, IsAnsweredBeforeTheCallersDeadline) {
  EXPECT_LT(lease_from_wire(good(), caller(5'000), kMono)->wait_ms, 5'000);
  EXPECT_EQ(lease_from_wire(good(), caller(100), kMono)->wait_ms, 0);
}

TEST(LeaseFromWire, WithOutcomesItHardlyWaitsAndLeavesRoomForTheirResults) {
  auto request = good();
  for (int i = 0; i < 100; ++i) request.add_outcomes();
  const auto lease = lease_from_wire(request, caller(INT64_MAX), kMono);
  EXPECT_EQ(lease->wait_ms, 10);
  EXPECT_EQ(lease->max_bytes, (7U << 19) - 100 * 1024);
  request.set_max_bytes(8 << 20);
  EXPECT_EQ(lease_from_wire(request, caller(INT64_MAX), kMono)->max_bytes, (8U << 20) - 100 * 1024);
  request.set_max_bytes(64 << 10);
  EXPECT_EQ(lease_from_wire(request, caller(INT64_MAX), kMono)->max_bytes, 64U << 10)
      << "not less than what may be asked for";
  put_duration(3, request.mutable_wait_duration());
  EXPECT_EQ(lease_from_wire(request, caller(INT64_MAX), kMono)->wait_ms, 3);
}

struct BadCase {
  const char* name;
  const char* field;
  std::function<void(v1::LeaseJobsRequest*)> spoil;
};
void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.name; }
class BadLease : public testing::TestWithParam<BadCase> {};

TEST_P(BadLease, IsRefusedWithItsField) {
  auto request = good();
  GetParam().spoil(&request);
  const auto lease = lease_from_wire(request, caller(INT64_MAX), kMono);
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().field, GetParam().field);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadLease,
    testing::Values(BadCase{"Protocol", "protocol", [](auto* r) { r->set_protocol(99); }},
                    BadCase{"NoSession", "session_id", [](auto* r) { r->clear_session_id(); }},
                    BadCase{"NoWorker", "worker.worker_id", [](auto* r) { r->clear_worker(); }},
                    BadCase{"NoQueues", "queues", [](auto* r) { r->clear_queues(); }},
                    BadCase{"ManyQueues", "queues",
                            [](auto* r) {
                              for (int i = 0; i < 64; ++i) r->add_queues("q" + std::to_string(i));
                            }},
                    BadCase{"TwiceTheSame", "queues", [](auto* r) { r->add_queues("invoices"); }},
                    BadCase{"NoSlots", "max_jobs", [](auto* r) { r->set_max_jobs(0); }},
                    BadCase{"ManySlots", "max_jobs", [](auto* r) { r->set_max_jobs(1'001); }},
                    BadCase{"Wait", "wait_duration",
                            [](auto* r) { put_duration(30'001, r->mutable_wait_duration()); }},
                    BadCase{"TtlShort", "lease_ttl",
                            [](auto* r) { put_duration(4'999, r->mutable_lease_ttl()); }},
                    BadCase{"TtlLong", "lease_ttl",
                            [](auto* r) { put_duration(3'600'001, r->mutable_lease_ttl()); }},
                    BadCase{"RequestId", "request_id",
                            [](auto* r) { r->set_request_id(std::string(65, 'r')); }}),
    [](const auto& bad) { return bad.param.name; });

core::GrantedJob granted(const std::string& business_key) {
  auto body = std::make_shared<model::JobBody>();
  body->kind = "k";
  body->payload = "p";
  body->content_type = "text/plain";
  body->key_scope = "invoices";
  body->business_key = business_key;
  core::GrantedJob job;
  job.key = {1, 100, 5};
  job.queue = "invoices";
  job.body = body;
  job.attempt = 2;
  job.token = 77;
  job.time_left_ms = model::kNoTimeout;
  return job;
}

TEST(LeaseToWire, JobsCarryTokenPayloadAndNoFalseTimeLeft) {
  core::LeaseReply reply;
  reply.lease_ttl_ms = 30'000;
  reply.granted_after_ms = 12;
  reply.cancel_tokens = {9};
  reply.jobs.push_back(granted(""));
  v1::LeaseJobsResponse wire;
  lease_to_wire(reply, "store", "default", &wire);
  ASSERT_EQ(wire.jobs_size(), 1);
  EXPECT_EQ(wire.jobs(0).fencing_token(), 77);
  EXPECT_EQ(wire.jobs(0).payload().data(), "p");
  EXPECT_FALSE(wire.jobs(0).has_attempt_time_left());
  EXPECT_EQ(wire.lease_ttl().seconds(), 30);
  EXPECT_EQ(wire.granted_after().nanos(), 12'000'000);
  ASSERT_EQ(wire.cancelled_tokens_size(), 1);
}

TEST(LeaseToWire, IdempotencyKeyFollowsTheBusinessKeyElseTheJob) {
  const auto key_of = [](const core::GrantedJob& job, const char* store) {
    core::LeaseReply reply;
    reply.jobs.push_back(job);
    v1::LeaseJobsResponse wire;
    lease_to_wire(reply, store, "default", &wire);
    return wire.jobs(0).idempotency_key();
  };
  auto other_job = granted("invoice/42");
  other_job.key.seq = 6;
  EXPECT_EQ(key_of(granted("invoice/42"), "a"), key_of(other_job, "b"));
  EXPECT_NE(key_of(granted("invoice/42"), "a"), key_of(granted("invoice/43"), "a"));
  other_job = granted("");
  EXPECT_EQ(key_of(granted(""), "a"), key_of(other_job, "a"));
  other_job.key.seq = 6;
  EXPECT_NE(key_of(granted(""), "a"), key_of(other_job, "a"));
  EXPECT_NE(key_of(granted(""), "a"), key_of(granted(""), "b"));
}

v1::FinishItem* add_item(v1::FinishJobsRequest* request) {
  auto* item = request->add_items();
  item->mutable_lease()->set_job_id(model::job_id({1, 100, 5}));
  item->mutable_lease()->set_fencing_token(77);
  return item;
}

TEST(FinishFromWire, OutcomesBecomeTheEngines) {
  v1::FinishJobsRequest request;
  request.set_session_id("s");
  add_item(&request)->mutable_outcome()->mutable_success()->mutable_result()->set_data("done");
  auto* failed = add_item(&request)->mutable_outcome()->mutable_failure();
  failed->mutable_failure()->set_message("why");
  failed->set_not_retryable(true);
  add_item(&request)->mutable_outcome()->mutable_release()->set_reason(
      v1::ReleaseOutcome::REASON_NO_HANDLER);
  add_item(&request)->mutable_outcome()->mutable_snooze();
  const auto finish = finish_from_wire(&request);
  ASSERT_TRUE(finish);
  using Kind = core::WorkerOutcome::Kind;
  EXPECT_EQ(finish->items[0].outcome.kind, Kind::kSucceeded);
  EXPECT_EQ(finish->items[0].outcome.result, "done");
  EXPECT_EQ(finish->items[1].outcome.kind, Kind::kFailed);
  EXPECT_FALSE(finish->items[1].outcome.retryable);
  EXPECT_EQ(finish->items[2].outcome.kind, Kind::kReleased);
  EXPECT_EQ(finish->items[2].outcome.release_reason, "NO_HANDLER");
  EXPECT_EQ(finish->items[3].outcome.kind, Kind::kSnoozed);
  EXPECT_FALSE(finish->items[3].outcome.retry_after_ms) << "the pause of the policy";
  for (const auto& item : finish->items) EXPECT_FALSE(item.invalid);
}

TEST(FinishFromWire, OneBadItemIsRefusedAlone) {
  v1::FinishJobsRequest request;
  request.set_session_id("s");
  add_item(&request)->mutable_outcome()->mutable_success();
  add_item(&request)->mutable_outcome()->mutable_success()->mutable_result()->set_data(
      std::string(base::limits::kResultBytesMax + 1, 'x'));
  add_item(&request);
  add_item(&request)->mutable_lease()->set_fencing_token(0);
  const auto finish = finish_from_wire(&request);
  ASSERT_TRUE(finish);
  EXPECT_FALSE(finish->items[0].invalid);
  EXPECT_EQ(finish->items[1].invalid->reason, base::Reason::kResultTooLarge);
  EXPECT_EQ(finish->items[2].invalid->reason, base::Reason::kMissingField);
  EXPECT_EQ(finish->items[3].invalid->field, "lease.fencing_token");
}

TEST(FinishFromWire, TooManyItemsAreRefusedAsAWhole) {
  v1::FinishJobsRequest request;
  request.set_session_id("s");
  EXPECT_FALSE(finish_from_wire(&request));
  for (int i = 0; i < 1'001; ++i) add_item(&request)->mutable_outcome()->mutable_success();
  const auto finish = finish_from_wire(&request);
  ASSERT_FALSE(finish);
  EXPECT_EQ(finish.error().reason, base::Reason::kTooManyItems);
}

TEST(FinishFromWire, ALeaseCallsOutcomesFollowTheSameRules) {
  auto request = good();
  request.add_outcomes();
  const auto one = finish_from_wire(&request);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->session_id, "session-1");
  ASSERT_EQ(one->items.size(), 1U);
  EXPECT_TRUE(one->items[0].invalid);
  while (request.outcomes_size() <= 1'000) request.add_outcomes();
  const auto many = finish_from_wire(&request);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().reason, base::Reason::kTooManyItems);
  EXPECT_EQ(many.error().field, "outcomes");
  request.clear_outcomes();
  request.add_outcomes()->set_log_tail(std::string(8 * 1024 * 1024, 'x'));
  EXPECT_EQ(finish_from_wire(&request).error().reason, base::Reason::kTooManyItems);
}

TEST(HeartbeatFromWire, WhatCannotBeALeaseIsAnsweredLost) {
  v1::HeartbeatRequest request;
  request.set_session_id("s");
  request.add_leases()->set_job_id("not an id");
  const auto beat = heartbeat_from_wire(request);
  ASSERT_TRUE(beat);
  ASSERT_EQ(beat->leases.size(), 1U);
  EXPECT_FALSE(beat->leases[0].key.valid());
}

}  // namespace
}  // namespace rota::rpc
