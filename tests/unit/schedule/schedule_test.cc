// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/limits.h"
#include "runtime/local_zones.h"
#include "unit/schedule/support.h"

namespace rota::core {
namespace {

using testing::compiled;
using ::testing::ElementsAre;
using testing::every;
using ::testing::HasSubstr;
using testing::ms;
using testing::text;
using testing::texts;
using testing::utc_cron;

constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

model::ScheduleSpec cron_in(std::string expression, std::string zone) {
  model::ScheduleSpec spec;
  spec.cron = std::move(expression);
  spec.time_zone = std::move(zone);
  return spec;
}

base::Error refusal(const model::ScheduleSpec& spec) {
  const auto schedule = Schedule::compile(spec, testing::ListedZones());
  EXPECT_FALSE(schedule.has_value());
  return schedule ? base::Error{} : schedule.error();
}

TEST(ScheduleCheck, NamesTheFieldAtFault) {
  model::ScheduleSpec spec;
  EXPECT_EQ(refusal(spec).reason, base::Reason::kMissingField);
  EXPECT_EQ(refusal(spec).field, "cron");

  spec.cron = "0 0 31 4 *";
  EXPECT_EQ(refusal(spec).reason, base::Reason::kBadCron);
  EXPECT_EQ(refusal(spec).field, "cron");
  EXPECT_EQ(refusal(spec).meta.at("position"), "5");
  EXPECT_EQ(refusal(spec).meta.at("cronField"), "day of month");

  spec.cron = "@daily";
  spec.every_ms = 1000;
  EXPECT_EQ(refusal(spec).field, "every");
  spec.every_ms = 0;
  spec.phase_ms = 5;
  EXPECT_EQ(refusal(spec).field, "phase");
  spec.phase_ms = 0;
  spec.time_zone = "Mars/Phobos";
  EXPECT_EQ(refusal(spec).reason, base::Reason::kUnknownTimeZone);
  EXPECT_EQ(refusal(spec).field, "time_zone");
  spec.time_zone = "";
  spec.business_day_offset = 367;
  EXPECT_EQ(refusal(spec).field, "business_day_offset");
  EXPECT_THAT(refusal(spec).message, HasSubstr("366"));
  spec.business_day_offset = 0;
  EXPECT_TRUE(Schedule::compile(spec, testing::ListedZones()).has_value());
}

TEST(ScheduleCheck, Intervals) {
  model::ScheduleSpec spec;
  spec.every_ms = 999;
  EXPECT_EQ(refusal(spec).field, "every");
  EXPECT_THAT(refusal(spec).message, HasSubstr("at least 1000 ms"));
  spec.every_ms = -1;
  EXPECT_EQ(refusal(spec).field, "every");
  spec.every_ms = kMax64;
  EXPECT_EQ(refusal(spec).field, "every");
  spec.every_ms = 1000;
  spec.phase_ms = 1000;
  EXPECT_EQ(refusal(spec).field, "phase");
  spec.phase_ms = -1;
  EXPECT_EQ(refusal(spec).field, "phase");
}

TEST(ScheduleCheck, BoundsMustLeaveATick) {
  model::ScheduleSpec spec = cron_in("0 0 29 2 *", "UTC");
  spec.start_ms = ms("2026-01-01T00:00:00Z");
  spec.end_ms = ms("2027-01-01T00:00:00Z");
  EXPECT_EQ(refusal(spec).field, "end_time");
  spec.end_ms = spec.start_ms;
  EXPECT_EQ(refusal(spec).field, "end_time");
  spec.end_ms = kMax64;
  EXPECT_EQ(refusal(spec).field, "end_time");
  spec.end_ms.reset();
  spec.start_ms = -1;
  EXPECT_EQ(refusal(spec).field, "start_time");
  spec.start_ms = ms("9999-12-31T00:00:00Z");
  EXPECT_EQ(refusal(spec).field, "start_time");
}

TEST(ScheduleTicks, StartIsIncludedAndEndIsNot) {
  model::ScheduleSpec spec = cron_in("0 * * * *", "UTC");
  spec.start_ms = ms("2026-01-01T10:00:00Z");
  spec.end_ms = ms("2026-01-01T12:00:00Z");
  const Schedule schedule = compiled(spec, testing::ListedZones());
  EXPECT_THAT(texts(schedule.next_times(kMin64, 10)),
              ElementsAre("2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"));
  EXPECT_EQ(schedule.count_in(kMin64, kMax64).count, 2u);
  EXPECT_EQ(schedule.latest_in(kMin64, kMax64), ms("2026-01-01T11:00:00Z"));
  EXPECT_EQ(schedule.next_after(kMax64), std::nullopt);
}

TEST(ScheduleTicks, IntervalsAreAlignedToTheEpoch) {
  EXPECT_THAT(texts(every(60'000, 5'250).next_times(ms("2026-01-01T00:00:10Z"), 2)),
              ElementsAre("2026-01-01T00:01:05.250Z", "2026-01-01T00:02:05.250Z"));
  const Schedule seconds = every(1'000);
  EXPECT_EQ(seconds.next_after(4'999), 5'000);
  EXPECT_EQ(seconds.next_after(5'000), 6'000);
  EXPECT_EQ(seconds.next_after(kMin64), 0);
  EXPECT_EQ(seconds.latest_in(4'000, 4'999), std::nullopt);
  EXPECT_EQ(seconds.latest_in(3'999, 4'999), 4'000);
  EXPECT_EQ(seconds.nth_latest_in(0, 10'000, 3), 8'000);
  EXPECT_EQ(seconds.nth_latest_in(0, 10'000, 11), std::nullopt);
}

TEST(ScheduleTicks, CountingTakesNoTimeHoweverManyTicksThereAre) {
  auto zone = std::make_shared<testing::ListedZone>("Test/Plain", 3600);
  const Schedule seconds =
      compiled(cron_in("* * * * * *", "Test/Plain"), testing::ListedZones(zone));
  const std::int64_t from = ms("2026-01-01T00:00:00Z");
  const std::int64_t to = ms("2027-01-01T00:00:00Z");
  zone->asked = 0;
  EXPECT_EQ(seconds.count_in(from, to), (TickCount{31'536'000, false}));
  EXPECT_EQ(seconds.latest_in(from, to), to);
  EXPECT_LE(zone->asked, 2);
  EXPECT_EQ(seconds.nth_latest_in(from, to, 100'000), to - 99'999'000);
  EXPECT_LE(zone->asked, 50);
}

TEST(ScheduleTicks, SearchesAreBounded) {
  const runtime::LocalZones zones;
  // 29 February on a Sunday: 28 years apart, 40 across the year 2100.
  const Schedule rare = compiled(cron_in("0 0 29 2 */7", "Europe/Berlin"), zones);
  EXPECT_THAT(texts(rare.next_times(ms("2061-01-01T00:00:00Z"), 2)),
              ElementsAre("2088-02-28T23:00:00Z", "2128-02-28T23:00:00Z"));
  EXPECT_EQ(rare.next_after(ms("9999-01-01T00:00:00Z")), std::nullopt);
  EXPECT_EQ(rare.latest_in(ms("2026-01-01T00:00:00Z"), ms("2030-01-01T00:00:00Z")), std::nullopt);
}

TEST(ScheduleDates, BusinessDateIsTheLocalDatePlusTheOffset) {
  const runtime::LocalZones zones;
  model::ScheduleSpec spec = cron_in("0 0 * * *", "Europe/Helsinki");
  spec.business_day_offset = -1;
  const Schedule schedule = compiled(spec, zones);
  EXPECT_EQ(schedule.business_date(ms("2026-11-29T22:00:00Z")), "2026-11-29");
  EXPECT_EQ(schedule.business_date(ms("2026-12-31T22:00:00Z")), "2026-12-31");
  EXPECT_EQ(schedule.template_values(ms("2026-11-29T22:00:00Z")).nominal_time,
            "2026-11-29T22:00:00Z");
  EXPECT_EQ(every(60'000).business_date(ms("2028-02-29T23:59:00Z")), "2028-02-29");
}

TEST(ScheduleDescribe, GapsAndRepeatedTimes) {
  const runtime::LocalZones zones;
  const Schedule helsinki = compiled(cron_in("30 3 * * *", "Europe/Helsinki"), zones);
  const auto plain = helsinki.describe(ms("2027-03-27T01:30:00Z"));
  EXPECT_EQ(plain.utc, "2027-03-27T01:30:00Z");
  EXPECT_EQ(plain.local, "2027-03-27T03:30:00+02:00");
  EXPECT_EQ(plain.abbreviation, "EET");
  EXPECT_EQ(plain.business_date, "2027-03-27");
  EXPECT_EQ(plain.note, TickNote::kNone);
  EXPECT_EQ(plain.note_text, "");
  const auto gap = helsinki.describe(ms("2027-03-28T01:00:00Z"));
  EXPECT_EQ(gap.local, "2027-03-28T04:00:00+03:00");
  EXPECT_EQ(gap.note, TickNote::kEndOfGap);
  EXPECT_EQ(gap.note_text,
            "03:30 does not exist that day (clocks go 03:00 -> 04:00); rule END_OF_GAP");
  const auto fold = helsinki.describe(ms("2027-10-31T00:30:00Z"));
  EXPECT_EQ(fold.note, TickNote::kFirstPass);
  EXPECT_EQ(fold.note_text, "03:30 happens twice that day; this is the first time; rule FIRST");

  const Schedule hourly = compiled(cron_in("30 * * * *", "Europe/Helsinki"), zones);
  EXPECT_EQ(hourly.describe(ms("2027-10-31T01:30:00Z")).note, TickNote::kSecondPass);
  EXPECT_EQ(hourly.describe(ms("2027-10-31T01:30:00Z")).note_text,
            "03:30 happens twice that day; this is the second time, both run");
  EXPECT_EQ(hourly.describe(ms("2027-03-28T01:30:00Z")).note, TickNote::kNone);

  const Schedule korea = compiled(cron_in("45 23 4 5 *", "Asia/Pyongyang"), zones);
  EXPECT_EQ(korea.describe(ms("2018-05-04T15:00:00Z")).note_text,
            "2018-05-04 23:45 does not exist (clocks go 23:30 -> 00:00); rule END_OF_GAP");
}

// Scenarios in which a schedule was changed; the engine sets the cursor to the time of the edit.

TEST(ScheduleEdits, ZoneChangeMovesTheNextTick) {  // C094, C113
  const runtime::LocalZones zones;
  const Schedule berlin = compiled(cron_in("0 21 * * *", "Europe/Berlin"), zones);
  EXPECT_EQ(text(*berlin.next_after(ms("2026-05-19T10:00:00Z"))), "2026-05-19T19:00:00Z");
  const Schedule new_york = compiled(cron_in("0 9 * * *", "America/New_York"), zones);
  EXPECT_EQ(text(*new_york.next_after(ms("2026-01-15T06:00:00Z"))), "2026-01-15T14:00:00Z");
}

TEST(ScheduleEdits, ANewExpressionNeverFiresInThePast) {  // C112
  EXPECT_EQ(text(*utc_cron("0 0 11 * *").next_after(ms("2026-06-12T08:00:00Z"))),
            "2026-07-11T00:00:00Z");
  EXPECT_EQ(text(*utc_cron("0 3 * * *").next_after(ms("2026-01-22T12:00:00Z"))),
            "2026-01-23T03:00:00Z");
}

TEST(ScheduleEdits, ANewIntervalIsComputedFromTheEdit) {  // C082
  EXPECT_EQ(every(8'000).next_after(10'000), 16'000);
  EXPECT_EQ(every(2'000).next_after(10'000), 12'000);
}

}  // namespace
}  // namespace rota::core
