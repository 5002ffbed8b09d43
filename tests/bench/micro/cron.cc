// SPDX-License-Identifier: Apache-2.0
//
// Cron text, and the next tick of it from one day to the next through the year.
#include <benchmark/benchmark.h>

#include <string>
#include <variant>

#include "core/schedule/cron_expr.h"
#include "core/schedule/cron_next.h"
#include "runtime/local_zones.h"

namespace rota::measure {
namespace {

constexpr std::int64_t kBegin_s = 1'795'953'600;  // 2026-11-29T12:00:00Z
constexpr std::int64_t kDay_s = 86'400;
constexpr std::int64_t kFar_s = kBegin_s + 100 * 366 * kDay_s;

void parse(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(core::parse_cron("*/10 8-18 1,15 JAN-JUN MON-FRI"));
  }
}
BENCHMARK(parse)->Name("cron/parse");

void next(benchmark::State& state, const std::string& text, const std::string& zone_name) {
  const auto parsed = core::parse_cron(text);
  const auto* expr = std::get_if<core::CronExpr>(&parsed);
  if (expr == nullptr) return state.SkipWithError("bad expression");
  const runtime::LocalZones zones;
  const core::TimeZonePtr zone = zone_name == "UTC" ? core::utc_zone() : zones.find(zone_name);
  if (!zone) return state.SkipWithError("no such zone");
  const core::CronTicks ticks(*expr, *zone);
  std::int64_t day = 0;
  for (auto _ : state) {
    const auto tick = ticks.first_in(kBegin_s + day * kDay_s, kFar_s);
    if (!tick) return state.SkipWithError("no tick");
    benchmark::DoNotOptimize(*tick);
    day = (day + 1) % 366;
  }
}
BENCHMARK_CAPTURE(next, each_second, "* * * * * *", "UTC")->Name("cron/next/each_second");
BENCHMARK_CAPTURE(next, daily, "30 3 * * *", "Europe/Helsinki")->Name("cron/next/daily");
BENCHMARK_CAPTURE(next, monthly, "0 0 1 * *", "Europe/Helsinki")->Name("cron/next/monthly");
BENCHMARK_CAPTURE(next, leap_day, "0 0 29 2 *", "Europe/Helsinki")->Name("cron/next/leap_day");

}  // namespace
}  // namespace rota::measure
