// SPDX-License-Identifier: Apache-2.0
//
// The whole server in the test's process, on a free loopback port, over a fresh data directory or a
// store in memory; and the calls that most tests need, over real gRPC.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "app/server.h"
#include "rota/v1/admin_service.grpc.pb.h"
#include "rota/v1/job_service.grpc.pb.h"
#include "rota/v1/queue_service.grpc.pb.h"
#include "rota/v1/scheduler_service.grpc.pb.h"
#include "rota/v1/worker_service.grpc.pb.h"
#include "store/memory_store.h"

namespace rota::testing {

namespace v1 = ::rota::v1;

// A directory of its own, removed with all it holds at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct InProcessOptions {
  bool memory = false;  // a store in memory: faults on demand, quicker
  std::function<void(base::ServerOptions&)> adjust = {};
  std::function<void(core::EngineOptions&)> adjust_engine = {};
  const base::Clock* clock = nullptr;
};

class InProcessServer {
 public:
  using Options = InProcessOptions;
  // Starts; a failure to start fails the test.
  explicit InProcessServer(Options options = {});
  ~InProcessServer();
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;

  // Drains and closes, as after SIGTERM.
  void stop(std::int64_t timeout_ms = 2'000);
  // Again on the same data and port, with a new epoch.
  void start();
  void restart() {
    stop();
    start();
  }

  const std::string& address() const { return address_; }
  const std::string& data() const { return directory_.path(); }
  base::ServerOptions server_options() const;
  app::Server& server() { return *server_; }
  store::MemoryDisk& disk() { return *disk_; }
  // Why the server could not go on, if it could not.
  std::optional<app::Stop> failure() const;
  // Why it asked to be stopped, if it did.
  std::optional<app::Stop> stop_wanted() const;

  std::shared_ptr<grpc::Channel> channel() const { return channel_; }
  std::unique_ptr<v1::JobService::Stub> jobs() const { return v1::JobService::NewStub(channel_); }
  std::unique_ptr<v1::WorkerService::Stub> workers() const {
    return v1::WorkerService::NewStub(channel_);
  }
  std::unique_ptr<v1::QueueService::Stub> queues() const {
    return v1::QueueService::NewStub(channel_);
  }
  std::unique_ptr<v1::SchedulerService::Stub> schedulers() const {
    return v1::SchedulerService::NewStub(channel_);
  }
  std::unique_ptr<v1::AdminService::Stub> admin() const {
    return v1::AdminService::NewStub(channel_);
  }

  // ---- shortcuts; each fails the test when it is refused
  void make_queue(const std::string& queue, std::optional<int> concurrency_limit = {});
  std::string enqueue(const std::string& queue, const std::string& payload = "p");
  v1::LeaseJobsResponse lease(const v1::LeaseJobsRequest& request);
  v1::FinishResult finish(const std::string& session, const v1::LeasedJob& job,
                          const std::string& result = {});
  v1::Job get(const std::string& job_id);
  v1::QueueCounters counters(const std::string& queue);
  v1::ServerInfo info();

 private:
  Options options_;
  TemporaryDirectory directory_;
  std::shared_ptr<store::MemoryDisk> disk_;
  std::string address_ = "127.0.0.1:0";
  std::unique_ptr<app::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  mutable std::mutex mutex_;
  std::optional<app::Stop> failure_;
  std::optional<app::Stop> stop_wanted_;
};

// A lease call of one session for one queue.
v1::LeaseJobsRequest lease_request(const std::string& queue, const std::string& session = "s1",
                                   int max_jobs = 1, std::int64_t wait_ms = 0,
                                   const std::string& request_id = {});

// With a deadline that no call of a test needs, so that a test ends.
class CallContext : public grpc::ClientContext {
 public:
  explicit CallContext(std::int64_t timeout_ms = 30'000);
};

// The machine-readable reason in a refused call's details; empty when there is none.
std::string reason_of(const grpc::Status& status);

}  // namespace rota::testing
