// SPDX-License-Identifier: Apache-2.0
//
// The vectors of tests/data/cron_vectors.json against the host's time zone data. `expect` is the
// list of the next instants strictly after `after`, or "error" where the text must be refused;
// `also_acceptable` is another answer that a scheduler may give.
// Vectors with `needs` want a form that is not supported yet and must be refused as such; `alt`
// holds the answers of other settings. Both are listed in the output.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "runtime/local_zones.h"
#include "unit/schedule/support.h"

namespace rota::core {
namespace {

using nlohmann::json;
using testing::ms;

json vectors() {
  std::ifstream file(ROTA_TEST_DATA "/cron_vectors.json");
  return json::parse(file);
}

base::Result<Schedule> compile(const json& vector, const TimeZoneSource& zones) {
  model::ScheduleSpec spec;
  spec.cron = vector["expression"].get<std::string>();
  spec.time_zone = vector["timezone"].get<std::string>();
  if (spec.cron.empty()) {
    // The specification takes an empty text as "no cron"; the parser itself must refuse it.
    auto parsed = parse_cron(spec.cron);
    EXPECT_TRUE(std::holds_alternative<CronFault>(parsed));
  }
  return Schedule::compile(spec, zones);
}

void check(const json& vector, const TimeZoneSource& zones) {
  const auto schedule = compile(vector, zones);
  if (vector["expect"] == "error") {
    ASSERT_FALSE(schedule.has_value());
    EXPECT_FALSE(schedule.error().message.empty());
    EXPECT_FALSE(schedule.error().field.empty());
    return;
  }
  if (!schedule && vector.value("also_acceptable", json()) == "error") {
    // A step larger than its field is refused; the message must say so.
    EXPECT_NE(schedule.error().message.find("is larger than"), std::string::npos);
    return;
  }
  ASSERT_TRUE(schedule.has_value()) << base::to_string(schedule.error());
  const auto expected = vector["expect"].get<std::vector<std::string>>();
  const std::int64_t after = ms(vector["after"].get<std::string>());
  const auto times = schedule->next_times(after, static_cast<int>(expected.size()));
  EXPECT_EQ(testing::texts(times), expected);
  // The same ticks read backwards and counted.
  ASSERT_FALSE(times.empty());
  EXPECT_EQ(schedule->count_in(after, times.back()).count, times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(schedule->latest_in(after, times[i]), times[i]);
    EXPECT_EQ(
        schedule->nth_latest_in(after, times.back(), static_cast<std::int64_t>(times.size() - i)),
        times[i]);
  }
}

std::string joined(const std::vector<std::string>& ids) {
  std::string out;
  for (const std::string& id : ids) out += (out.empty() ? "" : " ") + id;
  return out;
}

TEST(CronVectors, AllOfWhatIsSupported) {
  const runtime::LocalZones zones;
  std::vector<std::string> needs;
  std::vector<std::string> alt;
  std::size_t checked = 0;
  const json all = vectors();
  for (const json& vector : all) {
    const auto id = vector["id"].get<std::string>();
    SCOPED_TRACE(id + ": " + vector["expression"].get<std::string>() + " in " +
                 vector["timezone"].get<std::string>() + " (" + vector["note"].get<std::string>() +
                 ")");
    if (vector.contains("alt")) {
      for (const auto& [setting, answer] : vector["alt"].items()) {
        if (!answer.empty()) alt.push_back(id + "/" + setting);
      }
    }
    if (vector.contains("needs")) {
      needs.push_back(id);
      const auto schedule = compile(vector, zones);
      ASSERT_FALSE(schedule.has_value());
      EXPECT_NE(schedule.error().message.find("not supported yet"), std::string::npos);
      continue;
    }
    check(vector, zones);
    ++checked;
  }
  std::printf("time zone data %s\n", runtime::LocalZones::data_version().c_str());
  std::printf("cron vectors: %zu of %zu checked\n", checked, all.size());
  std::printf("%zu refused as not supported yet (L, W, #): %s\n", needs.size(),
              joined(needs).c_str());
  std::printf("%zu answers of settings that come later: %s\n", alt.size(), joined(alt).c_str());
  EXPECT_EQ(all.size(), 168u);
  EXPECT_EQ(checked, 160u);
  EXPECT_EQ(needs.size(), 8u);
}

}  // namespace
}  // namespace rota::core
