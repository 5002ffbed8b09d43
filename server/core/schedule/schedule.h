// SPDX-License-Identifier: Apache-2.0
//
// A schedule: a model::ScheduleSpec that was found right, with its cron text parsed and its zone
// loaded, ready to answer which ticks exist.
//
// Times are milliseconds since the Unix epoch. Ranges here are (after, until]: strictly after the
// one and not after the other, as a cursor and a clock mean them. No tick exists outside the years
// 1970 to 9999. Every answer takes microseconds: searching walks clock changes and months, never
// ticks, and gives up 50 years ahead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/schedule/cron_expr.h"
#include "core/schedule/cron_next.h"
#include "core/schedule/template.h"
#include "core/schedule/time_zone.h"
#include "model/scheduler.h"

namespace rota::core {

struct TickCount {
  std::uint64_t count = 0;
  // The true number may be higher. Counting is exact for cron and intervals; a specification of
  // several parts cannot promise it beyond limits::kRunRangeExactCountMax.
  bool is_lower_bound = false;

  friend bool operator==(const TickCount&, const TickCount&) = default;
};

// How a tick is shown to people.
struct TickDescription {
  std::int64_t nominal_ms = 0;
  std::string utc;            // "2026-11-29T22:00:00Z"
  std::string local;          // "2026-11-30T00:00:00+02:00"
  std::string abbreviation;   // "EET"
  std::string business_date;  // "2026-11-29"
  TickNote note = TickNote::kNone;
  std::string note_text;  // empty, or what the clock change did, in words
};

// An immutable value, cheap to move; may be used from any thread.
class Schedule {
 public:
  // Checks everything that can be checked without a clock. Errors name the field of the
  // specification: BAD_CRON (meta `position`, counted from 1, and `cronField`), UNKNOWN_TIME_ZONE,
  // MISSING_FIELD, INVALID_FIELD. A specification without any tick is refused.
  static base::Result<Schedule> compile(const model::ScheduleSpec& spec,
                                        const TimeZoneSource& zones);

  // The first tick strictly after; nullopt when none follows within 50 years.
  std::optional<std::int64_t> next_after(std::int64_t after_ms) const;
  // Up to `n` ticks strictly after, ascending.
  std::vector<std::int64_t> next_times(std::int64_t after_ms, int n) const;
  // The last tick in (after, until].
  std::optional<std::int64_t> latest_in(std::int64_t after_ms, std::int64_t until_ms) const;
  // The number of ticks in (after, until].
  TickCount count_in(std::int64_t after_ms, std::int64_t until_ms) const;
  // The n-th tick in (after, until] counted from its end, n >= 1: the tick from which on `n` ticks
  // remain. nullopt when the range holds fewer.
  std::optional<std::int64_t> nth_latest_in(std::int64_t after_ms, std::int64_t until_ms,
                                            std::int64_t n) const;

  // "2026-11-29": the local date of a tick in the schedule's zone plus business_day_offset days.
  std::string business_date(std::int64_t nominal_ms) const;
  // What a template of the tick's job is filled with.
  TemplateValues template_values(std::int64_t nominal_ms) const;
  TickDescription describe(std::int64_t nominal_ms) const;

  const TimeZone& zone() const { return *zone_; }

 private:
  struct Range {
    std::int64_t after_ms;
    std::int64_t until_ms;
  };
  Schedule() = default;
  bool is_cron() const { return every_ms_ == 0; }
  Range clip(std::int64_t after_ms, std::int64_t until_ms) const;
  CronTicks cron_ticks() const { return CronTicks(cron_, *zone_, {}); }
  std::string note_text(std::int64_t nominal_s, TickNote note) const;

  CronExpr cron_;
  std::int64_t every_ms_ = 0;  // 0: by cron_
  std::int64_t phase_ms_ = 0;
  std::optional<std::int64_t> start_ms_;
  std::optional<std::int64_t> end_ms_;
  std::int32_t business_day_offset_ = 0;
  TimeZonePtr zone_;
};

}  // namespace rota::core
