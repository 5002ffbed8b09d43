// SPDX-License-Identifier: Apache-2.0
#include "src/pump.h"

#include <algorithm>

namespace rota::internal {

Pump::~Pump() { stop(); }

void Pump::start() {
  thread_ = std::thread([this] { run(); });
}

void Pump::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Pump::wake() {
  if (woken_.exchange(true)) return;
  // The empty section orders the flag before the pump's test or after its wait has begun.
  { std::lock_guard lock(mutex_); }
  changed_.notify_one();
}

void Pump::run() {
  while (true) {
    woken_.store(false);
    BootTime next = BootTime::max();
    const BootTime now = BootClock::now();
    for (const Step& step : steps_) next = std::min(next, step(now));

    std::unique_lock lock(mutex_);
    const auto awake = [this] { return ending_ || woken_.load(); };
    if (next == BootTime::max()) {
      changed_.wait(lock, awake);
    } else {
      // Steps compare with the boot clock themselves; this wait need not know about suspension.
      changed_.wait_for(lock, next - BootClock::now(), awake);
    }
    if (ending_) return;
  }
}

}  // namespace rota::internal
