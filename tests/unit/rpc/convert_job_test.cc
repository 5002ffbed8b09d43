// SPDX-License-Identifier: Apache-2.0
//
// Every field of a job has a limit, and an error names the field, the fault and the limit.
#include "rpc/convert_job.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/limits.h"
#include "model/blocker.h"
#include "model/job_id.h"
#include "rpc/convert_policy.h"
#include "rpc/convert_time.h"

namespace rota::rpc {
namespace {

constexpr std::int64_t kNow = 1'795'000'000'000;
constexpr std::int64_t kLimit = 256 * 1024;

v1::JobSpec good() {
  v1::JobSpec spec;
  spec.set_queue("invoices");
  spec.set_kind("make-invoice");
  spec.mutable_payload()->set_data("{}");
  return spec;
}

base::Result<core::JobRequest> convert(v1::JobSpec spec) {
  return job_from_wire(&spec, kNow, kLimit);
}

TEST(JobFromWire, DefaultsAreThePublishedOnes) {
  const auto job = convert(good());
  ASSERT_TRUE(job);
  EXPECT_EQ(job->priority, 100);
  EXPECT_EQ(job->content_type, "application/json");
  EXPECT_EQ(job->payload, "{}");
  EXPECT_EQ(job->run_at_ms, 0);
  EXPECT_EQ(job->start_deadline_ms, 0);
  EXPECT_FALSE(job->attempt_timeout_ms);
  EXPECT_FALSE(job->retry);
  EXPECT_EQ(job->on_dead, core::OnDead::kReturn);
  EXPECT_TRUE(job->payload_hash.empty());
}

TEST(JobFromWire, TimesBecomeMilliseconds) {
  auto spec = good();
  put_time(kNow + 1'500, spec.mutable_run_at());
  put_time(kNow + 2'500, spec.mutable_start_deadline());
  const auto job = convert(spec);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->run_at_ms, kNow + 1'500);
  EXPECT_EQ(job->start_deadline_ms, kNow + 2'500);
}

TEST(JobFromWire, DelayCountsFromTheServersNow) {
  auto spec = good();
  put_duration(2'000, spec.mutable_delay());
  EXPECT_EQ(convert(spec)->run_at_ms, kNow + 2'000);
}

TEST(JobFromWire, PastRunTimeMeansAtOnce) {
  auto spec = good();
  put_time(kNow - 1, spec.mutable_run_at());
  EXPECT_EQ(convert(spec)->run_at_ms, 0);
}

TEST(JobFromWire, BusinessKeyBringsTheFingerprintOfThePayload) {
  auto spec = good();
  spec.set_business_key("invoice/42");
  const auto one = convert(spec);
  EXPECT_EQ(one->payload_hash.size(), 32U);
  spec.mutable_payload()->set_data("{ }");
  EXPECT_NE(convert(spec)->payload_hash, one->payload_hash);
}

struct BadCase {
  const char* name;
  const char* field;
  std::function<void(v1::JobSpec*)> spoil;
};
void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.name; }

class BadJob : public testing::TestWithParam<BadCase> {};

TEST_P(BadJob, IsRefusedWithItsField) {
  auto spec = good();
  GetParam().spoil(&spec);
  const auto job = convert(spec);
  ASSERT_FALSE(job);
  EXPECT_EQ(base::reason_info(job.error().reason).code, base::StatusCode::kInvalidArgument);
  EXPECT_EQ(job.error().field, GetParam().field);
  EXPECT_FALSE(job.error().message.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadJob,
    testing::Values(
        BadCase{"NoQueue", "queue", [](v1::JobSpec* s) { s->clear_queue(); }},
        BadCase{"QueueForm", "queue", [](v1::JobSpec* s) { s->set_queue("a//b"); }},
        BadCase{"QueueLength", "queue",
                [](v1::JobSpec* s) { s->set_queue(std::string(129, 'a')); }},
        BadCase{"NoKind", "kind", [](v1::JobSpec* s) { s->clear_kind(); }},
        BadCase{
            "Payload", "payload",
            [](v1::JobSpec* s) { s->mutable_payload()->set_data(std::string(kLimit + 1, 'x')); }},
        BadCase{"ContentType", "payload.content_type",
                [](v1::JobSpec* s) { s->mutable_payload()->set_content_type("a\nb"); }},
        BadCase{"PriorityHigh", "priority", [](v1::JobSpec* s) { s->set_priority(256); }},
        BadCase{"PriorityLow", "priority", [](v1::JobSpec* s) { s->set_priority(-1); }},
        BadCase{"RunAtFar", "run_at",
                [](v1::JobSpec* s) {
                  put_time(kNow + base::limits::kAheadMsMax + 1, s->mutable_run_at());
                }},
        BadCase{"RunAtAndDelay", "delay",
                [](v1::JobSpec* s) {
                  put_time(kNow, s->mutable_run_at());
                  put_duration(1, s->mutable_delay());
                }},
        BadCase{"DelayNegative", "delay",
                [](v1::JobSpec* s) { put_duration(-1, s->mutable_delay()); }},
        BadCase{"DeadlinePast", "start_deadline",
                [](v1::JobSpec* s) { put_time(kNow, s->mutable_start_deadline()); }},
        BadCase{"DeadlineBeforeRunAt", "start_deadline",
                [](v1::JobSpec* s) {
                  put_time(kNow + 5'000, s->mutable_run_at());
                  put_time(kNow + 4'000, s->mutable_start_deadline());
                }},
        BadCase{"TimeoutShort", "attempt_timeout",
                [](v1::JobSpec* s) { put_duration(999, s->mutable_attempt_timeout()); }},
        BadCase{"TimeoutTwice", "no_attempt_timeout",
                [](v1::JobSpec* s) {
                  put_duration(5'000, s->mutable_attempt_timeout());
                  s->set_no_attempt_timeout(true);
                }},
        BadCase{"Attempts", "retry.max_attempts",
                [](v1::JobSpec* s) { s->mutable_retry()->set_max_attempts(1'001); }},
        BadCase{"Jitter", "retry.backoff.jitter",
                [](v1::JobSpec* s) { s->mutable_retry()->mutable_backoff()->set_jitter(1.5); }},
        BadCase{"JitterNotANumber", "retry.backoff.jitter",
                [](v1::JobSpec* s) {
                  s->mutable_retry()->mutable_backoff()->set_jitter(std::stod("nan"));
                }},
        BadCase{"FactorSmall", "retry.backoff.factor",
                [](v1::JobSpec* s) { s->mutable_retry()->mutable_backoff()->set_factor(0.5); }},
        BadCase{"NoDelays", "retry.backoff.delays",
                [](v1::JobSpec* s) {
                  s->mutable_retry()->mutable_backoff()->set_mode(v1::Backoff::MODE_LISTED);
                }},
        BadCase{"ManyDelays", "retry.backoff.delays",
                [](v1::JobSpec* s) {
                  auto* backoff = s->mutable_retry()->mutable_backoff();
                  backoff->set_mode(v1::Backoff::MODE_LISTED);
                  for (int i = 0; i < 33; ++i) put_duration(1'000, backoff->add_delays());
                }},
        BadCase{"DelaysWithFixed", "retry.backoff.delays",
                [](v1::JobSpec* s) {
                  auto* backoff = s->mutable_retry()->mutable_backoff();
                  backoff->set_mode(v1::Backoff::MODE_FIXED);
                  put_duration(1'000, backoff->add_delays());
                }},
        BadCase{"KeyControl", "business_key", [](v1::JobSpec* s) { s->set_business_key("a\x01"); }},
        BadCase{"KeyLength", "business_key",
                [](v1::JobSpec* s) { s->set_business_key(std::string(257, 'k')); }},
        BadCase{"ScopeAlone", "business_key_scope",
                [](v1::JobSpec* s) { s->set_business_key_scope("x"); }},
        BadCase{"LabelKey", "labels[\"a b\"]",
                [](v1::JobSpec* s) { (*s->mutable_labels())["a b"] = "x"; }},
        BadCase{"ManyLabels", "labels",
                [](v1::JobSpec* s) {
                  for (int i = 0; i < 33; ++i) (*s->mutable_labels())[std::to_string(i)] = "x";
                }}),
    [](const auto& bad) { return bad.param.name; });

TEST(JobFromWire, PayloadErrorSaysSizeLimitAndOption) {
  auto spec = good();
  spec.mutable_payload()->set_data(std::string(312 * 1024, 'x'));
  const auto job = convert(spec);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().reason, base::Reason::kPayloadTooLarge);
  EXPECT_NE(job.error().message.find("312 KiB"), std::string::npos);
  EXPECT_NE(job.error().message.find("256 KiB"), std::string::npos);
  EXPECT_NE(job.error().message.find("limits.payload_bytes"), std::string::npos);
}

TEST(JobKeyFromWire, FormDecidesBetweenBadAndUnknown) {
  const model::JobKey key{7, 100, 12'345};
  EXPECT_EQ(*job_key_from_wire(model::job_id(key)), key);
  EXPECT_EQ(job_key_from_wire("").error().reason, base::Reason::kMissingField);
  EXPECT_EQ(job_key_from_wire("UPPER").error().reason, base::Reason::kBadJobId);
  EXPECT_EQ(job_key_from_wire(std::string(33, 'a')).error().reason, base::Reason::kBadJobId);
  auto damaged = model::job_id(key);
  damaged.back() = damaged.back() == '0' ? '1' : '0';
  EXPECT_EQ(job_key_from_wire(damaged).error().reason, base::Reason::kJobNotFound);
}

TEST(UpdateFromWire, MaskDecidesWhatChanges) {
  v1::UpdateJobRequest request;
  request.set_job_id(model::job_id({1, 100, 1}));
  request.mutable_changes()->set_priority(7);
  request.mutable_update_mask()->add_paths("priority");
  request.mutable_update_mask()->add_paths("run_at");
  const auto update = update_from_wire(request, kNow);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->priority, 7);
  EXPECT_EQ(update->run_at_ms, 0) << "named without a value: at once";
  EXPECT_FALSE(update->start_deadline_ms);
}

TEST(UpdateFromWire, UnknownPathAndEmptyMaskAreRefused) {
  v1::UpdateJobRequest request;
  request.set_job_id(model::job_id({1, 100, 1}));
  EXPECT_EQ(update_from_wire(request, kNow).error().field, "update_mask");
  request.mutable_update_mask()->add_paths("payload");
  EXPECT_EQ(update_from_wire(request, kNow).error().field, "update_mask");
}

TEST(RetryPolicy, GoesThereAndBack) {
  for (const int mode :
       {v1::Backoff::MODE_FIXED, v1::Backoff::MODE_EXPONENTIAL, v1::Backoff::MODE_LISTED}) {
    v1::RetryPolicy wire;
    wire.set_max_attempts(8);
    put_duration(72'000'000, wire.mutable_give_up_after());
    auto* backoff = wire.mutable_backoff();
    backoff->set_mode(static_cast<v1::Backoff::Mode>(mode));
    backoff->set_jitter(0.5);
    if (mode == v1::Backoff::MODE_LISTED) {
      put_duration(1'000, backoff->add_delays());
      put_duration(60'000, backoff->add_delays());
    } else {
      put_duration(2'000, backoff->mutable_first());
    }
    if (mode == v1::Backoff::MODE_EXPONENTIAL) {
      backoff->set_factor(3);
      put_duration(600'000, backoff->mutable_cap());
    }
    const auto retry = retry_from_wire(wire);
    ASSERT_TRUE(retry);
    v1::RetryPolicy back;
    retry_to_wire(*retry, &back);
    EXPECT_EQ(back.SerializeAsString(), wire.SerializeAsString());
  }
}

TEST(JobToWire, StateComesFromTheRows) {
  JobRows rows;
  rows.key = {3, 100, 9};
  EXPECT_EQ(state_of(rows), model::JobState::kUnknown);
  rows.body.emplace();
  EXPECT_EQ(state_of(rows), model::JobState::kReady);
  rows.side.emplace();
  rows.side->claim = model::Claim::kScheduled;
  EXPECT_EQ(state_of(rows), model::JobState::kScheduled);
  rows.side->claim = model::Claim::kDead;
  EXPECT_EQ(state_of(rows), model::JobState::kDead);
  rows.side->claim = model::Claim::kNone;
  rows.running.emplace();
  EXPECT_EQ(state_of(rows), model::JobState::kRunning);
  rows.final_record.emplace();
  rows.final_record->state = model::JobState::kSucceeded;
  EXPECT_EQ(state_of(rows), model::JobState::kSucceeded);
}

TEST(JobToWire, ChangedFieldsAndTheRunningAttemptShow) {
  JobRows rows;
  rows.key = {3, 100, 9};
  rows.queue = "invoices";
  rows.body.emplace();
  rows.body->kind = "k";
  rows.body->payload = "secret";
  rows.body->payload_bytes = 6;
  rows.side.emplace();
  rows.side->priority = 200;
  rows.side->priority_changed = true;
  rows.side->attempts = 1;
  model::Attempt lost;
  lost.number = 1;
  lost.token = 41;
  lost.granted_seq = 10;
  lost.ended_seq = 12;
  lost.ended_ms = kNow;
  lost.outcome = model::AttemptOutcome::kLost;
  rows.side->history.push_back(lost);
  rows.running = runtime::RunningAttempt{
      .key = rows.key,
      .token = 42,
      .attempt = 2,
      .holder = std::make_shared<const core::LeaseHolder>(core::LeaseHolder{"w-1", "s-1"}),
      .granted_ms = kNow,
      .granted_seq = 13};
  v1::Job job;
  job_to_wire(rows, /*with_payload=*/false, &job);
  EXPECT_EQ(job.priority(), 200);
  EXPECT_EQ(job.state(), v1::JOB_STATE_RUNNING);
  EXPECT_FALSE(job.has_payload());
  EXPECT_EQ(job.payload_size_bytes(), 6);
  ASSERT_EQ(job.attempts_size(), 2);
  EXPECT_EQ(job.attempts(0).outcome(), v1::ATTEMPT_OUTCOME_LOST);
  EXPECT_EQ(job.attempts(0).ended_seq(), 12);
  EXPECT_EQ(job.attempts(1).fencing_token(), 42);
  EXPECT_EQ(job.attempts(1).ended_seq(), 0);
  EXPECT_FALSE(job.attempts(1).has_end_time());
  EXPECT_EQ(job.attempt_count(), 2);
}

TEST(ExplanationToWire, LimitNamesWhoHoldsIt) {
  core::ExplainReply reply;
  reply.key = {1, 100, 7};
  reply.state = model::JobState::kReady;
  reply.reasons = {core::WhyReason::kLimit, core::WhyReason::kAheadInLine};
  reply.queue = "invoices";
  reply.limit = 1;
  reply.running = 1;
  reply.ahead = 2;
  reply.holders.push_back({{1, 100, 2}, 2, 8'842, "w-2a", 12'000});
  v1::Explanation wire;
  explanation_to_wire(reply, &wire);
  EXPECT_EQ(wire.reason(), v1::Explanation::REASON_CONCURRENCY_LIMIT);
  ASSERT_EQ(wire.other_reasons_size(), 1);
  EXPECT_EQ(wire.other_reasons(0), v1::Explanation::REASON_IN_LINE);
  EXPECT_EQ(wire.position(), 3);
  EXPECT_EQ(wire.concurrency_limit(), 1);
  ASSERT_EQ(wire.holders_size(), 1);
  EXPECT_EQ(wire.holders(0).worker_id(), "w-2a");
  EXPECT_NE(wire.text().find(wire.holders(0).job_id()), std::string::npos);
  EXPECT_NE(wire.text().find("12s"), std::string::npos);
}

TEST(ConvertJob, WhatABlockedJobWaitsForIsNamedAsPeopleNameIt) {
  EXPECT_EQ(blocker_text(model::scheduler_blocker("default", "invoices/daily")),
            "scheduler invoices/daily");
  EXPECT_EQ(blocker_text({}), "");
}

}  // namespace
}  // namespace rota::rpc
