// SPDX-License-Identifier: Apache-2.0
//
// What one run is like. A swarm: every seed enables a random subset of features and of fault kinds,
// with rates that differ by orders of magnitude and sizes that are tiny, because some faults only
// show where others do not happen all the time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/rng.h"

namespace rota::sim {

enum class Fault : std::uint8_t {
  kLoseRequest,
  kLoseAnswer,
  kDuplicateRequest,
  kDuplicateAnswer,
  kSlowNetwork,  // reorders
  kCallerGone,   // a caller hangs up
  kUndelivered,  // a lease reply that the transport does not take: the grant is given back
  kCrash,        // at any moment
  kUnknownLost,  // a commit whose outcome is unknown, and the batch is gone
  kUnknownKept,  // and the batch is there
  kNotOwner,
  kSlowCommit,
  kFailedRead,
  kLateRead,
  kShortPages,  // the store ends its pages early
  kStall,       // the server process is stopped for a while
  kRestart,     // drained and started again
  kHoldTicks,   // the disk is nearly full
  kWallBack,
  kWallForward,
  kWallLeap,  // beyond what holds deletions and schedulers
  kWorkerDeath,
  kWorkerSuspend,
  kBeatLate,
  kBeatNever,
  kWallMonth,   // the clock leaps by about 30 days
  kWallDecade,  // by 10 years
  kWallReturn,  // and back again, by as much
  kCount
};
constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::kCount);
std::string_view name_of(Fault fault);

enum class CrashPoint : std::uint8_t {
  kBeforeSubmit,
  kSubmittedLost,
  kSubmittedKept,
  kCommittedUnanswered,
  kAnsweredInPart,
  kDuringLoad,
  kCount
};
constexpr std::size_t kCrashPoints = static_cast<std::size_t>(CrashPoint::kCount);
std::string_view name_of(CrashPoint point);

enum class Feature : std::uint8_t {
  kBulk,
  kBusinessKeys,
  kPriorities,
  kDelayed,
  kDeadlines,
  kTimeouts,
  kJobRetries,
  kBigPayloads,
  kUpdates,
  kCancels,
  kRedrives,
  kDeletes,
  kPurges,
  kPauses,
  kLimits,
  kMaxWaiting,
  kRetention,
  kQueueDeletes,
  kSchedulers,
  kExplain,
  kCount
};
constexpr std::size_t kFeatures = static_cast<std::size_t>(Feature::kCount);
std::string_view name_of(Feature feature);

// What shrinking has taken away from a seed's profile.
struct Reduction {
  std::optional<std::uint64_t> steps;
  std::uint64_t faults = 0;    // bits of those that are dropped
  std::uint64_t features = 0;  // likewise
  std::optional<std::uint32_t> clients;
  std::optional<std::uint32_t> workers;
  bool operator==(const Reduction&) const = default;
};
// As options of the program: " --steps 100 --drop lose-request,purges --clients 1".
std::string arguments_of(const Reduction& reduction);
// False when `list` holds a name that is neither a fault nor a feature.
bool add_dropped(std::string_view list, Reduction* reduction);

struct Profile {
  std::uint64_t seed = 0;
  std::uint64_t steps = 6'000;
  std::uint64_t features = 0;
  std::array<double, kFaults> rate{};        // chance at each occasion; 0 = off
  std::array<double, kCrashPoints> crash{};  // with Fault::kCrash only

  std::uint32_t queues = 3;
  std::uint32_t clients = 2;
  std::uint32_t workers = 3;
  std::uint32_t slots = 2;
  std::int64_t think_ms = 100;  // between two calls of a client
  std::int64_t work_ms = 500;   // about how long a handler runs
  std::int64_t far_ms = 8'000;  // how far ahead a job is delayed at most
  std::int64_t ttl_lo_ms = 5'000;
  std::int64_t ttl_hi_ms = 15'000;
  std::int64_t network_ms = 20;
  std::int64_t commit_ms = 5;
  std::int64_t read_ms = 5;

  std::uint32_t window_rows = 4;
  std::uint32_t timer_window_rows = 4;
  std::uint32_t page_rows = 4;
  std::uint32_t turn_commands = 8;
  std::uint32_t max_grants = 4096;
  std::uint32_t max_timers = 1000;
  std::uint32_t max_ticks = 1000;
  std::uint32_t max_ticks_per_scheduler = 100;
  std::uint32_t max_expiries = 1000;
  std::uint32_t head_advance_rows = 10'000;
  std::uint64_t max_scheduler_runs = 10'000;
  std::uint32_t full_check_every = 500;  // committed turns
  std::uint64_t window_bytes = 64U << 20;

  bool has(Feature f) const { return (features >> static_cast<unsigned>(f) & 1U) != 0; }
  double of(Fault f) const { return rate[static_cast<std::size_t>(f)]; }
  double of(CrashPoint p) const { return crash[static_cast<std::size_t>(p)]; }

  static Profile draw(std::uint64_t seed, const Reduction& reduction);
  std::string text() const;  // one paragraph: what is on, and the sizes
};

}  // namespace rota::sim
