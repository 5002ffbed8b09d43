// SPDX-License-Identifier: Apache-2.0
//
// The two places where the store's work can run. Both keep the order of the calls and never run two
// pieces at once; they differ in who pays for the sync: the caller or a commit thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "core/store.h"

namespace rota::store {

// One commit thread, first in first out. execute() may be called from any thread, also from a piece
// that is running. The destructor runs what is queued, then joins. A store must outlive the pieces
// it has given: drain() or destroy the executor first.
class ThreadExecutor : public core::Executor {
 public:
  explicit ThreadExecutor(const char* thread_name = "rota-commit");  // at most 15 characters
  ~ThreadExecutor() override;
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  void execute(std::function<void()> work) override;

  // Returns when nothing is queued and nothing runs. Not from within a piece.
  void drain();

 protected:
  // Runs `work` on this thread if nothing is queued or running, so that the order is kept.
  bool try_run_here(const std::function<void()>& work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;  // the commit thread waits for work
  std::condition_variable idle_;  // drain() waits for the end of it
  std::deque<std::function<void()>> queue_;
  bool running_ = false;  // a piece runs, on either thread
  bool stopping_ = false;
  std::thread thread_;
};

// Inline when asked for and when the order allows it, else on the commit thread. With little
// waiting the hop to another thread costs more than it gains; under load the next batch is built
// while this one is being synced. The runtime says which before each call; set_prefer_inline() and
// execute() belong to one thread. Long reads have a thread of their own, so that a scan of cold
// rows keeps no commit waiting.
class AdaptiveExecutor final : public ThreadExecutor {
 public:
  ~AdaptiveExecutor() override { drain(); }

  void set_prefer_inline(bool prefer) { prefer_inline_ = prefer; }
  bool prefer_inline() const { return prefer_inline_; }

  // Returns with the work done when inline was preferred, nothing was queued and nothing ran.
  void execute(std::function<void()> work) override {
    if (prefer_inline_ && try_run_here(work)) return;
    ThreadExecutor::execute(std::move(work));
  }
  void execute_read(std::function<void()> work) override { reads_.execute(std::move(work)); }

  // The reads included.
  void drain() {
    ThreadExecutor::drain();
    reads_.drain();
  }

 private:
  bool prefer_inline_ = false;
  ThreadExecutor reads_{"rota-read"};
};

}  // namespace rota::store
