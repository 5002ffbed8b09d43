// SPDX-License-Identifier: Apache-2.0
#include "src/reporter.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace rota::internal {
namespace {

namespace limits = base::limits;

// An outcome that was there in time is kept so long behind the end of its lease: a server that was
// away restores the leases it knew, and the token keeps the outcome from all others.
constexpr Millis kKept{3'600'000};
constexpr std::size_t kBatchItems = limits::kCallItemsMax;
constexpr std::size_t kBatchBytes = static_cast<std::size_t>(limits::kCallBytesMax) - 64 * 1024;

std::size_t bytes_of(const FinishItem& item) {
  return 128 + item.lease.job_id.size() + item.result.size() + item.failure_message.size() +
         item.failure_type.size() + item.log_tail.size();
}

}  // namespace

Reporter::Reporter(WorkerPort& port, LeaseTable& table, Millis ttl, std::function<void()> wake,
                   std::function<void()> idle, LogFunction log)
    : port_(port),
      table_(table),
      timeout_(std::clamp(ttl / 3, Millis(1'000), Millis(10'000))),
      pause_cap_(std::min(ttl / 10, Millis(1'000))),
      wake_(std::move(wake)),
      idle_(std::move(idle)),
      log_(std::move(log)),
      batch_limit_(kBatchItems) {}

void Reporter::add(FinishItem item, LeasePtr lease) {
  lease->set_reporting();
  std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(item), std::move(lease), false});
}

bool Reporter::is_idle() const {
  std::lock_guard lock(mutex_);
  return waiting_.empty() && !in_flight_ && carried_ == 0;
}

void Reporter::drain() {
  {
    std::lock_guard lock(mutex_);
    draining_ = true;
  }
  wake_();
}

BootTime Reporter::step(BootTime now) {
  std::vector<Pending> batch;
  {
    std::lock_guard lock(mutex_);
    if (in_flight_ || waiting_.empty()) return BootTime::max();
    if (now < not_before_) return not_before_;
    batch = take(now);
    in_flight_ = !batch.empty();
  }
  if (batch.empty()) {  // all of it was too late
    idle_();
    return BootTime::max();
  }
  const Items items = lend(batch);
  port_.finish(items, timeout_,
               [this, items, batch = std::make_shared<std::vector<Pending>>(std::move(batch))](
                   Answer answer) { on_answer(std::move(*batch), items, std::move(answer)); });
  return BootTime::max();
}

Carried Reporter::carry(BootTime now) {
  std::vector<Pending> batch;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty() || failures_ > 0 || !server_takes_them_) return {};
    batch = take(now);
    if (!batch.empty()) ++carried_;
  }
  if (batch.empty()) {
    idle_();
    return {};
  }
  const Items items = lend(batch);
  return {
      .items = items,
      .timeout = timeout_,
      .answered = [this, items, batch = std::make_shared<std::vector<Pending>>(std::move(batch))](
                      Answer answer) { on_carried(std::move(*batch), items, std::move(answer)); }};
}

// The items of a call, which keeps none of them: what is to be repeated comes back from them.
Reporter::Items Reporter::lend(std::vector<Pending>& batch) {
  auto items = std::make_shared<std::vector<FinishItem>>();
  items->reserve(batch.size());
  for (Pending& pending : batch) items->push_back(std::move(pending.item));
  return items;
}

std::vector<Reporter::Pending> Reporter::take(BootTime now) {
  std::vector<Pending> batch;
  std::size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < batch_limit_) {
    Pending& first = waiting_.front();
    if (too_late(*first.lease, now)) {
      table_.drop(first.lease->token());
      log_(2, "the outcome of job " + first.lease->job().id +
                  " is dropped: the lease ended before it could be reported");
      waiting_.pop_front();
      continue;
    }
    bytes += bytes_of(first.item);
    if (!batch.empty() && bytes > kBatchBytes) break;
    ++first.sends;
    batch.push_back(std::move(first));
    waiting_.pop_front();
  }
  return batch;
}

bool Reporter::too_late(const Lease& lease, BootTime now) const {
  return lease.lost() || now >= lease.end() + (draining_ ? Millis(0) : kKept);
}

