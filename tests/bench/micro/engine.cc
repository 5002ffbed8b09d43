// SPDX-License-Identifier: Apache-2.0
//
// The engine over the store in memory: what a job costs in each step of its life, by jobs of a
// command. Items are jobs.
#include <benchmark/benchmark.h>

#include <vector>

#include "bench/engine_driver.h"

namespace rota::measure {
namespace {

constexpr std::size_t kPayloadBytes = 200;
constexpr int kAhead = 100'000;  // jobs made before the clock runs

void enqueue(benchmark::State& state) {
  const int jobs = static_cast<int>(state.range(0));
  EngineDriver driver;
  driver.make_queue("bench");
  for (auto _ : state) driver.enqueue("bench", jobs, kPayloadBytes);
  state.SetItemsProcessed(state.iterations() * jobs);
}
BENCHMARK(enqueue)->Name("engine/enqueue")->Arg(1)->Arg(100)->Arg(1'000);

void lease_and_finish(benchmark::State& state) {
  const int jobs = static_cast<int>(state.range(0));
  EngineDriver driver;
  driver.make_queue("bench");
  std::int64_t left = 0, done = 0;
  for (auto _ : state) {
    if (left < jobs) {
      state.PauseTiming();
      for (; left < kAhead; left += 1'000) driver.enqueue("bench", 1'000, kPayloadBytes);
      state.ResumeTiming();
    }
    // Fewer than wanted where the window ends: the rest comes with the refill.
    const core::LeaseReply leased = driver.lease("bench", jobs);
    if (leased.jobs.empty()) return state.SkipWithError("no jobs, with a backlog");
    driver.finish(leased);
    left -= static_cast<std::int64_t>(leased.jobs.size());
    done += static_cast<std::int64_t>(leased.jobs.size());
  }
  state.SetItemsProcessed(done);
}
BENCHMARK(lease_and_finish)->Name("engine/lease_and_finish")->Arg(1)->Arg(100)->Arg(1'000);

void life(benchmark::State& state) {
  const int jobs = static_cast<int>(state.range(0));
  EngineDriver driver;
  driver.make_queue("bench");
  for (auto _ : state) {
    driver.enqueue("bench", jobs, kPayloadBytes);
    driver.finish(driver.lease("bench", jobs));
  }
  state.SetItemsProcessed(state.iterations() * jobs);
}
BENCHMARK(life)->Name("engine/life")->Arg(1)->Arg(100);

}  // namespace
}  // namespace rota::measure
