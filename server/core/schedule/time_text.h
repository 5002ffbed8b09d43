// SPDX-License-Identifier: Apache-2.0
//
// How schedules write local times. Instants in UTC are base::format_time().
#pragma once

#include <cstdint>
#include <string>

namespace rota::core {

// "+02:00", "-03:30", "+00:00"; seconds are appended when the offset has any ("-00:44:30").
std::string offset_text(std::int32_t offset_s);

// RFC 3339 with the offset: "2026-11-30T00:00:00+02:00"; milliseconds only when there are any.
std::string local_text(std::int64_t instant_ms, std::int32_t offset_s);

// "2026-11-30" of a day number, years 0 to 9999.
std::string date_text(std::int64_t day);

// "03:30" of a local second; "03:30:15" when it has seconds.
std::string clock_text(std::int64_t local_s);

}  // namespace rota::core
