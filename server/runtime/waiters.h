// SPDX-License-Identifier: Apache-2.0
//
// Who waits for a job to end. Register first, read the job after: a finish in between is then seen
// by one of the two.
//
// Thread-safe. Functions run once, with no lock held, on the loop thread or the timer's, and must
// not block: read the job's record on a reader thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "core/effect.h"
#include "model/job.h"
#include "runtime/timer.h"

namespace rota::runtime {

enum class WaitEnd : std::uint8_t {
  kFinal = 1,     // the job has ended or was removed; `event` says how
  kTimeout = 2,   // the wait is over
  kDraining = 3,  // the server is stopping
};

class Waiters {
 public:
  using Id = std::uint64_t;  // never 0, never reused
  // `event` is null unless kFinal.
  using Fn = std::function<void(WaitEnd end, const core::JobEvent* event)>;

  // `timer` must outlive this.
  explicit Waiters(Timer& timer, std::size_t max = 20'000) : timer_(timer), max_(max) {}
  ~Waiters();
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  // TOO_MANY_POLLS when as many wait as is allowed; DRAINING after drain().
  base::Result<Id> add(const model::JobKey& key, std::int64_t wait_ms, Fn fn);
  // True: it will not run. False: it has run, runs, or is unknown.
  bool cancel(Id id);
  void publish(const std::vector<core::JobEvent>& events);
  // Answers all, and all that come later are refused.
  void drain();
  std::size_t size() const;

 private:
  struct Waiter {
    Id id = 0;
    Timer::Id timer = 0;
    Fn fn;
  };
  using Map = std::multimap<model::JobKey, Waiter>;
  void time_out(Id id);
  bool take_locked(Id id, Waiter* out);

  Timer& timer_;
  const std::size_t max_;
  mutable std::mutex mutex_;
  Map waiting_;
  std::unordered_map<Id, Map::iterator> ids_;
  Id next_id_ = 1;
  bool draining_ = false;
};

}  // namespace rota::runtime
