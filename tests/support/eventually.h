// SPDX-License-Identifier: Apache-2.0
//
// Waiting for what nobody tells: a condition that can only be asked for.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace rota::testing {

// Asks until the condition holds, with a pause that grows to 10 ms between two questions; false
// when it does not within 20 s.
inline bool eventually(const std::function<bool()>& condition) {
  using std::chrono::milliseconds;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  milliseconds pause(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, milliseconds(10));
  }
  return true;
}

}  // namespace rota::testing
