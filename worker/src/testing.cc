// SPDX-License-Identifier: Apache-2.0
#include "rota/testing.h"

#include <utility>

namespace rota::testing {

FakeContext::FakeContext(Job job) : job_(std::move(job)) {}
FakeContext::~FakeContext() = default;

void FakeContext::request_stop(StopReason reason) {
  auto none = StopReason::kNone;
  reason_.compare_exchange_strong(none, reason);
  stop_.request_stop();
}

Millis FakeContext::time_left() const {
  std::lock_guard lock(mutex_);
  return time_left_;
}

void FakeContext::log(std::string_view line) {
  std::lock_guard lock(mutex_);
  lines_.emplace_back(line);
}

void FakeContext::set_time_left(Millis left) {
  std::lock_guard lock(mutex_);
  time_left_ = left;
}

std::vector<std::string> FakeContext::lines() const {
  std::lock_guard lock(mutex_);
  return lines_;
}

}  // namespace rota::testing
