// SPDX-License-Identifier: Apache-2.0
//
// rota-bench at a tiny size: that each workload runs, adds up and writes its figures; and that it
// says so when it does not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/failure.h"
#include "bench/server_under_test.h"
#include "e2e/live_server.h"

namespace rota::e2e {
namespace {

using Json = nlohmann::json;

struct Ended {
  int exit_code = -1;
  std::string said{};
};

Ended run_bench(const Folder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ROTA_BENCH_BINARY);
  const std::string log = folder.file("bench.log");
  std::filesystem::remove(log);
  auto process = driver::Process::start(arguments, log, /*dies_with_parent=*/true);
  if (!process) return {};
  const auto change = process->wait(5 * kPatienceMs);
  return {change ? change->exit_code : -1, driver::read_file(log)};
}

struct Case {
  std::string workload;
  std::vector<std::string> arguments;
  std::vector<std::string> figures;  // that it must have, besides those of the server
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.workload; }

// A tick can be decided within its millisecond, and a disk may be memory.
bool can_be_zero(const std::string& figure) {
  return figure == "decided_p99_ms" || figure == "server_written_bytes";
}

class BenchTest : public testing::TestWithParam<Case> {
 protected:
  Folder folder_;
};

TEST_P(BenchTest, RunsAddsUpAndWritesItsFigures) {
  const Case& one = GetParam();
  std::vector<std::string> arguments = {
      one.workload, "--runs", "2", "--data", folder_.file("runs"), "--json", folder_.file("json")};
  arguments.insert(arguments.end(), one.arguments.begin(), one.arguments.end());
  const Ended ended = run_bench(folder_, arguments);
  ASSERT_EQ(ended.exit_code, 0) << ended.said;

  std::ifstream in(folder_.file("json"));
  const Json json = Json::parse(in);
  EXPECT_EQ(json["workload"], one.workload);
  EXPECT_EQ(json["options"]["runs"], "2");
  EXPECT_EQ(json["options"]["seed"], "1") << "a default is told too";
  ASSERT_EQ(json["runs"].size(), 2u);
  std::vector<std::string> wanted = one.figures;
  for (const char* name : {"server_cpu_s", "server_rss_bytes", "server_peak_rss_bytes",
                           "server_written_bytes", "server_commits"}) {
    wanted.emplace_back(name);
  }
  for (const std::string& name : wanted) {
    for (const Json& run : json["runs"]) {
      ASSERT_TRUE(run.contains(name)) << name;
      EXPECT_GE(run[name].get<double>(), can_be_zero(name) ? 0 : 1e-6) << name;
    }
    ASSERT_TRUE(json["summary"].contains(name)) << name;
    const Json& summary = json["summary"][name];
    EXPECT_LE(summary["min"], summary["median"]) << name;
    EXPECT_LE(summary["median"], summary["max"]) << name;
  }
  EXPECT_NE(ended.said.find(one.figures.front()), std::string::npos) << ended.said;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.file("runs"))) << "a run's folder was left behind";
}

