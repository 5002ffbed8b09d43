// SPDX-License-Identifier: Apache-2.0
//
// Parked lease calls: woken by work, ended by time, given up by their caller, repeated.
#include <chrono>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/in_process_server.h"

namespace rota::testing {
namespace {

TEST(LeaseCall, AParkedCallIsAnsweredByAnEnqueue) {
  InProcessServer server;
  server.make_queue("q");
  auto parked = std::async(std::launch::async,
                           [&] { return server.lease(lease_request("q", "s1", 1, 20'000)); });
  ASSERT_TRUE(eventually([&] { return server.info().parked_poll_count() == 1; }));
  const std::string id = server.enqueue("q");
  const auto leased = parked.get();
  ASSERT_EQ(leased.jobs_size(), 1);
  EXPECT_EQ(leased.jobs(0).job_id(), id);
}

TEST(LeaseCall, NothingToDoIsAnEmptyAnswerAfterTheWait) {
  InProcessServer server;
  server.make_queue("q");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(server.lease(lease_request("q", "s1", 1, 300)).jobs_size(), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(290));
}

TEST(LeaseCall, AnUnknownQueueIsRefused) {
  InProcessServer server;
  v1::LeaseJobsResponse response;
  CallContext context;
  const grpc::Status status =
      server.workers()->LeaseJobs(&context, lease_request("nowhere"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(reason_of(status), "QUEUE_NOT_FOUND");
}

TEST(LeaseCall, ACallerThatWentAwayIsNotGivenTheNextJob) {
  InProcessServer server;
  server.make_queue("q");
  grpc::ClientContext gone;
  auto parked = std::async(std::launch::async, [&] {
    v1::LeaseJobsResponse response;
    return server.workers()->LeaseJobs(&gone, lease_request("q", "gone", 1, 20'000), &response);
  });
  ASSERT_TRUE(eventually([&] { return server.info().parked_poll_count() == 1; }));
  gone.TryCancel();
  EXPECT_EQ(parked.get().error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_TRUE(eventually([&] { return server.info().parked_poll_count() == 0; }));
  server.enqueue("q");
  const auto leased = server.lease(lease_request("q", "s2"));
  ASSERT_EQ(leased.jobs_size(), 1);
  EXPECT_EQ(leased.jobs(0).attempt(), 1);
}

TEST(LeaseCall, ARepeatReturnsTheSameLeases) {
  InProcessServer server;
  server.make_queue("q");
  server.enqueue("q");
  server.enqueue("q");
  const auto first = server.lease(lease_request("q", "s1", 1, 0, "r-1"));
  const auto again = server.lease(lease_request("q", "s1", 1, 0, "r-1"));
  ASSERT_EQ(first.jobs_size(), 1);
  ASSERT_EQ(again.jobs_size(), 1);
  EXPECT_EQ(first.jobs(0).fencing_token(), again.jobs(0).fencing_token());
  EXPECT_EQ(first.jobs(0).job_id(), again.jobs(0).job_id());
}

TEST(LeaseCall, HeartbeatsRenewAndTellWhatIsLost) {
  InProcessServer server;
  server.make_queue("q");
  server.enqueue("q");
  const auto leased = server.lease(lease_request("q"));
  ASSERT_EQ(leased.jobs_size(), 1);
  v1::HeartbeatRequest request;
  request.set_session_id("s1");
  auto* live = request.add_leases();
  live->set_job_id(leased.jobs(0).job_id());
  live->set_fencing_token(leased.jobs(0).fencing_token());
  auto* stale = request.add_leases();
  stale->set_job_id(leased.jobs(0).job_id());
  stale->set_fencing_token(leased.jobs(0).fencing_token() + 1);
  v1::HeartbeatResponse response;
  CallContext context;
  ASSERT_TRUE(server.workers()->Heartbeat(&context, request, &response).ok());
  ASSERT_EQ(response.results_size(), 2);
  EXPECT_EQ(response.results(0).status(), v1::HeartbeatResult::STATUS_RENEWED);
  EXPECT_GT(response.results(0).renewed_for().seconds(), 20);
  EXPECT_EQ(response.results(1).status(), v1::HeartbeatResult::STATUS_LOST);
}

}  // namespace
}  // namespace rota::testing
