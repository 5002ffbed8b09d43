// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "internal/clock.h"

namespace rota::internal {

// Something to wait for that may also be set from a signal handler.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Async-signal-safe.
  void set();
  // True when it was set, which is then forgotten; false at `until`. Time that the machine was
  // suspended counts.
  bool wait_until(BootTime until);
  void wait();

  int descriptor() const { return event_; }

 private:
  int event_ = -1, timer_ = -1;
};

}  // namespace rota::internal
