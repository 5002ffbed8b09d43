// SPDX-License-Identifier: Apache-2.0
//
// Which jobs run, as of the newest commit: a copy for readers beside the loop. Filled from the
// grant records at start, then from events when their batch is durable, before any answer of that
// batch leaves.
//
// How a reader combines it with the store without a wrong answer: ask the board FIRST, then read
// the store. The store is then at least as new. A final record in the store wins; a side record
// whose last ended token is not below the board's token means that this attempt has ended
// meanwhile; else the job is RUNNING with this attempt.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "base/error.h"
#include "core/effect.h"
#include "core/store.h"
#include "model/job.h"

namespace rota::runtime {

struct RunningAttempt {
  model::JobKey key;
  std::uint64_t token = 0;
  std::uint32_t attempt = 0;
  core::LeaseHolderPtr holder;  // never null
  std::int64_t granted_ms = 0;
  std::uint64_t granted_seq = 0;
};

struct SessionLeases {
  std::size_t count = 0;
  std::vector<std::pair<model::JobKey, std::uint64_t>> first;  // key and token, at most as asked
};

class LeaseBoard {
 public:
  // The live leases of a store just opened, by the rule of the grant records: an entry is over when
  // its body is gone or its token is not above the side record's last ended one. Blocking reads. An
  // error names the record that is damaged.
  base::Status load(const core::ShardStore& store);

  // In commit order.
  void publish(const std::vector<core::JobEvent>& events);

  std::optional<RunningAttempt> find(const model::JobKey& key) const;
  // Running jobs of a queue after `after` (an invalid key: from the start), in ready order.
  std::vector<RunningAttempt> page(std::uint32_t queue, const model::JobKey& after,
                                   std::size_t max) const;
  SessionLeases of_session(std::string_view session_id, std::size_t max_listed) const;
  std::size_t size() const;
  // The newest commit that was published.
  core::CommitSeq seq() const;

 private:
  struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  void insert(RunningAttempt attempt);
  void leave_session(const RunningAttempt& attempt);
  void erase(const model::JobKey& key, std::uint64_t token);

  mutable std::shared_mutex mutex_;
  absl::btree_map<model::JobKey, RunningAttempt> running_;
  std::unordered_map<std::string, absl::btree_set<model::JobKey>, StringHash, std::equal_to<>>
      sessions_;
  core::CommitSeq seq_ = 0;
};

}  // namespace rota::runtime
