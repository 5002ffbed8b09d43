// SPDX-License-Identifier: Apache-2.0
//
// Lease calls, heartbeats and outcomes over the wire.
#include <future>
#include <set>
#include <thread>

#include "rpc/convert_time.h"
#include "rpc_fixture.h"
#include "support/eventually.h"

namespace rota::testing {
namespace {

class RpcWorkerTest : public RpcTest {
 protected:
  v1::HeartbeatResult beat(const v1::LeasedJob& job) {
    v1::HeartbeatRequest request;
    request.set_session_id(session);
    request.add_leases()->set_job_id(job.job_id());
    request.mutable_leases(0)->set_fencing_token(job.fencing_token());
    return ok(workers(), &Workers::Heartbeat, request).results(0);
  }
  std::int64_t parked() {
    return ok(admin(), &Admin::GetServerInfo, v1::GetServerInfoRequest())
        .server()
        .parked_poll_count();
  }
  void wait_for_parked(std::int64_t count) {
    ASSERT_TRUE(eventually([&] { return parked() == count; }))
        << "parked calls never were " << count;
  }
};

TEST_F(RpcWorkerTest, NothingToDoIsAnEmptyAnswer) {
  make_queue("q");
  const auto response = lease("q", 1, 0);
  EXPECT_EQ(response.jobs_size(), 0);
  EXPECT_FALSE(response.request_spent());
  EXPECT_GT(response.server_epoch(), 0);
}

// A client that knows nothing of large replies gets none: gRPC's usual receive limit is 4 MiB.
TEST_F(RpcWorkerTest, RepliesPassTheUsualReceiveLimitUnlessAskedFor) {
  make_queue("q");
  const std::string payload(250'000, 'p');
  for (int i = 0; i < 30; ++i) enqueue("q", payload);
  const auto usual = lease("q", 50, 0);
  EXPECT_GE(usual.jobs_size(), 13);
  EXPECT_LT(usual.ByteSizeLong(), 4U << 20U);
  auto request = lease_request("q", 50, 0);
  request.set_max_bytes(64 << 10);
  EXPECT_EQ(ok(workers(), &Workers::LeaseJobs, request).jobs_size(), 1) << "never none for it";
  request.set_max_bytes(8 << 20);
  EXPECT_EQ(ok(workers(), &Workers::LeaseJobs, request).jobs_size(), 30 - 1 - usual.jobs_size());
  for (const std::int64_t bytes : {-1, 65'535, (8 << 20) + 1}) {
    request.set_max_bytes(bytes);
    const auto status = refused(workers(), &Workers::LeaseJobs, request);
    EXPECT_EQ(reason_of(status), "INVALID_FIELD");
    EXPECT_NE(status.error_message().find("max_bytes"), std::string::npos);
  }
}

TEST_F(RpcWorkerTest, ParkedCallGetsTheJobThatComes) {
  make_queue("q");
  auto waiting = std::async(std::launch::async, [&] { return lease("q", 1, 25'000); });
  wait_for_parked(1);
  const auto id = enqueue("q");
  const auto response = waiting.get();
  ASSERT_EQ(response.jobs_size(), 1);
  EXPECT_EQ(response.jobs(0).job_id(), id);
}

TEST_F(RpcWorkerTest, CallIsAnsweredBeforeItsDeadline) {
  make_queue("q");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  v1::LeaseJobsResponse response;
  const auto status = workers().LeaseJobs(&context, lease_request("q", 1, 20'000), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.jobs_size(), 0);
}

TEST_F(RpcWorkerTest, CallThatIsGoneGetsNothing) {
  make_queue("q");
  grpc::ClientContext context;
  const auto request = lease_request("q", 1, 25'000);
  v1::LeaseJobsResponse response;
  std::promise<grpc::StatusCode> ended;
  workers_stub->async()->LeaseJobs(&context, &request, &response, [&](grpc::Status status) {
    ended.set_value(status.error_code());
  });
  wait_for_parked(1);
  context.TryCancel();
  EXPECT_EQ(ended.get_future().get(), grpc::StatusCode::CANCELLED);
  wait_for_parked(0);
  const auto id = enqueue("q");
  const auto next = lease("q");
  ASSERT_EQ(next.jobs_size(), 1);
  EXPECT_EQ(next.jobs(0).job_id(), id);
  EXPECT_EQ(next.jobs(0).attempt(), 1);
}

TEST_F(RpcWorkerTest, RepeatReturnsTheSameTokensAndNeverASecondSet) {
  make_queue("q");
  enqueue("q");
  enqueue("q");
  auto request = lease_request("q");
  request.set_request_id("lease-1");
  const auto first = ok(workers(), &Workers::LeaseJobs, request);
  ASSERT_EQ(first.jobs_size(), 1);
  const auto again = ok(workers(), &Workers::LeaseJobs, request);
  ASSERT_EQ(again.jobs_size(), 1);
  EXPECT_EQ(again.jobs(0).job_id(), first.jobs(0).job_id());
  EXPECT_EQ(again.jobs(0).fencing_token(), first.jobs(0).fencing_token());
  EXPECT_EQ(again.jobs(0).payload().data(), first.jobs(0).payload().data());
  succeed(first.jobs(0));
  const auto spent = ok(workers(), &Workers::LeaseJobs, request);
  EXPECT_EQ(spent.jobs_size(), 0);
  EXPECT_TRUE(spent.request_spent());
}

TEST_F(RpcWorkerTest, RepeatTakesTheParkedCallsPlace) {
  make_queue("q");
  auto request = lease_request("q", 1, 25'000);
  request.set_request_id("lease-1");
  std::promise<grpc::Status> ended;
  grpc::ClientContext context;
  v1::LeaseJobsResponse response;
  workers_stub->async()->LeaseJobs(&context, &request, &response, [&](grpc::Status status) {
    ended.set_value(std::move(status));
  });
  wait_for_parked(1);
  auto repeat =
      std::async(std::launch::async, [&] { return ok(workers(), &Workers::LeaseJobs, request); });
  const auto status = ended.get_future().get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(reason_of(status), "POLL_REPLACED");
  const auto id = enqueue("q");
  EXPECT_EQ(repeat.get().jobs(0).job_id(), id);
}

TEST_F(RpcWorkerTest, HeartbeatRenewsAndTellsOfACancel) {
  make_queue("q");
  enqueue("q");
  const auto job = lease("q").jobs(0);
  auto result = beat(job);
  EXPECT_EQ(result.status(), v1::HeartbeatResult::STATUS_RENEWED);
  EXPECT_GT(result.renewed_for().seconds(), 20);
  EXPECT_FALSE(result.cancel_requested());
  auto told = std::async(std::launch::async, [&] { return lease("q", 1, 25'000); });
  wait_for_parked(1);
  v1::CancelJobRequest cancel;
  cancel.set_job_id(job.job_id());
  EXPECT_EQ(ok(jobs(), &Jobs::CancelJob, cancel).state(), v1::JOB_STATE_RUNNING);
  EXPECT_TRUE(beat(job).cancel_requested());
  const auto answer = told.get();  // at once, without a job
  ASSERT_EQ(answer.cancelled_tokens_size(), 1);
  EXPECT_EQ(answer.cancelled_tokens(0), job.fencing_token());
  auto stale = job;
  stale.set_fencing_token(job.fencing_token() + 1);
  EXPECT_EQ(beat(stale).status(), v1::HeartbeatResult::STATUS_LOST);
}

TEST_F(RpcWorkerTest, FinishRepeatedIsOkAndStaleIsRefused) {
  make_queue("q");
  enqueue("q");
  const auto job = lease("q").jobs(0);
  succeed(job, "first");
  const auto repeated = succeed(job, "second");
  ASSERT_TRUE(repeated.results(0).has_job());
  EXPECT_TRUE(repeated.results(0).job().already_ended());
  EXPECT_EQ(repeated.results(0).job().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_EQ(get(job.job_id()).result().data(), "first");
  auto stale = job;
  stale.set_fencing_token(job.fencing_token() + 1'000);
  const auto refused_item = succeed(stale).results(0);
  ASSERT_TRUE(refused_item.has_error());
  EXPECT_EQ(refused_item.error().reason(), "LEASE_LOST");
}

TEST_F(RpcWorkerTest, OneBadOutcomeLeavesTheOthersAndItsLease) {
  make_queue("q");
  enqueue("q");
  enqueue("q");
  const auto leased = lease("q", 2);
  ASSERT_EQ(leased.jobs_size(), 2);
  v1::FinishJobsRequest request;
  request.set_session_id(session);
  for (const auto& job : leased.jobs()) {
    auto* item = request.add_items();
    item->mutable_lease()->set_job_id(job.job_id());
    item->mutable_lease()->set_fencing_token(job.fencing_token());
    item->mutable_outcome()->mutable_success();
  }
  request.mutable_items(0)->mutable_outcome()->mutable_success()->mutable_result()->set_data(
      std::string(256 * 1024 + 1, 'r'));
  const auto response = ok(workers(), &Workers::FinishJobs, request);
  EXPECT_EQ(response.results(0).error().reason(), "RESULT_TOO_LARGE");
  EXPECT_EQ(response.results(1).job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(beat(leased.jobs(0)).status(), v1::HeartbeatResult::STATUS_RENEWED);
}

v1::FinishJobsRequest failures(const std::string& session, const v1::LeaseJobsResponse& leased,
                               const std::string& message) {
  v1::FinishJobsRequest request;
  request.set_session_id(session);
  for (const auto& job : leased.jobs()) {
    auto* item = request.add_items();
    item->mutable_lease()->set_job_id(job.job_id());
    item->mutable_lease()->set_fencing_token(job.fencing_token());
    item->mutable_outcome()->mutable_failure()->mutable_failure()->set_message(message);
    item->set_log_tail(message);
  }
  return request;
}

// All the outcomes of a call in one batch would be a batch without a bound.
TEST_F(RpcWorkerTest, ManyLargeOutcomesAreTakenInSeveralCommitsAndAnsweredInOrder) {
  make_queue("q");
  constexpr int kJobs = 1'000;
  v1::BulkEnqueueJobsRequest bulk;
  for (int i = 0; i < kJobs; ++i) {
    auto* job = bulk.add_jobs();
    job->set_queue("q");
    job->set_kind("k");
  }
  ok(jobs(), &Jobs::BulkEnqueueJobs, bulk);
  const auto leased = lease("q", kJobs, 10'000);
  ASSERT_EQ(leased.jobs_size(), kJobs);
  auto request = failures(session, leased, std::string(4'000, 'm'));
  ASSERT_LT(request.ByteSizeLong(), 8U << 20U);
  request.mutable_items(500)->mutable_lease()->set_fencing_token(1 +
                                                                 leased.jobs(500).fencing_token());
  const auto response = ok(workers(), &Workers::FinishJobs, request);
  ASSERT_EQ(response.results_size(), kJobs);
  std::set<std::int64_t> commits;
  for (int i = 0; i < kJobs; ++i) {
    if (i == 500) {
      EXPECT_TRUE(response.results(i).has_error()) << "and no other";
      continue;
    }
    ASSERT_TRUE(response.results(i).has_job()) << i;
    if (i % 50 != 0 && i != kJobs - 1) continue;
    const auto job = get(leased.jobs(i).job_id());
    ASSERT_EQ(job.attempts_size(), 1);
    EXPECT_LE(job.attempts(0).ended_seq(), response.commit_seq());
    commits.insert(job.attempts(0).ended_seq());
  }
  EXPECT_GE(commits.size(), 2U) << "4 MiB fill a batch, and this is 8";
  EXPECT_EQ(*commits.rbegin(), response.commit_seq());
  EXPECT_EQ(beat(leased.jobs(500)).status(), v1::HeartbeatResult::STATUS_RENEWED);
  // Sent again, nothing happens.
  const auto answer = ok(workers(), &Workers::FinishJobs, request);
  for (const auto& result : answer.results()) {
    EXPECT_TRUE(result.has_error() || result.job().already_ended());
  }
}

TEST_F(RpcWorkerTest, OutcomesThatAreTooLargeTogetherAreRefusedAndChangeNothing) {
  make_queue("q");
  v1::BulkEnqueueJobsRequest bulk;
  for (int i = 0; i < 33; ++i) {
    bulk.add_jobs()->set_queue("q");
    bulk.mutable_jobs(i)->set_kind("k");
  }
  ok(jobs(), &Jobs::BulkEnqueueJobs, bulk);
  const auto leased = lease("q", 33, 10'000);
  ASSERT_EQ(leased.jobs_size(), 33);
  v1::FinishJobsRequest request;
  request.set_session_id(session);
  for (const auto& job : leased.jobs()) {
    auto* item = request.add_items();
    item->mutable_lease()->set_job_id(job.job_id());
    item->mutable_lease()->set_fencing_token(job.fencing_token());
    item->mutable_outcome()->mutable_success()->mutable_result()->set_data(
        // Above 8 MiB together, and below what the transport takes.
        std::string((request.items_size() <= 32 ? 256 : 64) * 1024, 'r'));
  }
  ASSERT_GT(request.ByteSizeLong(), 8U << 20U);
  const auto status = refused(workers(), &Workers::FinishJobs, request);
  EXPECT_EQ(reason_of(status), "TOO_MANY_ITEMS");
  EXPECT_NE(status.error_message().find("items: "), std::string::npos) << status.error_message();
  EXPECT_NE(status.error_message().find("limit 8 MiB"), std::string::npos)
      << status.error_message();
  for (const int i : {0, 32}) {
    EXPECT_EQ(beat(leased.jobs(i)).status(), v1::HeartbeatResult::STATUS_RENEWED);
  }
  request.mutable_items()->RemoveLast();
  request.mutable_items()->RemoveLast();
  const auto answer = ok(workers(), &Workers::FinishJobs, request);
  for (const auto& result : answer.results()) {
    EXPECT_EQ(result.job().state(), v1::JOB_STATE_SUCCEEDED);
  }
}

TEST_F(RpcWorkerTest, ListShowsWhoAskedAndWhatTheyHold) {
  make_queue("q");
  enqueue("q");
  const auto job = lease("q").jobs(0);
  const auto all = ok(workers(), &Workers::ListWorkers, v1::ListWorkersRequest());
  ASSERT_EQ(all.workers_size(), 1);
  EXPECT_EQ(all.workers(0).info().worker_id(), "w-1");
  EXPECT_EQ(all.workers(0).session_id(), session);
  EXPECT_EQ(all.workers(0).lease_count(), 1);
  ASSERT_EQ(all.workers(0).leases_size(), 1);
  EXPECT_EQ(all.workers(0).leases(0).job_id(), job.job_id());
  v1::ListWorkersRequest none;
  none.set_queue("other");
  EXPECT_EQ(ok(workers(), &Workers::ListWorkers, none).workers_size(), 0);
}

}  // namespace
}  // namespace rota::testing
