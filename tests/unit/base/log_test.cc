// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <limits>

namespace rota::base::log {
namespace {

constexpr std::int64_t kTime = 1'795'975'800'123;

TEST(LogLine, TextQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(format_line(Format::kText, Level::kInfo, kTime, "listening",
                        {{"address", "127.0.0.1:7500"}, {"epoch", 4}, {"drained", true}}),
            "2026-11-29T18:10:00.123Z info  listening address=127.0.0.1:7500 epoch=4 drained=true");
  EXPECT_EQ(format_line(Format::kText, Level::kWarn, kTime - 123, "bad input",
                        {{"text", "a b\n\"c\""}, {"empty", ""}}),
            "2026-11-29T18:10:00.000Z warn  bad input text=\"a b\\x0a\\\"c\\\"\" empty=\"\"");
}

TEST(LogLine, JsonIsOneObjectWhateverTheValue) {
  EXPECT_EQ(format_line(Format::kJson, Level::kError, kTime, "store failed",
                        {{"path", std::string("a\"b\\c\nd\x01")},
                         {"bytes", std::uint64_t{18'446'744'073'709'551'615u}},
                         {"offset", std::int64_t{-1}},
                         {"share", 0.5},
                         {"ratio", std::numeric_limits<double>::infinity()},
                         {"fatal", true}}),
            R"({"time":"2026-11-29T18:10:00.123Z","level":"error","event":"store failed",)"
            R"("path":"a\"b\\c\nd\u0001","bytes":18446744073709551615,"offset":-1,"share":0.5,)"
            R"("ratio":null,"fatal":true})");
  EXPECT_EQ(
      format_line(Format::kJson, Level::kDebug, kTime, "x", {{"bytes", "\xff\xc3"}}),
      R"({"time":"2026-11-29T18:10:00.123Z","level":"debug","event":"x","bytes":"\u00ff\u00c3"})");
}

TEST(LogWrite, GoesToStandardErrorFromTheLeastLevelOn) {
  configure(Format::kText, Level::kWarn);
  testing::internal::CaptureStderr();
  info("hidden");
  warn("shown", {{"n", 1}});
  const std::string written = testing::internal::GetCapturedStderr();
  configure(Format::kText, Level::kInfo);
  EXPECT_EQ(written.find("hidden"), std::string::npos);
  EXPECT_NE(written.find(" warn  shown n=1\n"), std::string::npos) << written;
}

TEST(LogNames, AreThoseOfTheOptions) {
  EXPECT_EQ(parse_level("warn"), Level::kWarn);
  EXPECT_FALSE(parse_level("WARN"));
  EXPECT_EQ(parse_format("json"), Format::kJson);
  EXPECT_FALSE(parse_format("xml"));
}

}  // namespace
}  // namespace rota::base::log
