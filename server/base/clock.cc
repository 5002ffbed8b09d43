// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

#include <cstdlib>

namespace rota::base {
namespace {

std::int64_t read_ms(clockid_t id) {
  timespec now{};
  if (clock_gettime(id, &now) != 0) std::abort();  // only for an unknown clock
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

}  // namespace

std::int64_t SystemClock::wall_ms() const { return read_ms(CLOCK_REALTIME); }
std::int64_t SystemClock::mono_ms() const { return read_ms(CLOCK_MONOTONIC); }
std::int64_t SystemClock::boot_ms() const { return read_ms(CLOCK_BOOTTIME); }

}  // namespace rota::base
