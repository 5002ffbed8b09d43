// SPDX-License-Identifier: Apache-2.0
// The connection of a client: one gRPC channel with its stubs, and the list of calls in flight, so
// that closing can end them.
#pragma once

#include <grpcpp/channel.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "internal/access.h"
#include "rota/client.h"
#include "rota/v1/admin_service.grpc.pb.h"
#include "rota/v1/job_service.grpc.pb.h"
#include "rota/v1/queue_service.grpc.pb.h"
#include "rota/v1/scheduler_service.grpc.pb.h"
#include "rota/v1/worker_service.grpc.pb.h"

namespace rota::internal {

// A call in flight, as the transport knows it. cancel() may come from any thread.
class CallHandle {
 public:
  virtual ~CallHandle() = default;
  virtual void cancel() = 0;
};

// Thread-safe. The destructor closes; it must not run on a thread of gRPC.
class Transport {
 public:
  static Result<std::shared_ptr<Transport>> create(const ClientOptions& options);
  ~Transport();

  const std::string& address() const { return address_; }
  const std::string& name_space() const { return name_space_; }
  Millis timeout() const { return timeout_; }
  const LogFunction& log() const { return log_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  v1::JobService::Stub& stub(const v1::JobService*) { return *job_; }
  v1::WorkerService::Stub& stub(const v1::WorkerService*) { return *worker_; }
  v1::QueueService::Stub& stub(const v1::QueueService*) { return *queue_; }
  v1::SchedulerService::Stub& stub(const v1::SchedulerService*) { return *scheduler_; }
  v1::AdminService::Stub& stub(const v1::AdminService*) { return *admin_; }

  // False once closing began: the call must not start. Each true needs one leave().
  bool enter(CallHandle* call);
  // The last thing a call does with the transport.
  void leave(CallHandle* call);

  // Sleeps until `pause` is over; false at once when closing begins.
  bool sleep(Millis pause);

  // Cancels what is in flight, waits until all of it has left, and refuses what comes later.
  void close();

 private:
  explicit Transport(const ClientOptions& options);

  std::string address_, name_space_;
  Millis timeout_;
  LogFunction log_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> job_;
  std::unique_ptr<v1::WorkerService::Stub> worker_;
  std::unique_ptr<v1::QueueService::Stub> queue_;
  std::unique_ptr<v1::SchedulerService::Stub> scheduler_;
  std::unique_ptr<v1::AdminService::Stub> admin_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_set<CallHandle*> calls_;
  bool closed_ = false;
};

}  // namespace rota::internal
