// SPDX-License-Identifier: Apache-2.0
//
// The keyspaces of a shard. Stored as one byte: numbers never change and are never reused.
#pragma once

#include <cstdint>
#include <string_view>

namespace rota::model {

enum class Keyspace : std::uint8_t {
  kMeta = 0,        // one-off records: engine counters
  kQueueState = 1,  // queue settings and queue counters, by queue number
  kGrant = 2,       // one per lease reply, until its last attempt has ended
  kJob = 3,         // bodies and pointers, in ready order
  kSide = 4,        // what changed about a job since enqueue, in body order
  kPayload = 5,     // payloads too large for the body, in body order
  kTimer = 6,       // due times, in time order
  kBlocked = 7,     // jobs that wait for something named, by blocker
  kFinal = 8,       // what is kept of ended jobs, and their retention index
  kScheduler = 9,   // schedulers and their state
  kRun = 10,        // run records, by scheduler and nominal time
  kLedger = 11,     // business keys
  kRequest = 12,    // remembered request ids, and their expiry index
  kLock = 13,       // named locks
};
inline constexpr int kKeyspaceCount = 14;

// For messages: "grant", "side".
constexpr std::string_view name_of(Keyspace keyspace) {
  constexpr std::string_view kNames[kKeyspaceCount] = {
      "meta",    "queue-state", "grant",     "job", "side",   "payload", "timer",
      "blocked", "final",       "scheduler", "run", "ledger", "request", "lock"};
  return kNames[static_cast<std::size_t>(keyspace)];
}

}  // namespace rota::model
