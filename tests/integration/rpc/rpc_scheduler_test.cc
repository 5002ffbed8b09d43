// SPDX-License-Identifier: Apache-2.0
//
// Schedulers over the wire: declaring, listing, runs, preview, pause.
#include <future>
#include <set>
#include <vector>

#include "rpc/convert_time.h"
#include "rpc_fixture.h"

namespace rota::testing {
namespace {

class RpcSchedulerTest : public RpcTest {
 protected:
  static v1::UpsertSchedulerRequest daily(const std::string& id) {
    v1::UpsertSchedulerRequest request;
    auto* scheduler = request.mutable_scheduler();
    scheduler->set_id(id);
    scheduler->mutable_spec()->add_parts()->set_cron("0 0 * * *");
    scheduler->mutable_spec()->set_time_zone("Europe/Helsinki");
    scheduler->mutable_job()->set_queue("q");
    scheduler->mutable_job()->set_kind("daily");
    scheduler->set_business_day_offset(-1);
    scheduler->set_owner("billing");
    scheduler->set_revision(412);
    return request;
  }
  v1::Scheduler get_scheduler(const std::string& id) {
    v1::GetSchedulerRequest request;
    request.set_scheduler_id(id);
    return ok(schedulers(), &Schedulers::GetScheduler, request).scheduler();
  }
};

using Upserted = v1::UpsertSchedulerResponse;

TEST_F(RpcSchedulerTest, TheSameDeclarationChangesNothing) {
  make_queue("q");
  auto request = daily("invoices/daily");
  auto response = ok(schedulers(), &Schedulers::UpsertScheduler, request);
  EXPECT_EQ(response.result(), Upserted::RESULT_CREATED);
  ASSERT_GT(response.next_ticks_size(), 0);
  EXPECT_NE(response.next_ticks(0).local_time().find("T00:00:00+0"), std::string::npos);
  const auto generation = response.scheduler().generation();
  EXPECT_GT(generation, 0);
  response = ok(schedulers(), &Schedulers::UpsertScheduler, request);
  EXPECT_EQ(response.result(), Upserted::RESULT_UNCHANGED);
  // What is shown can be declared again.
  *request.mutable_scheduler() = get_scheduler("invoices/daily").declaration();
  response = ok(schedulers(), &Schedulers::UpsertScheduler, request);
  EXPECT_EQ(response.result(), Upserted::RESULT_UNCHANGED);
  request.mutable_scheduler()->mutable_spec()->mutable_parts(0)->set_cron("30 1 * * *");
  request.mutable_scheduler()->set_revision(411);
  response = ok(schedulers(), &Schedulers::UpsertScheduler, request);
  EXPECT_EQ(response.result(), Upserted::RESULT_OLDER_REVISION);
  request.mutable_scheduler()->set_revision(413);
  response = ok(schedulers(), &Schedulers::UpsertScheduler, request);
  EXPECT_EQ(response.result(), Upserted::RESULT_CHANGED);
  EXPECT_GT(response.changed_fields_size(), 0);
  EXPECT_EQ(response.scheduler().generation(), generation);
}

TEST_F(RpcSchedulerTest, MaskChangesOnlyWhatItNames) {
  make_queue("q");
  ok(schedulers(), &Schedulers::UpsertScheduler, daily("s"));
  v1::UpsertSchedulerRequest request;
  request.mutable_scheduler()->set_id("s");
  request.mutable_scheduler()->set_owner("ops");
  request.mutable_update_mask()->add_paths("owner");
  EXPECT_EQ(ok(schedulers(), &Schedulers::UpsertScheduler, request).result(),
            Upserted::RESULT_CHANGED);
  const auto declared = get_scheduler("s").declaration();
  EXPECT_EQ(declared.owner(), "ops");
  EXPECT_EQ(declared.spec().parts(0).cron(), "0 0 * * *");
  EXPECT_EQ(declared.revision(), 412);
  request.mutable_scheduler()->set_id("unknown");
  EXPECT_EQ(reason_of(refused(schedulers(), &Schedulers::UpsertScheduler, request)),
            "SCHEDULER_NOT_FOUND");
}

// Nodes of one deploy that each set something else: none has an etag, none is told to read again.
TEST_F(RpcSchedulerTest, MasksOfSeveralNodesAtOnceAllCount) {
  make_queue("q");
  ok(schedulers(), &Schedulers::UpsertScheduler, daily("s"));
  for (int round = 0; round < 10; ++round) {
    std::vector<std::future<grpc::Status>> nodes;
    for (int node = 0; node < 6; ++node) {
      nodes.push_back(std::async(std::launch::async, [&, round, node] {
        v1::UpsertSchedulerRequest request;
        request.set_request_id("node-" + std::to_string(round) + "-" + std::to_string(node));
        request.mutable_scheduler()->set_id("s");
        if (node % 2 == 0) {
          request.mutable_scheduler()->set_owner("owner-" + std::to_string(round));
          request.mutable_update_mask()->add_paths("owner");
        } else {
          request.mutable_scheduler()->set_revision(1'000 + round);
          request.mutable_update_mask()->add_paths("revision");
        }
        grpc::ClientContext context;
        v1::UpsertSchedulerResponse response;
        return schedulers().UpsertScheduler(&context, request, &response);
      }));
    }
    for (auto& node : nodes) {
      const grpc::Status status = node.get();
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
    const auto declared = get_scheduler("s").declaration();
    EXPECT_EQ(declared.owner(), "owner-" + std::to_string(round));
    EXPECT_EQ(declared.revision(), 1'000 + round);
  }
}

TEST_F(RpcSchedulerTest, ListingIsPagedAndFiltered) {
  make_queue("q");
  std::multiset<std::string> wanted;
  for (const std::string id : {"a", "bb", "ccc", "dddd", "eeeee"}) {
    wanted.insert("mail/" + id);
    ok(schedulers(), &Schedulers::UpsertScheduler, daily("mail/" + id));
    ok(schedulers(), &Schedulers::UpsertScheduler, daily("other/" + id));
  }
  v1::ListSchedulersRequest request;
  request.set_id_prefix("mail/");
  request.set_page_size(2);
  std::multiset<std::string> found;
  for (;;) {
    const auto page = ok(schedulers(), &Schedulers::ListSchedulers, request);
    EXPECT_LE(page.schedulers_size(), 2);
    for (const auto& one : page.schedulers()) found.insert(one.declaration().id());
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  EXPECT_EQ(found, wanted);
}

TEST_F(RpcSchedulerTest, RunsOfASchedulerThatNeverWasAreNotFound) {
  make_queue("q");
  v1::ListRunsRequest runs;
  runs.set_scheduler_id("nowhere");
  EXPECT_EQ(reason_of(refused(schedulers(), &Schedulers::ListRuns, runs)), "SCHEDULER_NOT_FOUND");
  ok(schedulers(), &Schedulers::UpsertScheduler, daily("nowhere"));
  EXPECT_EQ(ok(schedulers(), &Schedulers::ListRuns, runs).runs_size(), 0);
  v1::DeleteSchedulerRequest remove;
  remove.set_scheduler_id("nowhere");
  ok(schedulers(), &Schedulers::DeleteScheduler, remove);
  EXPECT_EQ(reason_of(refused(schedulers(), &Schedulers::ListRuns, runs)), "SCHEDULER_NOT_FOUND");
}

TEST_F(RpcSchedulerTest, TicksBecomeJobsAndRunRecords) {
  make_queue("q");
  auto request = daily("ticks");
  request.mutable_scheduler()->mutable_spec()->clear_parts();
  rpc::put_duration(1'000, request.mutable_scheduler()
                               ->mutable_spec()
                               ->add_parts()
                               ->mutable_interval()
                               ->mutable_every());
  request.mutable_scheduler()->mutable_overlap()->set_mode(v1::OverlapPolicy::MODE_ALLOW);
  request.mutable_scheduler()->mutable_job()->set_business_key("run/{{nominal_time}}");
  ok(schedulers(), &Schedulers::UpsertScheduler, request);
  std::vector<std::string> ids;
  while (ids.size() < 2) {
    const auto leased = lease("q", 1, 20'000);
    for (const auto& job : leased.jobs()) {
      EXPECT_EQ(job.scheduler_id(), "ticks");
      EXPECT_EQ(job.nominal_times_size(), 1);
      EXPECT_FALSE(job.business_date().empty());
      EXPECT_EQ(job.business_key().rfind("run/20", 0), 0U) << job.business_key();
      succeed(job);
      ids.push_back(job.job_id());
    }
  }
  v1::ListRunsRequest list_runs;
  list_runs.set_scheduler_id("ticks");
  list_runs.set_include_jobs(true);
  list_runs.set_page_size(1);
  std::vector<v1::Run> runs;
  for (;;) {
    const auto page = ok(schedulers(), &Schedulers::ListRuns, list_runs);
    runs.insert(runs.end(), page.runs().begin(), page.runs().end());
    if (page.next_page_token().empty()) break;
    list_runs.set_page_token(page.next_page_token());
  }
  ASSERT_GE(runs.size(), 2U);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    EXPECT_GT(runs[i - 1].nominal_time().seconds(), runs[i].nominal_time().seconds());
  }
  const auto& oldest = runs.back();
  EXPECT_EQ(oldest.outcome(), v1::Run::OUTCOME_FIRED);
  EXPECT_EQ(oldest.job_id(), ids.front());
  EXPECT_EQ(oldest.job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(oldest.tick_count_exact());

  v1::PauseSchedulerRequest pause;
  pause.set_scheduler_id("ticks");
  pause.set_note("enough");
  const auto paused = ok(schedulers(), &Schedulers::PauseScheduler, pause).scheduler();
  EXPECT_EQ(paused.pause().note(), "enough");
  v1::ResumeSchedulerRequest resume;
  resume.set_scheduler_id("ticks");
  EXPECT_FALSE(ok(schedulers(), &Schedulers::ResumeScheduler, resume).scheduler().has_pause());
  v1::DeleteSchedulerRequest remove;
  remove.set_scheduler_id("ticks");
  ok(schedulers(), &Schedulers::DeleteScheduler, remove);
  v1::GetSchedulerRequest gone;
  gone.set_scheduler_id("ticks");
  EXPECT_EQ(reason_of(refused(schedulers(), &Schedulers::GetScheduler, gone)),
            "SCHEDULER_NOT_FOUND");
}

TEST_F(RpcSchedulerTest, PreviewMarksTheClockChange) {
  v1::PreviewSchedulerRequest request;
  request.mutable_spec()->add_parts()->set_cron("30 3 * * *");
  request.mutable_spec()->set_time_zone("Europe/Helsinki");
  request.mutable_after()->set_seconds(1'806'098'400);  // 2027-03-26T22:00:00Z
  request.set_count(2);
  const auto response = ok(schedulers(), &Schedulers::PreviewScheduler, request);
  ASSERT_EQ(response.ticks_size(), 2);
  EXPECT_EQ(response.ticks(0).local_time(), "2027-03-27T03:30:00+02:00");
  EXPECT_EQ(response.ticks(0).mark(), v1::Tick::MARK_UNSPECIFIED);
  EXPECT_EQ(response.ticks(1).local_time(), "2027-03-28T04:00:00+03:00");
  EXPECT_EQ(response.ticks(1).mark(), v1::Tick::MARK_GAP);
  EXPECT_FALSE(response.ticks(1).note().empty());
}

}  // namespace
}  // namespace rota::testing
