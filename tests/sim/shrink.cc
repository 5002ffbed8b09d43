// SPDX-License-Identifier: Apache-2.0
#include "sim/shrink.h"

#include <algorithm>

namespace rota::sim {
namespace {

class Shrinker {
 public:
  Shrinker(std::uint64_t seed, const RunFn& run, const std::function<bool()>& may_go_on,
           Shrunk best)
      : seed_(seed), run_(run), may_go_on_(may_go_on), best_(std::move(best)) {}

  Shrunk all() && {
    cut_to_the_step();
    while (may_go_on_() && pass()) {
    }
    return std::move(best_);
  }

 private:
  // What comes after the broken step is not needed.
  void cut_to_the_step() {
    Reduction next = best_.reduction;
    if (best_.violation.step >= Profile::draw(seed_, next).steps) return;
    next.steps = best_.violation.step;
    attempt(next);
  }

  // True when anything could be taken away.
  bool pass() {
    const Reduction before = best_.reduction;
    for (std::size_t i = 0; i < kFaults; ++i) {
      if (Profile::draw(seed_, best_.reduction).rate[i] == 0.0) continue;
      Reduction next = best_.reduction;
      next.faults |= 1ULL << i;
      attempt(next);
    }
    for (std::size_t i = 0; i < kFeatures; ++i) {
      if ((Profile::draw(seed_, best_.reduction).features >> i & 1U) == 0) continue;
      Reduction next = best_.reduction;
      next.features |= 1ULL << i;
      attempt(next);
    }
    const auto fewer = [&](std::optional<std::uint32_t> Reduction::*actors,
                           std::uint32_t Profile::*now) {
      const std::uint32_t many = Profile::draw(seed_, best_.reduction).*now;
      if (many <= 1) return;
      Reduction next = best_.reduction;
      next.*actors = many / 2;
      attempt(next);
    };
    fewer(&Reduction::clients, &Profile::clients);
    fewer(&Reduction::workers, &Profile::workers);
    Reduction half = best_.reduction;
    half.steps = Profile::draw(seed_, half).steps / 2;
    attempt(half);
    return !(before == best_.reduction);
  }

  void attempt(Reduction next) {
    if (!may_go_on_()) return;
    ++best_.runs;
    const RunResult result = run_(Profile::draw(seed_, next));
    if (!result.violation) return;
    const std::uint64_t steps = Profile::draw(seed_, next).steps;
    if (result.violation->step < steps) next.steps = result.violation->step;
    best_.reduction = next;
    best_.violation = *result.violation;
  }

  const std::uint64_t seed_;
  const RunFn& run_;
  const std::function<bool()>& may_go_on_;
  Shrunk best_;
};

}  // namespace

Shrunk shrink(std::uint64_t seed, const Reduction& start, const Violation& broken, const RunFn& run,
              const std::function<bool()>& may_go_on) {
  return Shrinker(seed, run, may_go_on, {start, broken, 0}).all();
}

}  // namespace rota::sim
