// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "internal/access.h"
#include "src/event.h"
#include "src/lease_table.h"
#include "src/stopper.h"

namespace rota::internal {

// Keeps leases alive and knows when they are not: beats at a third of the ttl, all leases in one
// call, from a thread of its own; tells a handler to stop before its lease or its attempt timeout
// ends; gives a lease up at its local deadline. Between start() and stop().
class Keeper {
 public:
  Keeper(WorkerPort& port, LeaseTable& table, Stopper& stopper, Millis ttl, LogFunction log);
  ~Keeper();

  void start();
  void stop();

  // A lease was added to the table.
  void added(const Lease& lease);

  // The server said that this lease's cancel was requested.
  void cancel(std::uint64_t token);

 private:
  void run();
  // One look at all leases; returns when the next is due.
  BootTime look(BootTime now);
  void send_beats(std::vector<LeasePtr> leases, BootTime now);
  void on_beats(const std::vector<LeasePtr>& leases, BootTime sent,
                Result<std::vector<BeatResult>> answer);
  void lose(const LeasePtr& lease, const char* how);

  WorkerPort& port_;
  LeaseTable& table_;
  Stopper& stopper_;
  const Millis ttl_;
  const LogFunction log_;
  Event event_;
  std::atomic<BootTime> next_look_{BootTime::max()};
  std::atomic<bool> beating_{false}, ending_{false};
  std::atomic<int> failures_{0};
  std::thread thread_;
};

}  // namespace rota::internal