void Reporter::on_answer(std::vector<Pending> batch, const Items& items, Answer answer) {
  std::vector<Pending> again = settle_all(std::move(batch), items, answer);
  {
    std::lock_guard lock(mutex_);
    in_flight_ = false;
    if (again.empty()) {
      failures_ = 0;
      batch_limit_ = std::min(kBatchItems, batch_limit_ * 2);
    } else {
      if (!answer && answer.error().code == Code::kInvalid) batch_limit_ = 1;
      if (failures_ == 0 && !answer) log_(2, "report failed: " + answer.error().message);
      // Another server may be there when it is over.
      if (!answer) server_takes_them_ = true;
      put_back(std::move(again), /*after_a_failure=*/true);
    }
  }
  tell();
}

void Reporter::on_carried(std::vector<Pending> batch, const Items& items, Answer answer) {
  const bool taken = answer && answer->size() == batch.size();
  std::vector<Pending> again;
  if (taken) {
    again = settle_all(std::move(batch), items, answer);
  } else {
    // The error may be one of the lease: FinishJobs will say what there is to say of outcomes.
    again = std::move(batch);
    for (std::size_t i = 0; i < again.size(); ++i) again[i].item = (*items)[i];
  }
  {
    std::lock_guard lock(mutex_);
    --carried_;
    if (answer && !taken) {
      server_takes_them_ = false;
      put_back(std::move(again), /*after_a_failure=*/false);
    } else if (!again.empty()) {
      put_back(std::move(again), /*after_a_failure=*/true);
    }
  }
  tell();
}

std::vector<Reporter::Pending> Reporter::settle_all(std::vector<Pending> batch, const Items& items,
                                                    const Answer& answer) {
  std::vector<Pending> again;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    // The items were only lent to the call; most are done with.
    const bool drop = answer ? (*answer)[i].has_value() : false;
    if (drop) {
      table_.drop(batch[i].lease->token());
      continue;
    }
    batch[i].item = (*items)[i];
    const bool repeat =
        answer ? settle(batch[i], (*answer)[i]) : !refused(answer.error(), batch.size());
    if (repeat) {
      again.push_back(std::move(batch[i]));
    } else {
      table_.drop(batch[i].lease->token());
    }
  }
  return again;
}

void Reporter::put_back(std::vector<Pending> again, bool after_a_failure) {
  if (after_a_failure) {
    not_before_ = BootClock::now() + full_jitter(failures_++, Millis(20), pause_cap_);
  }
  waiting_.insert(waiting_.begin(), std::make_move_iterator(again.begin()),
                  std::make_move_iterator(again.end()));
}

void Reporter::tell() {
  bool more = false, idle = false;
  {
    std::lock_guard lock(mutex_);
    more = !waiting_.empty();
    idle = !more && !in_flight_ && carried_ == 0;
  }
  if (more) wake_();
  if (idle) idle_();
}

bool Reporter::refused(const Error& error, std::size_t batch_size) {
  switch (error.code) {
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kExhausted:
    case Code::kInternal:
      return error.reason == "CLIENT_CLOSED";
    default:
      // Something in it does not suit: alone, each of the others does.
      if (batch_size > 1) return false;
      log_(3, "the server refuses a report: " + error.message);
      return true;
  }
}

bool Reporter::settle(Pending& pending, const Result<Ok>& result) {
  const Error& error = result.error();
  const std::string& job = pending.lease->job().id;
  // The first report was taken, and nothing is kept of the job.
  if (error.reason == "UNKNOWN_LEASE" && pending.sends > 1) return false;
  if (error.reason == "LEASE_LOST" || error.reason == "UNKNOWN_LEASE") {
    log_(2, "the outcome of job " + job + " was refused: " + error.reason);
    return false;
  }
  if (error.code == Code::kExhausted || error.code == Code::kUnavailable) return true;
  if (pending.item.kind != FinishItem::Kind::kFailed) {
    // The lease is still ours and the outcome cannot be taken: people should see why.
    FinishItem failure;
    failure.lease = pending.item.lease;
    failure.kind = FinishItem::Kind::kFailed;
    failure.retryable = false;
    failure.failure_type = error.reason;
    failure.failure_message = "the outcome was refused: " + error.message;
    failure.log_tail = std::move(pending.item.log_tail);
    pending.item = std::move(failure);
    return true;
  }
  log_(3, "the server refuses the failure of job " + job + ": " + error.message);
  return false;
}

}  // namespace rota::internal
