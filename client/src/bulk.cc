// SPDX-License-Identifier: Apache-2.0
#include "src/bulk.h"

#include <utility>

#include "base/limits.h"
#include "base/names.h"
#include "internal/clock.h"
#include "src/convert.h"
#include "src/status.h"

namespace rota::internal {

BulkEnqueue::BulkEnqueue(RawClient& raw, std::string name_space, std::string request_id)
    : raw_(raw),
      name_space_(std::move(name_space)),
      request_id_(request_id.empty() ? random_hex(16) : std::move(request_id)) {}

std::vector<Result<JobRef>> BulkEnqueue::run(std::vector<JobSpec> specs) {
  results_.assign(specs.size(), Result<JobRef>(JobRef{}));
  if (const auto fault = base::check_bulk_request_id("request_id", request_id_)) {
    for (auto& result : results_) result = invalid("request_id", fault->message);
    return std::move(results_);
  }
  for (std::size_t i = 0; i < specs.size(); ++i) add(std::move(specs[i]), i);
  send();
  return std::move(results_);
}

void BulkEnqueue::add(JobSpec spec, std::size_t index) {
  if (!spec.request_id.empty()) {
    results_[index] = invalid("request_id", "belongs to the whole call in enqueue_bulk");
    return;
  }
  v1::JobSpec job;
  if (auto ok = to_message(std::move(spec), job); !ok) {
    results_[index] = std::move(ok).error();
    return;
  }
  const std::size_t bytes = job.ByteSizeLong() + kJobFrameBytes;
  const bool full =
      indexes_.size() >= base::limits::kCallItemsMax || bytes_ + bytes > kCallJobBytes;
  if (full && !indexes_.empty()) send();
  *request_.add_jobs() = std::move(job);
  indexes_.push_back(index);
  bytes_ += bytes;
}

void BulkEnqueue::send() {
  if (indexes_.empty()) return;
  if (away_) {
    Error error = *away_;
    error.may_have_happened = false;
    fail_all(error);
  } else {
    request_.set_namespace_(name_space_);
    request_.set_request_id(request_id_ + ":" + std::to_string(calls_++));
    auto response = raw_.bulk_enqueue_jobs(std::move(request_));
    if (response && static_cast<std::size_t>(response->results_size()) != indexes_.size()) {
      response = unknown_answer();
    }
    if (!response) {
      Error error = std::move(response).error();
      error.request_id = request_id_;  // repeating means the whole list again
      fail_all(error);
      if (error.code == Code::kUnavailable || error.code == Code::kTimeout) away_ = error;
    } else {
      for (int i = 0; i < response->results_size(); ++i) {
        const auto slot = static_cast<std::size_t>(i);
        auto& result = *response->mutable_results(i);
        if (result.has_error()) {
          results_[indexes_[slot]] = to_error(result.error());
        } else {
          results_[indexes_[slot]] = to_ref(std::move(*result.mutable_job()));
        }
      }
    }
  }
  request_ = {};
  indexes_.clear();
  bytes_ = 0;
}

void BulkEnqueue::fail_all(const Error& error) {
  for (const std::size_t index : indexes_) results_[index] = error;
}

}  // namespace rota::internal
