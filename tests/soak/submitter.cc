// SPDX-License-Identifier: Apache-2.0
#include "soak/submitter.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace rota::soak {
namespace {

internal::RawClient connect(const std::string& address) {
  ClientOptions options;
  options.address = address;
  return *internal::RawClient::create(options);
}

void set_ms(google::protobuf::Duration* out, int ms) {
  out->set_seconds(ms / 1000);
  out->set_nanos(ms % 1000 * 1'000'000);
}

}  // namespace

void Progress::pause(std::int64_t ms) {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::milliseconds(ms), [this] { return over.load(); });
}

void Progress::end() {
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  changed.notify_all();
}

Submitter::Submitter(const std::string& address, std::uint64_t seed, int share,
                     std::int64_t backlog, Progress& progress)
    : client_(connect(address)),
      random_(seed),
      seed_(seed),
      share_(share),
      backlog_(backlog),
      progress_(progress) {}

void Submitter::run() {
  while (fault_.empty() && !progress_.over &&
         acknowledged_.size() < static_cast<std::size_t>(share_)) {
    if (!progress_.burst && progress_.acknowledged - progress_.ended > backlog_) {
      progress_.pause(5);
      continue;
    }
    const int left = share_ - static_cast<int>(acknowledged_.size());
    if (below(random_, 3) == 0) {
      send_single();
    } else {
      send_bulk(std::min(left, 2 + static_cast<int>(below(random_, 40))));
    }
  }
}

v1::JobSpec Submitter::next_spec() {
  const PlannedJob plan = plan_job(random_, &keys_);
  v1::JobSpec spec;
  spec.set_queue(kQueue);
  spec.set_kind(plan.kind);
  spec.set_priority(plan.priority);
  spec.set_business_key(plan.key);
  spec.mutable_payload()->set_data("{}");
  if (plan.delay_ms > 0) set_ms(spec.mutable_delay(), plan.delay_ms);
  v1::RetryPolicy* retry = spec.mutable_retry();
  // What must succeed has attempts enough for every worker that is killed.
  retry->set_max_attempts(plan.kind == kDoomed ? 2 : 30);
  retry->mutable_backoff()->set_mode(v1::Backoff::MODE_FIXED);
  set_ms(retry->mutable_backoff()->mutable_first(), 50);
  return spec;
}

template <class Response, class Call>
bool Submitter::until_answered(Call call, Response* response) {
  bool unknown = false;
  while (!progress_.over) {
    ++progress_.in_flight;
    Result<Response> answer = call();
    --progress_.in_flight;
    if (answer) {
      if (unknown) ++progress_.repeated;
      *response = *std::move(answer);
      return true;
    }
    const Error& error = answer.error();
    if (error.code != Code::kUnavailable && error.code != Code::kTimeout &&
        error.code != Code::kExhausted) {
      fault_ = "an enqueue was refused: " + error.reason + " " + error.field + ": " + error.message;
      return false;
    }
    if (error.may_have_happened && !unknown) {
      unknown = true;
      ++progress_.unknown;
    }
    do {
      progress_.pause(10);
    } while (!progress_.server_up && !progress_.over);
  }
  return false;
}

void Submitter::send_single() {
  v1::EnqueueJobRequest request;
  *request.mutable_job() = next_spec();
  request.set_request_id(std::to_string(seed_) + "-" + std::to_string(calls_++));
  v1::EnqueueJobResponse response;
  const auto call = [&] {
    return client_.enqueue_job(request, {.timeout = Millis(5'000), .repeat = false});
  };
  if (until_answered(call, &response)) keep(request.job(), response.job());
}

void Submitter::send_bulk(int count) {
  v1::BulkEnqueueJobsRequest request;
  for (int i = 0; i < count; ++i) *request.add_jobs() = next_spec();
  request.set_request_id(std::to_string(seed_) + "-" + std::to_string(calls_++));
  v1::BulkEnqueueJobsResponse response;
  const auto call = [&] {
    return client_.bulk_enqueue_jobs(request, {.timeout = Millis(5'000), .repeat = false});
  };
  if (!until_answered(call, &response)) return;
  if (response.results_size() != count) {
    fault_ =
        std::to_string(response.results_size()) + " results for " + std::to_string(count) + " jobs";
    return;
  }
  for (int i = 0; i < count; ++i) {
    const v1::BulkEnqueueResult& result = response.results(i);
    if (result.has_job()) {
      keep(request.jobs(i), result.job());
    } else {
      fault_ = "an item was refused: " + result.error().reason() + ": " + result.error().message();
    }
  }
}

void Submitter::keep(const v1::JobSpec& spec, const v1::EnqueuedJob& job) {
  acknowledged_.push_back({job.id(), spec.kind(), spec.business_key(), job.created()});
  ++progress_.acknowledged;
}

}  // namespace rota::soak
