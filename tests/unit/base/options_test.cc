// SPDX-License-Identifier: Apache-2.0
#include "base/options.h"

#include <gtest/gtest.h>

#include <set>

namespace rota::base {
namespace {

TEST(OptionTable, NamesAreUniqueAndMadeFromTheKey) {
  std::set<std::string> flags;
  std::set<std::string> variables;
  for (const OptionInfo& info : option_table()) {
    EXPECT_TRUE(flags.insert(info.flag()).second) << info.key;
    EXPECT_TRUE(variables.insert(info.environment()).second) << info.key;
    EXPECT_EQ(find_option(info.key), &info);
    EXPECT_FALSE(info.sentence.empty());
  }
  const OptionInfo* payload = find_option("limits.payload_bytes");
  ASSERT_NE(payload, nullptr);
  EXPECT_EQ(payload->flag(), "--limits-payload-bytes");
  EXPECT_EQ(payload->environment(), "ROTA_LIMITS_PAYLOAD_BYTES");
  EXPECT_EQ(find_option("limits.payload"), nullptr);
}

TEST(OptionTable, EveryDefaultIsWithinItsBoundsAndReadBack) {
  const ServerOptions standard;
  for (const OptionInfo& info : option_table()) {
    ServerOptions copy;
    const auto set = set_option(copy, info, option_text(standard, info));
    EXPECT_TRUE(set) << info.key << ": " << (set ? "" : set.error().message);
    EXPECT_EQ(option_text(copy, info), option_text(standard, info)) << info.key;
  }
}

TEST(OptionTable, NothingSwitchesTheSyncOff) {
  for (const OptionInfo& info : option_table()) {
    EXPECT_EQ(info.key.find("sync"), std::string_view::npos) << info.key;
  }
}

Status set(ServerOptions& options, std::string_view key, std::string_view text) {
  return set_option(options, *find_option(key), text);
}

TEST(SetOption, ReadsEachType) {
  ServerOptions options;
  ASSERT_TRUE(set(options, "data", "/var/lib/rota"));
  ASSERT_TRUE(set(options, "log_format", "json"));
  ASSERT_TRUE(set(options, "allow_plaintext_private", "true"));
  ASSERT_TRUE(set(options, "limits.parked_polls", "5"));
  ASSERT_TRUE(set(options, "limits.payload_bytes", "1MiB"));
  ASSERT_TRUE(set(options, "late_tolerance", "1m30s"));
  EXPECT_EQ(options.data, "/var/lib/rota");
  EXPECT_EQ(options.log_format, "json");
  EXPECT_TRUE(options.allow_plaintext_private);
  EXPECT_EQ(options.parked_polls, 5);
  EXPECT_EQ(options.payload_bytes, kMiB);
  EXPECT_EQ(options.late_tolerance_ms, 90'000);
}

TEST(SetOption, RefusesWithKeyFaultAndBoundsAndChangesNothing) {
  ServerOptions options;
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"limits.payload_bytes", "5MiB", "5MiB, limit 1 to 4MiB"},
      {"limits.payload_bytes", "0", "0, limit 1 to 4MiB"},
      {"limits.payload_bytes", "1MB", "not a size"},
      {"limits.payload_bytes", "9999999999999GiB", "not a size"},
      {"limits.parked_polls", "many", "not a whole number"},
      {"limits.parked_polls", "", "not a whole number"},
      {"late_tolerance", "10", "unit is missing"},
      {"late_tolerance", "2h", "2h, limit 0s to 1h"},
      {"data", "/var/li\xff", "is not UTF-8"},
      {"data", "/var/lib\n", "control characters"},
      {"log_format", "xml", "none of text|json"},
      {"log_format", "text|json", "none of"},
      {"reflection", "maybe", "neither true nor false"}};
  for (const auto& [key, text, fault] : cases) {
    const auto result = set(options, key, text);
    ASSERT_FALSE(result) << key << " = " << text;
    EXPECT_EQ(result.error().field, key);
    EXPECT_NE(result.error().message.find(fault), std::string::npos) << result.error().message;
  }
  const ServerOptions standard;
  for (const OptionInfo& info : option_table()) {
    EXPECT_EQ(option_text(options, info), option_text(standard, info));
  }
}

}  // namespace
}  // namespace rota::base
