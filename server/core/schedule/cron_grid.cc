// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cron_grid.h"

#include <algorithm>
#include <bit>

#include "base/time_format.h"
#include "core/schedule/civil.h"

namespace rota::core {
namespace {

// The matching days of one month as bits 1-31.
std::uint32_t days_of(const CronExpr& expr, int year, int month, std::int64_t first_day) {
  if ((expr.months >> month & 1) == 0) return 0;
  const int length = base::days_in_month(year, month);
  const auto all = static_cast<std::uint32_t>(((std::uint64_t{1} << length) - 1) << 1);
  // The week's bits, turned so that bit 0 is the weekday of the 1st, repeated over five weeks.
  const auto week = static_cast<std::uint32_t>(expr.days_of_week);
  const int turn = weekday_of_day(first_day);
  const std::uint64_t turned = ((week >> turn) | (week << (7 - turn))) & 0x7f;
  const std::uint64_t repeated = turned | turned << 7 | turned << 14 | turned << 21 | turned << 28;
  const auto by_week = static_cast<std::uint32_t>(repeated << 1);
  const std::uint32_t days =
      expr.either_day ? (expr.days_of_month | by_week) : (expr.days_of_month & by_week);
  return days & all;
}

// A month and its days; the unit in which searches walk.
struct MonthOfDays {
  int year;
  int month;
  std::int64_t first_day;  // day number of the 1st
  std::uint32_t days;

  static MonthOfDays of_day(const CronExpr& expr, std::int64_t day) {
    const base::CivilDate date = base::civil_from_days(day);
    return at(expr, date.year, date.month, day - (date.day - 1));
  }
  static MonthOfDays at(const CronExpr& expr, int year, int month, std::int64_t first_day) {
    return {year, month, first_day, days_of(expr, year, month, first_day)};
  }
  std::int64_t end_day() const { return first_day + base::days_in_month(year, month); }

