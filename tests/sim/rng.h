// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that are the same bits everywhere: xoshiro256**, one stream for each domain, split
// from the seed of the run. What one domain draws never shifts what another draws, so that a change
// of the network does not change what the clients do.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

namespace rota::sim {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : seed_(seed) {
    std::uint64_t x = seed;
    for (std::uint64_t& word : state_) {  // splitmix64, as the authors of xoshiro say
      x += 0x9e3779b97f4a7c15ULL;
      std::uint64_t z = x;
      z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
      word = z ^ (z >> 31U);
    }
  }

  // A stream of its own for the domain; the same name gives the same stream.
  Rng split(std::string_view domain, std::uint64_t number = 0) const {
    std::uint64_t h = 0xcbf29ce484222325ULL ^ seed_;
    for (const char c : domain) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return Rng(h + number * 0x9e3779b97f4a7c15ULL);
  }

  std::uint64_t next() {
    const std::uint64_t result = rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotl(state_[3], 45);
    return result;
  }

  // 0 <= result < n; 0 when n is 0.
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64U);
  }
  // lo <= result <= hi.
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(hi - lo) + 1));
  }
  double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }  // 0 <= result < 1
  bool chance(double p) { return unit() < p; }
  // Each factor of two between lo and hi is as likely as another.
  double log_uniform(double lo, double hi) { return lo * std::exp2(unit() * std::log2(hi / lo)); }

 private:
  static std::uint64_t rotl(std::uint64_t x, unsigned k) { return (x << k) | (x >> (64U - k)); }

  std::uint64_t seed_;
  std::uint64_t state_[4];
};

}  // namespace rota::sim
