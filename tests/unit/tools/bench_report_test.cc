// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/failure.h"
#include "bench/usage.h"

namespace rota::bench {
namespace {

Report three_runs() {
  Report report{.workload = "drain", .options = {{"jobs", "100"}, {"seed", "1"}}};
  for (const double rate : {300.0, 100.0, 200.0}) {
    Figures figures;
    figures.add("jobs_per_s", rate);
    if (rate > 150) figures.add("server_cpu_s", rate / 1'000);
    report.runs.push_back(figures);
  }
  return report;
}

TEST(BenchReport, JsonHoldsAllRunsAndTheirSummary) {
  const auto json = three_runs().to_json();
  EXPECT_EQ(json["workload"], "drain");
  EXPECT_EQ(json["options"]["jobs"], "100");
  ASSERT_EQ(json["runs"].size(), 3u);
  EXPECT_EQ(json["runs"][0]["jobs_per_s"], 300.0);
  EXPECT_FALSE(json["runs"][1].contains("server_cpu_s"));
  EXPECT_EQ(json["summary"]["jobs_per_s"]["median"], 200.0);
  EXPECT_EQ(json["summary"]["jobs_per_s"]["min"], 100.0);
  EXPECT_EQ(json["summary"]["jobs_per_s"]["max"], 300.0);
  EXPECT_EQ(json["summary"]["server_cpu_s"]["median"], 0.25) << "of the two runs that have it";
  EXPECT_GT(json["machine"]["processors"], 0);
}

TEST(BenchReport, TheTableHasALineForEachFigure) {
  const std::string table = three_runs().to_table();
  EXPECT_NE(table.find("jobs_per_s"), std::string::npos) << table;
  EXPECT_NE(table.find("server_cpu_s"), std::string::npos) << table;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3) << table;
}

TEST(BenchReport, NumbersForPeople) {
  EXPECT_EQ(to_text(0), "0");
  EXPECT_EQ(to_text(0.123456), "0.1235");
  EXPECT_EQ(to_text(999.9), "999.9");
  EXPECT_EQ(to_text(1'000), "1,000");
  EXPECT_EQ(to_text(1'234'567.8), "1,234,568");
  EXPECT_EQ(to_text(-123'456), "-123,456");
}

TEST(BenchUsage, OfThisProcessAndOfNone) {
  const Usage usage = usage_of(getpid());
  EXPECT_GT(usage.rss_bytes, 0);
  EXPECT_GE(usage.peak_rss_bytes, usage.rss_bytes / 2);
  EXPECT_GE(usage.cpu_s, 0);
  EXPECT_GE(usage.written_bytes, 0);
  // The kernel gives no process a number beyond 2^22.
  EXPECT_THROW(usage_of(1 << 23), Failed);
}

TEST(BenchUsage, CpuTimeGrowsWithWork) {
  const double before = own_cpu_s();
  volatile std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 20'000'000; ++i) sum = sum + i;
  EXPECT_GT(own_cpu_s(), before);
}

}  // namespace
}  // namespace rota::bench
