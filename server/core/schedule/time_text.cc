// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/time_text.h"

#include <cstdio>
#include <cstdlib>

#include "base/time_format.h"
#include "core/schedule/civil.h"

namespace rota::core {

std::string offset_text(std::int32_t offset_s) {
  char text[32];
  const std::int32_t size = std::abs(offset_s);
  const char sign = offset_s < 0 ? '-' : '+';
  if (size % 60 == 0) {
    std::snprintf(text, sizeof text, "%c%02d:%02d", sign, size / 3600, size / 60 % 60);
  } else {
    std::snprintf(text, sizeof text, "%c%02d:%02d:%02d", sign, size / 3600, size / 60 % 60,
                  size % 60);
  }
  return text;
}

std::string date_text(std::int64_t day) { return base::format_date(base::civil_from_days(day)); }

std::string clock_text(std::int64_t local_s) {
  char text[32];
  const int second = static_cast<int>(floor_mod(local_s, kSecondsPerDay));
  if (second % 60 == 0) {
    std::snprintf(text, sizeof text, "%02d:%02d", second / 3600, second / 60 % 60);
  } else {
    std::snprintf(text, sizeof text, "%02d:%02d:%02d", second / 3600, second / 60 % 60,
                  second % 60);
  }
  return text;
}

std::string local_text(std::int64_t instant_ms, std::int32_t offset_s) {
  // The instant at which a clock in UTC shows what the local one shows.
  std::string text = base::format_time(instant_ms + offset_s * kMsPerSecond);
  text.pop_back();  // the Z
  return text + offset_text(offset_s);
}

}  // namespace rota::core
