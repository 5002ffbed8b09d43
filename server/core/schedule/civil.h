// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of days and seconds on plain numbers; dates themselves are base/time_format.h.
//
// A *day* counts from 1970-01-01. A *local second* is what a wall clock shows, written as the
// number of seconds since 1970-01-01T00:00:00 on that clock; it is no instant until a time zone
// says so.
#pragma once

#include <cstdint>

namespace rota::core {

inline constexpr std::int64_t kSecondsPerMinute = 60;
inline constexpr std::int64_t kSecondsPerHour = 3600;
inline constexpr std::int64_t kSecondsPerDay = 86400;
inline constexpr std::int64_t kMsPerSecond = 1000;

// Division that rounds towards minus infinity, with the remainder that belongs to it (>= 0).
// `b` is above 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  const std::int64_t rest = a % b;
  return rest < 0 ? rest + b : rest;
}

// 0 = Sunday.
constexpr int weekday_of_day(std::int64_t day) { return static_cast<int>(floor_mod(day + 4, 7)); }

}  // namespace rota::core
