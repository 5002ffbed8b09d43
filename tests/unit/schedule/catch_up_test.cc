// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/catch_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/limits.h"
#include "unit/schedule/support.h"

namespace rota::core {
namespace {

using ::testing::ElementsAre;
using testing::every;
using ::testing::IsEmpty;
using testing::ms;
using testing::utc_cron;

constexpr std::int64_t kTolerance = 10'000;
constexpr std::int64_t kYear = base::kYearMs;

model::CatchUpPolicy policy(model::CatchUp mode, std::int64_t window_ms = kYear,
                            std::uint32_t max_runs = 1000) {
  return {mode, window_ms, max_runs};
}

TickPlan plan(const Schedule& schedule, const model::CatchUpPolicy& with, std::int64_t cursor,
              std::int64_t now, int cap = 100) {
  return plan_ticks(schedule, with, {cursor, now, kTolerance, cap});
}

// "+5" fires on time, "late 5" fires by policy, "OVER_CAP 1-3 x3" is a range; times in seconds
// from `zero`.
std::vector<std::string> shown(const TickPlan& plan, std::int64_t zero = 0) {
  std::vector<std::string> out;
  const auto at = [&](std::int64_t t) { return std::to_string((t - zero) / 1000); };
  for (const TickAction& action : plan.actions) {
    if (const auto* fire = std::get_if<FireTick>(&action)) {
      out.push_back((fire->late ? "late " : "+") + at(fire->nominal_ms));
    } else {
      const auto& range = std::get<MissedRange>(action);
      out.push_back(std::string(name_of(range.reason)) + " " + at(range.first_ms) + "-" +
                    at(range.last_ms) + " x" + std::to_string(range.count.count));
    }
  }
  return out;
}

std::vector<std::int64_t> fired(const TickPlan& plan) {
  std::vector<std::int64_t> out;
  for (const TickAction& action : plan.actions) {
    if (const auto* fire = std::get_if<FireTick>(&action)) out.push_back(fire->nominal_ms);
  }
  return out;
}

TEST(CatchUp, NothingDue) {
  const TickPlan idle = plan(every(60'000), policy(model::CatchUp::kAll), 0, 59'999);
  EXPECT_THAT(idle.actions, IsEmpty());
  EXPECT_EQ(idle.cursor_ms, 0);
  EXPECT_EQ(idle.next_ms, 60'000);
  EXPECT_FALSE(idle.more);
}

TEST(CatchUp, OnTimeTicksFireUnderEveryPolicy) {
  for (auto mode : {model::CatchUp::kNone, model::CatchUp::kLatest, model::CatchUp::kAll}) {
    // A restart of two seconds; the tick at 5 s is exactly as late as is tolerated.
    const TickPlan due = plan(every(5'000), policy(mode), 4'000, 15'000);
    EXPECT_THAT(shown(due), ElementsAre("+5", "+10", "+15"));
    EXPECT_EQ(due.cursor_ms, 15'000);
    EXPECT_EQ(due.next_ms, 20'000);
  }
}

TEST(CatchUp, OneMillisecondOverTheToleranceIsLate) {
  const TickPlan due = plan(every(5'000), policy(model::CatchUp::kNone), 4'000, 15'001);
  EXPECT_THAT(shown(due), ElementsAre("CATCH_UP_NONE 5-5 x1", "+10", "+15"));
}

TEST(CatchUp, LatestFiresTheNewestLateTickAndAllOnTimeOnes) {
  const TickPlan due = plan(every(5'000), policy(model::CatchUp::kLatest), 0, 40'000);
  EXPECT_THAT(shown(due),
              ElementsAre("SUPERSEDED_BY_LATER 5-20 x4", "late 25", "+30", "+35", "+40"));
  EXPECT_EQ(due.cursor_ms, 40'000);
}

TEST(CatchUp, LatestOutsideTheWindowIsMissed) {
  const TickPlan due =
      plan(every(3'600'000), policy(model::CatchUp::kLatest, 60'000), 0, 7'200'000 + 60'001);
  EXPECT_THAT(shown(due), ElementsAre("OUTSIDE_WINDOW 3600-7200 x2"));
  const TickPlan inside =
      plan(every(3'600'000), policy(model::CatchUp::kLatest, 60'000), 0, 7'200'000 + 60'000);
  EXPECT_THAT(shown(inside), ElementsAre("SUPERSEDED_BY_LATER 3600-3600 x1", "late 7200"));
}

TEST(CatchUp, AllFiresOldestFirstWithinWindowAndCap) {
  const std::int64_t now = 100'000;
  const TickPlan due = plan(every(10'000), policy(model::CatchUp::kAll, 70'000, 3), 0, now);
  EXPECT_THAT(shown(due), ElementsAre("OUTSIDE_WINDOW 10-20 x2", "OVER_CAP 30-50 x3", "late 60",
                                      "late 70", "late 80", "+90", "+100"));
}

TEST(CatchUp, AllGoesOnOverSeveralPlans) {
  const Schedule minutes = every(60'000);
  const auto all = policy(model::CatchUp::kAll, kYear, 250);
  // 301 minutes down; the newest tick is on time.
  const std::int64_t stop = 301 * 60'000;
  std::int64_t cursor = 0;
  std::int64_t now = stop;
  std::vector<std::int64_t> ran;
  std::vector<std::string> ranges;
  int plans = 0;
  for (bool more = true; more; ++plans) {
    const TickPlan step = plan(minutes, all, cursor, now);
    EXPECT_LE(fired(step).size(), 100u);
    for (std::int64_t nominal : fired(step)) ran.push_back(nominal);
    for (const std::string& line : shown(step)) {
      if (line.starts_with("OVER")) ranges.push_back(line);
    }
    cursor = step.cursor_ms;
    more = step.more;
    now += 20;  // time goes on meanwhile
  }
  EXPECT_EQ(plans, 3);
  EXPECT_THAT(ranges, ElementsAre("OVER_CAP 60-3000 x50"));
  ASSERT_EQ(ran.size(), 251u);
  EXPECT_EQ(ran.front(), 51 * 60'000);
  EXPECT_EQ(ran.back(), stop);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

TEST(CatchUp, NoneRecordsOneRange) {
  const TickPlan due = plan(every(1'000), policy(model::CatchUp::kNone), 0, 3'600'500);
  EXPECT_EQ(shown(due).front(), "CATCH_UP_NONE 1-3590 x3590");
  EXPECT_EQ(fired(due).size(), 10u);
}

TEST(CatchUp, TheBatchCapCutsOffOnTimeTicksToo) {
  const TickPlan due = plan(every(1'000), policy(model::CatchUp::kNone), 0, 9'000, 4);
  EXPECT_THAT(shown(due), ElementsAre("+1", "+2", "+3", "+4"));
  EXPECT_TRUE(due.more);
  EXPECT_EQ(due.next_ms, 5'000);
}

TEST(CatchUp, TheEndOfAScheduleIsItsLastTick) {
  model::ScheduleSpec spec;
  spec.every_ms = 10'000;
  spec.end_ms = 30'000;
  const Schedule schedule = testing::compiled(spec, testing::ListedZones());
  const TickPlan due = plan(schedule, policy(model::CatchUp::kAll), 0, 1'000'000);
  EXPECT_THAT(shown(due), ElementsAre("late 10", "late 20"));
  EXPECT_EQ(due.next_ms, std::nullopt);
  EXPECT_FALSE(due.more);
}

TEST(CatchUp, APausedTimeIsOneRange) {
  const auto range = missed_range(every(60'000), 0, 600'500, MissReason::kPaused);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(*range, (MissedRange{60'000, 600'000, {10, false}, MissReason::kPaused}));
  EXPECT_EQ(name_of(range->reason), "PAUSED");
  EXPECT_FALSE(missed_range(every(60'000), 0, 59'999, MissReason::kPaused).has_value());
}

TEST(CatchUp, PolicyLimits) {
  EXPECT_TRUE(check_catch_up(policy(model::CatchUp::kAll)).has_value());
  EXPECT_EQ(check_catch_up(policy(model::CatchUp::kAll, 999)).error().field, "catch_up.window");
  EXPECT_EQ(check_catch_up(policy(model::CatchUp::kAll, 11 * kYear)).error().field,
            "catch_up.window");
  EXPECT_EQ(check_catch_up(policy(model::CatchUp::kAll, kYear, 0)).error().field,
            "catch_up.max_runs");
  EXPECT_EQ(check_catch_up(policy(model::CatchUp::kAll, kYear, 100'001)).error().field,
            "catch_up.max_runs");
}

// --- scenarios ---------------------------------------------------------------------------------

TEST(CatchUpScenario, TenHoursDownWithAllAndWithLatest) {  // C103
  const Schedule hourly = utc_cron("0 * * * *");
  const std::int64_t cursor = ms("2026-01-01T00:00:00Z");
  const std::int64_t now = ms("2026-01-01T10:30:00Z");
  const TickPlan all = plan(hourly, policy(model::CatchUp::kAll), cursor, now);
  ASSERT_EQ(fired(all).size(), 10u);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(fired(all)[static_cast<std::size_t>(i)], cursor + (i + 1) * 3'600'000);
  const TickPlan latest = plan(hourly, policy(model::CatchUp::kLatest), cursor, now);
  EXPECT_THAT(fired(latest), ElementsAre(ms("2026-01-01T10:00:00Z")));
}

TEST(CatchUpScenario, AnyNumberOfMissedTicksAndTheScheduleGoesOn) {  // C095
  const Schedule minutes = utc_cron("* * * * *");
  const std::int64_t cursor = ms("2026-01-01T00:00:00Z");
  for (std::int64_t missed : {101, 14'400}) {
    const std::int64_t now = cursor + missed * 60'000 + 30'000;
    const TickPlan due = plan(minutes, policy(model::CatchUp::kLatest), cursor, now);
    EXPECT_THAT(shown(due, cursor),
                ElementsAre("SUPERSEDED_BY_LATER 60-" + std::to_string((missed - 1) * 60) + " x" +
                                std::to_string(missed - 1),
                            "late " + std::to_string(missed * 60)));
    EXPECT_EQ(due.next_ms, cursor + (missed + 1) * 60'000);
  }
}

TEST(CatchUpScenario, AWeeklyTickDuringAnOutageOfNinetyMinutes) {  // C101
  const Schedule weekly = utc_cron("0 5 * * 1");
  const std::int64_t cursor = ms("2026-01-05T05:00:00Z");
  const std::int64_t now = ms("2026-01-12T06:00:00Z");
  EXPECT_THAT(shown(plan(weekly, policy(model::CatchUp::kLatest), cursor, now), now),
              ElementsAre("late -3600"));
  EXPECT_THAT(shown(plan(weekly, policy(model::CatchUp::kNone), cursor, now), now),
              ElementsAre("CATCH_UP_NONE -3600--3600 x1"));
}

TEST(CatchUpScenario, ATickDuringATakeOverOfFiveSeconds) {  // C096
  const Schedule schedule = utc_cron("*/10 * * * * *");
  EXPECT_THAT(shown(plan(schedule, policy(model::CatchUp::kNone), 20'000, 33'000)),
              ElementsAre("+30"));
}

TEST(CatchUpScenario, SlowPollingLosesNothing) {  // C097
  const Schedule minutes = utc_cron("* * * * *");
  std::int64_t cursor = 0;
  std::size_t runs = 0;
  // Planned every 60.2 s: the ticks drift further and further behind the planning.
  for (std::int64_t now = 60'200; cursor < 60 * 60'000; now += 60'200) {
    const TickPlan due = plan(minutes, policy(model::CatchUp::kLatest), cursor, now);
    runs += fired(due).size();
    cursor = due.cursor_ms;
  }
  EXPECT_EQ(runs, 60u);
}

TEST(CatchUpScenario, AClockInTheYear2200CostsNothing) {  // C105
  auto zone = std::make_shared<testing::ListedZone>("Test/Plain", 7200);
  model::ScheduleSpec spec;
  spec.cron = "* * * * *";
  spec.time_zone = "Test/Plain";
  const Schedule minutes = testing::compiled(spec, testing::ListedZones(zone));
  const std::int64_t cursor = ms("2026-01-01T00:00:00Z");
  const std::int64_t now = ms("2200-01-01T00:00:30Z");
  for (auto mode : {model::CatchUp::kNone, model::CatchUp::kLatest, model::CatchUp::kAll}) {
    zone->asked = 0;
    const TickPlan due = plan(minutes, policy(mode), cursor, now);
    EXPECT_LE(due.actions.size(), 102u);
    EXPECT_LE(zone->asked, 600);
    if (mode != model::CatchUp::kAll) {
      EXPECT_EQ(due.next_ms, ms("2200-01-01T00:01:00Z"));
    } else {
      EXPECT_EQ(std::get<MissedRange>(due.actions.front()).reason, MissReason::kOutsideWindow);
      EXPECT_EQ(fired(due).front(), ms("2200-01-01T00:00:00Z") - 999 * 60'000);
    }
  }
}

TEST(CatchUpScenario, AYearDownWithAOneSecondScheduleCostsNothing) {
  auto zone = std::make_shared<testing::ListedZone>("Test/Plain", 0);
  model::ScheduleSpec spec;
  spec.cron = "* * * * * *";
  spec.time_zone = "Test/Plain";
  const Schedule schedule = testing::compiled(spec, testing::ListedZones(zone));
  const std::int64_t cursor = ms("2026-01-01T00:00:00Z");
  const std::int64_t now = cursor + 365 * base::kDayMs;
  zone->asked = 0;
  const TickPlan latest = plan(schedule, policy(model::CatchUp::kLatest), cursor, now);
  EXPECT_LE(zone->asked, 100);
  ASSERT_EQ(latest.actions.size(), 13u);  // one range, one late tick, eleven on time
  EXPECT_EQ(std::get<MissedRange>(latest.actions.front()).count.count, 365u * 86'400 - 12);
  zone->asked = 0;
  const TickPlan all = plan(schedule, policy(model::CatchUp::kAll), cursor, now);
  EXPECT_LE(zone->asked, 600);
  EXPECT_EQ(std::get<MissedRange>(all.actions.front()).count.count, 365u * 86'400 - 11 - 1000);
  EXPECT_EQ(fired(all).size(), 100u);
  EXPECT_TRUE(all.more);
}

TEST(CatchUpScenario, ClockForwardFiresThePolicyOnceAndBackFiresNothing) {  // C115, C116
  const Schedule minutes = utc_cron("* * * * *");
  const std::int64_t noon = ms("2026-01-01T12:00:00Z");
  const TickPlan ahead =
      plan(minutes, policy(model::CatchUp::kLatest), noon, noon + 2 * base::kHourMs + 30'000);
  EXPECT_EQ(fired(ahead).size(), 1u);
  // The clock is set back: the cursor lies ahead, so nothing is due until the clock is there again.
  const TickPlan back = plan(minutes, policy(model::CatchUp::kAll), ahead.cursor_ms, noon + 90'000);
  EXPECT_THAT(back.actions, IsEmpty());
  EXPECT_EQ(back.cursor_ms, ahead.cursor_ms);
  EXPECT_FALSE(back.more);
}

TEST(CatchUpScenario, AfterASuspendTheTickIsLateAndNotPostponed) {  // C117
  const Schedule weekly = utc_cron("0 4 * * 0");
  const std::int64_t sunday = ms("2026-01-04T04:00:00Z");
  EXPECT_THAT(fired(plan(weekly, policy(model::CatchUp::kLatest), sunday - 4 * base::kHourMs,
                         sunday + 2 * base::kHourMs)),
              ElementsAre(sunday));
}

// Whatever the pauses between plans, every tick is covered exactly once and in order.
TEST(CatchUpProperty, EveryTickIsCoveredExactlyOnce) {
  std::mt19937_64 random(20260101);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Schedule schedule =
        round % 2 == 0 ? every(pick(1'000, 20'000), pick(0, 999)) : utc_cron("*/7 0-40 * * * *");
    const auto mode = static_cast<model::CatchUp>(pick(1, 3));
    const auto with = policy(mode, pick(1'000, 400'000), static_cast<std::uint32_t>(pick(1, 30)));
    const std::int64_t begin = ms("2026-01-01T00:00:00Z") + pick(0, 5'000'000);
    std::int64_t cursor = begin;
    std::int64_t now = begin;
    std::int64_t covered_to = begin;
    std::uint64_t covered = 0;
    for (int step = 0; step < 40; ++step) {
      now += pick(0, 3) == 0 ? pick(0, 900'000) : pick(0, 3'000);
      const TickPlan due = plan(schedule, with, cursor, now, static_cast<int>(pick(1, 20)));
      for (const TickAction& action : due.actions) {
        const bool fires = std::holds_alternative<FireTick>(action);
        const MissedRange range = fires ? MissedRange{std::get<FireTick>(action).nominal_ms,
                                                      std::get<FireTick>(action).nominal_ms,
                                                      {1, false},
                                                      {}}
                                        : std::get<MissedRange>(action);
        ASSERT_EQ(schedule.next_after(covered_to), range.first_ms) << "a tick was left out";
        ASSERT_EQ(schedule.count_in(covered_to, range.last_ms).count, range.count.count);
        ASSERT_LE(range.last_ms, now);
        ASSERT_TRUE(fires || range.last_ms < now - kTolerance) << "an on-time tick was missed";
        covered_to = range.last_ms;
        covered += range.count.count;
      }
      ASSERT_EQ(due.cursor_ms, due.actions.empty() ? cursor : covered_to);
      ASSERT_EQ(due.next_ms, schedule.next_after(due.cursor_ms));
      ASSERT_EQ(due.more, due.next_ms && *due.next_ms <= now);
      cursor = due.cursor_ms;
    }
    EXPECT_EQ(covered, schedule.count_in(begin, cursor).count);
  }
}

}  // namespace
}  // namespace rota::core
