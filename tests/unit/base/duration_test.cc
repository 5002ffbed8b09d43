// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <gtest/gtest.h>

#include <limits>

namespace rota::base {
namespace {

TEST(ParseDuration, ReadsOneAndManyUnits) {
  const std::pair<const char*, std::int64_t> cases[] = {{"0s", 0},
                                                        {"250ms", 250},
                                                        {"30s", 30'000},
                                                        {"5m", 300'000},
                                                        {"1h30m", 5'400'000},
                                                        {"7d", 604'800'000},
                                                        {"1d2h3m4s5ms", 93'784'005},
                                                        {"90m", 5'400'000},
                                                        {"1s1ms", 1'001},
                                                        {"1m1ms", 60'001}};
  for (const auto& [text, ms] : cases) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, ms) << text;
  }
}

TEST(ParseDuration, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "empty"},
      {"30", "unit is missing"},
      {"1h30", "unit is missing"},
      {"s", "number"},
      {"-5s", "number"},
      {"1.5h", "fraction"},
      {"5x", "unknown unit"},
      {"5 s", "unknown unit"},
      {"5S", "unknown unit"},
      {"1m1h", "large to small"},
      {"1s1s", "large to small"},
      {"9223372036854775807s", "too long"},
      {"99999999999999999999s", "too long"},
      {"106751991167300d9223372036854775807ms", "too long"}};
  for (const auto& [text, fault] : cases) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().reason, Reason::kInvalidField);
    EXPECT_NE(parsed.error().message.find(fault), std::string::npos)
        << text << ": " << parsed.error().message;
  }
}

TEST(FormatDuration, IsReadBack) {
  EXPECT_EQ(format_duration(0), "0s");
  EXPECT_EQ(format_duration(5'400'000), "1h30m");
  EXPECT_EQ(format_duration(90'061'001), "1d1h1m1s1ms");
  EXPECT_EQ(format_duration(-1'500), "-1s500ms");
  EXPECT_EQ(format_duration(std::numeric_limits<std::int64_t>::min()).front(), '-');
  for (const std::int64_t ms : {std::int64_t{1}, std::int64_t{999}, std::int64_t{86'400'000},
                                std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(parse_duration(format_duration(ms)).value(), ms);
  }
}

}  // namespace
}  // namespace rota::base
