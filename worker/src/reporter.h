// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "internal/access.h"
#include "src/carried.h"
#include "src/lease_table.h"

namespace rota::internal {

// Reports outcomes: those that are there when a lease call leaves go with it; others in FinishJobs,
// of which one call is in flight, and all that piled up meanwhile goes in the next. A call whose
// answer is missing is repeated, token by token the same, until the local deadline of each lease
// has passed; what is not reported by then never will be, since another worker may have the job.
// Thread-safe.
class Reporter {
 public:
  // `idle` is called when nothing is left to report.
  Reporter(WorkerPort& port, LeaseTable& table, Millis ttl, std::function<void()> wake,
           std::function<void()> idle, LogFunction log);

  void add(FinishItem item, LeasePtr lease);

  // A step of the pump.
  BootTime step(BootTime now);

  // What a lease call is to take along. Nothing while reports fail: FinishJobs then says why.
  Carried carry(BootTime now);

  bool is_idle() const;

  // The worker stops: it no longer waits for a server that is away to take what it refuses anyway
  // once it is back, outcomes whose lease has ended here.
  void drain();

 private:
  struct Pending {
    FinishItem item;
    LeasePtr lease;
    int sends = 0;
  };

  using Items = std::shared_ptr<const std::vector<FinishItem>>;
  using Answer = Result<std::vector<Result<Ok>>>;

  std::vector<Pending> take(BootTime now);
  bool too_late(const Lease& lease, BootTime now) const;  // needs the lock
  static Items lend(std::vector<Pending>& batch);
  void on_answer(std::vector<Pending> batch, const Items& items, Answer answer);
  void on_carried(std::vector<Pending> batch, const Items& items, Answer answer);
  // What is to be sent again; all else is done with.
  std::vector<Pending> settle_all(std::vector<Pending> batch, const Items& items,
                                  const Answer& answer);
  void put_back(std::vector<Pending> again, bool after_a_failure);  // needs the lock
  void tell();
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
  bool draining_ = false;
  std::size_t carried_ = 0;        // lease calls with outcomes that are not answered
  bool server_takes_them_ = true;  // outcomes in a lease call, as far as is known
  std::size_t batch_limit_;
  int failures_ = 0;
  BootTime not_before_{BootTime::min()};
};

}  // namespace rota::internal
