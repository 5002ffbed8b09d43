// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace rota::base {
namespace {

TEST(IsUtf8, KnowsTheBordersOfEachLength) {
  for (const char* good :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                          "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                          "\xf8\x88\x80\x80", "\xc3", "\xe2\x82", "a\xff", "\xc3\x28"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(HasControl, FindsC0DelAndC1) {
  EXPECT_FALSE(has_control("plain \xc3\xa9 \xc2\xa0"));
  EXPECT_TRUE(has_control("a\tb"));
  EXPECT_TRUE(has_control("\x7f"));
  EXPECT_TRUE(has_control("a\xc2\x9f"));
  EXPECT_TRUE(has_control(std::string_view("\0", 1)));
}

TEST(Utf8Prefix, CutsBetweenCharacters) {
  EXPECT_EQ(utf8_prefix("abc", 5), "abc");
  EXPECT_EQ(utf8_prefix("a\xc3\xa9", 2), "a");
  EXPECT_EQ(utf8_prefix("a\xc3\xa9", 3), "a\xc3\xa9");
  EXPECT_EQ(utf8_prefix("\xf0\x9f\x98\x80", 3), "");
}

TEST(Quoted, IsSafeOnOneLine) {
  EXPECT_EQ(quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(quoted("a\nb\xff"), R"("a\x0ab\xff")");
  EXPECT_EQ(quoted("0123456789", 4), "\"0123\"...");
}

}  // namespace
}  // namespace rota::base
