// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <string>
#include "sim/world.h"
int main(int argc, char** argv) {
  using namespace rota::sim;
  std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  std::uint64_t n = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const bool print = argc > 3;
  Coverage all;
  std::uint64_t steps = 0;
  int bad = 0;
  for (std::uint64_t s = first; s < first + n; ++s) {
    const Profile p = Profile::draw(s, {});
    RunResult r = run_once(p, print);
    steps += r.steps;
    all.add(r.coverage);
    if (r.violation) {
      ++bad;
      std::printf("seed %llu step %llu I%d: %s\n", (unsigned long long)s,
                  (unsigned long long)r.violation->step, r.violation->invariant,
                  r.violation->text.c_str());
    }
  }
  std::printf("%llu steps, %d bad\n", (unsigned long long)steps, bad);
  if (n > 1) std::printf("%s", all.table().c_str());
  for (auto& z : all.zeros()) std::printf("zero: %s\n", z.c_str());
  return bad != 0;
}
