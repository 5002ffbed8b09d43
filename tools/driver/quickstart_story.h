// SPDX-License-Identifier: Apache-2.0
//
// The main job, end to end: one scheduler declared by three processes, ten ticks, three workers,
// one server; a worker killed after its effect, a worker suspended beyond its lease, the server
// killed in mid-job. The story runs it and keeps what was seen; quickstart_check.h judges.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rota/v1/job.pb.h"
#include "rota/v1/scheduler.pb.h"

namespace rota::driver {

struct StoryOptions {
  std::string bin;        // where the binaries are
  std::string folder;     // data, database, logs
  std::string customers;  // CSV
  std::string self;       // this program, for the declaring processes
  std::string listen = "127.0.0.1:7500";
  bool guard = true;
  bool keep = false;
};

inline constexpr int kDays = 10;
inline constexpr int kDieOnDay = 5;
inline constexpr int kSuspendOnDay = 7;
inline constexpr int kServerDiesOnDay = 2;
inline constexpr const char* kQueue = "invoices";
inline constexpr const char* kScheduler = "invoices/daily";

struct Story {
  std::int64_t first_tick_ms = 0;
  std::string address;
  std::vector<std::string> declared;  // "node-a created", ...
  std::vector<v1::Run> runs;          // of the ten ticks, oldest first, with their jobs
  std::vector<v1::Job> jobs;          // of the same runs, with attempts; empty where none fired
  std::map<int, std::string> faults;  // by day, what was done
  std::string late_finish_reason;     // what the server said to the stale token
  std::uint64_t late_finish_token = 0;
  std::size_t acknowledged = 0;  // writes before the server was killed
  std::size_t found = 0;         // of them, after it was back
  std::int64_t server_down_ms = 0;
  std::int64_t took_ms = 0;
  bool drained = false;                   // workers and server ended by themselves after SIGTERM
  std::vector<std::string> left_behind;   // what lives on, seen after the end: "w1 pid 4711"
  std::vector<std::string> left_running;  // with --keep, on purpose; not among left_behind
};

// False with *error when it could not be run to its end.
bool run_story(const StoryOptions& options, Story* story, std::string* error);

// One declaring node: waits until `at_ms`, declares, prints one word. The exit code of the program.
int declare_node(const std::string& address, std::int64_t first_tick_ms, std::int64_t at_ms);

}  // namespace rota::driver
