// SPDX-License-Identifier: Apache-2.0
//
// Finds queues by name for the queries that bypass the engine loop: rows of the store are keyed by
// queue number. Numbers only grow and are never reused, so what was learned once stays true except
// for deletion, and that is seen in the row itself.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "core/store.h"
#include "model/queue.h"

namespace rota::rpc {

struct QueueRows {
  model::Queue queue;
  model::QueueCounters counters;
  core::CommitSeq at = 0;
};

// Blocking reads: for reader threads only. Thread-safe.
class QueueDirectory {
 public:
  explicit QueueDirectory(const core::ShardStore& store) : store_(store) {}

  // QUEUE_NOT_FOUND with the name.
  base::Result<QueueRows> find(const std::string& name_space, const std::string& name);

  // The queue of a number; nothing when it is gone or lives in another namespace.
  base::Result<std::optional<QueueRows>> by_number(const std::string& name_space,
                                                   std::uint32_t number) const;

 private:
  using Name = std::pair<std::string, std::string>;  // namespace, name
  base::Status learn_new();
  std::uint32_t known(const Name& name) const;

  const core::ShardStore& store_;
  mutable std::mutex mutex_;
  std::map<Name, std::uint32_t> numbers_;
  std::uint32_t learned_to_ = 0;  // the highest number seen
};

base::Error queue_not_found(const std::string& name);

// An error for a failed read: the store's own words go to the log only.
base::Error read_failed(const std::string& detail);

// A row that cannot be decoded: the store is told, which ends the server with the name of the row,
// and the caller gets STORE_FAILED.
base::Error damaged_row(const core::ShardStore& store, core::Keyspace keyspace,
                        std::string_view key);
// The same for a row that another one says must be there.
base::Error missing_row(const core::ShardStore& store, core::Keyspace keyspace,
                        std::string_view key);

}  // namespace rota::rpc
