// SPDX-License-Identifier: Apache-2.0
//
// What the services of the wire need of the running server, in one place. Made by the wiring
// (app/server.cc), which owns everything in it and outlives the services.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "core/schedule/time_zone.h"
#include "core/store.h"
#include "runtime/engine_loop.h"
#include "runtime/event_ring.h"
#include "runtime/lease_board.h"
#include "runtime/reader_pool.h"
#include "runtime/timer.h"
#include "runtime/waiters.h"
#include "runtime/worker_board.h"

namespace rota::runtime {

// Limits that an operator may move; all others are constants of base/limits.h.
struct ServerLimits {
  std::int64_t payload_bytes = base::limits::kPayloadBytesDefault;
  std::int64_t reply_bytes = 64 * base::kMiB;
};

// Set once the listener has bound its ports, which is after the first call may arrive. Thread-safe.
class ListenAddresses {
 public:
  void set(std::vector<std::string> addresses) {
    std::lock_guard lock(mutex_);
    addresses_ = std::move(addresses);
  }
  std::vector<std::string> get() const {
    std::lock_guard lock(mutex_);
    return addresses_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> addresses_;
};

// What the server is. Fixed before the listener opens, but for its addresses.
struct ServerFacts {
  std::string version;
  std::uint64_t server_epoch = 0;  // the store's epoch: changes with every start
  std::string store_id;
  std::string store_kind;  // "rocksdb", "memory"
  std::int32_t format_version = 0;
  std::string data_dir;
  std::string zone_data_version;
  bool plaintext_private = false;
  std::int64_t start_wall_ms = 0;
  std::int64_t start_mono_ms = 0;
  ListenAddresses listen_addresses;  // HOST:PORT
};

// Sentences for the operator, each by a name of its own so that it can be taken back. Thread-safe.
class Warnings {
 public:
  void set(const std::string& name, std::string sentence);
  void clear(const std::string& name);
  std::vector<std::string> list() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> sentences_;
};

struct Services {
  EngineLoop& loop;
  const core::ShardStore& store;  // snapshot_read() and load() on reader threads
  LeaseBoard& leases;
  EventRing& events;
  Waiters& waiters;
  WorkerBoard& workers;
  ReaderPool& readers;
  Timer& timer;
  const core::TimeZoneSource& zones;
  const base::Clock& clock;
  const ServerFacts& facts;
  const Warnings& warnings;
  ServerLimits limits;
};

}  // namespace rota::runtime
