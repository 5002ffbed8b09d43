// SPDX-License-Identifier: Apache-2.0
#include "e2e/live_server.h"

#include <stdlib.h>

#include <filesystem>

#include "base/fail_point.h"

namespace rota::e2e {
namespace {

void set_duration(google::protobuf::Duration* out, Millis span) {
  out->set_seconds(span.count() / 1000);
  out->set_nanos(static_cast<std::int32_t>(span.count() % 1000) * 1'000'000);
}

v1::FinishItem* add_item(v1::FinishJobsRequest* request, const std::string& session,
                         const v1::LeasedJob& job) {
  request->set_session_id(session);
  v1::FinishItem* item = request->add_items();
  item->mutable_lease()->set_job_id(job.job_id());
  item->mutable_lease()->set_fencing_token(job.fencing_token());
  return item;
}

}  // namespace

std::string server_binary() { return ROTA_SERVER_BINARY; }
std::string worker_binary() { return ROTA_WORKER_BINARY; }
std::string probe_worker_binary() { return ROTA_PROBE_WORKER_BINARY; }

Folder::Folder() {
  std::string form = (std::filesystem::temp_directory_path() / "rota-e2e-XXXXXX").string();
  if (mkdtemp(form.data()) == nullptr) ADD_FAILURE() << "cannot make a folder";
  path_ = form;
}

Folder::~Folder() {
  std::error_code ignored;
  if (testing::Test::HasFailure()) {
    std::fprintf(stderr, "kept: %s\n", path_.c_str());
  } else {
    std::filesystem::remove_all(path_, ignored);
  }
}

v1::LeaseJobsRequest lease_request(const LeaseWish& wish) {
  v1::LeaseJobsRequest request;
  request.set_request_id(wish.request_id);
  request.set_session_id(wish.session);
  request.mutable_worker()->set_worker_id("tester");
  request.add_queues(wish.queue);
  request.set_max_jobs(wish.max_jobs);
  set_duration(request.mutable_wait_duration(), wish.wait);
  set_duration(request.mutable_lease_ttl(), wish.ttl);
  return request;
}

v1::JobSpec job_spec(const std::string& payload, const std::string& queue) {
  v1::JobSpec spec;
  spec.set_queue(queue);
  spec.set_kind("task");
  spec.mutable_payload()->set_data(payload);
  return spec;
}

v1::FinishJobsRequest success(const std::string& session, const v1::LeasedJob& job,
                              const std::string& result) {
  v1::FinishJobsRequest request;
  v1::FinishItem* item = add_item(&request, session, job);
  item->mutable_outcome()->mutable_success()->mutable_result()->set_data(result);
  return request;
}

v1::FinishJobsRequest failure(const std::string& session, const v1::LeasedJob& job) {
  v1::FinishJobsRequest request;
  v1::FinishItem* item = add_item(&request, session, job);
  item->mutable_outcome()->mutable_failure()->mutable_failure()->set_message("on purpose");
  set_duration(item->mutable_outcome()->mutable_failure()->mutable_retry_after(), Millis(0));
  return request;
}

LiveServerTest::LiveServerTest()
    : server_(server_binary(), folder_.file("data"), folder_.file("server.log"), "127.0.0.1:0") {}

void LiveServerTest::start(const std::string& fail_point, const std::vector<std::string>& more) {
  if (!fail_point.empty()) setenv("ROTA_FAIL_POINT", fail_point.c_str(), 1);
  const bool up = server_.start(true, more);
  unsetenv("ROTA_FAIL_POINT");
  ASSERT_TRUE(up) << server_.error();
}

void LiveServerTest::expect_fail_point_reached() {
  const auto change = server_.process().wait(kPatienceMs);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->exit_code, base::kFailPointExitCode);
  EXPECT_EQ(change->signal, 0);
}

void LiveServerTest::kill_and_restart() {
  server_.kill();
  start();
}

RawClient& LiveServerTest::client() {
  if (!client_) {
    ClientOptions options;
    options.address = server_.address();
    options.timeout = Millis(kPatienceMs);
    client_ = std::make_unique<RawClient>(*RawClient::create(options));
  }
  return *client_;
}

void LiveServerTest::make_queue(const std::string& name, std::optional<int> limit) {
  v1::SetQueueRequest request;
  request.set_queue(name);
  if (limit) request.mutable_settings()->set_concurrency_limit(*limit);
  must(client().set_queue(request, patient()));
}

std::string LiveServerTest::enqueue(const v1::JobSpec& spec) {
  v1::EnqueueJobRequest request;
  *request.mutable_job() = spec;
  return must(client().enqueue_job(request, patient())).job().id();
}

v1::Job LiveServerTest::job(const std::string& id) {
  v1::GetJobRequest request;
  request.set_job_id(id);
  return must(client().get_job(request, patient())).job();
}

std::vector<v1::Job> LiveServerTest::jobs(const std::string& queue) {
  std::vector<v1::Job> found;
  v1::ListJobsRequest request;
  request.mutable_filter()->set_queue(queue);
  request.set_page_size(1'000);
  do {
    v1::ListJobsResponse page = must(client().list_jobs(request, patient()));
    for (v1::Job& one : *page.mutable_jobs()) found.push_back(std::move(one));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return found;
}

v1::QueueCounters LiveServerTest::counters(const std::string& queue) {
  v1::GetQueueRequest request;
  request.set_queue(queue);
  return must(client().get_queue(request, patient())).queue().counters();
}

v1::ServerInfo LiveServerTest::info() {
  return must(client().get_server_info({}, patient())).server();
}

v1::LeaseJobsResponse LiveServerTest::lease(const LeaseWish& wish) {
  return must(client().lease_jobs(lease_request(wish), patient()));
}

v1::FinishResult LiveServerTest::finish(const v1::FinishJobsRequest& request) {
  const v1::FinishJobsResponse response = must(client().finish_jobs(request, patient()));
  if (response.results_size() == 1) return response.results(0);
  ADD_FAILURE() << response.results_size() << " results for 1 item";
  return {};
}

v1::HeartbeatResult LiveServerTest::beat(const std::string& session, const v1::LeasedJob& job) {
  v1::HeartbeatRequest request;
  request.set_session_id(session);
  v1::LeaseRef* lease = request.add_leases();
  lease->set_job_id(job.job_id());
  lease->set_fencing_token(job.fencing_token());
  const v1::HeartbeatResponse response = must(client().heartbeat(request, patient()));
  if (response.results_size() == 1) return response.results(0);
  ADD_FAILURE() << response.results_size() << " results for 1 lease";
  return {};
}

v1::Job LiveServerTest::finished(const std::string& id) {
  v1::WaitJobRequest request;
  request.set_job_id(id);
  const std::int64_t end_ms = mono_ms() + 2 * kPatienceMs;
  while (mono_ms() < end_ms) {
    const v1::WaitJobResponse response = must(client().wait_job(request, patient()));
    if (response.finished() || HasFailure()) return response.job();
  }
  ADD_FAILURE() << "job " << id << " does not end";
  return {};
}

}  // namespace rota::e2e
