// SPDX-License-Identifier: Apache-2.0
//
// The worker processes that were heard of, in memory only, for display. A session is forgotten an
// hour after it was last heard of, or when more than `max` are known and it is the quietest.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job.h"

namespace rota::runtime {

// What a worker says about itself.
struct WorkerInfo {
  std::string worker_id;
  std::string host;
  std::string version;
  model::Labels labels;
  std::string library;
  std::int32_t concurrency = 0;
  std::int64_t process_id = 0;
};

struct WorkerSeen {
  WorkerInfo info;
  std::string name_space;
  std::string session_id;
  std::string principal;
  std::vector<std::string> queues;  // asked for last
  std::uint32_t parked = 0;         // lease calls that wait at the server
  std::int64_t first_seen_wall_ms = 0;
  std::int64_t last_seen_wall_ms = 0;
  std::int64_t last_seen_mono_ms = 0;
};

class WorkerBoard {
 public:
  explicit WorkerBoard(std::size_t max = 100'000, std::int64_t keep_ms = 3'600'000)
      : max_(max), keep_ms_(keep_ms) {}

  // A lease call of this session arrived and may park; lease_call_ended() when it is answered or
  // gone.
  void lease_call_began(WorkerSeen seen, std::int64_t wall_ms, std::int64_t mono_ms);
  void lease_call_ended(std::string_view session_id);
  // A heartbeat or finish of a session that is known; another changes nothing.
  void heard(std::string_view session_id, std::int64_t wall_ms, std::int64_t mono_ms);

  // Sessions after `after` in their order, of this namespace; `queue` empty = all.
  std::vector<WorkerSeen> page(std::string_view name_space, std::string_view queue,
                               std::string_view after, std::size_t max, std::int64_t mono_ms) const;
  // Sessions heard of within the hour.
  std::size_t size(std::int64_t mono_ms) const;
  void forget_old(std::int64_t mono_ms);

 private:
  void make_room();

  const std::size_t max_;
  const std::int64_t keep_ms_;
  mutable std::mutex mutex_;
  std::map<std::string, WorkerSeen, std::less<>> sessions_;
};

}  // namespace rota::runtime
