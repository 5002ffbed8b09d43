// SPDX-License-Identifier: Apache-2.0
//
// Lease calls that carry outcomes: one call and one commit for what ended and what comes next.
#include <chrono>
#include <future>
#include <thread>

#include "rpc_fixture.h"

namespace rota::testing {
namespace {

class RpcLeaseOutcomesTest : public RpcTest {
 protected:
  static v1::FinishItem* add_success(v1::LeaseJobsRequest* request, const v1::LeasedJob& job) {
    auto* item = request->add_outcomes();
    item->mutable_lease()->set_job_id(job.job_id());
    item->mutable_lease()->set_fencing_token(job.fencing_token());
    item->mutable_outcome()->mutable_success();
    return item;
  }
  v1::Attempt last_attempt(const std::string& id) {
    const v1::Job job = get(id);
    EXPECT_GT(job.attempts_size(), 0);
    return job.attempts_size() == 0 ? v1::Attempt() : job.attempts(job.attempts_size() - 1);
  }
};

TEST_F(RpcLeaseOutcomesTest, WhatEndsAndWhatIsGrantedShareACommit) {
  make_queue("q");
  for (int i = 0; i < 40; ++i) enqueue("q");
  const auto first = lease("q", 20);
  ASSERT_EQ(first.jobs_size(), 20);
  auto request = lease_request("q", 20);
  for (const auto& job : first.jobs()) add_success(&request, job);
  request.mutable_outcomes(7)->mutable_outcome()->mutable_failure()->set_not_retryable(true);
  const auto second = ok(workers(), &Workers::LeaseJobs, request);
  ASSERT_EQ(second.finished_size(), 20);
  ASSERT_EQ(second.jobs_size(), 20);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(second.finished(i).has_job()) << i;
    EXPECT_FALSE(second.finished(i).job().already_ended());
    EXPECT_EQ(second.finished(i).job().state(),
              i == 7 ? v1::JOB_STATE_DEAD : v1::JOB_STATE_SUCCEEDED);
    EXPECT_EQ(last_attempt(first.jobs(i).job_id()).ended_seq(), second.commit_seq());
    EXPECT_EQ(last_attempt(second.jobs(i).job_id()).granted_seq(), second.commit_seq());
  }
}

TEST_F(RpcLeaseOutcomesTest, AnOutcomeFreesThePlaceThatTheSameCallTakes) {
  make_queue("q", 1);
  enqueue("q");
  const auto next = enqueue("q");
  const auto first = lease("q");
  ASSERT_EQ(first.jobs_size(), 1);
  EXPECT_EQ(lease("q", 1, 0).jobs_size(), 0);
  auto request = lease_request("q", 1, 0);
  add_success(&request, first.jobs(0));
  const auto second = ok(workers(), &Workers::LeaseJobs, request);
  ASSERT_EQ(second.jobs_size(), 1);
  EXPECT_EQ(second.jobs(0).job_id(), next);
  EXPECT_EQ(last_attempt(first.jobs(0).job_id()).ended_seq(), last_attempt(next).granted_seq());
}

TEST_F(RpcLeaseOutcomesTest, AStaleOrBadOutcomeIsAnsweredAloneAndJobsStillCome) {
  make_queue("q");
  for (int i = 0; i < 3; ++i) enqueue("q");
  const auto held = lease("q", 2);
  ASSERT_EQ(held.jobs_size(), 2);
  succeed(held.jobs(0));
  auto stale = held.jobs(0);
  stale.set_fencing_token(stale.fencing_token() + 1'000);
  auto request = lease_request("q");
  add_success(&request, stale);
  request.add_outcomes();
  add_success(&request, held.jobs(1));
  const auto response = ok(workers(), &Workers::LeaseJobs, request);
  ASSERT_EQ(response.finished_size(), 3);
  EXPECT_EQ(response.finished(0).error().reason(), "LEASE_LOST");
  EXPECT_TRUE(response.finished(1).has_error());
  EXPECT_EQ(response.finished(2).job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(response.jobs_size(), 1);
}

TEST_F(RpcLeaseOutcomesTest, ARepeatBringsTheSameGrantsAndFindsTheOutcomesEnded) {
  make_queue("q");
  for (int i = 0; i < 3; ++i) enqueue("q");
  auto request = lease_request("q");
  add_success(&request, lease("q").jobs(0));
  request.set_request_id("lease-1");
  const auto first = ok(workers(), &Workers::LeaseJobs, request);
  ASSERT_EQ(first.jobs_size(), 1);
  EXPECT_FALSE(first.finished(0).job().already_ended());
  request.mutable_outcomes(0)->mutable_outcome()->mutable_failure();  // what is recorded counts
  const auto again = ok(workers(), &Workers::LeaseJobs, request);
  ASSERT_EQ(again.jobs_size(), 1);
  EXPECT_EQ(again.jobs(0).fencing_token(), first.jobs(0).fencing_token());
  ASSERT_EQ(again.finished_size(), 1);
  EXPECT_TRUE(again.finished(0).job().already_ended());
  EXPECT_EQ(again.finished(0).job().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_EQ(again.finished(0).job().state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(RpcLeaseOutcomesTest, ARefusedLeaseRefusesTheCallAndItsOutcomesCanBeRepeated) {
  make_queue("q");
  enqueue("q");
  const auto job = lease("q").jobs(0);
  auto request = lease_request("nowhere");
  add_success(&request, job);
  const auto status = refused<v1::LeaseJobsResponse>(workers(), &Workers::LeaseJobs, request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(reason_of(status), "QUEUE_NOT_FOUND");
  const auto result = succeed(job).results(0);
  ASSERT_TRUE(result.has_job());
  EXPECT_EQ(result.job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(get(job.job_id()).attempts_size(), 1);
}

TEST_F(RpcLeaseOutcomesTest, TooManyOutcomesRefuseTheCallAndChangeNothing) {
  make_queue("q");
  enqueue("q");
  enqueue("q");
  const auto job = lease("q").jobs(0);
  auto request = lease_request("q");
  for (int i = 0; i <= 1'000; ++i) add_success(&request, job);
  const auto status = refused<v1::LeaseJobsResponse>(workers(), &Workers::LeaseJobs, request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(reason_of(status), "TOO_MANY_ITEMS");
  EXPECT_EQ(get(job.job_id()).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(lease("q").jobs_size(), 1);
}

TEST_F(RpcLeaseOutcomesTest, OutcomesNeverWaitForALongPoll) {
  make_queue("q");
  enqueue("q");
  auto request = lease_request("q", 1, 30'000);
  add_success(&request, lease("q").jobs(0));
  const auto began = std::chrono::steady_clock::now();
  const auto response = ok(workers(), &Workers::LeaseJobs, request);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_EQ(response.jobs_size(), 0);
  ASSERT_EQ(response.finished_size(), 1);
  EXPECT_EQ(response.finished(0).job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_GT(response.commit_seq(), 0);
}

TEST_F(RpcLeaseOutcomesTest, TheLargestAnswersFitTogether) {
  make_queue("q");
  for (int i = 0; i < 1'000; ++i) enqueue("q");
  const auto held = lease("q", 1'000);
  ASSERT_EQ(held.jobs_size(), 1'000);
  const std::string payload(250 * 1024, 'x');
  for (int i = 0; i < 34; ++i) enqueue("q", payload);
  auto request = lease_request("q", 1'000);
  request.set_max_bytes(8 << 20);
  for (const auto& job : held.jobs()) {
    add_success(&request, job)->set_log_tail(std::string(8 * 1024 + 256, 'x'));  // too long
  }
  ASSERT_GT(request.ByteSizeLong(), std::size_t{8} << 20);
  EXPECT_EQ(reason_of(refused<v1::LeaseJobsResponse>(workers(), &Workers::LeaseJobs, request)),
            "TOO_MANY_ITEMS");
  for (auto& item : *request.mutable_outcomes()) {
    item.clear_log_tail();
    item.mutable_lease()->set_job_id("not an id that could be one");
  }
  const auto response = ok(workers(), &Workers::LeaseJobs, request);
  EXPECT_EQ(response.finished_size(), 1'000);
  EXPECT_GT(response.jobs_size(), 20);
  EXPECT_LT(response.ByteSizeLong(), std::size_t{8} << 20);
}

// However the cancel falls: before the commands, between their answers or after them.
TEST_F(RpcLeaseOutcomesTest, AGrantForACallerThatIsGoneIsNotLost) {
  make_queue("q", 1);
  constexpr int kRounds = 30;
  for (int i = 0; i <= kRounds; ++i) enqueue("q");
  auto held = lease("q").jobs(0);
  for (int round = 0; round < kRounds; ++round) {
    auto request = lease_request("q");
    request.set_request_id("lease-" + std::to_string(round));
    add_success(&request, held);
    grpc::ClientContext context;
    v1::LeaseJobsResponse response;
    std::promise<void> ended;
    workers_stub->async()->LeaseJobs(&context, &request, &response,
                                     [&](grpc::Status) { ended.set_value(); });
    for (int i = 0; i < round * 20; ++i) std::this_thread::yield();
    context.TryCancel();
    ended.get_future().wait();
    const auto again = ok(workers(), &Workers::LeaseJobs, request);
    ASSERT_EQ(again.finished_size(), 1);
    ASSERT_TRUE(again.finished(0).has_job());
    EXPECT_EQ(again.finished(0).job().state(), v1::JOB_STATE_SUCCEEDED);
    // The grant of the first call, or, where that went back, the next.
    const auto next = again.jobs_size() == 1 ? again : lease("q");
    ASSERT_EQ(next.jobs_size(), 1);
    held = next.jobs(0);
  }
}

}  // namespace
}  // namespace rota::testing
