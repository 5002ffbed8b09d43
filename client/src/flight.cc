// SPDX-License-Identifier: Apache-2.0
#include "src/flight.h"

#include <algorithm>
#include <utility>

namespace rota::internal {
namespace {

Error late_error() {
  Error error;
  error.code = Code::kTimeout;
  error.reason = "DEADLINE_EXCEEDED";
  error.message = "no answer to the call that carried it";
  error.may_have_happened = true;
  return error;
}

}  // namespace

void Flight::watch() {
  if (callers_.empty() || callers_.front().deadline >= callers_.back().deadline) return;
  if (!transport_.enter(this)) return;  // closing: the call itself ends at once
  std::lock_guard lock(mutex_);
  arm();
}

void Flight::arm() {
  const auto left =
      std::max(Millis(0), std::chrono::ceil<Millis>(callers_[next_].deadline - BootClock::now()));
  // A new one each time: an alarm must not be set again by its own callback.
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(left.count(), GPR_TIMESPAN)),
      [self = shared_from_this()](bool in_time) { self->on_alarm(in_time); });
}

void Flight::on_alarm(bool in_time) {
  std::vector<Caller> late;
  bool over = false;
  {
    std::lock_guard lock(mutex_);
    const BootTime now = BootClock::now();
    while (!answered_ && in_time && next_ + 1 < callers_.size() &&
           callers_[next_].deadline <= now) {
      late.push_back(std::move(callers_[next_++]));
    }
    over = answered_ || !in_time || callers_[next_].deadline >= callers_.back().deadline;
    if (!over) arm();
  }
  for (Caller& caller : late) caller.done(late_error());
  if (over) transport_.leave(this);
}

void Flight::answer(const std::function<Result<JobRef>(std::size_t)>& result) {
  std::size_t first = 0;
  {
    std::lock_guard lock(mutex_);
    answered_ = true;
    first = next_;
    if (alarm_) alarm_->Cancel();
  }
  for (std::size_t i = first; i < callers_.size(); ++i) callers_[i].done(result(i));
}

void Flight::cancel() {
  std::lock_guard lock(mutex_);
  if (alarm_) alarm_->Cancel();
}

}  // namespace rota::internal
