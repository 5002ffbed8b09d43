// SPDX-License-Identifier: Apache-2.0
//
// The window over a queue's ready order, at its usual size: jobs come at the end and go at the
// head.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "base/limits.h"
#include "core/window.h"
#include "model/job.h"

namespace rota::measure {
namespace {

constexpr std::uint64_t kRows = base::limits::kWindowRowsDefault;

void offer_and_pop(benchmark::State& state) {
  core::Window<model::JobKey, std::uint64_t> window;
  std::uint64_t next = 0;
  const auto offer = [&] {
    window.offer({.queue = 1, .priority = 100, .seq = next}, next, 256);
    ++next;
  };
  while (window.size() < kRows) offer();
  for (auto _ : state) {
    offer();
    benchmark::DoNotOptimize(window.pop());
  }
}
BENCHMARK(offer_and_pop)->Name("window/offer_and_pop");

// A page of a refill: what a backlog costs for each job that it brings.
void refill(benchmark::State& state) {
  const auto rows = static_cast<std::uint64_t>(base::limits::kScanPageRowsMax);
  std::uint64_t next = 0;
  core::Window<model::JobKey, std::uint64_t> window;
  window.cover_none();
  for (auto _ : state) {
    window.begin_refill();
    if (!window.accept_page()) return state.SkipWithError("the page is not taken");
    for (std::uint64_t i = 0; i < rows; ++i, ++next) {
      window.offer_page({.queue = 1, .priority = 100, .seq = next}, next, 256);
    }
    const model::JobKey limit{.queue = 1, .priority = 100, .seq = next};
    window.finish_refill(&limit);
    while (!window.empty()) benchmark::DoNotOptimize(window.pop());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows));
}
BENCHMARK(refill)->Name("window/refill");

}  // namespace
}  // namespace rota::measure
