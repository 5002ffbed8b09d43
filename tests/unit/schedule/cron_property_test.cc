// SPDX-License-Identifier: Apache-2.0
//
// Random expressions against a second evaluator that walks real time step by step and only asks the
// zone what the clock shows. Forward search, backward search, counting and selection must all agree
// with it. The seed is printed; ROTA_TEST_SEED repeats a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/time_format.h"
#include "core/schedule/civil.h"
#include "core/schedule/cron_next.h"
#include "runtime/local_zones.h"
#include "unit/schedule/support.h"

namespace rota::core {
namespace {

using testing::seconds;

std::uint64_t seed() {
  const char* set = std::getenv("ROTA_TEST_SEED");
  const std::uint64_t value =
      set != nullptr ? std::strtoull(set, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu (repeat with ROTA_TEST_SEED)\n", static_cast<unsigned long long>(value));
  return value;
}

// Whether the wall clock reading matches, field by field, from the definition.
bool matches(const CronExpr& expr, std::int64_t local_s) {
  const std::int64_t day = floor_div(local_s, kSecondsPerDay);
  const std::int64_t second = floor_mod(local_s, kSecondsPerDay);
  const base::CivilDate date = base::civil_from_days(day);
  const bool in_month = expr.days_of_month >> date.day & 1;
  const bool in_week = expr.days_of_week >> weekday_of_day(day) & 1;
  return (expr.seconds >> (second % 60) & 1) && (expr.minutes >> (second / 60 % 60) & 1) &&
         (expr.hours >> (second / 3600) & 1) && (expr.months >> date.month & 1) &&
         (expr.either_day ? in_month || in_week : in_month && in_week);
}

// Every tick in [from, to), found by looking at the clock once a step. The zone's changes must fall
// on steps.
std::vector<std::int64_t> scan(const CronExpr& expr, const TimeZone& zone, std::int64_t from,
                               std::int64_t to, std::int64_t step) {
  std::vector<std::int64_t> ticks;
  // Two days ahead, so that a repeated hour at the beginning is known as such.
  const std::int64_t begin = from - 2 * kSecondsPerDay;
  std::int64_t before = local_at(zone, begin - step);
  std::int64_t reached = before;
  for (std::int64_t at = begin; at < to; at += step) {
    const std::int64_t local = local_at(zone, at);
    bool runs = matches(expr, local);
    if (!expr.wildcard) {
      if (local <= reached) runs = false;
      const std::int64_t gap = local - before - step;
      if (gap > 0 && gap < 3 * kSecondsPerHour) {
        for (std::int64_t missing = before + step; missing < local; missing += step) {
          runs = runs || matches(expr, missing);
        }
      }
      reached = std::max(reached, local);
    }
    before = local;
    if (runs && at >= from) ticks.push_back(at);
  }
  return ticks;
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::int64_t pick64(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  std::string field(int low, int high, int star_percent) {
    if (chance(star_percent)) return chance(50) ? "*" : "*/" + std::to_string(pick(1, 20));
    std::string out;
    for (int items = pick(1, 3); items > 0; --items) {
      const int from = pick(low, high);
      out += (out.empty() ? "" : ",") + std::to_string(from);
      if (chance(30)) out += "-" + std::to_string(pick(from, high));
      if (chance(20)) out += "/" + std::to_string(pick(1, 20));
    }
    return out;
  }

  // Hours near the changes of the clock come up often.
  std::string expression(bool with_seconds) {
    std::string out = with_seconds ? field(0, 59, 30) + " " : "";
    out += field(0, 59, 20) + " ";
    out += (chance(50) ? field(0, 4, 10) : field(0, 23, 20)) + " ";
    out += field(1, 31, 70) + " ";
    out += field(1, 12, 80) + " ";
    return out + field(0, 7, 60);
  }

 private:
  std::mt19937_64 random_;
};

void compare(const CronExpr& expr, const TimeZone& zone, std::int64_t from, std::int64_t to,
             std::int64_t step, Generator& random) {
  const std::vector<std::int64_t> expected = scan(expr, zone, from, to, step);
  const CronTicks ticks(expr, zone);
  std::vector<std::int64_t> forward;
  for (auto tick = ticks.first_in(from, to); tick; tick = ticks.first_in(*tick + 1, to)) {
    forward.push_back(*tick);
    ASSERT_LE(forward.size(), expected.size() + 1) << testing::text(*tick * 1000);
  }
  ASSERT_EQ(forward, expected);
  std::vector<std::int64_t> backward;
  for (auto tick = ticks.last_in(from, to); tick; tick = ticks.last_in(from, *tick)) {
    backward.push_back(*tick);
    ASSERT_LE(backward.size(), expected.size());
  }
  std::reverse(backward.begin(), backward.end());
  ASSERT_EQ(backward, expected);
  for (int i = 0; i < 20; ++i) {
    const std::int64_t low = random.pick64(from, to);
    const std::int64_t high = random.pick64(low, to);
    const auto first = std::lower_bound(expected.begin(), expected.end(), low);
    const auto last = std::lower_bound(expected.begin(), expected.end(), high);
    ASSERT_EQ(ticks.count_in(low, high), last - first) << low << " " << high;
    // From any instant, not only from ticks.
    const auto next = ticks.first_in(low, to);
    ASSERT_EQ(next.has_value(), first != expected.end());
    if (next) {
      ASSERT_EQ(*next, *first);
    }
    const auto previous = ticks.last_in(from, high);
    ASSERT_EQ(previous.has_value(), last != expected.begin());
    if (previous) {
      ASSERT_EQ(*previous, *(last - 1));
    }
  }
}

CronExpr random_expression(Generator& random, bool with_seconds, std::string& text) {
  while (true) {
    text = random.expression(with_seconds);
    auto parsed = parse_cron(text);
    if (const auto* expr = std::get_if<CronExpr>(&parsed)) return *expr;
  }
}

constexpr const char* kZones[] = {
    "UTC",          "America/New_York",  "Europe/Berlin",    "Australia/Lord_Howe",
    "Asia/Kolkata", "America/Sao_Paulo", "Antarctica/Troll", "Africa/Casablanca",
    "Pacific/Apia", "Asia/Pyongyang",    "America/Caracas",  "Europe/Dublin",
    "Asia/Beirut",  "America/Santiago",  "Pacific/Chatham",  "Africa/Cairo",
};

TEST(CronProperty, MinutesOfAMonthInManyZones) {
  Generator random(seed());
  const runtime::LocalZones source;
  for (int round = 0; round < 96; ++round) {
    const std::string name = kZones[static_cast<std::size_t>(round) % std::size(kZones)];
    const TimeZonePtr zone = resolve_zone(name, source);
    ASSERT_TRUE(zone) << name;
    std::string expression;
    const CronExpr expr = random_expression(random, false, expression);
    const std::int64_t from =
        random.pick64(seconds("2005-01-01T00:00:00Z"), seconds("2035-01-01T00:00:00Z")) / 60 * 60;
    SCOPED_TRACE(expression + " in " + name + " from " + testing::text(from * 1000));
    ASSERT_NO_FATAL_FAILURE(compare(expr, *zone, from, from + 30 * kSecondsPerDay, 60, random));
  }
}

TEST(CronProperty, SecondsAroundChangesOfTheClock) {
  Generator random(seed());
  const runtime::LocalZones source;
  for (int round = 0; round < 32; ++round) {
    const std::string name = kZones[static_cast<std::size_t>(round) % std::size(kZones)];
    const TimeZonePtr zone = resolve_zone(name, source);
    ASSERT_TRUE(zone) << name;
    std::string expression;
    const CronExpr expr = random_expression(random, true, expression);
    const std::int64_t near =
        random.pick64(seconds("2005-01-01T00:00:00Z"), seconds("2020-01-01T00:00:00Z"));
    const ZoneSpan span = zone->span_at(near);
    const std::int64_t change = span.end_s == kDistantFuture ? near / 60 * 60 : span.end_s;
    SCOPED_TRACE(expression + " in " + name + " around " + testing::text(change * 1000));
    ASSERT_NO_FATAL_FAILURE(compare(expr, *zone, change - 4 * kSecondsPerHour,
                                    change + 4 * kSecondsPerHour, 1, random));
  }
}

// Steps of odd sizes at odd times, such as no real zone has today.
TEST(CronProperty, InventedZones) {
  Generator random(seed());
  for (int round = 0; round < 40; ++round) {
    const std::int64_t from = seconds("2026-03-01T00:00:00Z");
    std::vector<std::pair<std::int64_t, std::int32_t>> transitions;
    std::int64_t at = from;
    const int first = 60 * random.pick(-600, 600);
    int offset = first;
    for (int i = 0; i < 4; ++i) {
      at += 60 * random.pick(3 * 1440, 6 * 1440);
      offset = std::clamp(offset + 60 * random.pick(-200, 200), -50'000, 50'000) / 60 * 60;
      transitions.emplace_back(at, offset);
    }
    const testing::ListedZone zone("Test/Odd", first, transitions);
    std::string expression;
    const CronExpr expr = random_expression(random, false, expression);
    SCOPED_TRACE(expression + " round " + std::to_string(round));
    ASSERT_NO_FATAL_FAILURE(compare(expr, zone, from, from + 26 * kSecondsPerDay, 60, random));
  }
}

}  // namespace
}  // namespace rota::core
