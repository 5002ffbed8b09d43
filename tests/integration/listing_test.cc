// SPDX-License-Identifier: Apache-2.0
//
// Listings of large things, over a channel that takes what gRPC takes unless told otherwise, 4 MiB:
// they come in several pages, with everything in them once, however many rows a page may have.
#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "support/eventually.h"
#include "support/in_process_server.h"

namespace rota::testing {
namespace {

constexpr std::size_t kResultBytes = base::limits::kResultBytesMax;

// The time moves on where a test says so.
class MovedClock final : public base::Clock {
 public:
  std::int64_t wall_ms() const override { return real_.wall_ms() + offset_ms_; }
  std::int64_t mono_ms() const override { return real_.mono_ms() + offset_ms_; }
  std::int64_t boot_ms() const override { return real_.boot_ms() + offset_ms_; }
  void move(std::int64_t ms) { offset_ms_ += ms; }

 private:
  base::SystemClock real_;
  std::atomic<std::int64_t> offset_ms_{0};
};

class ListingTest : public ::testing::Test {
 protected:
  ListingTest()
      : channel_(grpc::CreateChannel(server_.address(), grpc::InsecureChannelCredentials())),
        jobs_(v1::JobService::NewStub(channel_)),
        workers_(v1::WorkerService::NewStub(channel_)),
        schedulers_(v1::SchedulerService::NewStub(channel_)) {}

