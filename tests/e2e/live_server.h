// SPDX-License-Identifier: Apache-2.0
//
// A test with a real rota-server in a process of its own, on a fresh data directory and any free
// port, and calls over a real connection.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "driver/process.h"
#include "internal/raw_client.h"

namespace rota::e2e {

using driver::mono_ms;
using driver::wait_until;
using internal::CallOptions;
using internal::RawClient;

// Whatever should happen at once has this long, for machines that are busy with other things.
inline constexpr std::int64_t kPatienceMs = 60'000;

// Paths of the programs of this build.
std::string server_binary();
std::string worker_binary();
std::string probe_worker_binary();

// A fresh folder; removed in the end unless the test failed.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The value, or a failure of the test and an empty one.
template <class T>
T must(Result<T> result, std::source_location at = std::source_location::current()) {
  if (result) return *std::move(result);
  ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line()))
      << result.error().reason << " " << result.error().field << ": " << result.error().message;
  return T{};
}

// The error, or a failure of the test and an empty one.
template <class T>
Error refused(const Result<T>& result, std::source_location at = std::source_location::current()) {
  if (!result) return result.error();
  ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line())) << "was not refused";
  return Error{.reason = "NOT_REFUSED"};
}

struct LeaseWish {
  std::string queue = "work";
  std::string session = "session-1";
  std::string request_id{};
  int max_jobs = 1;
  Millis ttl{30'000}, wait{0};
};
v1::LeaseJobsRequest lease_request(const LeaseWish& wish);

v1::JobSpec job_spec(const std::string& payload, const std::string& queue = "work");
v1::FinishJobsRequest success(const std::string& session, const v1::LeasedJob& job,
                              const std::string& result = "done");
v1::FinishJobsRequest failure(const std::string& session, const v1::LeasedJob& job);

class LiveServerTest : public testing::Test {
 protected:
  LiveServerTest();

  // Starts, or starts again on the same port. With a fail point (base/fail_point.h) armed.
  void start(const std::string& fail_point = "", const std::vector<std::string>& more = {});
  // The server ended by the armed fail point.
  void expect_fail_point_reached();
  void kill_and_restart();

  // One connection for all of a test; it repeats nothing by itself that is given `once()`.
  RawClient& client();
  static CallOptions once() { return {.timeout = Millis(30'000), .repeat = false}; }
  static CallOptions patient() { return {.timeout = Millis(kPatienceMs)}; }

  void make_queue(const std::string& name, std::optional<int> limit = std::nullopt);
  std::string enqueue(const v1::JobSpec& spec);
  std::string enqueue(const std::string& payload, const std::string& queue = "work") {
    return enqueue(job_spec(payload, queue));
  }
  v1::Job job(const std::string& id);
  std::vector<v1::Job> jobs(const std::string& queue = "work");
  v1::QueueCounters counters(const std::string& queue = "work");
  v1::ServerInfo info();
  v1::LeaseJobsResponse lease(const LeaseWish& wish = {});
  v1::FinishResult finish(const v1::FinishJobsRequest& request);
  v1::HeartbeatResult beat(const std::string& session, const v1::LeasedJob& job);
  // Waits until the job is final.
  v1::Job finished(const std::string& id);

  Folder folder_;
  driver::ServerProcess server_;

 private:
  std::unique_ptr<RawClient> client_;
};

}  // namespace rota::e2e
