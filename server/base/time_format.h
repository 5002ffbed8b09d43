// SPDX-License-Identifier: Apache-2.0
//
// Instants as text: RFC 3339, read with any offset, always written in UTC. An instant is a number
// of milliseconds since 1970-01-01T00:00:00Z; years 0001 to 9999, leap seconds refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace rota::base {

// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999Z.
inline constexpr std::int64_t kTimeMsMin = -62'135'596'800'000;
inline constexpr std::int64_t kTimeMsMax = 253'402'300'799'999;

// "2026-11-30T00:00:00Z", "2026-11-30 02:00:00.25+02:00". Digits beyond milliseconds are dropped.
// INVALID_FIELD (without field) with the fault otherwise; a missing offset is a fault.
Result<std::int64_t> parse_time(std::string_view text);

// "2026-11-30T00:00:00Z", with ".250" before the Z only if the milliseconds are not zero. Values
// outside kTimeMsMin..kTimeMsMax are clamped.
std::string format_time(std::int64_t ms);

struct CivilDate {
  int year = 1970;
  int month = 1;  // 1-12
  int day = 1;    // 1-31
  bool operator==(const CivilDate&) const = default;
};

// Days since 1970-01-01 of a date of the proleptic Gregorian calendar, and back.
std::int64_t days_from_civil(CivilDate date);
CivilDate civil_from_days(std::int64_t days);

// The number of days of a month; `month` is 1-12.
int days_in_month(int year, int month);

// "2026-11-30".
std::string format_date(CivilDate date);

// "2026-11-30" and nothing else; INVALID_FIELD (without field) otherwise.
Result<CivilDate> parse_date(std::string_view text);

}  // namespace rota::base