  template <class Response, class Stub, class Request>
  Response ok(Stub& stub,
              grpc::Status (Stub::*rpc)(grpc::ClientContext*, const Request&, Response*),
              const Request& request) {
    Response response;
    CallContext context;
    const grpc::Status status = (stub.*rpc)(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_code() << " " << status.error_message();
    return response;
  }

  // All pages of a listing, from the first to the one without a next.
  template <class Response, class Stub, class Request>
  std::vector<Response> pages(Stub& stub,
                              grpc::Status (Stub::*rpc)(grpc::ClientContext*, const Request&,
                                                        Response*),
                              Request request) {
    std::vector<Response> all;
    do {
      all.push_back(ok(stub, rpc, request));
      EXPECT_LE(all.back().ByteSizeLong(), 4U << 20U);
      request.set_page_token(all.back().next_page_token());
    } while (!request.page_token().empty() && all.size() < 1'000);
    EXPECT_TRUE(request.page_token().empty()) << "the listing does not end";
    return all;
  }

  void enqueue_many(int count, const std::string& label) {
    v1::BulkEnqueueJobsRequest request;
    for (int i = 0; i < count; ++i) {
      auto* job = request.add_jobs();
      job->set_queue("q");
      job->set_kind("k");
      if (!label.empty()) (*job->mutable_labels())["note"] = label;
    }
    const auto response = ok(jobs(), &Jobs::BulkEnqueueJobs, request);
    for (const auto& result : response.results()) {
      EXPECT_TRUE(result.job().created()) << result.error().message();
    }
  }

  // Runs as many jobs to their end as wait, or `max`, each with the largest result.
  int succeed(int max) {
    auto request = lease_request("q", "s1", max);
    request.set_max_bytes(base::limits::kCallBytesMax);
    const auto leased = server_.lease(request);
    v1::FinishJobsRequest finish;
    const auto send = [&] {
      const auto response = ok(workers(), &Workers::FinishJobs, finish);
      for (const auto& result : response.results()) {
        EXPECT_EQ(result.job().state(), v1::JOB_STATE_SUCCEEDED) << result.error().message();
      }
      finish.clear_items();
    };
    finish.set_session_id("s1");
    for (const auto& job : leased.jobs()) {
      auto* item = finish.add_items();
      item->mutable_lease()->set_job_id(job.job_id());
      item->mutable_lease()->set_fencing_token(job.fencing_token());
      item->mutable_outcome()->mutable_success()->mutable_result()->set_data(
          std::string(kResultBytes, 'r'));
      if (finish.items_size() == 25) send();  // more would be over the bytes of a call
    }
    if (finish.items_size() > 0) send();
    return leased.jobs_size();
  }

  using Jobs = v1::JobService::StubInterface;
  using Workers = v1::WorkerService::StubInterface;
  using Schedulers = v1::SchedulerService::StubInterface;
  Jobs& jobs() { return *jobs_; }
  Workers& workers() { return *workers_; }
  Schedulers& schedulers() { return *schedulers_; }

  MovedClock clock_;
  InProcessServer server_{{.memory = true, .clock = &clock_}};
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
  std::unique_ptr<v1::SchedulerService::Stub> schedulers_;
};

TEST_F(ListingTest, JobsWithLargeResults) {
  server_.make_queue("q");
  enqueue_many(200, "");
  ASSERT_EQ(succeed(200), 200);
  v1::ListJobsRequest request;
  request.mutable_filter()->set_queue("q");
  for (const int size : {1'000, 3}) {
    request.set_page_size(size);
    const auto listed = pages(jobs(), &Jobs::ListJobs, request);
    std::set<std::string> found;
    for (const auto& page : listed) {
      EXPECT_LE(page.jobs_size(), size);
      EXPECT_TRUE(page.jobs_size() > 0 || page.next_page_token().empty());
      for (const auto& job : page.jobs()) {
        EXPECT_TRUE(found.insert(job.id()).second) << job.id() << " twice";
        EXPECT_EQ(job.result().data().size(), kResultBytes);
      }
    }
    EXPECT_EQ(found.size(), 200U) << "page size " << size;
    // As many as fit, not fewer: 13 results are below 3.5 MiB.
    EXPECT_EQ(listed[0].jobs_size(), std::min(size, 13));
  }
}

TEST_F(ListingTest, RunningAndWaitingJobsWithLargeLabels) {
  server_.make_queue("q");
  for (int i = 0; i < 4; ++i) enqueue_many(500, std::string(4'000, 'n'));
  auto lease = lease_request("q", "s1", 700);
  lease.set_max_bytes(base::limits::kCallBytesMax);
  ASSERT_EQ(server_.lease(lease).jobs_size(), 700);
  v1::ListJobsRequest request;
  request.mutable_filter()->set_queue("q");
  request.set_page_size(1'000);
  const auto listed = pages(jobs(), &Jobs::ListJobs, request);
  EXPECT_GE(listed.size(), 3U);
  std::map<v1::JobState, int> states;
  std::set<std::string> found;
  for (const auto& page : listed) {
    for (const auto& job : page.jobs()) {
      EXPECT_TRUE(found.insert(job.id()).second) << job.id() << " twice";
      ++states[job.state()];
    }
  }
  EXPECT_EQ(states, (std::map<v1::JobState, int>{{v1::JOB_STATE_RUNNING, 700},
                                                 {v1::JOB_STATE_READY, 1'300}}));
}

TEST_F(ListingTest, SchedulersWithLargeTemplates) {
  server_.make_queue("q");
  std::set<std::string> declared;
  for (int i = 0; i < 100; ++i) {
    v1::UpsertSchedulerRequest request;
    auto* scheduler = request.mutable_scheduler();
    scheduler->set_id((i % 3 == 0 ? "other/" : "mail/") + std::to_string(i));
    scheduler->mutable_spec()->add_parts()->set_cron("0 0 * * *");
    scheduler->mutable_job()->set_queue("q");
    scheduler->mutable_job()->set_kind("k");
    scheduler->mutable_job()->mutable_payload()->set_data(std::string(260'000, 'p'));
    ok(schedulers(), &Schedulers::UpsertScheduler, request);
    declared.insert(scheduler->id());
  }
  v1::ListSchedulersRequest request;
  for (const std::string prefix : {"", "mail/"}) {
    std::set<std::string> wanted;
    for (const auto& id : declared) {
      if (id.compare(0, prefix.size(), prefix) == 0) wanted.insert(id);
    }
    request.set_id_prefix(prefix);
    std::set<std::string> found;
    for (const auto& page : pages(schedulers(), &Schedulers::ListSchedulers, request)) {
      for (const auto& one : page.schedulers()) {
        EXPECT_TRUE(found.insert(one.declaration().id()).second) << "twice";
        EXPECT_EQ(one.declaration().job().payload().data().size(), 260'000U);
      }
    }
    EXPECT_EQ(found, wanted) << "prefix " << prefix;
  }
}

TEST_F(ListingTest, RunsWithTheirLargeJobs) {
  server_.make_queue("q");
  v1::UpsertSchedulerRequest declare;
  auto* scheduler = declare.mutable_scheduler();
  scheduler->set_id("s");
  scheduler->mutable_spec()->add_parts()->mutable_interval()->mutable_every()->set_seconds(1);
  scheduler->mutable_overlap()->set_mode(v1::OverlapPolicy::MODE_ALLOW);
  scheduler->mutable_catch_up()->set_mode(v1::CatchUpPolicy::MODE_ALL);
  scheduler->mutable_job()->set_queue("q");
  scheduler->mutable_job()->set_kind("k");
  ok(schedulers(), &Schedulers::UpsertScheduler, declare);
  clock_.move(45'000);
  int done = 0;
  ASSERT_TRUE(eventually([&] { return (done += succeed(100)) >= 40; }));
  v1::PauseSchedulerRequest pause;
  pause.set_scheduler_id("s");
  ok(schedulers(), &Schedulers::PauseScheduler, pause);
  done += succeed(100);

  v1::ListRunsRequest request;
  request.set_scheduler_id("s");
  request.set_page_size(1'000);
  EXPECT_EQ(pages(schedulers(), &Schedulers::ListRuns, request).size(), 1U) << "small without jobs";
  request.set_include_jobs(true);
  const auto listed = pages(schedulers(), &Schedulers::ListRuns, request);
  EXPECT_GE(listed.size(), 3U);
  std::vector<std::int64_t> times;
  for (const auto& page : listed) {
    EXPECT_GT(page.runs_size(), 0);
    for (const auto& run : page.runs()) {
      EXPECT_EQ(run.outcome(), v1::Run::OUTCOME_FIRED) << run.reason();
      EXPECT_EQ(run.job().result().data().size(), kResultBytes);
      times.push_back(run.nominal_time().seconds());
    }
  }
  ASSERT_EQ(times.size(), static_cast<std::size_t>(done));
  for (std::size_t i = 1; i < times.size(); ++i) {
    EXPECT_EQ(times[i], times[i - 1] - 1) << "newest first, none left out";
  }
}

TEST_F(ListingTest, WorkersThatSayMuch) {
  server_.make_queue("q");
  for (int i = 0; i < 1'100; ++i) {
    auto request = lease_request("q", "session-" + std::to_string(i));
    (*request.mutable_worker()->mutable_labels())["note"] = std::string(4'000, 'n');
    ok(workers(), &Workers::LeaseJobs, request);
  }
  v1::ListWorkersRequest request;
  request.set_page_size(1'000);
  const auto listed = pages(workers(), &Workers::ListWorkers, request);
  EXPECT_GE(listed.size(), 2U);
  std::set<std::string> found;
  for (const auto& page : listed) {
    for (const auto& worker : page.workers()) {
      EXPECT_TRUE(found.insert(worker.session_id()).second) << worker.session_id() << " twice";
    }
  }
  EXPECT_EQ(found.size(), 1'100U);
}

}  // namespace
}  // namespace rota::testing
