// SPDX-License-Identifier: Apache-2.0
#include "src/lease.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/limits.h"
#include "src/lease_clock.h"

namespace rota::internal {
namespace {

constexpr auto kLogBytes = static_cast<std::size_t>(base::limits::kLogTailBytesMax);

// "2026-11-29"; a date that is not ok() when the text is none.
std::chrono::year_month_day to_date(const std::string& text) {
  int year = 0;
  unsigned month = 0, day = 0;
  if (text.size() != 10) return {};
  std::from_chars(text.data(), text.data() + 4, year);
  std::from_chars(text.data() + 5, text.data() + 7, month);
  std::from_chars(text.data() + 8, text.data() + 10, day);
  return {std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
}

Job to_job(Grant&& grant) {
  Job job;
  job.id = std::move(grant.job_id);
  job.queue = std::move(grant.queue);
  job.kind = std::move(grant.kind);
  job.payload = std::move(grant.payload);
  job.scheduler_id = std::move(grant.scheduler_id);
  job.business_key = std::move(grant.business_key);
  job.idempotency_key = std::move(grant.idempotency_key);
  job.nominal_times = std::move(grant.nominal_times);
  job.business_date = to_date(grant.business_date);
  job.attempt = grant.attempt;
  job.max_attempts = grant.max_attempts;
  job.fencing_token = grant.fencing_token;
  job.labels = std::move(grant.labels);
  return job;
}

}  // namespace

Lease::Lease(Grant grant, BootTime sent, Millis granted_after, Millis ttl, std::size_t lane)
    : job_(to_job(std::move(grant))),
      ttl_(ttl),
      lane_(lane),
      cap_(grant.attempt_left ? cap_deadline(sent, granted_after, *grant.attempt_left)
                              : BootTime::max()),
      cap_grace_(grant.attempt_left ? cap_grace(ttl, *grant.attempt_left) : Millis(0)),
      deadline_(grant_deadline(sent, granted_after, ttl)),
      next_beat_(sent + granted_after + beat_interval(ttl)) {}

Millis Lease::time_left() const {
  const auto left = std::chrono::floor<Millis>(end() - BootClock::now());
  return lost() ? Millis(0) : std::max(left, Millis(0));
}

void Lease::log(std::string_view line) {
  std::lock_guard lock(log_mutex_);
  log_.append(line);
  if (line.empty() || line.back() != '\n') log_.push_back('\n');
  if (log_.size() > 2 * kLogBytes) log_.erase(0, log_.size() - kLogBytes);
}

BootTime Lease::end() const { return std::min(deadline_.load(), cap_); }

bool Lease::ends_by_timeout() const { return cap_ <= deadline_.load(); }

BootTime Lease::stop_time() const {
  const BootTime by_lease = deadline_.load() - stop_grace(ttl_);
  return cap_ == BootTime::max() ? by_lease : std::min(by_lease, cap_ - cap_grace_);
}

void Lease::renew(BootTime sent, Millis renewed_for) {
  // A short renewal is one that the attempt timeout cut, and of that the cap knows better.
  BootTime renewed = renewal_deadline(sent, renewed_for, ttl_);
  if (renewed_for < ttl_ && cap_ != BootTime::max() && cap_ <= sent + renewed_for) renewed = cap_;
  BootTime before = deadline_.load();
  while (renewed > before && !deadline_.compare_exchange_weak(before, renewed)) {
  }
  next_beat_.store(sent + beat_interval(ttl_));
}

BootTime Lease::next_beat() const { return next_beat_.load(); }
void Lease::set_next_beat(BootTime at) { next_beat_.store(at); }

bool Lease::set_cause(StopReason cause) {
  StopReason none = StopReason::kNone;
  return cause_.compare_exchange_strong(none, cause);
}

std::string Lease::take_log() {
  std::lock_guard lock(log_mutex_);
  if (log_.size() > kLogBytes) log_.erase(0, log_.size() - kLogBytes);
  return std::move(log_);
}

}  // namespace rota::internal
