// SPDX-License-Identifier: Apache-2.0
#include "src/executor.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace rota::internal {
namespace {

constexpr std::chrono::microseconds kPace{100};
// A thread that took a job so short ago is likely back for the next one before another could be
// woken.
constexpr std::chrono::microseconds kLively{50};
// More than this taken between two looks: the handlers are short, and more threads would only cost.
constexpr std::size_t kShortJobs = 8;
constexpr std::chrono::microseconds kGather{500};

}  // namespace

Executor::Executor(int concurrency, std::function<void(const LeasePtr&)> run,
                   std::function<void()> settled)
    : concurrency_(static_cast<std::size_t>(concurrency)),
      run_(std::move(run)),
      settled_(std::move(settled)) {}

Executor::~Executor() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    for (Thread* thread : idle_) thread->called.notify_one();
  }
  // No thread is made any more: submit() is over, and only it and pace() make them.
  for (const auto& thread : threads_) thread->thread.join();
}

void Executor::submit(std::vector<LeasePtr> leases) {
  std::lock_guard lock(mutex_);
  for (LeasePtr& lease : leases) line_.push_back(std::move(lease));
  const bool any_awake = threads_.size() > idle_.size();
  // The others may be deep in long handlers; if the line then does not move, pace() calls more.
  if (!any_awake || BootClock::now() - last_taken_ > kLively) call_threads(1);
}

void Executor::call_threads(std::size_t count) {
  for (; count > 0; --count) {
    if (!idle_.empty()) {
      Thread* thread = idle_.back();
      idle_.pop_back();
      thread->awake = true;
      thread->called.notify_one();
    } else if (threads_.size() < concurrency_) {
      auto thread = std::make_unique<Thread>();
      Thread& self = *thread;
      try {
        thread->thread = std::thread([this, &self] { work(self); });
      } catch (const std::system_error&) {
        if (threads_.empty()) throw;  // not one: this worker cannot work
        return;                       // the machine gives no more: those there are do the work
      }
      threads_.push_back(std::move(thread));
    } else {
      return;
    }
  }
}

BootTime Executor::pace(BootTime now) {
  std::lock_guard lock(mutex_);
  if (line_.empty()) {
    ramp_ = 1;
    return BootTime::max();
  }
  if (taken_ - taken_at_pace_ <= kShortJobs) {
    call_threads(std::min(ramp_, line_.size()));
    ramp_ = std::min(ramp_ * 2, concurrency_);
  }
  taken_at_pace_ = taken_;
  return now + kPace;
}

BootTime Executor::gather_until(BootTime now) {
  std::lock_guard lock(mutex_);
  if (first_ended_ == BootTime::max()) return now;
  const BootTime until = first_ended_ + kGather;
  if (!line_.empty() && now < until) return until;
  first_ended_ = BootTime::max();
  return now;
}

std::vector<LeasePtr> Executor::take_waiting() {
  std::lock_guard lock(mutex_);
  std::vector<LeasePtr> waiting(line_.begin(), line_.end());
  line_.clear();
  return waiting;
}

void Executor::work(Thread& self) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (line_.empty()) {
      if (ending_) return;
      self.awake = false;
      idle_.push_back(&self);
      self.called.wait(lock, [&] { return self.awake || ending_; });
      continue;
    }
    const LeasePtr lease = std::move(line_.front());
    line_.pop_front();
    ++taken_;
    last_taken_ = BootClock::now();
    lock.unlock();
    run_(lease);
    lock.lock();
    if (!line_.empty()) {
      // The pump looks at a line that moves by itself, see pace().
      if (first_ended_ == BootTime::max()) first_ended_ = BootClock::now();
      continue;
    }
    lock.unlock();
    settled_();
    lock.lock();
  }
}

}  // namespace rota::internal
