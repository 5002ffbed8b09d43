// SPDX-License-Identifier: Apache-2.0
//
// Makes a failing run smaller: fewer steps, fewer kinds of faults, fewer features, fewer actors,
// as long as it still breaks an invariant.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/profile.h"
#include "sim/world.h"

namespace rota::sim {

struct Shrunk {
  Reduction reduction;
  Violation violation;
  int runs = 0;
};

using RunFn = std::function<RunResult(const Profile& profile)>;

// `broken` is what the run of `seed` under `start` broke. Ends when nothing can be taken away any
// more, or when `may_go_on` says no (time is up).
Shrunk shrink(std::uint64_t seed, const Reduction& start, const Violation& broken, const RunFn& run,
              const std::function<bool()>& may_go_on);

}  // namespace rota::sim
