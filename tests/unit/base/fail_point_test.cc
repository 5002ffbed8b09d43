// SPDX-License-Identifier: Apache-2.0
#include "base/fail_point.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rota::base {
namespace {

using internal::ArmedPoint;
using internal::parse_fail_points;

TEST(FailPoint, ReadsNamesAndTurns) {
  EXPECT_TRUE(parse_fail_points("").empty());
  EXPECT_EQ(parse_fail_points("after_commit"),
            std::vector<ArmedPoint>({{.name = "after_commit", .nth = 1}}));
  EXPECT_EQ(parse_fail_points("a:3,b"),
            std::vector<ArmedPoint>({{.name = "a", .nth = 3}, {.name = "b", .nth = 1}}));
  EXPECT_TRUE(parse_fail_points("a:,b:x,c:0,:1,").empty());
}

TEST(FailPoint, IsPassedWhileUnarmed) {
  ASSERT_EQ(std::getenv("ROTA_FAIL_POINT"), nullptr);
  fail_point("anything");
}

// The process of a death test starts anew and reads the variable itself.
TEST(FailPointDeathTest, EndsTheProcessAtItsTurn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ASSERT_EQ(setenv("ROTA_FAIL_POINT", "here:3", 1), 0);
  EXPECT_EXIT(
      {
        fail_point("here");
        fail_point("elsewhere");
        fail_point("here");
        fail_point("here");
        std::exit(0);
      },
      testing::ExitedWithCode(kFailPointExitCode), "fail point here reached, exit 86");
  EXPECT_EXIT(
      {
        fail_point("here");
        fail_point("here");
        std::exit(3);
      },
      testing::ExitedWithCode(3), "");
  unsetenv("ROTA_FAIL_POINT");
}

}  // namespace
}  // namespace rota::base
