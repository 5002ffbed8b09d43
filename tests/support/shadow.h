// SPDX-License-Identifier: Apache-2.0
//
// What the committed batches say, read without the engine: which jobs are READY, which leases live.
// Each turn is judged against it:
//
//   * what was granted from a queue in a turn comes before everything that is READY after it, and
//     in ascending order: so every grant took the least READY key in commit order;
//   * where something was granted the queue is not paused and its limit is kept;
//   * tokens grow; the attempt of a grant is the last one plus one; a job has one live lease.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/effect.h"
#include "model/job.h"
#include "model/queue.h"

namespace rota::testing {

class Shadow {
 public:
  // Forgets everything and reads the store.
  void load(const core::ShardStore& store);
  // A turn became durable. Returns the rules it broke.
  std::vector<std::string> take(const core::Turn& turn);
  // Where this differs from what the store holds; empty = nowhere.
  std::vector<std::string> compare(const core::ShardStore& store) const;

  const std::set<core::JobKey>& ready(std::uint32_t queue) const;
  std::size_t live(std::uint32_t queue) const;
  // Settings by name; null when there is no such queue.
  const model::Queue* find_queue(const std::string& name) const;
  bool is_live(const core::JobKey& job, std::uint64_t token) const;
  const std::map<core::JobKey, model::Side>& sides() const { return sides_; }
  bool has_body(const core::JobKey& job) const { return bodies_.contains(job); }
  std::uint64_t grants() const { return grants_; }
  std::uint64_t max_token() const { return max_token_; }

 private:
  struct Lease {
    std::uint64_t grant = 0;
    std::uint64_t token = 0;
    bool operator==(const Lease&) const = default;
  };
  void change(core::Keyspace keyspace, const std::string& key,
              const std::optional<std::string>& value);
  void settle_touched();
  void settle(const core::JobKey& job);
  core::JobKey ready_key(const core::JobKey& job) const;

  std::set<core::JobKey> bodies_;
  std::set<core::JobKey> pointers_;
  std::map<core::JobKey, model::Side> sides_;
  std::map<std::uint64_t, std::vector<core::JobKey>> grant_jobs_;
  std::map<core::JobKey, Lease> leases_;
  std::map<std::uint32_t, std::set<core::JobKey>> ready_;
  std::map<core::JobKey, core::JobKey> ready_at_;
  std::map<std::uint32_t, std::set<core::JobKey>> live_;
  std::map<std::uint32_t, model::Queue> queues_;
  std::set<core::JobKey> touched_;
  std::uint64_t max_token_ = 0;
  std::uint64_t grants_ = 0;
};

}  // namespace rota::testing
