// SPDX-License-Identifier: Apache-2.0
// Clocks and random text of client and worker.
#pragma once

#include <time.h>

#include <chrono>
#include <string>

#include "rota/error.h"
#include "rota/export.h"

namespace rota::internal {

// Goes on while the machine is suspended, so that a lease cannot seem young after a sleep. For
// deadlines only; its zero is the start of the machine.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    timespec at{};
    clock_gettime(CLOCK_BOOTTIME, &at);
    return time_point(std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec));
  }
};
using BootTime = BootClock::time_point;

// `bytes` random bytes as lower-case hex.
ROTA_EXPORT std::string random_hex(std::size_t bytes);

// Full jitter: evenly between 0 and min(cap, first * 2^failures), and at least `least`.
ROTA_EXPORT Millis full_jitter(int failures, Millis first, Millis cap, Millis least = Millis(1));

}  // namespace rota::internal
