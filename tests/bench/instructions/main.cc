// SPDX-License-Identifier: Apache-2.0
//
// The workload whose instructions tests/bench/instructions/guard counts: jobs enqueued, leased and
// finished by the engine over the store in memory, a hundred to a command, with a backlog of ten
// times as many in front. Nothing in it depends on time, chance or the machine.
#include <cstdio>
#include <cstdlib>

#include "bench/engine_driver.h"

// The guard counts within this function only: without the start of the program.
extern "C" [[gnu::noinline]] void rota_counted_workload(rota::measure::EngineDriver& driver,
                                                        int rounds, int jobs_of_round) {
  for (int i = 0; i < rounds; ++i) {
    driver.enqueue("bench", jobs_of_round, 200);
    driver.finish(driver.lease("bench", jobs_of_round));
  }
}

int main(int argc, char** argv) {
  constexpr int kJobsOfRound = 100;
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 10'000;
  if (jobs < kJobsOfRound) {
    std::fprintf(stderr, "usage: rota-bench-instructions JOBS, at least %d\n", kJobsOfRound);
    return 2;
  }
  rota::measure::EngineDriver driver;
  driver.make_queue("bench");
  for (int i = 0; i < 10; ++i) driver.enqueue("bench", kJobsOfRound, 200);
  rota_counted_workload(driver, jobs / kJobsOfRound, kJobsOfRound);
  std::printf("%d jobs\n", jobs / kJobsOfRound * kJobsOfRound);
  return 0;
}
