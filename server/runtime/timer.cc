// SPDX-License-Identifier: Apache-2.0
#include "runtime/timer.h"

#include <chrono>
#include <utility>

namespace rota::runtime {
namespace {

std::int64_t steady_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Timer::Timer() : thread_([this] { run(); }) {}

Timer::~Timer() {
  stop();
  if (thread_.joinable()) thread_.join();
}

Timer::Id Timer::after(std::int64_t delay_ms, std::function<void()> fn) {
  std::lock_guard lock(mutex_);
  if (stopping_) return 0;
  const Id id = next_id_++;
  const std::int64_t at = steady_us() + (delay_ms > 0 ? delay_ms : 0) * 1000;
  const bool first = due_.empty() || at < due_.begin()->first;
  due_.emplace(at, std::pair(id, std::move(fn)));
  ids_.emplace(id, at);
  if (first) wake_.notify_one();
  return id;
}

bool Timer::cancel(Id id) {
  std::function<void()> dropped;  // destroyed after the lock is given back
  std::lock_guard lock(mutex_);
  const auto found = ids_.find(id);
  if (found == ids_.end()) return false;
  auto [it, end] = due_.equal_range(found->second);
  while (it != end && it->second.first != id) ++it;
  dropped = std::move(it->second.second);
  due_.erase(it);
  ids_.erase(found);
  return true;
}

void Timer::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

void Timer::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (due_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const std::int64_t wait_us = due_.begin()->first - steady_us();
    if (wait_us > 0) {
      wake_.wait_for(lock, std::chrono::microseconds(wait_us));
      continue;
    }
    auto [id, fn] = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    ids_.erase(id);
    lock.unlock();
    fn();
    fn = nullptr;
    lock.lock();
  }
}

}  // namespace rota::runtime
