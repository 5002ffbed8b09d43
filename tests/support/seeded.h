// SPDX-License-Identifier: Apache-2.0
//
// Random choices that a seed repeats on every machine, unlike the distributions of the library.
#pragma once

#include <cstdint>
#include <random>

namespace rota::support {

using Random = std::mt19937_64;

// Evenly from 0 to below `n`.
inline std::uint64_t below(Random& random, std::uint64_t n) { return random() % n; }

inline bool chance(Random& random, int percent) {
  return below(random, 100) < static_cast<std::uint64_t>(percent);
}

}  // namespace rota::support
