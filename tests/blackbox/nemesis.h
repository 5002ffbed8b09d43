// SPDX-License-Identifier: Apache-2.0
//
// Strikes one fault after the other, all of them drawn from the seed, and takes each back after a
// while. Two may be in force at once, of different targets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blackbox/actor.h"
#include "blackbox/scenario.h"
#include "blackbox/stage.h"

namespace rota::blackbox {

enum class Fault : std::uint8_t {
#define ROTA_FAULT(name, text, target) name,
#include "blackbox/faults.inc"
};
#define ROTA_FAULT(name, text, target) +1
inline constexpr std::size_t kFaults = 0
#include "blackbox/faults.inc"
    ;

const char* text_of(Fault fault);

using FaultCounts = std::array<std::int64_t, kFaults>;

class Nemesis {
 public:
  // `kinds`: what may be struck; each of them is struck before any of them is a second time, as far
  // as the time goes. Scenarios are begun once, early.
  Nemesis(Stage& stage, Shared& shared, std::vector<Fault> kinds, std::uint64_t seed,
          Contradictions* contradictions);
  ~Nemesis();
  Nemesis(const Nemesis&) = delete;
  Nemesis& operator=(const Nemesis&) = delete;

  // Strikes and heals what is due. Call often, from the stage's thread.
  void step();
  // Nothing new; what is in force is taken back at once.
  void finish();
  // Whether something goes on that must come to its own end before finish(): a scenario, or a
  // server that is about to end by itself on a full disk.
  bool is_in_the_midst() const;

  const FaultCounts& struck() const { return struck_; }
  const std::vector<std::string>& notes() const { return notes_; }  // what scenarios measured

 private:
  enum class Target : std::uint8_t { kNothing, kServer, kWorker, kLine, kFar, kClock, kDisk };
  struct Active {
    Fault fault{};
    Target target{};
    Ns until = 0;
    std::function<bool()> over{};  // asked before `until`; true: it may be taken back already
    std::function<void()> heal{};
  };
  static Target target_of(Fault fault);

  void strike_next();
  std::optional<Fault> draw();
  bool free(Target target) const;
  Active strike(Fault fault);
  Active strike_server(Fault fault);
  Active strike_worker(Fault fault);
  Active strike_line(Fault fault);
  Active strike_far(Fault fault);
  Active strike_clock(Fault fault);
  Active strike_disk(Fault fault);
  Active begin_scenario(Fault fault);
  void heal(Active& active);
  std::int64_t between(std::int64_t least, std::int64_t most);
  Ns in_ms(std::int64_t ms) const { return mono_ns() + ms * 1'000'000; }

  Stage& stage_;
  Shared& shared_;
  std::vector<Fault> kinds_;
  Random random_;
  Contradictions* contradictions_;
  std::deque<Fault> deck_, scenarios_;
  std::vector<Active> active_;
  Ns next_ = 0, next_scenario_ = 0;
  FaultCounts struck_{};
  std::vector<std::string> notes_;
  std::unique_ptr<Scenario> scenario_;
  std::int64_t poisoned_ = 0;
  bool finished_ = false;
};

}  // namespace rota::blackbox
