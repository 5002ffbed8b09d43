// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "src/lease_table.h"

namespace rota::internal {

// Tells handlers to stop, on a thread of its own: their stop callbacks are foreign code, and one
// that blocks must hold up neither heartbeats nor calls. Thread-safe.
class Stopper {
 public:
  Stopper();
  ~Stopper();  // after what was asked for is done

  // Does nothing when the lease has a cause already.
  void stop(const LeasePtr& lease, StopReason cause);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LeasePtr> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace rota::internal
