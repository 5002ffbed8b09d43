// SPDX-License-Identifier: Apache-2.0
#include "runtime/reader_pool.h"

#include <algorithm>
#include <utility>

namespace rota::runtime {

ReaderPool::ReaderPool(std::size_t threads, std::size_t max_queued) : max_queued_(max_queued) {
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i) {
    threads_.emplace_back([this] { run(); });
  }
}

ReaderPool::~ReaderPool() { stop(); }

bool ReaderPool::submit(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= max_queued_) return false;
  queue_.push_back(std::move(work));
  if (sleeping_ > 0) wake_.notify_one();
  return true;
}

bool ReaderPool::submit_first(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  if (stopping_) return false;
  first_.push_back(std::move(work));
  if (sleeping_ > 0) wake_.notify_one();
  return true;
}

void ReaderPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::size_t ReaderPool::queued() const {
  std::lock_guard lock(mutex_);
  return first_.size() + queue_.size();
}

void ReaderPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto& line = first_.empty() ? queue_ : first_;
    if (!line.empty()) {
      std::function<void()> work = std::move(line.front());
      line.pop_front();
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
      continue;
    }
    if (stopping_) return;
    ++sleeping_;
    wake_.wait(lock);
    --sleeping_;
  }
}

}  // namespace rota::runtime
