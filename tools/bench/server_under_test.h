// SPDX-License-Identifier: Apache-2.0
//
// The server that is measured: one of its own on a fresh data directory, or one that runs already.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/report.h"
#include "bench/usage.h"
#include "driver/process.h"
#include "internal/raw_client.h"

namespace rota::bench {

// Of the server between two looks.
struct ServerMark {
  std::optional<Usage> usage;  // unset for a server whose process is not known
  std::int64_t commits = 0;
  std::int64_t at_ns = 0;
};

class ServerUnderTest {
 public:
  // Starts `binary` on `folder`/data, which must not exist; throws Failed. It ends with this
  // object.
  ServerUnderTest(const std::string& binary, const std::string& folder,
                  const std::vector<std::string>& arguments);
  // The one at `address`. With a process id its memory, CPU time and writes can be told.
  ServerUnderTest(std::string address, std::optional<pid_t> pid);

  const std::string& address() const { return address_; }
  bool is_own() const { return process_.has_value(); }
  const std::string& data() const { return data_; }  // empty when it is not ours
  internal::RawClient& raw() { return *raw_; }

  ServerMark mark();
  // Adds CPU seconds, bytes written and commits since `since`, and the memory now and at most.
  void add_figures(const ServerMark& since, Figures* figures);
  std::int64_t rss_bytes();  // 0 when its process is not known

  // SIGKILL, and a start on the same data and port. Returns when the new process was started, by
  // now_ns(); it answers by now. Only for an own one.
  std::int64_t kill_and_restart();
  // SIGTERM; throws Failed unless it ends with 0. Nothing else is possible afterwards.
  void stop();

 private:
  void connect();
  std::optional<pid_t> pid();

  std::string address_, data_;
  std::vector<std::string> arguments_;
  std::optional<pid_t> foreign_pid_;
  std::optional<driver::ServerProcess> process_;
  std::optional<internal::RawClient> raw_;
};

// What the counters of a queue must be in the end.
struct Expected {
  std::int64_t created = 0;
  std::int64_t succeeded = 0;  // those that retention has removed since included
  std::int64_t ready = 0;
};

v1::QueueCounters counters(internal::RawClient& raw, const std::string& queue);
// Throws Failed with both sides when they differ, or when a job is in any other state.
void verify(internal::RawClient& raw, const std::string& queue, const Expected& expected);

// A queue of this name; `limit`: of jobs that run at once.
void make_queue(internal::RawClient& raw, const std::string& name,
                std::optional<int> limit = std::nullopt);

}  // namespace rota::bench