INSTANTIATE_TEST_SUITE_P(
    Workloads, BenchTest,
    testing::Values(Case{"enqueue",
                         {"--jobs", "200", "--in-flight", "20"},
                         {"jobs_per_s", "call_p50_ms", "call_p99_ms", "client_cpu_s"}},
                    Case{"enqueue",
                         {"--jobs", "200", "--no-coalesce", "--connections", "2"},
                         {"jobs_per_s", "call_p50_ms"}},
                    Case{"bulk", {"--jobs", "1500"}, {"jobs_per_s", "call_p99_ms", "client_cpu_s"}},
                    Case{"drain",
                         {"--jobs", "500", "--processes", "2", "--workers", "2", "--concurrency",
                          "10"},
                         {"jobs_per_s", "client_cpu_s"}},
                    Case{"life",
                         {"--jobs", "500", "--in-flight", "50"},
                         {"jobs_per_s", "enqueue_per_s", "start_p50_ms"}},
                    Case{"handoff", {"--jobs", "50"}, {"jobs_per_s"}},
                    Case{"latency",
                         {"--rate", "200", "--seconds", "0.5", "--warm-up", "0.1"},
                         {"start_p50_ms", "start_p99_ms", "jobs_per_s"}},
                    Case{"mixed",
                         {"--rate", "200", "--minutes", "0.03", "--window", "0.01"},
                         {"jobs_per_s", "start_p99_ms", "window_01_start_p99_ms",
                          "window_03_rss_bytes", "last_to_second_rss", "disk_bytes"}},
                    Case{"schedulers",
                         {"--schedulers", "20", "--seconds", "2"},
                         {"start_p99_ms", "decided_p99_ms"}},
                    Case{"backlog",
                         {"--jobs", "3000", "--small", "100", "--drained", "500", "--reads", "20",
                          "--settle", "3"},
                         {"fill_per_s", "drain_per_s", "page_p50_ms", "small_statistics_p50_ms",
                          "enqueue_p99_ms", "filled_rss_bytes", "restart_to_lease_ms"}},
                    Case{"idle",
                         {"--workers", "100", "--connections", "10", "--rate", "50", "--seconds",
                          "0.5", "--wait", "2"},
                         {"start_p99_ms", "parked_calls"}},
                    Case{"queues",
                         {"--queues", "100", "--jobs", "3", "--in-call", "30"},
                         {"jobs_per_s", "one_queue_jobs_per_s", "to_one_queue"}}),
    [](const auto& one) { return one.param.workload + std::to_string(one.index); });

class BenchFaultsTest : public LiveServerTest {};

TEST_F(BenchFaultsTest, WhatDoesNotAddUpIsAFailure) {
  start();
  make_queue("work");
  enqueue("one");
  EXPECT_NO_THROW(bench::verify(client(), "work", {.created = 1, .ready = 1}));
  EXPECT_THROW(bench::verify(client(), "work", {.created = 2, .ready = 1}), bench::Failed);
  EXPECT_THROW(bench::verify(client(), "work", {.created = 1, .ready = 0}), bench::Failed);
  EXPECT_THROW(bench::verify(client(), "work", {.created = 1, .succeeded = 1}), bench::Failed);
  lease();
  EXPECT_THROW(bench::verify(client(), "work", {.created = 1, .ready = 1}), bench::Failed)
      << "a job that still runs";
}

TEST_F(BenchFaultsTest, AServerThatRunsAlreadyIsMeasuredAndLeftAlone) {
  start();
  const Ended ended =
      run_bench(folder_, {"drain", "--runs", "1", "--jobs", "100", "--data", folder_.file("runs"),
                          "--json", folder_.file("json"), "--server", server_.address(),
                          "--server-pid", std::to_string(server_.process().pid())});
  ASSERT_EQ(ended.exit_code, 0) << ended.said;
  std::ifstream in(folder_.file("json"));
  EXPECT_GT(Json::parse(in)["runs"][0]["server_rss_bytes"].get<double>(), 0);
  EXPECT_FALSE(info().draining());

  const Ended refused =
      run_bench(folder_, {"backlog", "--server", server_.address(), "--runs", "1"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.said.find("a server of its own"), std::string::npos) << refused.said;
}

TEST_F(BenchFaultsTest, ABenchThatCannotMeasureSaysSo) {
  const Ended no_server =
      run_bench(folder_, {"bulk", "--data", folder_.file("runs"), "--server-binary", "/bin/false"});
  EXPECT_EQ(no_server.exit_code, 1);
  EXPECT_NE(no_server.said.find("did not start"), std::string::npos) << no_server.said;
  EXPECT_EQ(run_bench(folder_, {"bulk", "--jobs", "0"}).exit_code, 2);
  EXPECT_EQ(run_bench(folder_, {}).exit_code, 2);
  EXPECT_EQ(run_bench(folder_, {"--help"}).exit_code, 0);
}

}  // namespace
}  // namespace rota::e2e
