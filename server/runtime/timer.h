// SPDX-License-Identifier: Apache-2.0
//
// Calls functions at a time, on one thread of its own. For deadlines of calls and for what the
// server does each minute; the engine's own timers are not here.
//
// Thread-safe. Functions run one after the other with no lock held, and must not block. Times are
// of the process's steady clock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace rota::runtime {

class Timer {
 public:
  using Id = std::uint64_t;  // never 0, never reused

  Timer();
  // What has not run does not run any more.
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // After `delay_ms` or later, never earlier. After stop() nothing is taken: returns 0.
  Id after(std::int64_t delay_ms, std::function<void()> fn);
  // False when it has begun or is unknown.
  bool cancel(Id id);
  // Waits for a function that is running (unless called from one), then runs no more.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<std::int64_t, std::pair<Id, std::function<void()>>> due_;  // by steady µs
  std::unordered_map<Id, std::int64_t> ids_;
  Id next_id_ = 1;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace rota::runtime
