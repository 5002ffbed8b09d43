// SPDX-License-Identifier: Apache-2.0
#include "src/keeper.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "src/lease_clock.h"

namespace rota::internal {

Keeper::Keeper(WorkerPort& port, LeaseTable& table, Stopper& stopper, Millis ttl, LogFunction log)
    : port_(port), table_(table), stopper_(stopper), ttl_(ttl), log_(std::move(log)) {}

Keeper::~Keeper() { stop(); }

void Keeper::start() {
  thread_ = std::thread([this] { run(); });
}

void Keeper::stop() {
  if (!thread_.joinable()) return;
  ending_.store(true);
  event_.set();
  thread_.join();
}

void Keeper::added(const Lease& lease) {
  // Only the first lease, and one with a short timeout, are due before the thread looks anyway.
  if (std::min(lease.stop_time(), lease.next_beat()) < next_look_.load()) event_.set();
}

void Keeper::cancel(std::uint64_t token) {
  if (const LeasePtr lease = table_.find(token)) stopper_.stop(lease, StopReason::kCancel);
}

void Keeper::run() {
  while (!ending_.load()) {
    // While it looks, each lease that is added sets the event: the look may have missed it.
    next_look_.store(BootTime::max());
    const BootTime next = look(BootClock::now());
    next_look_.store(next);
    event_.wait_until(next);
  }
}

BootTime Keeper::look(BootTime now) {
  BootTime next = BootTime::max();
  std::vector<LeasePtr> due;
  // What is nearly due goes along: one call for many leases.
  const BootTime soon = now + ttl_ / 12;
  for (const LeasePtr& lease : table_.all()) {
    if (lease->over(now)) {
      // Its outcome was there in time and waits for a server that is away: only the server knows
      // whether the lease was restored there.
      if (lease->reporting()) {
        table_.drop(lease->token());
        continue;
      }
      const bool timeout = lease->ends_by_timeout();
      if (timeout) stopper_.stop(lease, StopReason::kTimeout);
      lose(lease, timeout ? "its attempt timeout is over"
                          : "no heartbeat got through for the length of the lease");
      continue;
    }
    if (lease->stop_reason() == StopReason::kNone && !lease->reporting()) {
      if (now >= lease->stop_time()) {
        stopper_.stop(lease, lease->ends_by_timeout() ? StopReason::kTimeout : StopReason::kAtRisk);
      } else {
        next = std::min(next, lease->stop_time());
      }
    }
    next = std::min(next, lease->end());
    if (beating_.load()) continue;  // its answer wakes this thread
    if (lease->next_beat() <= soon && due.size() < base::limits::kHeartbeatLeasesMax) {
      due.push_back(lease);
    } else {
      next = std::min(next, lease->next_beat());
    }
  }
  if (!due.empty()) {
    const bool any = std::any_of(due.begin(), due.end(),
                                 [&](const LeasePtr& lease) { return lease->next_beat() <= now; });
    if (any) {
      send_beats(std::move(due), now);
    } else {
      for (const LeasePtr& lease : due) next = std::min(next, lease->next_beat());
    }
  }
  return next;
}

void Keeper::send_beats(std::vector<LeasePtr> leases, BootTime now) {
  std::vector<LeaseKey> keys;
  keys.reserve(leases.size());
  Millis ttl = ttl_;  // the server may have given less than was asked for
  for (const LeasePtr& lease : leases) {
    keys.push_back(lease->key());
    ttl = std::min(ttl, lease->ttl());
  }
  beating_.store(true);
  port_.beat(std::move(keys), beat_timeout(ttl),
             [this, leases = std::move(leases), now](Result<std::vector<BeatResult>> answer) {
               on_beats(leases, now, std::move(answer));
               beating_.store(false);
               event_.set();
             });
}

void Keeper::on_beats(const std::vector<LeasePtr>& leases, BootTime sent,
                      Result<std::vector<BeatResult>> answer) {
  if (!answer) {
    // Work goes on until the local deadline: a server that restarts is back in seconds.
    const int failures = failures_.fetch_add(1);
    if (failures == 0) log_(2, "heartbeat failed: " + answer.error().message);
    const Millis pause = full_jitter(failures, Millis(100), ttl_ / 12, Millis(20));
    for (const LeasePtr& lease : leases) lease->set_next_beat(BootClock::now() + pause);
    return;
  }
  failures_.store(0);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const LeasePtr& lease = leases[i];
    const BeatResult& result = (*answer)[i];
    if (result.renewed) {
      lease->renew(sent, result.renewed_for);
      if (result.cancel_requested) stopper_.stop(lease, StopReason::kCancel);
    } else if (!lease->reporting()) {
      // A lease whose outcome is on its way may have ended by just that; its report will tell.
      lose(lease, "the server says that it is over");
    } else {
      lease->set_next_beat(BootTime::max());
    }
  }
}

void Keeper::lose(const LeasePtr& lease, const char* how) {
  if (!table_.drop(lease->token())) return;
  lease->set_lost();
  stopper_.stop(lease, StopReason::kLost);
  log_(2, "lost the lease of job " + lease->job().id + ", attempt " +
              std::to_string(lease->job().attempt) + ": " + how);
}

}  // namespace rota::internal
