// SPDX-License-Identifier: Apache-2.0
#include "support/in_process_server.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace rota::testing {

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "rota-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

InProcessServer::InProcessServer(Options options) : options_(std::move(options)) {
  if (options_.memory) disk_ = store::MemoryDisk::create();
  start();
}

InProcessServer::~InProcessServer() {
  if (server_) server_->stop(0);
}

base::ServerOptions InProcessServer::server_options() const {
  base::ServerOptions options;
  options.data = directory_.path() + "/data";
  options.listen = address_;
  options.store_ballast_bytes = 0;  // many servers on one disk, which may be memory
  if (options_.adjust) options_.adjust(options);
  return options;
}

void InProcessServer::start() {
  app::ServerSetup setup;
  setup.options = server_options();
  setup.memory = disk_;
  setup.clock = options_.clock;
  setup.adjust_engine = options_.adjust_engine;
  setup.on_fatal = [this](const app::Stop& stop) {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = stop;
  };
  setup.on_stop_wanted = [this](const app::Stop& stop) {
    std::lock_guard lock(mutex_);
    if (!stop_wanted_) stop_wanted_ = stop;
  };
  auto started = app::Server::start(std::move(setup));
  if (const auto* stop = std::get_if<app::Stop>(&started)) {
    ADD_FAILURE() << "the server did not start: " << stop->text;
    std::abort();
  }
  server_ = std::move(std::get<std::unique_ptr<app::Server>>(started));
  address_ = server_->address();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  if (!channel_) {
    channel_ = grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
  }
  EXPECT_TRUE(
      channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10)));
}

void InProcessServer::stop(std::int64_t timeout_ms) {
  if (!server_) return;
  server_->stop(timeout_ms);
  server_.reset();
}

std::optional<app::Stop> InProcessServer::stop_wanted() const {
  std::lock_guard lock(mutex_);
  return stop_wanted_;
}

std::optional<app::Stop> InProcessServer::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

// ---- shortcuts ------------------------------------------------------------------------------

void InProcessServer::make_queue(const std::string& queue, std::optional<int> concurrency_limit) {
  v1::SetQueueRequest request;
  request.set_queue(queue);
  if (concurrency_limit) {
    request.mutable_settings()->set_concurrency_limit(*concurrency_limit);
    request.mutable_update_mask()->add_paths("concurrency_limit");
  }
  v1::SetQueueResponse response;
  CallContext context;
  const grpc::Status status = queues()->SetQueue(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

std::string InProcessServer::enqueue(const std::string& queue, const std::string& payload) {
  v1::EnqueueJobRequest request;
  request.mutable_job()->set_queue(queue);
  request.mutable_job()->set_kind("work");
  request.mutable_job()->mutable_payload()->set_data(payload);
  v1::EnqueueJobResponse response;
  CallContext context;
  const grpc::Status status = jobs()->EnqueueJob(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.job().id();
}

v1::LeaseJobsResponse InProcessServer::lease(const v1::LeaseJobsRequest& request) {
  v1::LeaseJobsResponse response;
  CallContext context(60'000);
  const grpc::Status status = workers()->LeaseJobs(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

v1::FinishResult InProcessServer::finish(const std::string& session, const v1::LeasedJob& job,
                                         const std::string& result) {
  v1::FinishJobsRequest request;
  request.set_session_id(session);
  auto* item = request.add_items();
  item->mutable_lease()->set_job_id(job.job_id());
  item->mutable_lease()->set_fencing_token(job.fencing_token());
  auto* success = item->mutable_outcome()->mutable_success();
  if (!result.empty()) success->mutable_result()->set_data(result);
  v1::FinishJobsResponse response;
  CallContext context;
  const grpc::Status status = workers()->FinishJobs(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.results_size() == 1 ? response.results(0) : v1::FinishResult();
}

v1::Job InProcessServer::get(const std::string& job_id) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  v1::GetJobResponse response;
  CallContext context;
  const grpc::Status status = jobs()->GetJob(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.job();
}

v1::QueueCounters InProcessServer::counters(const std::string& queue) {
  v1::GetQueueRequest request;
  request.set_queue(queue);
  v1::GetQueueResponse response;
  CallContext context;
  const grpc::Status status = queues()->GetQueue(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.queue().counters();
}

v1::ServerInfo InProcessServer::info() {
  v1::GetServerInfoResponse response;
  CallContext context;
  const grpc::Status status = admin()->GetServerInfo(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.server();
}

v1::LeaseJobsRequest lease_request(const std::string& queue, const std::string& session,
                                   int max_jobs, std::int64_t wait_ms,
                                   const std::string& request_id) {
  v1::LeaseJobsRequest request;
  request.set_session_id(session);
  request.mutable_worker()->set_worker_id("worker-" + session);
  request.add_queues(queue);
  request.set_max_jobs(max_jobs);
  request.mutable_wait_duration()->set_seconds(wait_ms / 1000);
  request.mutable_wait_duration()->set_nanos(static_cast<int>(wait_ms % 1000) * 1'000'000);
  request.set_request_id(request_id);
  return request;
}

CallContext::CallContext(std::int64_t timeout_ms) {
  set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms));
}

std::string reason_of(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return {};
  for (const auto& detail : details.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info)) return info.reason();
  }
  return {};
}

}  // namespace rota::testing
