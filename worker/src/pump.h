// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "internal/clock.h"

namespace rota::internal {

// The one thread that makes calls: it runs every step, then sleeps until the earliest time that one
// of them asked for, or until it is woken. Handlers only leave their outcome and wake it, so that
// while it works, or is on its way, more outcomes and free slots gather for the same two calls.
class Pump {
 public:
  // Does what is to be done at `now`; returns when it wants to run again, BootTime::max() for "when
  // woken".
  using Step = std::function<BootTime(BootTime now)>;

  ~Pump();

  void add(Step step) { steps_.push_back(std::move(step)); }  // before start()
  void start();
  void stop();

  // Any thread; cheap while the pump is awake.
  void wake();

 private:
  void run();

  std::vector<Step> steps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> woken_{false};
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace rota::internal
