// SPDX-License-Identifier: Apache-2.0
//
// A store that fails while the server runs: nothing is acknowledged any more.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/exit_code.h"
#include "support/in_process_server.h"

namespace rota::testing {
namespace {

grpc::Status try_enqueue(InProcessServer& server) {
  v1::EnqueueJobRequest request;
  request.mutable_job()->set_queue("q");
  request.mutable_job()->set_kind("work");
  v1::EnqueueJobResponse response;
  CallContext context;
  return server.jobs()->EnqueueJob(&context, request, &response);
}

TEST(Failure, AnUnknownOutcomeIsNeverAnsweredAsSuccess) {
  InProcessServer server({.memory = true});
  server.make_queue("q");
  server.disk().fail_commit(server.disk().last_committed() + 1,
                            store::CommitFault::kUnknownApplied);
  const grpc::Status status = try_enqueue(server);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(reason_of(status), "STORE_FAILED");
  ASSERT_TRUE(server.failure());
  EXPECT_EQ(server.failure()->exit_code, app::kExitIo);
  EXPECT_EQ(reason_of(try_enqueue(server)), "STORE_FAILED");
}

TEST(Failure, AnotherOwnerOfTheDataEndsThisOne) {
  InProcessServer server({.memory = true});
  server.make_queue("q");
  server.disk().fail_commit(server.disk().last_committed() + 1, store::CommitFault::kNotOwner);
  EXPECT_FALSE(try_enqueue(server).ok());
  ASSERT_TRUE(server.failure());
  EXPECT_THAT(server.failure()->text, ::testing::HasSubstr("another server owns the data"));
}

TEST(Failure, AFullDiskRefusesNewWorkAndLetsWorkEnd) {
  InProcessServer server({.memory = true});
  server.make_queue("q");
  server.enqueue("q");
  const auto leased = server.lease(lease_request("q"));
  ASSERT_EQ(leased.jobs_size(), 1);
  server.disk().set_pressure(core::Pressure::kRefuseNew);
  server.enqueue("q");  // its commit tells the loop
  const grpc::Status refused = try_enqueue(server);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(server.finish("s1", leased.jobs(0)).job().state(), v1::JOB_STATE_SUCCEEDED);
  server.disk().set_pressure(core::Pressure::kOk);
  EXPECT_TRUE(eventually([&] { return try_enqueue(server).ok(); }));
}

}  // namespace
}  // namespace rota::testing
