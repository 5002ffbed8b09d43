// SPDX-License-Identifier: Apache-2.0
//
// What all parts of one run share.
#pragma once

#include <cstdint>

#include "core/command.h"
#include "sim/agenda.h"
#include "sim/coverage.h"
#include "sim/profile.h"
#include "sim/trace.h"

namespace rota::sim {

// The clocks of the server's machine. The monotonic one is the virtual time; the wall clock is
// stepped by the chaos, forwards and back.
struct Clocks {
  std::int64_t wall_offset_ms = 1'700'000'000'000;
  bool leapt = false;  // once by so much that what is kept for an hour may be gone
};

struct Context {
  const Profile& profile;
  Agenda& agenda;
  Trace& trace;
  Coverage& coverage;
  Verdict& verdict;
  Clocks clocks = {};
  bool healed = false;  // no fault strikes any more

  std::int64_t mono_ms() const { return agenda.now_ms(); }
  std::int64_t wall_ms() const { return agenda.now_ms() + clocks.wall_offset_ms; }
  core::Now now() const { return {wall_ms(), mono_ms()}; }

  bool strikes(Fault fault, Rng& rng) {
    const double rate = profile.of(fault);
    if (rate == 0.0 || healed || !rng.chance(rate)) return false;
    coverage.hit(fault);
    return true;
  }
  bool crashes(CrashPoint point, Rng& rng) {
    const double rate = profile.of(point);
    if (rate == 0.0 || healed || !rng.chance(rate)) return false;
    coverage.hit(point);
    return true;
  }
};

}  // namespace rota::sim
