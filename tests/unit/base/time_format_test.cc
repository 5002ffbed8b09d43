// SPDX-License-Identifier: Apache-2.0
#include "base/time_format.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace rota::base {
namespace {

TEST(ParseTime, ReadsEveryFormOfTheRfc) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"1970-01-01t00:00:00z", 0},
      {"1970-01-01 00:00:01Z", 1'000},
      {"1969-12-31T23:59:59.999Z", -1},
      {"2026-11-30T00:00:00Z", 1'795'996'800'000},
      {"2026-11-30T02:00:00+02:00", 1'795'996'800'000},
      {"2026-11-29T18:30:00-05:30", 1'795'996'800'000},
      {"2026-11-30T00:00:00.25Z", 1'795'996'800'250},
      {"2026-11-30T00:00:00.1239999Z", 1'795'996'800'123},
      {"2028-02-29T00:00:00Z", 1'835'395'200'000},
      {"0001-01-01T00:00:00Z", kTimeMsMin},
      {"9999-12-31T23:59:59.999Z", kTimeMsMax}};
  for (const auto& [text, ms] : cases) {
    const auto parsed = parse_time(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, ms) << text;
  }
}

TEST(ParseTime, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "form"},
      {"2026-11-30", "form"},
      {"2026-11-30T00:00Z", "form"},
      {"2026-11-30T00:00:00", "offset"},
      {"2026-11-30T00:00:00+02", "form"},
      {"2026-11-30T00:00:00Zx", "form"},
      {"2026-11-30T00:00:00.Z", "form"},
      {"2026-02-29T00:00:00Z", "date does not exist"},
      {"2026-04-31T00:00:00Z", "date does not exist"},
      {"2026-13-01T00:00:00Z", "date does not exist"},
      {"0000-01-01T00:00:00Z", "date does not exist"},
      {"2026-11-30T24:00:00Z", "hour does not exist"},
      {"2026-11-30T23:59:60Z", "second does not exist"},
      {"2026-11-30T23:60:00Z", "minute does not exist"},
      {"2026-11-30T00:00:00+24:00", "offset does not exist"},
      {"0001-01-01T00:00:00+01:00", "out of range"},
      {"9999-12-31T23:59:59-00:01", "out of range"}};
  for (const auto& [text, fault] : cases) {
    const auto parsed = parse_time(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message.find(fault), std::string::npos) << parsed.error().message;
  }
}

TEST(FormatTime, IsReadBack) {
  EXPECT_EQ(format_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_time(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(1'795'996'800'250), "2026-11-30T00:00:00.250Z");
  EXPECT_EQ(format_time(kTimeMsMax + 1), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(kTimeMsMin - 1), "0001-01-01T00:00:00Z");
  for (std::int64_t ms = kTimeMsMin; ms < kTimeMsMax; ms += 86'399'999 * std::int64_t{97}) {
    ASSERT_EQ(parse_time(format_time(ms)).value(), ms);
  }
}

TEST(CivilDate, CountsEveryDayOnce) {
  CivilDate date{.year = 1599, .month = 12, .day = 31};
  std::int64_t days = days_from_civil(date);
  for (int i = 0; i < 300'000; ++i) {
    ASSERT_EQ(civil_from_days(days), date);
    if (++date.day > days_in_month(date.year, date.month)) {
      date.day = 1;
      if (++date.month > 12) {
        date.month = 1;
        ++date.year;
      }
    }
    ASSERT_EQ(days_from_civil(date), ++days);
  }
}

TEST(ParseDate, TakesOneForm) {
  EXPECT_EQ(parse_date("2026-11-30").value(), (CivilDate{2026, 11, 30}));
  EXPECT_EQ(format_date({2026, 1, 2}), "2026-01-02");
  EXPECT_FALSE(parse_date("2026-11-31"));
  EXPECT_FALSE(parse_date("2026-1-2"));
  EXPECT_FALSE(parse_date("2026-11-30T"));
}

}  // namespace
}  // namespace rota::base
