// SPDX-License-Identifier: Apache-2.0
#include "rota/json_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rota::cli {
namespace {

bool accepts(std::string_view text) {
  if (!is_json_utf8(text)) return false;
  JsonReader reader(text);
  std::string_view raw;
  return reader.read_raw(&raw) && reader.at_end();
}

TEST(JsonReader, AgreesWithAnotherParserAboutWhatIsJson) {
  const std::vector<std::string> texts = {"0",
                                          "-0",
                                          "-1",
                                          "01",
                                          "-",
                                          "1.",
                                          "1.5",
                                          ".5",
                                          "1e5",
                                          "1e",
                                          "1E+5",
                                          "1e-",
                                          "+1",
                                          "1 2",
                                          "true",
                                          "tru",
                                          "false",
                                          "null",
                                          "nul",
                                          "nulls",
                                          "\"\"",
                                          "\"a",
                                          "\"\\n\"",
                                          "\"\\x\"",
                                          "\"\\u12\"",
                                          "\"\\u0041\"",
                                          "\"\\ud83d\\ude00\"",
                                          "\"\\ud83d\"",
                                          "\"\\ude00\"",
                                          "\"\\ud83dx\"",
                                          "\"\\ud83d\\u0041\"",
                                          "\"a\tb\"",
                                          "\"a\\tb\"",
                                          "\"\x7f\"",
                                          "[]",
                                          "[1]",
                                          "[1,]",
                                          "[,1]",
                                          "[1,2]",
                                          "[1 2]",
                                          "[[[]]]",
                                          "[[[]]",
                                          "]",
                                          "{}",
                                          "{\"a\":1}",
                                          "{\"a\":1,}",
                                          "{\"a\"}",
                                          "{\"a\":}",
                                          "{a:1}",
                                          "{1:1}",
                                          "{\"a\":1,\"b\":[{}]}",
                                          "{\"a\":1}}",
                                          "{,}",
                                          "",
                                          " ",
                                          " [ 1 , { \"x\" : null } ] ",
                                          "\xC3\xA4",
                                          "\"\xC3\xA4\"",
                                          "\"\xC3\"",
                                          "\"\xED\xA0\x80\"",
                                          "[\"\\\\\"]",
                                          "{\"\\u0061\":1}",
                                          "{\"\\q\":1}",
                                          "[true,false,null]",
                                          "[truefalse]"};
  for (const std::string& text : texts) {
    EXPECT_EQ(accepts(text), nlohmann::json::accept(text)) << text;
  }
}

TEST(JsonReader, BoundsTheDepthOfWhatItPassesOver) {
  EXPECT_TRUE(accepts(std::string(256, '[') + std::string(256, ']')));
  EXPECT_FALSE(accepts(std::string(257, '[') + std::string(257, ']')));
  EXPECT_FALSE(accepts(std::string(1'000'000, '[')));
}

TEST(JsonReader, UnescapesStrings) {
  JsonReader reader(R"("a\"\\\/\b\f\n\r\té\u20ac\ud83d\ude00z")");
  std::string text;
  ASSERT_TRUE(reader.read_string(&text));
  EXPECT_EQ(text, "a\"\\/\b\f\n\r\t\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
}

TEST(JsonReader, ReadsWholeNumbersInAnyOfTheirForms) {
  const auto read = [](std::string_view text) -> std::optional<std::int64_t> {
    JsonReader reader(text);
    std::int64_t value = 0;
    if (!reader.read_integer(&value)) return std::nullopt;
    return value;
  };
  EXPECT_EQ(read("42"), 42);
  EXPECT_EQ(read("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(read("1.0"), 1);
  EXPECT_EQ(read("1e3"), 1000);
  EXPECT_EQ(read("1.5"), std::nullopt);
  EXPECT_EQ(read("9223372036854775808"), std::nullopt);
  EXPECT_EQ(read("1e300"), std::nullopt);
}

TEST(JsonReader, GivesValuesAsTheirOwnText) {
  JsonReader reader(R"({"payload": {"a" : [1.50, "\u0041"]} , "b": true})");
  std::string_view key, raw;
  ASSERT_TRUE(reader.begin_object());
  ASSERT_TRUE(reader.next_member(&key));
  EXPECT_EQ(key, "payload");
  ASSERT_TRUE(reader.read_raw(&raw));
  EXPECT_EQ(raw, R"({"a" : [1.50, "\u0041"]})");
  ASSERT_TRUE(reader.next_member(&key));
  bool flag = false;
  ASSERT_TRUE(reader.read_bool(&flag));
  EXPECT_TRUE(flag);
  EXPECT_FALSE(reader.next_member(&key));
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.at_end());
}

TEST(JsonReader, NamesThePositionOfTheFirstFault) {
  JsonReader reader(R"({"a" 1})");
  std::string_view key;
  ASSERT_TRUE(reader.begin_object());
  EXPECT_FALSE(reader.next_member(&key));
  EXPECT_EQ(reader.fault(), "expected ':' at byte 6");
  EXPECT_FALSE(reader.begin_object());
  EXPECT_EQ(reader.fault(), "expected ':' at byte 6");
}

}  // namespace
}  // namespace rota::cli
