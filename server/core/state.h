// SPDX-License-Identifier: Apache-2.0
//
// What the engine holds in memory: queues with their windows, live leases, parked lease calls.
// All of it can be rebuilt from the store; nothing here is read by another thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "core/command.h"
#include "core/effect.h"
#include "core/window.h"
#include "model/job.h"
#include "model/keys.h"
#include "model/queue.h"
#include "model/records.h"

namespace rota::core {

using BodyPtr = std::shared_ptr<const model::JobBody>;
using SidePtr = std::shared_ptr<const model::Side>;  // null: plain, never granted

struct JobKeyHash {
  std::size_t operator()(const JobKey& k) const {
    std::uint64_t h = k.seq * 0x9e3779b97f4a7c15ULL;
    h ^= (static_cast<std::uint64_t>(k.queue) << 8U | k.priority) * 0xc2b2ae3d27d4eb4fULL;
    return static_cast<std::size_t>(h ^ (h >> 29U));
  }
};

// A READY job in a window, under its ready key: its job key with the priority it has now.
struct ReadyJob {
  JobKey key;
  BodyPtr body;
  SidePtr side;
  // What it costs a window.
  std::size_t memory_bytes() const {
    return body->memory_bytes() + (side ? side->memory_bytes() : 0);
  }
};

// One lease reply that still holds live leases.
struct GrantState {
  std::uint64_t number = 0;
  LeaseHolderPtr holder;  // never null
  std::string principal;
  std::string request_hash;
  std::int64_t ttl_ms = 0;
  std::int64_t granted_ms = 0;
  CommitSeq granted_seq = 0;
  bool adopted = false;  // a repeat of its request has been answered with it
  // Rule R5: by wall time, once a start found it overdue (model::OverdueGrant); 0: it is not.
  std::int64_t overdue_ends_ms = 0;
  CommitSeq heard_seq = 0;  // the commit that says that its worker was heard of since
  absl::btree_set<JobKey> live;
};

struct Lease {
  JobKey key;
  std::uint8_t priority = 0;  // the one it has now
  BodyPtr body;
  SidePtr side;
  std::uint32_t attempt = 0;
  std::uint64_t token = 0;
  std::uint32_t permits = 0;
  std::shared_ptr<GrantState> grant;
  std::int64_t deadline_mono_ms = 0;
  // Where it stands among the deadlines: never later than its own, so that a renewal moves nothing.
  std::int64_t watched_mono_ms = 0;
  std::int64_t cap_mono_ms = INT64_MAX;  // the attempt timeout: never renewed beyond
  std::int64_t stall_credit_ms = 0;      // by stalls since its last heartbeat
  std::int64_t cap_credit_ms = 0;        // by which slow commits have moved the cap
};

// A parked lease call.
struct Poll {
  CallId call = 0;
  CallId place = 0;  // in line: its own call, or the one it repeats
  std::string name_space;
  std::string principal;
  LeaseJobs request;
  std::vector<std::uint32_t> queues;
  std::string request_hash;
  std::int64_t end_mono_ms = 0;    // answered empty then
  std::uint64_t grant_number = 0;  // of what it was granted in the turn being built
  std::vector<GrantedJob> granted;
  std::size_t granted_bytes = 0;
};

struct QueueState {
  // `windows_bytes`: what the windows of all queues take together.
  explicit QueueState(std::size_t* windows_bytes) : window(windows_bytes) {}

  model::Queue queue;
  model::QueueCounters counters;
  Window<JobKey, ReadyJob> window;
  std::map<CallId, Poll*> polls;  // by place: in the order they came
  absl::btree_set<JobKey> running;
  std::vector<std::uint64_t> purges;  // operations under way
  std::uint64_t purge_barrier =
      0;  // jobs waiting since before this commit are removed, not granted
  std::int64_t last_asked_mono_ms = -1;
  std::uint64_t hollowed = 0;  // bodies deleted since a refill last found where the jobs begin
  bool counters_touched = false;
  bool match_wanted = false;
  // Stands in a list of windows that can be made smaller (EngineImpl::list_window).
  bool listed_idle = false;
  bool listed_asked = false;

  const std::string& name() const { return queue.name; }
  bool limit_open() const {
    const auto& limit = queue.settings.concurrency_limit;
    return !limit || counters.of(JobState::kRunning) < *limit;
  }
  // The gates of a grant: pause, then the concurrency limit.
  bool gate_open() const { return !queue.paused && limit_open(); }
};

using QueueName = std::pair<std::string, std::string>;  // namespace, name

}  // namespace rota::core
