// SPDX-License-Identifier: Apache-2.0
//
// What runs have reached. A simulator that stopped exploring looks green, so a long run fails when
// one of these counters is still zero.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/command.h"
#include "core/effect.h"
#include "sim/hold_clock.h"
#include "sim/profile.h"

namespace rota::sim {

constexpr std::size_t kCommands = std::variant_size_v<core::CommandBody>;
constexpr std::size_t kEventKinds = 6;  // by JobEvent::Kind; 0 is unused

template <class Command>
std::size_t command_index() {
  static const std::size_t index = core::CommandBody(std::in_place_type<Command>).index();
  return index;
}

class Coverage {
 public:
  void hit(Fault f) { ++faults_[static_cast<std::size_t>(f)]; }
  void hit(CrashPoint p) { ++points_[static_cast<std::size_t>(p)]; }
  void hit(core::JobEvent::Kind k) { ++events_[static_cast<std::size_t>(k)]; }
  // A command about a job met it in this state (kUnknown: it was not there).
  template <class Command>
  void hit_pair(core::JobState state) {
    ++pairs_[command_index<Command>()][static_cast<std::size_t>(state)];
  }
  void answered(const core::CommandBody& command, bool refused) {
    ++(refused ? refused_ : done_)[command.index()];
  }
  void add(const Coverage& other);
  void turn() { ++turns_; }
  void crash() { ++crashes_; }
  void full_check() { ++full_checks_; }
  // A start met a grant that an earlier one had found overdue.
  void overdue() { ++overdue_; }
  // The ticks of schedulers that are alive were judged after the healing.
  void ticks_judged() { ++ticks_judged_; }
  void holds(const HoldClock::Seen& seen);
  // A job was given the key of one that is gone with its queue and still stored. The rarest of all:
  // once in some four million steps.
  void inherited() { ++inherited_; }

  std::string table() const;
  // What should have been reached and was not.
  std::vector<std::string> zeros() const;

  // As one line of numbers, and back, for processes that add up what they found.
  std::string numbers() const;
  bool add_numbers(const std::string& line);

 private:
  template <class Visit>
  void each(const Visit& visit);

  std::array<std::uint64_t, kFaults> faults_{};
  std::array<std::uint64_t, kCrashPoints> points_{};
  std::array<std::uint64_t, kEventKinds> events_{};
  std::array<std::array<std::uint64_t, model::kJobStateCount>, kCommands> pairs_{};
  std::array<std::uint64_t, kCommands> done_{};
  std::array<std::uint64_t, kCommands> refused_{};
  std::uint64_t turns_ = 0;
  std::uint64_t crashes_ = 0;
  std::uint64_t full_checks_ = 0;
  std::uint64_t overdue_ = 0;
  std::uint64_t inherited_ = 0;
  std::uint64_t ticks_judged_ = 0;
  HoldClock::Seen holds_;
};

}  // namespace rota::sim
