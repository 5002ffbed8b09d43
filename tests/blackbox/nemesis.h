// SPDX-License-Identifier: Apache-2.0
//
// Strikes one fault after the other, all of them drawn from the seed, and takes each back after a
// while. Two may be in force at once, of different targets. A fault counts as struck when something
// was met by it: a connection that was cut, a server that ended at its fail point, a server that
// says that its clock is behind. One that met nothing is tried again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blackbox/actor.h"
#include "blackbox/scenario.h"
#include "blackbox/stage.h"
#include "internal/raw_client.h"

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
using PointCounts = std::map<std::string, std::int64_t>;  // by fail point

class Nemesis {
 public:
  // `kinds`: what may be struck; each of them is struck before any of them is a second time, those
  // in `first` before all others, as far as they do not wait for each other. Scenarios are begun
  // once, early.
  Nemesis(Stage& stage, Shared& shared, std::vector<Fault> kinds, std::vector<Fault> first,
          std::uint64_t seed, Contradictions* contradictions);
  ~Nemesis();
  Nemesis(const Nemesis&) = delete;
  Nemesis& operator=(const Nemesis&) = delete;

  // Strikes and heals what is due. Call often, from the stage's thread.
  void step();
  // From now on only kinds that were not struck yet.
  void only_what_is_owed();
  // Whether there is such a kind.
  bool owes() const;
  // Nothing new; what is in force is taken back at once.
  void finish();
  // Whether something goes on that must come to its own end before finish(): a scenario, or a
  // server that is about to end by itself on a full disk.
  bool is_in_the_midst() const;

  const FaultCounts& struck() const { return struck_; }
  const PointCounts& points() const { return points_; }
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
  void deal();
  std::optional<Fault> draw();
  void count(Fault fault) { ++struck_[static_cast<std::size_t>(fault)]; }
  bool is_owed(Fault fault) const { return struck_[static_cast<std::size_t>(fault)] == 0; }
  // What the server says of itself; nullopt when it does not answer at once.
  std::optional<v1::ServerInfo> ask_server();
  // For Active::over: asks now and then, and counts the fault when the server shows it. True from
  // then on where the fault `is_over_then`, else never.
  std::function<bool()> watch_for(Fault fault, std::function<bool(const v1::ServerInfo&)> shows,
                                  bool is_over_then);
  bool free(Target target) const;
  Active strike(Fault fault);
  Active strike_server(Fault fault);
  Active strike_fail_point();
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
  const std::vector<Fault> first_;
  Random random_;
  Contradictions* contradictions_;
  std::deque<Fault> deck_, scenarios_;
  std::vector<Active> active_;
  Ns next_ = 0, next_scenario_ = 0;
  FaultCounts struck_{};
  PointCounts points_;
  std::unique_ptr<internal::RawClient> watch_;
  Ns asked_ = 0;
  std::vector<std::string> notes_;
  std::unique_ptr<Scenario> scenario_;
  std::int64_t poisoned_ = 0;
  bool only_owed_ = false, finished_ = false;
};

}  // namespace rota::blackbox
