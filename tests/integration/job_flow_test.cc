// SPDX-License-Identifier: Apache-2.0
//
// The way of a job through the running server: enqueue, lease, look, finish, wait.
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/in_process_server.h"

namespace rota::testing {
namespace {

TEST(JobFlow, FromEnqueueToItsResult) {
  InProcessServer server;
  server.make_queue("q");
  const std::string id = server.enqueue("q", "hello");
  EXPECT_EQ(server.get(id).state(), v1::JOB_STATE_READY);

  const auto leased = server.lease(lease_request("q"));
  ASSERT_EQ(leased.jobs_size(), 1);
  EXPECT_EQ(leased.jobs(0).job_id(), id);
  EXPECT_EQ(leased.jobs(0).payload().data(), "hello");
  EXPECT_EQ(leased.jobs(0).attempt(), 1);
  EXPECT_GT(leased.jobs(0).fencing_token(), 0);
  EXPECT_GT(leased.server_epoch(), 0);

  const v1::Job running = server.get(id);
  EXPECT_EQ(running.state(), v1::JOB_STATE_RUNNING);
  ASSERT_EQ(running.attempts_size(), 1);
  EXPECT_EQ(running.attempts(0).fencing_token(), leased.jobs(0).fencing_token());
  EXPECT_EQ(running.attempts(0).worker_id(), "worker-s1");
  EXPECT_EQ(running.attempts(0).granted_seq(), leased.commit_seq());

  EXPECT_EQ(server.finish("s1", leased.jobs(0), "done").job().state(), v1::JOB_STATE_SUCCEEDED);
  const v1::Job finished = server.get(id);
  EXPECT_EQ(finished.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(finished.result().data(), "done");
  EXPECT_EQ(server.server().leases().size(), 0U);
}

TEST(JobFlow, AWaiterHearsOfTheEnd) {
  InProcessServer server;
  server.make_queue("q");
  const std::string id = server.enqueue("q");
  auto waiting = std::async(std::launch::async, [&] {
    v1::WaitJobRequest request;
    request.set_job_id(id);
    request.mutable_wait_duration()->set_seconds(20);
    v1::WaitJobResponse response;
    CallContext context;
    EXPECT_TRUE(server.jobs()->WaitJob(&context, request, &response).ok());
    return response;
  });
  const auto leased = server.lease(lease_request("q"));
  ASSERT_EQ(leased.jobs_size(), 1);
  server.finish("s1", leased.jobs(0), "r");
  const v1::WaitJobResponse response = waiting.get();
  EXPECT_TRUE(response.finished());
  EXPECT_EQ(response.job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(response.job().result().data(), "r");
}

TEST(JobFlow, ALargePayloadTravelsWhole) {
  InProcessServer server;
  server.make_queue("q");
  std::string payload(200'000, 'x');
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>('a' + i % 23);
  server.enqueue("q", payload);
  server.enqueue("q", "small");
  const auto leased = server.lease(lease_request("q", "s1", 2));
  ASSERT_EQ(leased.jobs_size(), 2);
  EXPECT_EQ(leased.jobs(0).payload().data(), payload);
  EXPECT_EQ(leased.jobs(1).payload().data(), "small");
  EXPECT_EQ(server.finish("s1", leased.jobs(0)).job().state(), v1::JOB_STATE_SUCCEEDED);
}

TEST(JobFlow, TheLimitHoldsOverAllWorkers) {
  InProcessServer server;
  server.make_queue("q", 1);
  server.enqueue("q");
  server.enqueue("q");
  const auto first = server.lease(lease_request("q", "s1", 10));
  ASSERT_EQ(first.jobs_size(), 1);
  EXPECT_EQ(server.lease(lease_request("q", "s2", 10)).jobs_size(), 0);
  auto parked = std::async(std::launch::async,
                           [&] { return server.lease(lease_request("q", "s2", 10, 20'000)); });
  ASSERT_TRUE(eventually([&] { return server.info().parked_poll_count() == 1; }));
  server.finish("s1", first.jobs(0));
  EXPECT_EQ(parked.get().jobs_size(), 1) << "the slot that became free went to the parked call";
}

TEST(JobFlow, InfoShowsWhatRuns) {
  InProcessServer server;
  server.make_queue("q");
  server.enqueue("q");
  server.enqueue("q");
  server.lease(lease_request("q"));
  const v1::ServerInfo info = server.info();
  EXPECT_EQ(info.queue_count(), 1);
  EXPECT_EQ(info.lease_count(), 1);
  EXPECT_EQ(server.counters("q").ready(), 1);
  EXPECT_EQ(server.counters("q").running(), 1);
  EXPECT_EQ(info.worker_count(), 1);
  EXPECT_EQ(info.store_kind(), "rocksdb");
  ASSERT_EQ(info.listen_addresses_size(), 1);
  EXPECT_EQ(info.listen_addresses(0), server.address());
  EXPECT_FALSE(info.draining());
  EXPECT_GT(info.commit_seq(), 0);
}

}  // namespace
}  // namespace rota::testing
