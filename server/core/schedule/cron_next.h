// SPDX-License-Identifier: Apache-2.0
//
// The instants that a cron expression names in a time zone.
//
// *Fixed-time* expressions name local times. One that does not exist runs once, at the first real
// instant after the gap; several such times, and a match at that instant, are one run; a gap of
// three hours or more (a skipped date) replays nothing. One that exists twice runs once, on the
// first pass. *Wildcard* expressions (minute or hour begins with *) are matched against the wall
// clock in every real minute: nothing runs for times that do not exist, and both passes run.
//
// All functions are pure, take instants in seconds, and walk the zone's spans, so their cost is a
// few steps per transition and month between the bounds, whatever the number of ticks between.
#pragma once

#include <cstdint>
#include <optional>

#include "core/schedule/cron_expr.h"
#include "core/schedule/time_zone.h"

namespace rota::core {

// How local times that a clock change skips or repeats are treated. Stored with a scheduler, so
// the numbers never change; SKIP and SHIFT, LAST and BOTH take the next ones when they come.
enum class GapRule : std::uint8_t { kEndOfGap = 0 };
enum class FoldRule : std::uint8_t { kFirst = 0 };
struct DstRules {
  GapRule gap = GapRule::kEndOfGap;
  FoldRule fold = FoldRule::kFirst;

  friend bool operator==(const DstRules&, const DstRules&) = default;
};

// A gap at least this long is a skipped date, not a change to summer time.
inline constexpr std::int64_t kSkippedDateGap_s = 3 * 3600;

// No search goes further than this. Two leap days on one weekday are at most 40 years apart.
inline constexpr std::int64_t kCronSearchYears = 50;
inline constexpr std::int64_t kCronSearch_s = kCronSearchYears * 366 * 86400;

// What one clock change means for the ticks at or near it, for display.
enum class TickNote : std::uint8_t {
  kNone,
  kEndOfGap,    // stands for local times that do not exist
  kFirstPass,   // its local time comes again
  kSecondPass,  // its local time came before
};

class CronTicks {
 public:
  // Both must outlive the object.
  CronTicks(const CronExpr& expr, const TimeZone& zone, DstRules rules = {})
      : expr_(expr), zone_(zone), rules_(rules) {}

  // The first tick at or after `from`, and before `to`. Gives up kCronSearch_s after `from`.
  std::optional<std::int64_t> first_in(std::int64_t from, std::int64_t to) const;
  // The last tick before `to`, and at or after `from`.
  std::optional<std::int64_t> last_in(std::int64_t from, std::int64_t to) const;
  // The number of ticks at or after `from` and before `to`.
  std::int64_t count_in(std::int64_t from, std::int64_t to) const;

  // What is special about a tick; `tick` must be one.
  TickNote note_of(std::int64_t tick) const;
  // The first local time in the gap before `tick` that the tick stands for (note kEndOfGap).
  std::optional<std::int64_t> skipped_local(std::int64_t tick) const;

 private:
  struct Piece;
  Piece piece_of(const ZoneSpan& span) const;

  const CronExpr& expr_;
  const TimeZone& zone_;
  DstRules rules_;
};

}  // namespace rota::core
