// SPDX-License-Identifier: Apache-2.0
#include "base/time_format.h"

#include <algorithm>
#include <cstdio>

#include "base/ascii.h"
#include "base/limits.h"
#include "base/utf8.h"

namespace rota::base {
namespace {

// Reads one text from left to right; after a failure everything fails.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  // Exactly `digits` digits, or a failure.
  int number(std::size_t digits) {
    if (rest_.size() < digits) return fail();
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(rest_[i])) return fail();
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }

  // One of these characters, or a failure (then 0).
  char one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_[0]) == std::string_view::npos) {
      fail();
      return 0;
    }
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  // ".25" as milliseconds; 0 when there is no fraction.
  int fraction_ms() {
    if (failed_ || rest_.empty() || rest_[0] != '.') return 0;
    rest_.remove_prefix(1);
    if (rest_.empty() || !is_digit(rest_[0])) return fail();
    int ms = 0;
    int scale = 100;
    for (; !rest_.empty() && is_digit(rest_[0]); rest_.remove_prefix(1)) {
      ms += (rest_[0] - '0') * scale;
      scale /= 10;
    }
    return ms;
  }

  bool failed() const { return failed_; }
  bool at_end() const { return !failed_ && rest_.empty(); }

 private:
  int fail() {
    failed_ = true;
    return 0;
  }

  std::string_view rest_;
  bool failed_ = false;
};

Error bad_time(std::string_view text, std::string_view why) {
  return invalid_field({}, quoted(text) + " is not a time: " + std::string(why) +
                               "; write 2026-11-30T08:00:00Z or 2026-11-30T10:00:00+02:00");
}

bool is_date(CivilDate date) {
  return date.year >= 1 && date.year <= 9999 && date.month >= 1 && date.month <= 12 &&
         date.day >= 1 && date.day <= days_in_month(date.year, date.month);
}

}  // namespace

std::int64_t days_from_civil(CivilDate date) {
  // Years begin in March, so that the leap day is the last of its year; eras of 400 years.
  const std::int64_t year = std::int64_t{date.year} - (date.month <= 2 ? 1 : 0);
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t month = date.month + (date.month > 2 ? -3 : 9);
  const std::int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

CivilDate civil_from_days(std::int64_t days) {
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;
  CivilDate date;
  date.day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
  date.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  date.year = static_cast<int>(year_of_era + era * 400 + (date.month <= 2 ? 1 : 0));
  return date;
}

int days_in_month(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

std::string format_date(CivilDate date) {
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02d-%02d", date.year, date.month, date.day);
  return text;
}

Result<CivilDate> parse_date(std::string_view text) {
  Reader reader(text);
  CivilDate date;
  date.year = reader.number(4);
  reader.one_of("-");
  date.month = reader.number(2);
  reader.one_of("-");
  date.day = reader.number(2);
  if (!reader.at_end()) {
    return invalid_field({}, quoted(text) + " is not a date; write 2026-11-30");
  }
  if (!is_date(date)) return invalid_field({}, quoted(text) + " is a date that does not exist");
  return date;
}

Result<std::int64_t> parse_time(std::string_view text) {
  Reader reader(text);
  CivilDate date;
  date.year = reader.number(4);
  reader.one_of("-");
  date.month = reader.number(2);
  reader.one_of("-");
  date.day = reader.number(2);
  reader.one_of("Tt ");
  const int hour = reader.number(2);
  reader.one_of(":");
  const int minute = reader.number(2);
  reader.one_of(":");
  const int second = reader.number(2);
  const int ms = reader.fraction_ms();
  if (reader.failed()) return bad_time(text, "it does not have the form of RFC 3339");
  const char zone = reader.one_of("Zz+-");
  if (reader.failed()) return bad_time(text, "the offset (Z or +hh:mm) is missing");
  int offset_minutes = 0;
  if (zone == '+' || zone == '-') {
    const int hours = reader.number(2);
    reader.one_of(":");
    const int minutes = reader.number(2);
    if (hours > 23 || minutes > 59) return bad_time(text, "the offset does not exist");
    offset_minutes = (hours * 60 + minutes) * (zone == '-' ? -1 : 1);
  }
  if (!reader.at_end()) return bad_time(text, "it does not have the form of RFC 3339");
  if (!is_date(date)) return bad_time(text, "the date does not exist");
  if (hour > 23) return bad_time(text, "the hour does not exist");
  if (minute > 59) return bad_time(text, "the minute does not exist");
  if (second > 59) return bad_time(text, "the second does not exist (leap seconds neither)");

  const std::int64_t seconds =
      days_from_civil(date) * 86'400 + hour * 3'600 + (minute - offset_minutes) * 60 + second;
  const std::int64_t result = seconds * 1'000 + ms;
  if (result < kTimeMsMin || result > kTimeMsMax) return bad_time(text, "the year is out of range");
  return result;
}

std::string format_time(std::int64_t ms) {
  ms = std::clamp(ms, kTimeMsMin, kTimeMsMax);
  std::int64_t days = ms / kDayMs;
  std::int64_t in_day = ms % kDayMs;
  if (in_day < 0) {
    in_day += kDayMs;
    --days;
  }
  char clock[32];
  const auto seconds = static_cast<int>(in_day / 1'000);
  std::snprintf(clock, sizeof clock, "T%02d:%02d:%02d", seconds / 3'600, seconds / 60 % 60,
                seconds % 60);
  std::string text = format_date(civil_from_days(days)) + clock;
  if (in_day % 1'000 != 0) {
    std::snprintf(clock, sizeof clock, ".%03d", static_cast<int>(in_day % 1'000));
    text += clock;
  }
  return text + "Z";
}

}  // namespace rota::base
