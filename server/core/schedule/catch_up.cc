// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/catch_up.h"

#include <algorithm>
#include <string>

#include "base/limits.h"

namespace rota::core {
namespace {

class Planner {
 public:
  Planner(const Schedule& schedule, const model::CatchUpPolicy& policy, const TickPlanInput& input)
      : schedule_(schedule), policy_(policy), input_(input) {
    plan_.cursor_ms = input.cursor_ms;
  }

  TickPlan run() && {
    plan_late();
    while (const auto tick = next_due()) {
      if (!may_fire()) break;
      fire(*tick, false);
    }
    plan_.next_ms = schedule_.next_after(plan_.cursor_ms);
    plan_.more = plan_.next_ms && *plan_.next_ms <= input_.now_ms;
    return std::move(plan_);
  }

 private:
  std::optional<std::int64_t> next_due() const {
    const auto tick = schedule_.next_after(plan_.cursor_ms);
    return tick && *tick <= input_.now_ms ? tick : std::nullopt;
  }

  bool may_fire() const { return fired_ < std::max(input_.batch_cap, 1); }

  void plan_late() {
    const auto newest = schedule_.latest_in(plan_.cursor_ms, newest_late_ms());
    if (!newest) return;
    switch (policy_.mode) {
      case model::CatchUp::kNone:
        miss_until(*newest, MissReason::kCatchUpNone);
        return;
      case model::CatchUp::kLatest:
        if (*newest < window_begin_ms()) {
          miss_until(*newest, MissReason::kOutsideWindow);
        } else {
          miss_until(*newest - 1, MissReason::kSupersededByLater);
          fire(*newest, true);
        }
        return;
      case model::CatchUp::kAll:
        // A window shorter than the tolerance still leaves on-time ticks alone.
        miss_until(std::min(window_begin_ms() - 1, *newest), MissReason::kOutsideWindow);
        miss_over_cap(*newest);
        fire_late(*newest);
        return;
    }
  }

  void miss_over_cap(std::int64_t newest_ms) {
    const auto late = schedule_.count_in(plan_.cursor_ms, newest_ms);
    if (late.count <= policy_.max_runs) return;
    const auto first = schedule_.nth_latest_in(plan_.cursor_ms, newest_ms, policy_.max_runs);
    if (first) miss_until(*first - 1, MissReason::kOverCap);
  }

  void fire_late(std::int64_t newest_ms) {
    while (may_fire()) {
      const auto tick = schedule_.next_after(plan_.cursor_ms);
      if (!tick || *tick > newest_ms) return;
      fire(*tick, true);
    }
  }

  void fire(std::int64_t nominal_ms, bool late) {
    plan_.actions.emplace_back(FireTick{nominal_ms, late});
    plan_.cursor_ms = nominal_ms;
    ++fired_;
  }

  // Covers the ticks after the cursor up to `until_ms`.
  void miss_until(std::int64_t until_ms, MissReason reason) {
    auto range = missed_range(schedule_, plan_.cursor_ms, until_ms, reason);
    if (!range) return;
    plan_.cursor_ms = range->last_ms;
    plan_.actions.emplace_back(*std::move(range));
  }

  // The last instant whose tick is late, and the first one within the window.
  std::int64_t newest_late_ms() const { return input_.now_ms - input_.late_tolerance_ms - 1; }
  std::int64_t window_begin_ms() const { return input_.now_ms - policy_.window_ms; }

  const Schedule& schedule_;
  const model::CatchUpPolicy& policy_;
  const TickPlanInput& input_;
  TickPlan plan_;
  int fired_ = 0;
};

}  // namespace

std::string_view name_of(MissReason reason) {
  switch (reason) {
    case MissReason::kCatchUpNone:
      return "CATCH_UP_NONE";
    case MissReason::kOutsideWindow:
      return "OUTSIDE_WINDOW";
    case MissReason::kOverCap:
      return "OVER_CAP";
    case MissReason::kSupersededByLater:
      return "SUPERSEDED_BY_LATER";
    case MissReason::kPaused:
      return "PAUSED";
    case MissReason::kSpecChanged:
      return "SPEC_CHANGED";
  }
  return "UNKNOWN";
}

TickPlan plan_ticks(const Schedule& schedule, const model::CatchUpPolicy& policy,
                    const TickPlanInput& input) {
  return Planner(schedule, policy, input).run();
}

std::optional<MissedRange> missed_range(const Schedule& schedule, std::int64_t after_ms,
                                        std::int64_t until_ms, MissReason reason) {
  const auto last = schedule.latest_in(after_ms, until_ms);
  if (!last) return std::nullopt;
  // A first tick further ahead than any search goes cannot be: the last one is known.
  const std::int64_t first = schedule.next_after(after_ms).value_or(*last);
  return MissedRange{first, *last, schedule.count_in(after_ms, until_ms), reason};
}

base::Status check_catch_up(const model::CatchUpPolicy& policy) {
  namespace limits = base::limits;
  if (policy.window_ms < base::kSecondMs || policy.window_ms > limits::kCatchUpWindowMsMax) {
    return base::invalid_field("catch_up.window", std::to_string(policy.window_ms) + " ms, from " +
                                                      std::to_string(base::kSecondMs) + " to " +
                                                      std::to_string(limits::kCatchUpWindowMsMax));
  }
  if (policy.max_runs < 1 || policy.max_runs > limits::kCatchUpRunsMax) {
    return base::invalid_field(
        "catch_up.max_runs",
        std::to_string(policy.max_runs) + ", from 1 to " + std::to_string(limits::kCatchUpRunsMax));
  }
  return {};
}

}  // namespace rota::core
