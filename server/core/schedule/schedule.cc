// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/schedule.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "base/time_format.h"
#include "core/schedule/civil.h"
#include "core/schedule/time_text.h"

namespace rota::core {
namespace {

namespace limits = base::limits;

constexpr std::int64_t kFirstTick_ms = 0;
constexpr std::int64_t kLastTick_ms = base::kTimeMsMax;  // the end of the year 9999

base::Status check_interval(const model::ScheduleSpec& spec) {
  if (spec.every_ms < limits::kIntervalMsMin) {
    return base::invalid_field("every", std::to_string(spec.every_ms) + " ms, at least " +
                                            std::to_string(limits::kIntervalMsMin) + " ms");
  }
  if (spec.every_ms > limits::kAheadMsMax) {
    return base::invalid_field("every", std::to_string(spec.every_ms) + " ms, at most " +
                                            std::to_string(limits::kAheadMsMax) + " ms (10 years)");
  }
  if (spec.phase_ms < 0 || spec.phase_ms >= spec.every_ms) {
    return base::invalid_field("phase", std::to_string(spec.phase_ms) +
                                            " ms, from 0 to below the interval (" +
                                            std::to_string(spec.every_ms) + " ms)");
  }
  return {};
}

base::Status check_kind(const model::ScheduleSpec& spec) {
  if (spec.cron.empty() && spec.every_ms == 0) {
    return base::make_error(base::Reason::kMissingField,
                            "neither cron nor every is set, exactly one of them must be", "cron");
  }
  if (!spec.cron.empty() && spec.every_ms != 0) {
    return base::invalid_field("every", "cron and every are both set, exactly one may be");
  }
  if (!spec.cron.empty() && spec.phase_ms != 0) {
    return base::invalid_field("phase", "set without every; only an interval has a phase");
  }
  return spec.cron.empty() ? check_interval(spec) : base::Status();
}

base::Status check_bounds(const model::ScheduleSpec& spec) {
  const auto check = [](const char* field, std::optional<std::int64_t> at) -> base::Status {
    if (!at || (*at >= kFirstTick_ms && *at <= kLastTick_ms)) return {};
    return base::invalid_field(field, "outside the years 1970 to 9999");
  };
  if (auto start = check("start_time", spec.start_ms); !start) return start;
  if (auto end = check("end_time", spec.end_ms); !end) return end;
  if (spec.start_ms && spec.end_ms && *spec.end_ms <= *spec.start_ms) {
    return base::invalid_field("end_time", base::format_time(*spec.end_ms) +
                                               " is not after the start, " +
                                               base::format_time(*spec.start_ms));
  }
  if (spec.business_day_offset < -limits::kBusinessDayOffsetMax ||
      spec.business_day_offset > limits::kBusinessDayOffsetMax) {
    return base::invalid_field("business_day_offset",
                               std::to_string(spec.business_day_offset) + " days, from -" +
                                   std::to_string(limits::kBusinessDayOffsetMax) + " to " +
                                   std::to_string(limits::kBusinessDayOffsetMax));
  }
  return {};
}

base::Error cron_error(const CronFault& fault) {
  base::Error error = base::make_error(base::Reason::kBadCron, fault.message(), "cron");
  error.meta["position"] = std::to_string(fault.position + 1);
  if (!fault.field.empty()) error.meta["cronField"] = fault.field;
  return error;
}

std::int64_t second_of(std::int64_t ms) { return floor_div(ms, kMsPerSecond); }

// Which multiple of the interval an instant lies in; grows by one at each tick.
std::int64_t slot(std::int64_t at_ms, std::int64_t every_ms, std::int64_t phase_ms) {
  return floor_div(at_ms - phase_ms, every_ms);
}

}  // namespace

base::Result<Schedule> Schedule::compile(const model::ScheduleSpec& spec,
                                         const TimeZoneSource& zones) {
  if (auto kind = check_kind(spec); !kind) return kind.error();
  if (auto bounds = check_bounds(spec); !bounds) return bounds.error();
  Schedule schedule;
  if (!spec.cron.empty()) {
    auto parsed = parse_cron(spec.cron);
    if (const auto* fault = std::get_if<CronFault>(&parsed)) return cron_error(*fault);
    schedule.cron_ = std::get<CronExpr>(parsed);
  }
  schedule.every_ms_ = spec.every_ms;
  schedule.phase_ms_ = spec.phase_ms;
  schedule.start_ms_ = spec.start_ms;
  schedule.end_ms_ = spec.end_ms;
  schedule.business_day_offset_ = spec.business_day_offset;
  schedule.zone_ = resolve_zone(spec.time_zone, zones);
  if (!schedule.zone_) {
    return base::make_error(base::Reason::kUnknownTimeZone, zone_fault(spec.time_zone),
                            "time_zone");
  }
  if (!schedule.next_after(spec.start_ms.value_or(kFirstTick_ms) - 1)) {
    return spec.end_ms
               ? base::invalid_field("end_time", "no tick lies between start_time and end_time")
               : base::invalid_field("start_time", "no tick follows it within 50 years");
  }
  return schedule;
}

Schedule::Range Schedule::clip(std::int64_t after_ms, std::int64_t until_ms) const {
  return {std::max(after_ms, std::max(kFirstTick_ms, start_ms_.value_or(kFirstTick_ms)) - 1),
          std::min(until_ms, end_ms_ ? *end_ms_ - 1 : kLastTick_ms)};
}

std::optional<std::int64_t> Schedule::next_after(std::int64_t after_ms) const {
  const Range range = clip(after_ms, kLastTick_ms);
  if (range.after_ms >= range.until_ms) return std::nullopt;
  if (is_cron()) {
    const auto tick =
        cron_ticks().first_in(second_of(range.after_ms) + 1, second_of(range.until_ms) + 1);
    return tick ? std::optional(*tick * kMsPerSecond) : std::nullopt;
  }
  const std::int64_t tick =
      (slot(range.after_ms, every_ms_, phase_ms_) + 1) * every_ms_ + phase_ms_;
  return tick <= range.until_ms ? std::optional(tick) : std::nullopt;
}

std::vector<std::int64_t> Schedule::next_times(std::int64_t after_ms, int n) const {
  std::vector<std::int64_t> times;
  for (std::int64_t at = after_ms; n > 0; --n) {
    const auto tick = next_after(at);
    if (!tick) break;
    times.push_back(*tick);
    at = *tick;
  }
  return times;
}

std::optional<std::int64_t> Schedule::latest_in(std::int64_t after_ms,
                                                std::int64_t until_ms) const {
  const Range range = clip(after_ms, until_ms);
  if (range.after_ms >= range.until_ms) return std::nullopt;
  if (is_cron()) {
    const auto tick =
        cron_ticks().last_in(second_of(range.after_ms) + 1, second_of(range.until_ms) + 1);
    return tick ? std::optional(*tick * kMsPerSecond) : std::nullopt;
  }
  const std::int64_t tick = slot(range.until_ms, every_ms_, phase_ms_) * every_ms_ + phase_ms_;
  return tick > range.after_ms ? std::optional(tick) : std::nullopt;
}

TickCount Schedule::count_in(std::int64_t after_ms, std::int64_t until_ms) const {
  const Range range = clip(after_ms, until_ms);
  if (range.after_ms >= range.until_ms) return {};
  const std::int64_t count =
      is_cron()
          ? cron_ticks().count_in(second_of(range.after_ms) + 1, second_of(range.until_ms) + 1)
          : slot(range.until_ms, every_ms_, phase_ms_) - slot(range.after_ms, every_ms_, phase_ms_);
  return {static_cast<std::uint64_t>(count), false};
}

std::optional<std::int64_t> Schedule::nth_latest_in(std::int64_t after_ms, std::int64_t until_ms,
                                                    std::int64_t n) const {
  const auto holds = [&](std::int64_t after) {
    return count_in(after, until_ms).count >= static_cast<std::uint64_t>(n);
  };
  if (n < 1 || !holds(after_ms)) return std::nullopt;
  const auto latest = latest_in(after_ms, until_ms);
  if (!is_cron()) return *latest - (n - 1) * every_ms_;
  // The number of ticks after an instant falls as the instant moves on; what is sought is the last
  // second that still leaves n of them behind the one before it.
  std::int64_t low = std::max(second_of(clip(after_ms, until_ms).after_ms), kFirstTick_ms - 1);
  std::int64_t high = second_of(*latest);  // leaves none
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle * kMsPerSecond) ? low : high) = middle;
  }
  return next_after(low * kMsPerSecond);
}

