// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cron_next.h"

#include <algorithm>

#include "core/schedule/cron_grid.h"

namespace rota::core {

// The ticks of one span: local times of the grid from `grid_from_s` (an instant) on, and perhaps
// one at its beginning for the times that its opening transition skipped.
struct CronTicks::Piece {
  ZoneSpan span;
  std::int64_t grid_from_s;
  bool at_begin;

  std::optional<std::int64_t> first(const CronExpr& expr, std::int64_t from,
                                    std::int64_t to) const {
    if (at_begin && from <= span.begin_s && span.begin_s < to) return span.begin_s;
    const auto local = first_local(expr, grid_lower(from), local_upper(to));
    return local ? std::optional(*local - span.offset_s) : std::nullopt;
  }

  std::optional<std::int64_t> last(const CronExpr& expr, std::int64_t from, std::int64_t to) const {
    if (const auto local = last_local(expr, grid_lower(from), local_upper(to))) {
      return *local - span.offset_s;
    }
    if (at_begin && from <= span.begin_s && span.begin_s < to) return span.begin_s;
    return std::nullopt;
  }

  std::int64_t count(const CronExpr& expr, std::int64_t from, std::int64_t to) const {
    std::int64_t ticks = count_local(expr, grid_lower(from), local_upper(to));
    if (at_begin && from <= span.begin_s && span.begin_s < to) ++ticks;
    return ticks;
  }

 private:
  std::int64_t grid_lower(std::int64_t from) const {
    return std::max(from, grid_from_s) + span.offset_s;
  }
  std::int64_t local_upper(std::int64_t to) const {
    return std::min(to, span.end_s) + span.offset_s;
  }
};

CronTicks::Piece CronTicks::piece_of(const ZoneSpan& span) const {
  Piece piece{span, span.begin_s, false};
  if (expr_.wildcard) return piece;
  const std::int64_t step = span.step_s();
  if (step < 0 && rules_.fold == FoldRule::kFirst) {
    piece.grid_from_s = span.begin_s - step;  // the second pass is over
  } else if (step > 0 && step < kSkippedDateGap_s && rules_.gap == GapRule::kEndOfGap) {
    piece.at_begin = first_local(expr_, span.local_reached_s(), span.local_begin_s()).has_value();
    // A match at the end of the gap itself is that same run.
    if (piece.at_begin) piece.grid_from_s = span.begin_s + 1;
  }
  return piece;
}

std::optional<std::int64_t> CronTicks::first_in(std::int64_t from, std::int64_t to) const {
  const std::int64_t end = std::min(to, from + kCronSearch_s);
  for (std::int64_t at = from; at < end;) {
    const ZoneSpan span = zone_.span_at(at);
    if (const auto tick = piece_of(span).first(expr_, at, end)) return tick;
    at = span.end_s;
  }
  return std::nullopt;
}

std::optional<std::int64_t> CronTicks::last_in(std::int64_t from, std::int64_t to) const {
  for (std::int64_t end = to; from < end;) {
    const ZoneSpan span = zone_.span_at(end - 1);
    if (const auto tick = piece_of(span).last(expr_, from, end)) return tick;
    end = span.begin_s;
  }
  return std::nullopt;
}

std::int64_t CronTicks::count_in(std::int64_t from, std::int64_t to) const {
  std::int64_t count = 0;
  for (std::int64_t at = from; at < to;) {
    const ZoneSpan span = zone_.span_at(at);
    count += piece_of(span).count(expr_, at, to);
    at = span.end_s;
  }
  return count;
}

TickNote CronTicks::note_of(std::int64_t tick) const {
  const ZoneSpan span = zone_.span_at(tick);
  if (tick == span.begin_s && piece_of(span).at_begin) return TickNote::kEndOfGap;
  const LocalLookup found = lookup_local(zone_, tick + span.offset_s);
  if (found.kind != LocalLookup::Kind::kRepeated) return TickNote::kNone;
  return tick == found.first_s ? TickNote::kFirstPass : TickNote::kSecondPass;
}

std::optional<std::int64_t> CronTicks::skipped_local(std::int64_t tick) const {
  const ZoneSpan span = zone_.span_at(tick);
  if (tick != span.begin_s || !piece_of(span).at_begin) return std::nullopt;
  return first_local(expr_, span.local_reached_s(), span.local_begin_s());
}

}  // namespace rota::core
