// SPDX-License-Identifier: Apache-2.0
#include "base/fail_point.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <mutex>

namespace rota::base::internal {
namespace {

struct ArmedPoints {
  std::mutex mutex;
  std::vector<ArmedPoint> points;  // guarded by mutex; nth counts down
};

// Never destroyed: threads may still reach a point while the process ends.
ArmedPoints& armed_points() {
  static auto* armed = [] {
    auto* fresh = new ArmedPoints;
    if (const char* text = std::getenv("ROTA_FAIL_POINT")) fresh->points = parse_fail_points(text);
    return fresh;
  }();
  return *armed;
}

}  // namespace

std::atomic<bool> fail_points_armed = !armed_points().points.empty();

std::vector<ArmedPoint> parse_fail_points(std::string_view text) {
  std::vector<ArmedPoint> points;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view entry = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    ArmedPoint point;
    const std::size_t colon = entry.find(':');
    point.name = entry.substr(0, colon);
    bool good = !point.name.empty();
    if (colon != std::string_view::npos) {
      const std::string_view number = entry.substr(colon + 1);
      const char* end = number.data() + number.size();
      const auto parsed = std::from_chars(number.data(), end, point.nth);
      good = good && parsed.ec == std::errc{} && parsed.ptr == end && point.nth >= 1;
    }
    if (good) points.push_back(std::move(point));
  }
  return points;
}

void reach_fail_point(std::string_view name) {
  ArmedPoints& armed = armed_points();
  const std::lock_guard lock(armed.mutex);
  for (ArmedPoint& point : armed.points) {
    if (point.name != name || --point.nth > 0) continue;
    const std::string line = "fail point " + point.name + " reached, exit 86\n";
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) _exit(kFailPointExitCode);
    _exit(kFailPointExitCode);
  }
}

}  // namespace rota::base::internal
