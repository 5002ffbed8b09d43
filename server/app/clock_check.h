// SPDX-License-Identifier: Apache-2.0
//
// The wall clock against the time stored with the newest batch, before anything is served. Time
// never goes back inside the engine; a clock far behind what is stored means that one of the two is
// wrong, and a person must say which.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "core/store.h"

namespace rota::app {

enum class ClockVerdict : std::uint8_t {
  kFine,
  kBehind,  // by more than 5 s: serve, time stands still until the clock has caught up
  kRefuse,  // by more than a day: only with --trust-clock
  kAhead,   // by more than 30 days: serve, deletion by age waits an hour unless --trust-clock
};

// `stored_ms` 0: nothing is stored yet.
ClockVerdict judge_clock(std::int64_t stored_ms, std::int64_t wall_ms);

// One sentence for the operator; empty when fine.
std::string clock_sentence(ClockVerdict verdict, std::int64_t stored_ms, std::int64_t wall_ms);

// The time of the newest batch; 0 for an empty store. STORE_FAILED for a damaged record.
base::Result<std::int64_t> stored_time_ms(const core::ShardStore& store);

// Whether deletion by age was held back after a jump of the clock when the last process ended; the
// engine goes on with that. Error: as above.
base::Result<bool> stored_hold(const core::ShardStore& store);

// Makes `wall_ms` the stored time and ends a stored hold, in one batch: sweeps of time-ordered
// ranges start no later than it, and attempts that run began no later. The cursors of schedulers
// stay, so that nothing fires twice; so do run times that lie ahead.
// Before the engine loads; waits for the commit, so the store's executor must work on the calling
// thread or one of its own.
base::Status set_stored_time(core::ShardStore& store, std::int64_t wall_ms);

}  // namespace rota::app
