// SPDX-License-Identifier: Apache-2.0
//
// One run: a server on a simulated disk, its network, clients and workers, and the chaos that
// befalls them, all from one seed. After the last step the faults end, everything is allowed to
// finish, and what is left is judged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/checker.h"
#include "sim/client.h"
#include "sim/context.h"
#include "sim/network.h"
#include "sim/server.h"
#include "sim/worker.h"

namespace rota::sim {

struct RunResult {
  std::uint64_t steps = 0;
  std::uint64_t trace_hash = 0;
  std::optional<Violation> violation;
  Coverage coverage;
};

// For tests of the simulator itself: what the engine says or is told is changed, or it does not
// tick.
struct Tamper {
  std::function<void(core::Turn&)> turn;
  bool no_ticks = false;
  std::function<void(core::Command&)> command = {};
};

class World {
 public:
  World(const Profile& profile, bool print);

  void tamper(const Tamper& with) {
    if (with.turn) server_.tamper(with.turn);
    if (with.command) server_.tamper(with.command);
    if (with.no_ticks) server_.stop_ticks();
  }
  RunResult run();

 private:
  void set_up();
  void chaos();
  void leap(Fault fault, std::int64_t ms);
  void heal();
  void open_gates();
  void watch_ticks();
  bool quiet();
  void see_holds_end();
  bool advance(std::uint64_t steps, std::int64_t until_ms);

  const Profile profile_;
  Agenda agenda_;
  Trace trace_;
  Coverage coverage_;
  Verdict verdict_;
  Context context_;
  Checker checker_;
  Server server_;
  Network network_;
  Rumours rumours_;
  Rng rng_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::uint64_t steps_ = 0;
  std::int64_t furthest_wall_ms_ = 0;  // offset of the wall clock, the largest so far
  int forward_steps_ = 0;
  int leaps_ = 0;
  std::int64_t ahead_ms_ = 0;               // by leaps that may be taken back
  std::int64_t gates_open_ms_ = INT64_MAX;  // since then nobody is in the way any more
  int free_seconds_ = 0;                    // for so long nothing has kept schedulers from ticking
};

// Runs a profile once.
RunResult run_once(const Profile& profile, bool print, const Tamper& tamper = {});

}  // namespace rota::sim
