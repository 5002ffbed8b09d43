// SPDX-License-Identifier: Apache-2.0
#include "src/text.h"

#include <gtest/gtest.h>

#include "internal/clock.h"
#include "rota/client.h"

namespace rota::internal {
namespace {

TEST(TextTest, Utf8) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
  for (const char* bad : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                          "\xf5\x80\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(TextTest, CutsAtCharactersAndRepairs) {
  EXPECT_EQ(head_of("a\xc3\xa4", 2), "a");
  EXPECT_EQ(head_of("a\xc3\xa4", 3), "a\xc3\xa4");
  EXPECT_EQ(tail_of("\xc3\xa4z", 2), "z");
  EXPECT_EQ(head_of("x\xffy", 10), "x?y");
  EXPECT_EQ(tail_of(std::string(100, 'a') + "\xff", 3), "aa?");
}

TEST(ClockTest, RandomTextAndJitter) {
  EXPECT_EQ(random_hex(16).size(), 32u);
  EXPECT_NE(random_hex(16), random_hex(16));
  for (int failures = 0; failures < 100; ++failures) {
    const Millis pause = full_jitter(failures, Millis(50), Millis(1'000), Millis(5));
    EXPECT_GE(pause, Millis(5));
    EXPECT_LE(pause, Millis(1'000));
  }
}

TEST(ResultTest, HoldsValueOrError) {
  Result<std::string> good = "text";
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, "text");
  EXPECT_EQ(good->size(), 4u);
  Error error;
  error.reason = "R";
  Result<std::string> bad = error;
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().reason, "R");
  EXPECT_EQ(bad.value_or("other"), "other");
  EXPECT_DEATH(static_cast<void>(bad.value()), "");
}

TEST(JobStateTest, NamesAndFinality) {
  EXPECT_STREQ(to_string(JobState::kSucceeded), "SUCCEEDED");
  EXPECT_TRUE(is_final(JobState::kDead));
  EXPECT_FALSE(is_final(JobState::kRunning));
}

}  // namespace
}  // namespace rota::internal