  MonthOfDays next(const CronExpr& expr) const {
    return month == 12 ? at(expr, year + 1, 1, end_day()) : at(expr, year, month + 1, end_day());
  }
  MonthOfDays previous(const CronExpr& expr) const {
    const int y = month == 1 ? year - 1 : year;
    const int m = month == 1 ? 12 : month - 1;
    return at(expr, y, m, first_day - base::days_in_month(y, m));
  }
};

// Bits n and above, bits up to n.
constexpr std::uint64_t from_bit(std::int64_t n) { return n > 63 ? 0 : ~std::uint64_t{0} << n; }
constexpr std::uint64_t up_to_bit(std::int64_t n) {
  return n >= 63 ? ~std::uint64_t{0} : (std::uint64_t{1} << (n + 1)) - 1;
}

std::int64_t lowest(std::uint64_t bits) { return std::countr_zero(bits); }
std::int64_t highest(std::uint64_t bits) { return 63 - std::countl_zero(bits); }

std::optional<std::int64_t> first_day_of(const CronExpr& expr, std::int64_t from, std::int64_t to) {
  if (from >= to) return std::nullopt;
  for (auto m = MonthOfDays::of_day(expr, from); m.first_day < to; m = m.next(expr)) {
    const std::int64_t day_of_month = std::max<std::int64_t>(from - m.first_day + 1, 1);
    if (const std::uint64_t days = m.days & from_bit(day_of_month)) {
      const std::int64_t day = m.first_day + lowest(days) - 1;
      return day < to ? std::optional(day) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> last_day_of(const CronExpr& expr, std::int64_t from, std::int64_t to) {
  if (from >= to) return std::nullopt;
  for (auto m = MonthOfDays::of_day(expr, to - 1); m.end_day() > from; m = m.previous(expr)) {
    const std::int64_t day_of_month = std::min<std::int64_t>(to - m.first_day, 31);
    if (const std::uint64_t days = m.days & up_to_bit(day_of_month)) {
      const std::int64_t day = m.first_day + highest(days) - 1;
      return day >= from ? std::optional(day) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::int64_t count_days(const CronExpr& expr, std::int64_t from, std::int64_t to) {
  if (from >= to) return 0;
  std::int64_t count = 0;
  for (auto m = MonthOfDays::of_day(expr, from); m.first_day < to; m = m.next(expr)) {
    std::uint64_t days = m.days;
    if (from > m.first_day) days &= from_bit(from - m.first_day + 1);
    if (to < m.end_day()) days &= up_to_bit(to - m.first_day);
    count += std::popcount(days);
  }
  return count;
}

// Least matching second of a day that is not below `from`; none when the rest of the day has none.
std::optional<std::int64_t> first_in_day(const CronExpr& expr, std::int64_t from) {
  const std::int64_t hour = from / kSecondsPerHour;
  const std::int64_t minute = from / kSecondsPerMinute % 60;
  const std::int64_t second = from % 60;
  const std::int64_t first_second = lowest(expr.seconds);
  const std::int64_t first_minute = lowest(expr.minutes) * kSecondsPerMinute;
  if (expr.hours >> hour & 1) {
    const std::int64_t at_hour = hour * kSecondsPerHour;
    if (expr.minutes >> minute & 1) {
      if (const std::uint64_t seconds = expr.seconds & from_bit(second)) {
        return at_hour + minute * kSecondsPerMinute + lowest(seconds);
      }
    }
    if (const std::uint64_t minutes = expr.minutes & from_bit(minute + 1)) {
      return at_hour + lowest(minutes) * kSecondsPerMinute + first_second;
    }
  }
  if (const std::uint64_t hours = expr.hours & from_bit(hour + 1)) {
    return lowest(hours) * kSecondsPerHour + first_minute + first_second;
  }
  return std::nullopt;
}

// Greatest matching second of a day that is not above `to`.
std::optional<std::int64_t> last_in_day(const CronExpr& expr, std::int64_t to) {
  const std::int64_t hour = to / kSecondsPerHour;
  const std::int64_t minute = to / kSecondsPerMinute % 60;
  const std::int64_t second = to % 60;
  const std::int64_t last_second = highest(expr.seconds);
  const std::int64_t last_minute = highest(expr.minutes) * kSecondsPerMinute;
  if (expr.hours >> hour & 1) {
    const std::int64_t at_hour = hour * kSecondsPerHour;
    if (expr.minutes >> minute & 1) {
      if (const std::uint64_t seconds = expr.seconds & up_to_bit(second)) {
        return at_hour + minute * kSecondsPerMinute + highest(seconds);
      }
    }
    if (const std::uint64_t minutes = expr.minutes & up_to_bit(minute - 1)) {
      return at_hour + highest(minutes) * kSecondsPerMinute + last_second;
    }
  }
  if (const std::uint64_t hours = expr.hours & up_to_bit(hour - 1)) {
    return highest(hours) * kSecondsPerHour + last_minute + last_second;
  }
  return std::nullopt;
}

// Matching seconds of a day below `end` (0 to a whole day).
std::int64_t count_in_day(const CronExpr& expr, std::int64_t end) {
  const std::int64_t hour = end / kSecondsPerHour;
  const std::int64_t minute = end / kSecondsPerMinute % 60;
  const std::int64_t second = end % 60;
  const std::int64_t per_minute = std::popcount(expr.seconds);
  const std::int64_t per_hour = std::popcount(expr.minutes) * per_minute;
  std::int64_t count = std::popcount(expr.hours & up_to_bit(hour - 1)) * per_hour;
  if (hour < 24 && (expr.hours >> hour & 1)) {
    count += std::popcount(expr.minutes & up_to_bit(minute - 1)) * per_minute;
    if (expr.minutes >> minute & 1) count += std::popcount(expr.seconds & up_to_bit(second - 1));
  }
  return count;
}

bool matches_day(const CronExpr& expr, std::int64_t day) {
  const MonthOfDays m = MonthOfDays::of_day(expr, day);
  return (m.days >> (day - m.first_day + 1) & 1) != 0;
}

// Local times of the expression before `to`, from the beginning of the day that holds `to`.
std::int64_t count_before_in_day_of(const CronExpr& expr, std::int64_t to) {
  const std::int64_t day = floor_div(to, kSecondsPerDay);
  const std::int64_t rest = to - day * kSecondsPerDay;
  return rest > 0 && matches_day(expr, day) ? count_in_day(expr, rest) : 0;
}

}  // namespace

std::optional<std::int64_t> first_local(const CronExpr& expr, std::int64_t from, std::int64_t to) {
  if (from >= to) return std::nullopt;
  const std::int64_t day = floor_div(from, kSecondsPerDay);
  const std::int64_t day_end = floor_div(to - 1, kSecondsPerDay) + 1;
  auto found_day = first_day_of(expr, day, day_end);
  if (found_day == day) {
    if (auto second = first_in_day(expr, from - day * kSecondsPerDay)) {
      const std::int64_t local_s = day * kSecondsPerDay + *second;
      return local_s < to ? std::optional(local_s) : std::nullopt;
    }
    found_day = first_day_of(expr, day + 1, day_end);
  }
  if (!found_day) return std::nullopt;
  const std::int64_t local_s = *found_day * kSecondsPerDay + *first_in_day(expr, 0);
  return local_s < to ? std::optional(local_s) : std::nullopt;
}

std::optional<std::int64_t> last_local(const CronExpr& expr, std::int64_t from, std::int64_t to) {
  if (from >= to) return std::nullopt;
  const std::int64_t last = to - 1;
  const std::int64_t day = floor_div(last, kSecondsPerDay);
  const std::int64_t day_begin = floor_div(from, kSecondsPerDay);
  auto found_day = last_day_of(expr, day_begin, day + 1);
  if (found_day == day) {
    if (auto second = last_in_day(expr, last - day * kSecondsPerDay)) {
      const std::int64_t local_s = day * kSecondsPerDay + *second;
      return local_s >= from ? std::optional(local_s) : std::nullopt;
    }
    found_day = last_day_of(expr, day_begin, day);
  }
  if (!found_day) return std::nullopt;
  const std::int64_t local_s = *found_day * kSecondsPerDay + *last_in_day(expr, kSecondsPerDay - 1);
  return local_s >= from ? std::optional(local_s) : std::nullopt;
}

std::int64_t count_local(const CronExpr& expr, std::int64_t from, std::int64_t to) {
  if (from >= to) return 0;
  const std::int64_t per_day = count_in_day(expr, kSecondsPerDay);
  const std::int64_t whole_days =
      count_days(expr, floor_div(from, kSecondsPerDay), floor_div(to, kSecondsPerDay));
  return whole_days * per_day + count_before_in_day_of(expr, to) -
         count_before_in_day_of(expr, from);
}

bool matches_local(const CronExpr& expr, std::int64_t local_s) {
  return first_local(expr, local_s, local_s + 1).has_value();
}

}  // namespace rota::core
