// SPDX-License-Identifier: Apache-2.0
//
// The values of a queue: its settings, which people change, and its counters, which the engine
// writes in the same batch as the change they count.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "model/job.h"

namespace rota::model {

struct Retention {
  std::int64_t succeeded_ms = base::limits::kSucceededKeptMsDefault;
  std::uint64_t succeeded_count = base::limits::kSucceededKeptCountDefault;
  std::int64_t cancelled_ms = base::limits::kCancelledKeptMsDefault;  // CANCELLED and EXPIRED
  std::int64_t dead_ms = base::limits::kDeadKeptMsDefault;
  std::int64_t ledger_ms = base::limits::kLedgerKeptMsDefault;
  friend bool operator==(const Retention&, const Retention&) = default;
};
// "Kept for ever" is a named value.
inline constexpr std::int64_t kForever = INT64_MAX;

// What a caller may set.
struct QueueSettings {
  std::optional<std::uint32_t> concurrency_limit;  // unset = unlimited
  std::optional<std::uint64_t> max_waiting;        // unset = unlimited
  RetryPolicy retry;
  std::int64_t attempt_timeout_ms = 3'600'000;
  Retention retention;
  friend bool operator==(const QueueSettings&, const QueueSettings&) = default;
};

struct Queue {
  std::uint32_t number = 0;
  std::string name_space;
  std::string name;
  QueueSettings settings;
  bool paused = false;
  std::string pause_note;
  std::string paused_by;
  std::int64_t paused_ms = 0;
  std::int64_t created_ms = 0;
  std::int64_t updated_ms = 0;
  std::uint64_t version = 1;  // its text form is the etag
};

// One priority level that has ever held a READY job and may hold one again.
struct Level {
  std::uint64_t ready = 0;
  // No live READY key of this level lies below this sequence: scans start here and never walk what
  // deletions have hollowed out.
  std::uint64_t head = 0;
  friend bool operator==(const Level&, const Level&) = default;
};

struct QueueCounters {
  std::uint64_t created = 0;
  std::uint64_t removed = 0;  // by purge, deletion, retention
  std::array<std::uint64_t, kJobStateCount> in_state{};
  std::uint64_t next_seq = 1;
  std::map<std::uint8_t, Level, std::greater<>> levels;  // highest priority first
  // Where the retention sweep of a final state goes on: nothing older is left in its index.
  std::array<std::int64_t, kJobStateCount> swept_ms{};

  std::uint64_t of(JobState s) const { return in_state[static_cast<std::size_t>(s)]; }
  std::uint64_t& of(JobState s) { return in_state[static_cast<std::size_t>(s)]; }
  std::uint64_t waiting() const {
    return of(JobState::kScheduled) + of(JobState::kBlocked) + of(JobState::kReady);
  }
  // created = live + final + removed.
  bool conserved() const;
  friend bool operator==(const QueueCounters&, const QueueCounters&) = default;
};

std::string encode(const Queue& queue);
bool decode(std::string_view bytes, Queue* queue);
std::string encode(const QueueCounters& counters);
bool decode(std::string_view bytes, QueueCounters* counters);

}  // namespace rota::model
