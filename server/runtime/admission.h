// SPDX-License-Identifier: Apache-2.0
//
// The bounded command queue: what may wait for the engine, in admission classes. Closing commands
// (they let work end) may fill the whole queue; opening ones are refused first, so that an
// overloaded server can still finish what it has begun. Questions about a job or an operation may
// use half of what is kept for closing ones, so that an overloaded or draining server can still be
// asked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "core/command.h"

namespace rota::runtime {

// In the order in which a round takes them. Beats write nothing and are taken without bound, so
// that no lease ends while its heartbeat waits in line.
enum class AdmissionClass : std::uint8_t { kBeat = 0, kClosing = 1, kQuestion = 2, kOpening = 3 };
inline constexpr std::size_t kAdmissionClasses = 4;
inline constexpr std::array<AdmissionClass, kAdmissionClasses> kAdmissionOrder = {
    AdmissionClass::kBeat, AdmissionClass::kClosing, AdmissionClass::kQuestion,
    AdmissionClass::kOpening};

AdmissionClass admission_class(const core::CommandBody& body);

// What a command weighs in the queue and in a turn.
struct CommandSize {
  std::size_t bytes = 0;  // about what it holds in memory
  std::size_t items = 1;  // jobs or outcomes
};
CommandSize size_of(const core::Command& command);
std::size_t bytes_of(const core::WorkerOutcome& outcome);

struct AdmissionLimits {
  std::size_t commands = base::limits::kCommandQueueCommandsDefault;
  std::size_t bytes = base::limits::kCommandQueueBytesDefault;
  std::size_t reserve_percent = base::limits::kClosingReservePercent;  // not for opening ones
};

// Not thread-safe: the loop guards it.
template <class T>
class AdmissionQueue {
 public:
  explicit AdmissionQueue(AdmissionLimits limits) : limits_(limits) {}

  bool admits(AdmissionClass cls, std::size_t bytes) const {
    const std::size_t percent = cls == AdmissionClass::kOpening ? 100 - limits_.reserve_percent
                                : cls == AdmissionClass::kQuestion
                                    ? 100 - limits_.reserve_percent / 2
                                    : 100;
    // One command alone is never too large: its size was limited at the border.
    return commands_ == 0 || (commands_ + 1 <= limits_.commands * percent / 100 &&
                              bytes_ + bytes <= limits_.bytes * percent / 100);
  }
  void push(AdmissionClass cls, std::size_t bytes, T value) {
    ++commands_;
    bytes_ += bytes;
    lines_[static_cast<std::size_t>(cls)].emplace_back(bytes, std::move(value));
  }
  // What was popped last of this class goes back to where it was.
  void put_back(AdmissionClass cls, std::size_t bytes, T value) {
    ++commands_;
    bytes_ += bytes;
    lines_[static_cast<std::size_t>(cls)].emplace_front(bytes, std::move(value));
  }
  std::optional<T> pop(AdmissionClass cls) {
    auto& line = lines_[static_cast<std::size_t>(cls)];
    if (line.empty()) return std::nullopt;
    --commands_;
    bytes_ -= line.front().first;
    std::optional<T> value(std::move(line.front().second));
    line.pop_front();
    return value;
  }
  bool empty() const { return commands_ == 0; }
  bool empty(AdmissionClass cls) const { return lines_[static_cast<std::size_t>(cls)].empty(); }
  std::size_t commands() const { return commands_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const AdmissionLimits limits_;
  std::array<std::deque<std::pair<std::size_t, T>>, kAdmissionClasses> lines_;
  std::size_t commands_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace rota::runtime
