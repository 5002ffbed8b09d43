// SPDX-License-Identifier: Apache-2.0
//
// A worker process: several lease calls over disjoint slots, handlers, heartbeats, finishes that
// are repeated until they are answered. It keeps the rules of the worker library: it counts a lease
// from when it sent the call, stops its handler before that time is over, and reports nothing
// after. It may die, stand still past its leases, and send its heartbeats late or never.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/network.h"

namespace rota::sim {

// What clients and workers of a run have heard of: jobs to name in later calls, tokens that may be
// over by now.
struct Rumours {
  std::vector<core::JobKey> jobs;
  std::vector<core::LeaseRef> leases;
  std::vector<std::uint64_t> operations;
  std::vector<std::string> queues;  // their names, existing or not
  std::string leaving;              // the one that is being taken out of service; empty: none
  void heard(const core::JobKey& job);
  void heard(const core::LeaseRef& lease);
};

class Worker {
 public:
  // Asked before a handler starts: is one of another worker still entitled to run?
  using ClashFn = std::function<bool(const Worker& self, const core::JobKey& key)>;

  Worker(Context& context, Network& network, Rumours& rumours, Rng rng, std::uint32_t number,
         ClashFn clashes);

  void start();
  void die();  // its handlers are gone at once; a new process comes later
  void suspend(std::int64_t ms);
  // For good: it asks for nothing any more.
  void leave() { ++life_; }
  // Does a handler of it hold the job, by what it has been told?
  bool holds(const core::JobKey& key) const;
  std::size_t handlers() const { return held_.size(); }

 private:
  struct Held {
    core::JobKey key;
    std::int64_t deadline_ms = 0;  // by its own count
    std::int64_t ttl_ms = 0;
    bool cancelled = false;
    bool mute = false;  // its heartbeats never leave
  };
  struct Finish {
    core::FinishItem item;
    int tries = 0;
  };

  void run(std::int64_t delay_ms, std::function<void()> work);
  void stop_overdue();
  void poll();
  void send_poll(core::LeaseJobs call, std::uint32_t slots, int tries);
  void take(const core::LeaseReply& reply, const core::LeaseJobs& call, std::int64_t sent_ms);
  void begin(const core::GrantedJob& job, const core::LeaseJobs& call, std::int64_t deadline_ms);
  void end(std::uint64_t token);
  core::WorkerOutcome outcome(bool cancelled);
  void send_finish(std::uint64_t token);
  void meddle();
  void beat();
  void hear_beat(const core::Heartbeat& call, const core::HeartbeatReply& reply,
                 std::int64_t sent_ms);

  Context& context_;
  Network& network_;
  Rumours& rumours_;
  Rng rng_;
  const std::uint32_t number_;
  const ClashFn clashes_;
  std::uint64_t life_ = 0;
  std::string session_;
  std::int64_t asleep_until_ms_ = 0;
  std::uint32_t reserved_ = 0;  // slots that polls under way may fill
  std::uint64_t next_request_ = 1;
  std::map<std::uint64_t, Held> held_;  // by token
  std::map<std::uint64_t, Finish> finishes_;
  std::set<std::uint64_t> known_;  // tokens that were begun here
};

}  // namespace rota::sim
