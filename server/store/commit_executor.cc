// SPDX-License-Identifier: Apache-2.0
#include "store/commit_executor.h"

#include <pthread.h>

#include <utility>

namespace rota::store {

ThreadExecutor::ThreadExecutor(const char* thread_name) : thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), thread_name);
}

ThreadExecutor::~ThreadExecutor() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void ThreadExecutor::execute(std::function<void()> work) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    // With a piece running or queued the thread looks at the queue again anyway.
    wake = queue_.empty() && !running_;
    queue_.push_back(std::move(work));
  }
  if (wake) wake_.notify_one();
}

void ThreadExecutor::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return queue_.empty() && !running_; });
}

bool ThreadExecutor::try_run_here(const std::function<void()>& work) {
  {
    std::lock_guard lock(mutex_);
    if (running_ || !queue_.empty()) return false;
    running_ = true;
  }
  work();
  bool more = false;
  {
    std::lock_guard lock(mutex_);
    running_ = false;
    more = !queue_.empty();  // given by the piece itself or by another thread meanwhile
  }
  if (more) {
    wake_.notify_one();
  } else {
    idle_.notify_all();
  }
  return true;
}

void ThreadExecutor::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return !running_ && (!queue_.empty() || stopping_); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    lock.unlock();
    work();
    work = nullptr;  // what the piece holds is released outside the lock
    lock.lock();
    running_ = false;
    if (queue_.empty()) idle_.notify_all();
  }
}

}  // namespace rota::store