std::string Schedule::business_date(std::int64_t nominal_ms) const {
  const std::int64_t local_s = local_at(*zone_, second_of(nominal_ms));
  return date_text(floor_div(local_s, kSecondsPerDay) + business_day_offset_);
}

TemplateValues Schedule::template_values(std::int64_t nominal_ms) const {
  return {base::format_time(nominal_ms), business_date(nominal_ms)};
}

TickDescription Schedule::describe(std::int64_t nominal_ms) const {
  const std::int64_t nominal_s = second_of(nominal_ms);
  const std::int32_t offset_s = zone_->span_at(nominal_s).offset_s;
  TickDescription tick;
  tick.nominal_ms = nominal_ms;
  tick.utc = base::format_time(nominal_ms);
  tick.local = local_text(nominal_ms, offset_s);
  tick.abbreviation = zone_->abbreviation_at(nominal_s);
  tick.business_date = business_date(nominal_ms);
  if (is_cron()) {
    tick.note = cron_ticks().note_of(nominal_s);
    tick.note_text = note_text(nominal_s, tick.note);
  }
  return tick;
}

std::string Schedule::note_text(std::int64_t nominal_s, TickNote note) const {
  if (note == TickNote::kNone) return {};
  const ZoneSpan span = zone_->span_at(nominal_s);
  const std::int64_t local_s = nominal_s + span.offset_s;
  if (note != TickNote::kEndOfGap) {
    const bool first = note == TickNote::kFirstPass;
    std::string text = clock_text(local_s) + " happens twice that day; this is the " +
                       (first ? "first" : "second") + " time";
    return text + (cron_.wildcard ? ", both run" : "; rule FIRST");
  }
  const std::int64_t skipped = cron_ticks().skipped_local(nominal_s).value_or(local_s);
  const std::int64_t day = floor_div(skipped, kSecondsPerDay);
  const bool same_day = day == floor_div(local_s, kSecondsPerDay);
  std::string text = same_day ? clock_text(skipped) + " does not exist that day"
                              : date_text(day) + " " + clock_text(skipped) + " does not exist";
  text += " (clocks go " + clock_text(span.local_reached_s()) + " -> ";
  return text + clock_text(span.local_begin_s()) + "); rule END_OF_GAP";
}

}  // namespace rota::core
