// SPDX-License-Identifier: Apache-2.0
//
// A server in this process, on a store in memory, and plain generated stubs over real gRPC.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "app/server.h"
#include "rota/v1/admin_service.grpc.pb.h"
#include "rota/v1/job_service.grpc.pb.h"
#include "rota/v1/queue_service.grpc.pb.h"
#include "rota/v1/scheduler_service.grpc.pb.h"
#include "rota/v1/worker_service.grpc.pb.h"
#include "store/memory_store.h"

namespace rota::testing {

// The reason in the status's google.rpc.ErrorInfo; empty when there is none.
std::string reason_of(const grpc::Status& status);
// The type names of all details, for example "ErrorInfo".
std::vector<std::string> details_of(const grpc::Status& status);

class RpcTest : public ::testing::Test {
 protected:
  // `adjust` changes what the server is started with.
  explicit RpcTest(const std::function<void(app::ServerSetup&)>& adjust = {});
  ~RpcTest() override;

  // Calls `rpc` with a fresh context and a deadline; expects OK and returns the response.
  template <class Response, class Stub, class Request>
  Response ok(Stub& stub,
              grpc::Status (Stub::*rpc)(grpc::ClientContext*, const Request&, Response*),
              const Request& request) {
    Response response;
    const auto status = call(stub, rpc, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_code() << " " << status.error_message();
    return response;
  }
  template <class Response, class Stub, class Request>
  grpc::Status call(Stub& stub,
                    grpc::Status (Stub::*rpc)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(40));
    return (stub.*rpc)(&context, request, response);
  }
  // The status of a call that is expected to be refused.
  template <class Response, class Stub, class Request>
  grpc::Status refused(Stub& stub,
                       grpc::Status (Stub::*rpc)(grpc::ClientContext*, const Request&, Response*),
                       const Request& request) {
    Response response;
    auto status = call(stub, rpc, request, &response);
    EXPECT_FALSE(status.ok());
    return status;
  }

  void make_queue(const std::string& name, int limit = 0);
  std::string enqueue(const std::string& queue, const std::string& payload = "{}",
                      int priority = 100);
  v1::LeaseJobsRequest lease_request(const std::string& queue, int max_jobs = 1,
                                     int wait_ms = 10'000);
  v1::LeaseJobsResponse lease(const std::string& queue, int max_jobs = 1, int wait_ms = 10'000);
  v1::FinishJobsResponse succeed(const v1::LeasedJob& job, const std::string& result = "");
  v1::Job get(const std::string& id, bool with_payload = false);
  // All pages of a listing.
  std::vector<v1::Job> list(const v1::JobFilter& filter, int page_size);

  using Jobs = v1::JobService::StubInterface;
  using Workers = v1::WorkerService::StubInterface;
  using Queues = v1::QueueService::StubInterface;
  using Schedulers = v1::SchedulerService::StubInterface;
  using Admin = v1::AdminService::StubInterface;

  std::unique_ptr<app::Server> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::JobService::Stub> jobs_stub;
  std::unique_ptr<v1::WorkerService::Stub> workers_stub;
  std::unique_ptr<v1::QueueService::Stub> queues_stub;
  std::unique_ptr<v1::SchedulerService::Stub> schedulers_stub;
  std::unique_ptr<v1::AdminService::Stub> admin_stub;
  Jobs& jobs() { return *jobs_stub; }
  Workers& workers() { return *workers_stub; }
  Queues& queues() { return *queues_stub; }
  Schedulers& schedulers() { return *schedulers_stub; }
  Admin& admin() { return *admin_stub; }
  std::string session = "session-1";
};

}  // namespace rota::testing
