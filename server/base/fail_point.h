// SPDX-License-Identifier: Apache-2.0
//
// Named places where a test can end the process as a power cut would. They are compiled into every
// build and cost one relaxed load while unarmed. They are armed only by the environment:
//
//   ROTA_FAIL_POINT=after_commit          the first time this place is reached
//   ROTA_FAIL_POINT=after_commit:3        the third time
//   ROTA_FAIL_POINT=after_commit:3,tick   several, whichever comes first
//
// The process then writes one line to standard error and ends with _exit(86): no destructor, no
// flush, no reply. Names are documented where they stand in the code.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rota::base {

inline constexpr int kFailPointExitCode = 86;

namespace internal {

extern std::atomic<bool> fail_points_armed;
void reach_fail_point(std::string_view name);

struct ArmedPoint {
  std::string name;
  std::int64_t nth = 1;
  bool operator==(const ArmedPoint&) const = default;
};
// The points of the environment variable's text; an entry that cannot be read is left out.
std::vector<ArmedPoint> parse_fail_points(std::string_view text);

}  // namespace internal

// Ends the process here if this point is armed and its turn has come. Thread-safe.
inline void fail_point(std::string_view name) {
  if (internal::fail_points_armed.load(std::memory_order_relaxed)) [[unlikely]] {
    internal::reach_fail_point(name);
  }
}

}  // namespace rota::base
