// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "internal/access.h"
#include "internal/clock.h"

namespace rota::internal {

// Warnings that a flood of jobs can cause, bounded so that they do not fill a disk: kLines in each
// kSpan, and then one that says how many were left out. Thread-safe; logs on the calling thread.
class LineBudget {
 public:
  static constexpr int kLines = 60;
  static constexpr Millis kSpan{60'000};

  explicit LineBudget(LogFunction log) : log_(std::move(log)) {}

  void warn(const std::string& line, BootTime now = BootClock::now()) {
    int left_out = 0;
    {
      std::lock_guard lock(mutex_);
      if (now >= span_end_) {
        span_end_ = now + kSpan;
        shown_ = 0;
        left_out = std::exchange(left_out_, 0);
      }
      if (shown_ == kLines) {
        ++left_out_;
        return;
      }
      ++shown_;
    }
    tell(left_out);
    log_(2, line);
  }

  // Says how many were left out since the last line.
  void flush() {
    int left_out = 0;
    {
      std::lock_guard lock(mutex_);
      left_out = std::exchange(left_out_, 0);
    }
    tell(left_out);
  }

 private:
  void tell(int left_out) {
    if (left_out > 0) log_(2, std::to_string(left_out) + " more lines of this sort were left out");
  }

  const LogFunction log_;
  std::mutex mutex_{};
  BootTime span_end_ = BootTime::min();
  int shown_ = 0, left_out_ = 0;
};

}  // namespace rota::internal
