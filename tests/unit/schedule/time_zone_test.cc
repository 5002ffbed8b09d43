// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/time_zone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedule/time_text.h"
#include "runtime/local_zones.h"
#include "unit/schedule/support.h"

namespace rota::core {
namespace {

using ::testing::HasSubstr;
using testing::seconds;

TEST(TimeZone, CleanNames) {
  for (const char* name : {"Europe/Berlin", "UTC", "Etc/GMT+5", "America/Argentina/Buenos_Aires",
                           "America/Port-au-Prince", "EST5EDT"}) {
    EXPECT_TRUE(is_clean_zone_name(name)) << name;
  }
  for (const char* name :
       {"", "../../etc/passwd", "/etc/localtime", "Europe//Berlin", "Europe/", "Europe/../UTC", ".",
        "localtime", "posixrules", "Factory", "posix/Europe/Berlin", "right/Europe/Berlin",
        "Europe/Berlin ", "Europe Berlin", "+05:30", "file:Europe/Berlin", "tzdata.zi",
        "Europe/Berl\xC3\xADn"}) {
    EXPECT_FALSE(is_clean_zone_name(name)) << name;
  }
  EXPECT_FALSE(is_clean_zone_name(std::string(65, 'a')));
  EXPECT_FALSE(is_clean_zone_name(std::string_view("UTC\0x", 5)));
}

TEST(TimeZone, FixedOffsets) {
  EXPECT_EQ(parse_fixed_offset("+05:30"), 19'800);
  EXPECT_EQ(parse_fixed_offset("-03:00"), -10'800);
  EXPECT_EQ(parse_fixed_offset("+00:00"), 0);
  EXPECT_EQ(parse_fixed_offset("+18:00"), 64'800);
  for (const char* text : {"", "+5:30", "+0530", "05:30", "+05:60", "+18:01", "+24:00", "+05:3",
                           "+05:30 ", "+a5:30", "UTC+5", "Z"}) {
    EXPECT_FALSE(parse_fixed_offset(text).has_value()) << text;
  }
}

TEST(TimeZone, ResolvedByName) {
  const testing::ListedZones none;
  EXPECT_EQ(resolve_zone("", none), utc_zone());
  EXPECT_EQ(resolve_zone("UTC", none), utc_zone());
  const TimeZonePtr india = resolve_zone("+05:30", none);
  ASSERT_TRUE(india);
  EXPECT_EQ(india->name(), "+05:30");
  EXPECT_EQ(india->span_at(0).offset_s, 19'800);
  EXPECT_EQ(resolve_zone("utc", none), nullptr);
  EXPECT_EQ(resolve_zone("Mars/Phobos", none), nullptr);
  EXPECT_THAT(zone_fault("Mars/Phobos"), HasSubstr("not in the server's IANA time zone data"));
  EXPECT_THAT(zone_fault("../x"), HasSubstr("not a name of the IANA"));
  EXPECT_THAT(zone_fault("+99:00"), HasSubstr("not an offset"));
}

TEST(TimeZone, LocalTimesThatAreSkippedOrRepeated) {
  const std::int64_t forward = 1'000'000'000;
  const std::int64_t back = 1'010'000'000;
  const testing::ListedZone zone("Test/Steps", 0, {{forward, 3600}, {back, 0}});
  const auto skipped = lookup_local(zone, forward + 1800);
  EXPECT_EQ(skipped.kind, LocalLookup::Kind::kSkipped);
  EXPECT_EQ(skipped.first_s, forward);
  const auto after_gap = lookup_local(zone, forward + 3600);
  EXPECT_EQ(after_gap.kind, LocalLookup::Kind::kUnique);
  EXPECT_EQ(after_gap.first_s, forward);
  const auto repeated = lookup_local(zone, back);
  EXPECT_EQ(repeated.kind, LocalLookup::Kind::kRepeated);
  EXPECT_EQ(repeated.first_s, back - 3600);
  EXPECT_EQ(repeated.last_s, back);
  EXPECT_EQ(lookup_local(zone, back + 3600).kind, LocalLookup::Kind::kUnique);
  EXPECT_EQ(lookup_local(zone, back - 1).kind, LocalLookup::Kind::kUnique);
}

TEST(TimeZone, OffsetText) {
  EXPECT_EQ(offset_text(0), "+00:00");
  EXPECT_EQ(offset_text(7200), "+02:00");
  EXPECT_EQ(offset_text(-12'600), "-03:30");
  EXPECT_EQ(offset_text(-2670), "-00:44:30");
}

TEST(HostZones, OnlyNamesThatExist) {
  const runtime::LocalZones zones;
  const TimeZonePtr berlin = zones.find("Europe/Berlin");
  ASSERT_TRUE(berlin) << "the package tzdata is missing";
  EXPECT_EQ(berlin->name(), "Europe/Berlin");
  EXPECT_EQ(zones.find("Europe/Berlin"), berlin) << "one object for a name";
  for (const char* name :
       {"Europe/berlin", "europe/Berlin", "Europe/Budapesst", "localtime", "posix/Europe/Berlin",
        "Europe", "UTC0", "Fixed/UTC+05:30:00", "zone.tab", "leapseconds"}) {
    EXPECT_EQ(zones.find(name), nullptr) << name;
  }
}

TEST(HostZones, DataVersion) {
  EXPECT_THAT(runtime::LocalZones::data_version(), ::testing::MatchesRegex("20[0-9][0-9].+"));
}

TEST(HostZones, SpansOfSummerTime) {
  const runtime::LocalZones zones;
  const TimeZonePtr berlin = zones.find("Europe/Berlin");
  ASSERT_TRUE(berlin);
  const ZoneSpan summer = berlin->span_at(seconds("2026-07-01T00:00:00Z"));
  EXPECT_EQ(summer.begin_s, seconds("2026-03-29T01:00:00Z"));
  EXPECT_EQ(summer.end_s, seconds("2026-10-25T01:00:00Z"));
  EXPECT_EQ(summer.offset_s, 7200);
  EXPECT_EQ(summer.offset_before_s, 3600);
  EXPECT_EQ(berlin->span_at(summer.begin_s).begin_s, summer.begin_s);
  EXPECT_EQ(berlin->span_at(summer.end_s - 1).begin_s, summer.begin_s);
  EXPECT_EQ(berlin->span_at(summer.end_s).begin_s, summer.end_s);
  EXPECT_EQ(berlin->abbreviation_at(summer.begin_s), "CEST");
}

// Abseil lists transitions for 400 years; the rule goes on behind them.
TEST(HostZones, SpansFarAheadFollowTheRule) {
  const runtime::LocalZones zones;
  for (const char* name : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}) {
    const TimeZonePtr zone = zones.find(name);
    ASSERT_TRUE(zone);
    constexpr std::int64_t kCycle = 146'097LL * 86'400;
    for (const char* at :
         {"2090-01-15T00:00:00Z", "2090-07-15T00:00:00Z", "2090-10-15T00:00:00Z"}) {
      const ZoneSpan near = zone->span_at(seconds(at));
      for (int cycles = 1; cycles < 15; ++cycles) {
        const ZoneSpan far = zone->span_at(seconds(at) + cycles * kCycle);
        EXPECT_EQ(far.begin_s, near.begin_s + cycles * kCycle) << name << " " << cycles;
        EXPECT_EQ(far.end_s, near.end_s + cycles * kCycle);
        EXPECT_EQ(far.offset_s, near.offset_s);
        EXPECT_EQ(far.offset_before_s, near.offset_before_s);
      }
    }
    // No hole where the table ends: spans follow each other.
    std::int64_t steps = 0;
    for (std::int64_t at = seconds("2390-01-01T00:00:00Z"); at < seconds("2490-01-01T00:00:00Z");) {
      const ZoneSpan span = zone->span_at(at);
      ASSERT_EQ(zone->span_at(span.end_s).begin_s, span.end_s);
      ASSERT_EQ(zone->span_at(span.end_s).offset_before_s, span.offset_s);
      at = span.end_s;
      ++steps;
    }
    EXPECT_GE(steps, 199) << name;
  }
}

}  // namespace
}  // namespace rota::core
