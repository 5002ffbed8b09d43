// SPDX-License-Identifier: Apache-2.0
//
// A few threads for work that blocks on reads: queries, which bypass the loop, and payloads of
// lease replies. Bounded, so that a burst of listings cannot take the memory of the server.
//
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rota::runtime {

class ReaderPool {
 public:
  explicit ReaderPool(std::size_t threads = 2, std::size_t max_queued = 4'096);
  ~ReaderPool();
  ReaderPool(const ReaderPool&) = delete;
  ReaderPool& operator=(const ReaderPool&) = delete;

  // False when the queue is full or the pool has stopped: answer OVERLOADED.
  [[nodiscard]] bool submit(std::function<void()> work);
  // For work that was accepted before (answers that need a read): goes first and is never refused,
  // except after stop(): false.
  [[nodiscard]] bool submit_first(std::function<void()> work);
  // Runs what is queued, then joins. Idempotent.
  void stop();
  std::size_t queued() const;

 private:
  void run();

  const std::size_t max_queued_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> first_;
  std::deque<std::function<void()>> queue_;
  std::size_t sleeping_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rota::runtime
