// SPDX-License-Identifier: Apache-2.0
//
// What the pure layers must not do, for the test that looks for it.
#include <time.h>

#include <chrono>
#include <cstdlib>
#include <random>

namespace rota::tidy {

long impure();
long impure() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::random_device chance;
  const char* home = std::getenv("HOME");
  return now.tv_nsec + static_cast<long>(chance()) + (home == nullptr ? 0 : 1) +
         std::chrono::system_clock::now().time_since_epoch().count();
}

}  // namespace rota::tidy
