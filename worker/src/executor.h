// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "internal/clock.h"
#include "src/lease_table.h"

namespace rota::internal {

// Runs handlers on up to `concurrency` threads, which are made when they are needed and live until
// the end. Handlers that take no time need few of them: one thread is woken at once, and further
// ones, twice as many each time, only when the line has hardly moved for a tenth of a millisecond.
// So a batch of a hundred short jobs costs one wake-up, and a hundred long ones are all running
// within a millisecond. Thread-safe.
class Executor {
 public:
  // `run` is called for each job; `settled` after one that left the line empty.
  Executor(int concurrency, std::function<void(const LeasePtr&)> run,
           std::function<void()> settled);
  ~Executor();  // waits for handlers

  // Never more than `concurrency` are running or in line.
  void submit(std::vector<LeasePtr> leases);

  // A step of the pump: wakes more threads while jobs stand in line.
  BootTime pace(BootTime now);

  // Until when outcomes and free slots had better wait: while jobs stand in line and run one right
  // after the other, what they free goes in two calls together rather than in dribbles. At most
  // half a millisecond from the first that ended; not later than `now`: do not wait.
  BootTime gather_until(BootTime now);

  // Takes back what has not started.
  std::vector<LeasePtr> take_waiting();

 private:
  struct Thread {
    std::thread thread;
    std::condition_variable called;
    bool awake = true;
  };

  void work(Thread& self);
  // Wakes or makes up to `count` threads; needs the lock.
  void call_threads(std::size_t count);

  const std::size_t concurrency_;
  const std::function<void(const LeasePtr&)> run_;
  const std::function<void()> settled_;
  std::mutex mutex_;
  std::deque<LeasePtr> line_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> idle_;  // the last to fall asleep is woken first: its memory is warm
  std::size_t taken_ = 0, taken_at_pace_ = 0, ramp_ = 1;
  BootTime last_taken_{};
  BootTime first_ended_ = BootTime::max();  // of those that gather
  bool ending_ = false;
};

}  // namespace rota::internal
