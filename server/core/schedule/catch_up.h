// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a scheduler's due ticks: which fire now and which are recorded as missed.
//
// A tick no more than `late_tolerance` behind the clock is *on time* and always fires, one by one,
// in order. An older one is *late* and goes to the catch-up policy:
//
//   NONE    no late tick fires.
//   LATEST  the newest late tick fires, when it lies within the window; the older ones do not.
//   ALL     late ticks within the window fire, oldest first; of more than `max_runs` of them only
//           the newest `max_runs`.
//
// Ticks that do not fire are covered by ranges, one for each reason, whose cost does not depend on
// how many ticks they cover.
//
// The plan is a pure function of (schedule, cursor, now). A plan is cut off after `batch_cap`
// fired ticks; the next call goes on from the new cursor, and needs to remember nothing else,
// because window and cap are counted back from the clock and not forward from the first missed
// tick: the newest `max_runs` late ticks stay the newest ones while the oldest of them are fired.
// Ticks that turn late while a long catch-up is under way are judged like all others.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "core/schedule/schedule.h"
#include "model/scheduler.h"

namespace rota::core {

enum class MissReason : std::uint8_t {
  kCatchUpNone,        // the policy is NONE
  kOutsideWindow,      // older than the window
  kOverCap,            // more late ticks than max_runs, and this was one of the oldest
  kSupersededByLater,  // LATEST: a later tick fired
  kPaused,             // the scheduler was paused (for missed_range() at a resume)
  kSpecChanged,        // due and not decided yet when the specification was replaced or deleted
};
// "CATCH_UP_NONE", "OUTSIDE_WINDOW", "OVER_CAP", "SUPERSEDED_BY_LATER", "PAUSED", "SPEC_CHANGED".
std::string_view name_of(MissReason reason);

struct FireTick {
  std::int64_t nominal_ms = 0;
  bool late = false;  // it fires because of the catch-up policy

  friend bool operator==(const FireTick&, const FireTick&) = default;
};

// Neighbouring ticks that do not fire: all ticks of the schedule from `first` to `last`.
struct MissedRange {
  std::int64_t first_ms = 0;
  std::int64_t last_ms = 0;
  TickCount count;
  MissReason reason = MissReason::kCatchUpNone;

  friend bool operator==(const MissedRange&, const MissedRange&) = default;
};

using TickAction = std::variant<FireTick, MissedRange>;

struct TickPlanInput {
  std::int64_t cursor_ms = 0;  // the last processed tick, or the instant ticks begin after
  std::int64_t now_ms = 0;
  std::int64_t late_tolerance_ms = 0;
  int batch_cap = 100;  // most ticks to fire in one plan, at least 1
};

struct TickPlan {
  std::vector<TickAction> actions;  // in the order of their ticks, without gaps between them
  std::int64_t cursor_ms = 0;       // the last tick the actions cover; unchanged without any
  // The tick after the new cursor; nullopt when there is none. It is the time to plan again, at
  // once when `more` is set.
  std::optional<std::int64_t> next_ms;
  bool more = false;  // next_ms is due already: the plan was cut off
};

TickPlan plan_ticks(const Schedule& schedule, const model::CatchUpPolicy& policy,
                    const TickPlanInput& input);

// All ticks in (after, until] as one range; nullopt when there is none.
std::optional<MissedRange> missed_range(const Schedule& schedule, std::int64_t after_ms,
                                        std::int64_t until_ms, MissReason reason);

// INVALID_FIELD with `catch_up.window` or `catch_up.max_runs`.
base::Status check_catch_up(const model::CatchUpPolicy& policy);

}  // namespace rota::core
