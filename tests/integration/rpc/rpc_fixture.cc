// SPDX-License-Identifier: Apache-2.0
#include "rpc_fixture.h"

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "rpc/convert_time.h"

namespace rota::testing {

std::string reason_of(const grpc::Status& status) {
  google::rpc::Status parsed;
  if (!parsed.ParseFromString(status.error_details())) return {};
  for (const auto& any : parsed.details()) {
    google::rpc::ErrorInfo info;
    if (any.type_url() == "type.googleapis.com/google.rpc.ErrorInfo" &&
        info.ParseFromString(any.value())) {
      return info.reason();
    }
  }
  return {};
}

std::vector<std::string> details_of(const grpc::Status& status) {
  google::rpc::Status parsed;
  std::vector<std::string> names;
  if (!parsed.ParseFromString(status.error_details())) return names;
  for (const auto& any : parsed.details()) {
    names.push_back(any.type_url().substr(any.type_url().rfind('.') + 1));
  }
  return names;
}

RpcTest::RpcTest(const std::function<void(app::ServerSetup&)>& adjust) {
  app::ServerSetup setup;
  setup.options.listen = "127.0.0.1:0";
  setup.memory = store::MemoryDisk::create();
  if (adjust) adjust(setup);
  auto started = app::Server::start(std::move(setup));
  if (auto* stop = std::get_if<app::Stop>(&started)) {
    ADD_FAILURE() << stop->text;
    std::abort();
  }
  server = std::move(std::get<std::unique_ptr<app::Server>>(started));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  // A connection of its own for each test.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel =
      grpc::CreateCustomChannel(server->address(), grpc::InsecureChannelCredentials(), arguments);
  jobs_stub = v1::JobService::NewStub(channel);
  workers_stub = v1::WorkerService::NewStub(channel);
  queues_stub = v1::QueueService::NewStub(channel);
  schedulers_stub = v1::SchedulerService::NewStub(channel);
  admin_stub = v1::AdminService::NewStub(channel);
}

RpcTest::~RpcTest() {
  if (server) server->stop(5'000);
}

void RpcTest::make_queue(const std::string& name, int limit) {
  v1::SetQueueRequest request;
  request.set_queue(name);
  if (limit > 0) request.mutable_settings()->set_concurrency_limit(limit);
  ok(queues(), &Queues::SetQueue, request);
}

std::string RpcTest::enqueue(const std::string& queue, const std::string& payload, int priority) {
  v1::EnqueueJobRequest request;
  request.mutable_job()->set_queue(queue);
  request.mutable_job()->set_kind("k");
  request.mutable_job()->set_priority(priority);
  request.mutable_job()->mutable_payload()->set_data(payload);
  return ok(jobs(), &Jobs::EnqueueJob, request).job().id();
}

v1::LeaseJobsRequest RpcTest::lease_request(const std::string& queue, int max_jobs, int wait_ms) {
  v1::LeaseJobsRequest request;
  request.set_session_id(session);
  request.mutable_worker()->set_worker_id("w-1");
  request.add_queues(queue);
  request.set_max_jobs(max_jobs);
  rpc::put_duration(wait_ms, request.mutable_wait_duration());
  return request;
}

v1::LeaseJobsResponse RpcTest::lease(const std::string& queue, int max_jobs, int wait_ms) {
  return ok(workers(), &Workers::LeaseJobs, lease_request(queue, max_jobs, wait_ms));
}

v1::FinishJobsResponse RpcTest::succeed(const v1::LeasedJob& job, const std::string& result) {
  v1::FinishJobsRequest request;
  request.set_session_id(session);
  auto* item = request.add_items();
  item->mutable_lease()->set_job_id(job.job_id());
  item->mutable_lease()->set_fencing_token(job.fencing_token());
  auto* success = item->mutable_outcome()->mutable_success();
  if (!result.empty()) success->mutable_result()->set_data(result);
  return ok(workers(), &Workers::FinishJobs, request);
}

v1::Job RpcTest::get(const std::string& id, bool with_payload) {
  v1::GetJobRequest request;
  request.set_job_id(id);
  request.set_include_payload(with_payload);
  return ok(jobs(), &Jobs::GetJob, request).job();
}

std::vector<v1::Job> RpcTest::list(const v1::JobFilter& filter, int page_size) {
  std::vector<v1::Job> all;
  v1::ListJobsRequest request;
  *request.mutable_filter() = filter;
  request.set_page_size(page_size);
  for (int pages = 0; pages < 1'000; ++pages) {
    const auto page = ok(jobs(), &Jobs::ListJobs, request);
    EXPECT_LE(page.jobs_size(), page_size);
    all.insert(all.end(), page.jobs().begin(), page.jobs().end());
    if (page.next_page_token().empty()) return all;
    request.set_page_token(page.next_page_token());
  }
  ADD_FAILURE() << "the listing does not end";
  return all;
}

}  // namespace rota::testing
