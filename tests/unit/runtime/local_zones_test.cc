// SPDX-License-Identifier: Apache-2.0
#include "runtime/local_zones.h"

#include <gtest/gtest.h>

namespace rota::runtime {
namespace {

constexpr std::int64_t kMarch2024 = 1'711'846'800;    // 2024-03-31T01:00:00Z
constexpr std::int64_t kOctober2024 = 1'729'990'800;  // 2024-10-27T01:00:00Z

TEST(LocalZones, SpansOfBerlin) {
  LocalZones zones;
  const core::TimeZonePtr berlin = zones.find("Europe/Berlin");
  ASSERT_NE(berlin, nullptr);
  EXPECT_EQ(berlin->name(), "Europe/Berlin");
  const core::ZoneSpan summer = berlin->span_at(kMarch2024);
  EXPECT_EQ(summer.begin_s, kMarch2024);
  EXPECT_EQ(summer.end_s, kOctober2024);
  EXPECT_EQ(summer.offset_s, 7200);
  EXPECT_EQ(summer.offset_before_s, 3600);
  const core::ZoneSpan winter = berlin->span_at(kOctober2024);
  EXPECT_EQ(winter.begin_s, kOctober2024);
  EXPECT_EQ(winter.offset_s, 3600);
  EXPECT_EQ(winter.offset_before_s, 7200);
  EXPECT_EQ(berlin->span_at(kMarch2024 - 1).end_s, kMarch2024);
  EXPECT_EQ(berlin->abbreviation_at(kMarch2024), "CEST");
}

TEST(LocalZones, SpansCoverTheTimeLineWithoutGaps) {
  LocalZones zones;
  for (const char* name : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                           "Asia/Kolkata", "Pacific/Apia", "Africa/Casablanca", "Etc/GMT+5"}) {
    const core::TimeZonePtr zone = zones.find(name);
    ASSERT_NE(zone, nullptr) << name;
    std::int64_t at = -3'000'000'000;
    int spans = 0;
    while (at < 5'000'000'000 && spans < 2'000) {
      const core::ZoneSpan span = zone->span_at(at);
      ASSERT_LE(span.begin_s, at) << name;
      ASSERT_GT(span.end_s, at) << name;
      if (span.begin_s != core::kDistantPast) {
        const core::ZoneSpan before = zone->span_at(span.begin_s - 1);
        ASSERT_EQ(before.end_s, span.begin_s) << name;
        ASSERT_EQ(before.offset_s, span.offset_before_s) << name;
      }
      at = span.end_s;
      ++spans;
    }
    EXPECT_LT(spans, 2'000) << name;
  }
}

TEST(LocalZones, ARuleThatRepeatsGoesOnBeyondTheTable) {
  LocalZones zones;
  const core::TimeZonePtr berlin = zones.find("Europe/Berlin");
  // 2150-07-01T00:00:00Z
  EXPECT_EQ(berlin->span_at(5'695'747'200).offset_s, 7200);
}

TEST(LocalZones, UnknownAndUncleanNamesAreNotFound) {
  LocalZones zones;
  EXPECT_EQ(zones.find("Mars/Olympus"), nullptr);
  EXPECT_EQ(zones.find("../etc/passwd"), nullptr);
  EXPECT_EQ(zones.find(""), nullptr);
}

TEST(LocalZones, TheSameNameGivesTheSameObject) {
  LocalZones zones;
  EXPECT_EQ(zones.find("Europe/Paris"), zones.find("Europe/Paris"));
}

TEST(LocalZones, TheVersionOfTheDataIsKnown) { EXPECT_FALSE(LocalZones::data_version().empty()); }

}  // namespace
}  // namespace rota::runtime
