// SPDX-License-Identifier: Apache-2.0
#include "blackbox/plan.h"

#include <iterator>

#include "blackbox/checker.h"

namespace rota::blackbox {
namespace {

constexpr int kKeysAtOnce = 40, kJobsPerKey = 25;
constexpr std::size_t kLargePayload = 9'000;  // lies in a row of its own

std::string kind_of(Random& random, bool poison) {
  const std::uint64_t dice = below(random, 1'000);
  if (poison && dice < 2) return std::string(kPoison);
  if (dice < 60) return std::string(kFlaky);
  if (dice < 80) return std::string(kSnooze);
  if (dice < 110) return std::string(kDoomed);
  if (dice < 130) return std::string(kBroken);
  if (dice < 170) return std::string(kSlow);
  return std::string(kOk);
}

v1::UpsertSchedulerRequest scheduler(const std::string& id, int every_ms,
                                     v1::OverlapPolicy::Mode overlap) {
  const bool all = overlap == v1::OverlapPolicy::MODE_ALLOW;
  v1::UpsertSchedulerRequest request;
  v1::SchedulerDeclaration* declaration = request.mutable_scheduler();
  declaration->set_id(id);
  set_ms(declaration->mutable_spec()->add_parts()->mutable_interval()->mutable_every(), every_ms);
  declaration->mutable_overlap()->set_mode(overlap);
  declaration->mutable_catch_up()->set_mode(all ? v1::CatchUpPolicy::MODE_ALL
                                                : v1::CatchUpPolicy::MODE_LATEST);
  if (all) declaration->mutable_catch_up()->set_max_runs(100'000);
  v1::JobTemplate* job = declaration->mutable_job();
  job->set_queue(kTicks);
  job->set_kind(std::string(all ? kOk : kSlow));
  job->mutable_retry()->set_max_attempts(kTickAttempts);
  job->mutable_retry()->mutable_backoff()->set_mode(v1::Backoff::MODE_FIXED);
  set_ms(job->mutable_retry()->mutable_backoff()->mutable_first(), 50);
  declaration->set_revision(1);
  return request;
}

}  // namespace

void set_ms(google::protobuf::Duration* out, std::int64_t ms) {
  out->set_seconds(ms / 1'000);
  out->set_nanos(static_cast<std::int32_t>(ms % 1'000) * 1'000'000);
}

void set_ms(google::protobuf::Timestamp* out, std::int64_t ms) {
  out->set_seconds(ms / 1'000);
  out->set_nanos(static_cast<std::int32_t>(ms % 1'000) * 1'000'000);
}

int plan_priority(Random& random) { return static_cast<int>(below(random, 4)) * 60 + 20; }

PlannedJob plan_job(Random& random, std::int64_t acknowledged) {
  PlannedJob job;
  const std::uint64_t dice = below(random, 100);
  job.queue = dice < 36   ? kMain
              : dice < 58 ? kFree
              : dice < 72 ? kKeys
              : dice < 84 ? kRaw
              : dice < 92 ? kBrief
                          : kSwept;
  job.payload = "{}";
  if (job.queue == kKeys) {
    // The same key is the same job, whoever sends it; a few send something else under it.
    job.kind = std::string(kOk);
    const auto first = static_cast<std::uint64_t>(acknowledged / kJobsPerKey);
    job.key = "effect/" + std::to_string(first + below(random, kKeysAtOnce));
    if (chance(random, 3)) job.payload = "{\"other\":1}";
    return job;
  }
  job.kind = kind_of(random, job.queue == kMain);
  job.priority = plan_priority(random);
  if (job.kind == kDoomed || job.kind == kPoison) job.max_attempts = 2;
  if (chance(random, 6)) {
    job.delay_ms = 1 + static_cast<int>(below(random, 4'000));
  } else {
    if (chance(random, 4)) job.run_in_ms = 1 + static_cast<int>(below(random, 4'000));
    if (chance(random, 8)) {
      job.deadline_in_ms = job.run_in_ms + 200 + static_cast<int>(below(random, 4'000));
    }
  }
  if (chance(random, 3)) job.payload.append(kLargePayload, ' ');
  return job;
}

v1::JobSpec spec_of(const PlannedJob& job, const std::string& op) {
  v1::JobSpec spec;
  spec.set_queue(job.queue);
  spec.set_kind(job.kind);
  spec.set_business_key(job.key);
  spec.set_priority(job.priority);
  spec.mutable_payload()->set_data(job.payload);
  if (job.delay_ms > 0) set_ms(spec.mutable_delay(), job.delay_ms);
  v1::RetryPolicy* retry = spec.mutable_retry();
  retry->set_max_attempts(job.max_attempts);
  retry->mutable_backoff()->set_mode(v1::Backoff::MODE_FIXED);
  set_ms(retry->mutable_backoff()->mutable_first(), 50);
  (*spec.mutable_labels())["op"] = op;
  return spec;
}

std::vector<v1::SetQueueRequest> planned_queues() {
  std::vector<v1::SetQueueRequest> requests;
  std::vector<const char*> names(std::begin(kQueues), std::end(kQueues));
  names.push_back(kIdle);
  for (const char* name : names) {
    v1::SetQueueRequest& request = requests.emplace_back();
    request.set_queue(name);
    v1::QueueSettings* settings = request.mutable_settings();
    if (std::string_view(name) == kMain) settings->set_concurrency_limit(7);
    if (std::string_view(name) == kRaw) settings->set_concurrency_limit(5);
    if (std::string_view(name) == kSwept) settings->set_concurrency_limit(2);
    // Nothing is retired that the checks want to see.
    settings->mutable_retention()->set_succeeded_count(10'000'000);
    if (std::string_view(name) != kBrief) continue;
    settings->mutable_retention()->set_succeeded_count(kBriefKeeps);
    set_ms(settings->mutable_retention()->mutable_cancelled_age(), 0);
  }
  return requests;
}

std::vector<v1::UpsertSchedulerRequest> planned_schedulers() {
  return {scheduler("every-one", 5'000, v1::OverlapPolicy::MODE_ALLOW),
          scheduler("one-at-a-time", 2'000, v1::OverlapPolicy::MODE_SKIP),
          scheduler("one-waits", 3'000, v1::OverlapPolicy::MODE_WAIT_ONE)};
}

// Every other revision says the same as the one before it.
v1::SchedulerDeclaration declaration_of(std::int64_t revision) {
  const int every_ms = 1'000 * static_cast<int>(1 + revision / 2 % 3);
  v1::UpsertSchedulerRequest request = scheduler(kEdited, every_ms, v1::OverlapPolicy::MODE_ALLOW);
  request.mutable_scheduler()->set_revision(revision);
  return request.scheduler();
}

}  // namespace rota::blackbox
