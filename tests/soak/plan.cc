// SPDX-License-Identifier: Apache-2.0
#include "soak/plan.h"

#include <algorithm>

namespace rota::soak {

std::vector<Kill> plan_kills(std::uint64_t seed) {
  Random random(seed);
  std::vector<Kill> kills;
  const auto add = [&](std::uint64_t count, bool server) {
    for (std::uint64_t i = 0; i < count; ++i) {
      kills.push_back({.at = 0.02 + 0.88 * static_cast<double>(below(random, 10'000)) / 10'000,
                       .server = server,
                       .delay_ms = static_cast<int>(below(random, 40)),
                       .down_ms = static_cast<int>(below(random, 400)),
                       .aimed = below(random, 3) > 0});
    }
  };
  add(5 + below(random, 3), false);
  add(3 + below(random, 2), true);
  Kill& last = kills.back();
  last.aimed = true;
  last.at *= kAimedEarly;
  std::stable_sort(kills.begin(), kills.end(),
                   [](const Kill& a, const Kill& b) { return a.at < b.at; });
  return kills;
}

PlannedJob plan_job(Random& random, int* keys) {
  PlannedJob job;
  const std::uint64_t dice = below(random, 1'000);
  // A job with a key must be the same whoever sends it.
  if (dice < 20) {
    job.kind = kOk;
    job.key = "key/" + std::to_string((*keys)++);
    return job;
  }
  job.kind = dice < 30    ? kSlow
             : dice < 90  ? kFlaky
             : dice < 110 ? kSnooze
             : dice < 130 ? kDoomed
             : dice < 145 ? kBroken
                          : kOk;
  job.priority = static_cast<int>(below(random, 256));
  if (below(random, 10) == 0) job.delay_ms = static_cast<int>(below(random, 3'000));
  return job;
}

}  // namespace rota::soak
