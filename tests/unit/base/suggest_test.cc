// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <gtest/gtest.h>

#include <string>

namespace rota::base {
namespace {

TEST(Closest, FindsTheMistypedWord) {
  const std::vector<std::string_view> words = {"enqueue", "explain", "redrive", "cancel"};
  EXPECT_EQ(closest("enqeue", words), "enqueue");
  EXPECT_EQ(closest("explian", words), "explain");
  EXPECT_EQ(closest("cancle", words), "cancel");
  EXPECT_EQ(closest("cancel", words), "cancel");
}

TEST(Closest, SuggestsNothingThatIsFarAway) {
  const std::vector<std::string_view> words = {"enqueue", "cancel"};
  EXPECT_EQ(closest("zebra", words), "");
  EXPECT_EQ(closest("", words), "");
  EXPECT_EQ(closest("enqueue", {}), "");
  EXPECT_EQ(closest(std::string(10'000, 'e'), words), "");
}

}  // namespace
}  // namespace rota::base
