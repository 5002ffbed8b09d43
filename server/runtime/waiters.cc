// SPDX-License-Identifier: Apache-2.0
#include "runtime/waiters.h"

#include <utility>

namespace rota::runtime {

using base::Reason;

Waiters::~Waiters() { drain(); }

base::Result<Waiters::Id> Waiters::add(const model::JobKey& key, std::int64_t wait_ms, Fn fn) {
  std::lock_guard lock(mutex_);
  if (draining_) return base::make_error(Reason::kDraining, "the server is shutting down");
  if (ids_.size() >= max_) {
    return base::make_error(
        Reason::kTooManyPolls,
        "as many calls wait for a job as the server allows: " + std::to_string(max_));
  }
  const Id id = next_id_++;
  const auto it = waiting_.emplace(key, Waiter{.id = id, .timer = 0, .fn = std::move(fn)});
  ids_.emplace(id, it);
  // Cannot run before the lock is given back: time_out() takes it.
  it->second.timer = timer_.after(wait_ms, [this, id] { time_out(id); });
  return id;
}

bool Waiters::take_locked(Id id, Waiter* out) {
  const auto found = ids_.find(id);
  if (found == ids_.end()) return false;
  *out = std::move(found->second->second);
  waiting_.erase(found->second);
  ids_.erase(found);
  return true;
}

bool Waiters::cancel(Id id) {
  Waiter waiter;
  {
    std::lock_guard lock(mutex_);
    if (!take_locked(id, &waiter)) return false;
  }
  timer_.cancel(waiter.timer);
  return true;
}

void Waiters::time_out(Id id) {
  Waiter waiter;
  {
    std::lock_guard lock(mutex_);
    if (!take_locked(id, &waiter)) return;
  }
  waiter.fn(WaitEnd::kTimeout, nullptr);
}

void Waiters::publish(const std::vector<core::JobEvent>& events) {
  std::vector<std::pair<Waiter, const core::JobEvent*>> fired;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;
    for (const core::JobEvent& event : events) {
      if (event.kind != core::JobEvent::Kind::kFinal &&
          event.kind != core::JobEvent::Kind::kRemoved) {
        continue;
      }
      auto [it, end] = waiting_.equal_range(event.key);
      while (it != end) {
        ids_.erase(it->second.id);
        fired.emplace_back(std::move(it->second), &event);
        it = waiting_.erase(it);
      }
    }
  }
  for (auto& [waiter, event] : fired) {
    timer_.cancel(waiter.timer);
    waiter.fn(WaitEnd::kFinal, event);
  }
}

void Waiters::drain() {
  Map all;
  {
    std::lock_guard lock(mutex_);
    draining_ = true;
    all.swap(waiting_);
    ids_.clear();
  }
  for (auto& [key, waiter] : all) {
    timer_.cancel(waiter.timer);
    waiter.fn(WaitEnd::kDraining, nullptr);
  }
}

std::size_t Waiters::size() const {
  std::lock_guard lock(mutex_);
  return ids_.size();
}

}  // namespace rota::runtime
