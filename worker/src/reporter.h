// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "internal/access.h"
#include "src/lease_table.h"

namespace rota::internal {

// Reports outcomes: one FinishJobs call is in flight, and all that piled up meanwhile goes in the
// next. A call whose answer is missing is repeated, token by token the same, until the local
// deadline of each lease has passed; what is not reported by then never will be, since another
// worker may have the job. Thread-safe.
class Reporter {
 public:
  // `idle` is called when nothing is left to report.
  Reporter(WorkerPort& port, LeaseTable& table, Millis ttl, std::function<void()> wake,
           std::function<void()> idle, LogFunction log);

  void add(FinishItem item, LeasePtr lease);

  // A step of the pump.
  BootTime step(BootTime now);

  bool is_idle() const;

 private:
  struct Pending {
    FinishItem item;
    LeasePtr lease;
    bool sent = false;
  };

  std::vector<Pending> take(BootTime now);
  void on_answer(std::vector<Pending> batch, const std::vector<FinishItem>& items,
                 Result<std::vector<Result<Ok>>> answer);
  // True when the item is to be sent again.
  bool settle(Pending& pending, const Result<Ok>& result);
  bool refused(const Error& error, std::size_t batch_size);

  WorkerPort& port_;
  LeaseTable& table_;
  const Millis timeout_, pause_cap_;
  const std::function<void()> wake_, idle_;
  const LogFunction log_;
  mutable std::mutex mutex_;
  std::deque<Pending> waiting_;
  bool in_flight_ = false;
  std::size_t batch_limit_;
  int failures_ = 0;
  BootTime not_before_{BootTime::min()};
};

}  // namespace rota::internal
