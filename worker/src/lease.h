// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <limits>
#include <mutex>
#include <string>

#include "internal/clock.h"
#include "internal/worker_port.h"
#include "rota/worker.h"

namespace rota::internal {

// One attempt in this process: what its handler sees (the Context), and what the keeper of leases
// knows about it. Thread-safe.
class Lease final : public Context {
 public:
  // `sent`: when the call that brought the grant had left; `lane`: whose slot it takes.
  Lease(Grant grant, BootTime sent, Millis granted_after, Millis ttl, std::size_t lane = 0);

  const Job& job() const override { return job_; }
  std::stop_token stop() const override { return stop_.get_token(); }
  Millis time_left() const override;
  void log(std::string_view line) override;

  LeaseKey key() const { return {job_.id, job_.fencing_token}; }
  std::uint64_t token() const { return job_.fencing_token; }
  Millis ttl() const { return ttl_; }
  std::size_t lane() const { return lane_; }

  // The end of this attempt as far as this process knows; moved by renewals up to the timeout.
  BootTime end() const;
  // When the handler is to be told to stop, so that it is gone by end().
  BootTime stop_time() const;
  bool ends_by_timeout() const;
  bool over(BootTime now) const { return lost_.load() || now >= end(); }

  // A heartbeat sent at `sent` was answered.
  void renew(BootTime sent, Millis renewed_for);
  BootTime next_beat() const;
  void set_next_beat(BootTime at);

  void set_lost() { lost_.store(true); }
  bool lost() const { return lost_.load(); }

  // True when this call set the cause: the caller then has request_stop() called.
  bool set_cause(StopReason cause);
  StopReason stop_reason() const override { return cause_.load(); }
  // Runs the handler's stop callbacks on the calling thread.
  void request_stop() { stop_.request_stop(); }

  // Set once the outcome was handed over for reporting.
  void set_reporting() { reporting_.store(true); }
  bool reporting() const { return reporting_.load(); }

  std::string take_log();

 private:
  const Job job_;
  const Millis ttl_;
  const std::size_t lane_;
  const BootTime cap_;  // BootTime::max() without attempt timeout
  const Millis cap_grace_;
  std::stop_source stop_{};
  std::atomic<BootTime> deadline_;  // of the lease, without the cap
  std::atomic<BootTime> next_beat_;
  std::atomic<StopReason> cause_{StopReason::kNone};
  std::atomic<bool> lost_{false}, reporting_{false};
  std::mutex log_mutex_{};
  std::string log_{};
};

}  // namespace rota::internal
