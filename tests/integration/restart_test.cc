// SPDX-License-Identifier: Apache-2.0
//
// What a restart keeps: jobs, leases with their tokens, limits, remembered requests.
#include <atomic>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/in_process_server.h"

namespace rota::testing {
namespace {

v1::HeartbeatResult::Status beat(InProcessServer& server, const v1::LeasedJob& job) {
  v1::HeartbeatRequest request;
  request.set_session_id("s1");
  request.add_leases()->set_job_id(job.job_id());
  request.mutable_leases(0)->set_fencing_token(job.fencing_token());
  v1::HeartbeatResponse response;
  CallContext context;
  const grpc::Status status = server.workers()->Heartbeat(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.results_size() == 1 ? response.results(0).status()
                                      : v1::HeartbeatResult::STATUS_UNSPECIFIED;
}

TEST(Restart, KeepsALeaseAndItsToken) {
  InProcessServer server;
  server.make_queue("q", 1);
  const std::string id = server.enqueue("q");
  const std::string waiting = server.enqueue("q");
  const auto leased = server.lease(lease_request("q"));
  ASSERT_EQ(leased.jobs_size(), 1);
  server.restart();
  EXPECT_EQ(server.get(id).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(server.get(id).attempts(0).fencing_token(), leased.jobs(0).fencing_token());
  EXPECT_EQ(beat(server, leased.jobs(0)), v1::HeartbeatResult::STATUS_RENEWED);
  EXPECT_EQ(server.lease(lease_request("q", "s2")).jobs_size(), 0) << "it counts for the limit";
  EXPECT_EQ(server.finish("s1", leased.jobs(0), "r").job().state(), v1::JOB_STATE_SUCCEEDED);
  const auto next = server.lease(lease_request("q", "s2"));
  ASSERT_EQ(next.jobs_size(), 1);
  EXPECT_EQ(next.jobs(0).job_id(), waiting);
  EXPECT_GT(next.jobs(0).fencing_token(), leased.jobs(0).fencing_token());
  EXPECT_GT(next.server_epoch(), leased.server_epoch());
}

// As after SIGSTOP and SIGCONT, or a machine that was suspended with its clock running.
class JumpingClock final : public base::Clock {
 public:
  std::int64_t wall_ms() const override { return real_.wall_ms() + offset_ms_; }
  std::int64_t mono_ms() const override { return real_.mono_ms() + offset_ms_; }
  std::int64_t boot_ms() const override { return real_.boot_ms() + offset_ms_; }
  void jump(std::int64_t ms) { offset_ms_ += ms; }

 private:
  base::SystemClock real_;
  std::atomic<std::int64_t> offset_ms_{0};
};

TEST(Stopped, AServerThatStoodStillForManyTtlsEndsNoLease) {
  JumpingClock clock;
  InProcessServer server({.memory = true, .clock = &clock});
  server.make_queue("q");
  const std::string id = server.enqueue("q");
  const auto leased = server.lease(lease_request("q"));
  ASSERT_EQ(leased.jobs_size(), 1);
  clock.jump(600'000);
  ASSERT_TRUE(eventually([&] {
    std::promise<std::uint64_t> stalls;
    server.server().loop().ask_stats(
        [&](const runtime::LoopStats& stats) { stalls.set_value(stats.stalls); });
    return stalls.get_future().get() > 0;
  }));
  EXPECT_EQ(beat(server, leased.jobs(0)), v1::HeartbeatResult::STATUS_RENEWED);
  EXPECT_EQ(server.get(id).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(server.get(id).attempts_size(), 1);
  EXPECT_EQ(server.finish("s1", leased.jobs(0), "r").job().state(), v1::JOB_STATE_SUCCEEDED);
}

TEST(Restart, ALeaseCallThatIsSpentStaysSo) {
  InProcessServer server;
  server.make_queue("q");
  server.enqueue("q");
  const auto request = lease_request("q", "s1", 1, 0, "r-1");
  const auto leased = server.lease(request);
  ASSERT_EQ(leased.jobs_size(), 1);
  server.finish("s1", leased.jobs(0), "r");
  const std::string waiting = server.enqueue("q");
  server.restart();
  const auto again = server.lease(request);
  EXPECT_TRUE(again.request_spent());
  EXPECT_EQ(again.jobs_size(), 0);
  EXPECT_EQ(server.get(waiting).state(), v1::JOB_STATE_READY);
}

TEST(Restart, ARepeatedFinishIsAnsweredAsBefore) {
  InProcessServer server;
  server.make_queue("q");
  server.enqueue("q");
  const auto leased = server.lease(lease_request("q"));
  ASSERT_EQ(leased.jobs_size(), 1);
  server.finish("s1", leased.jobs(0), "r");
  server.restart();
  const v1::FinishResult again = server.finish("s1", leased.jobs(0), "another");
  EXPECT_TRUE(again.job().already_ended());
  EXPECT_EQ(again.job().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
}

TEST(Restart, ARepeatedEnqueueIsAnsweredAsBefore) {
  InProcessServer server;
  server.make_queue("q");
  v1::EnqueueJobRequest request;
  request.set_request_id("r-1");
  request.mutable_job()->set_queue("q");
  request.mutable_job()->set_kind("work");
  v1::EnqueueJobResponse first;
  {
    CallContext context;
    ASSERT_TRUE(server.jobs()->EnqueueJob(&context, request, &first).ok());
  }
  server.restart();
  v1::EnqueueJobResponse again;
  CallContext context;
  ASSERT_TRUE(server.jobs()->EnqueueJob(&context, request, &again).ok());
  EXPECT_EQ(again.job().id(), first.job().id());
  EXPECT_EQ(server.counters("q").created(), 1);
}

TEST(Restart, WaitingJobsKeepTheirOrder) {
  InProcessServer server({.adjust_engine = [](core::EngineOptions& engine) {
    engine.window_rows = 8;
    engine.page_rows = 3;
  }});
  server.make_queue("q");
  std::vector<std::string> ids;
  for (int i = 0; i < 30; ++i) ids.push_back(server.enqueue("q"));
  std::vector<std::string> order;
  const auto take = [&](int count) {
    const auto leased = server.lease(lease_request("q", "s1", count));
    for (const auto& job : leased.jobs()) order.push_back(job.job_id());
  };
  take(10);
  server.restart();
  while (order.size() < ids.size()) {
    const std::size_t before = order.size();
    take(7);
    ASSERT_GT(order.size(), before);
  }
  EXPECT_EQ(order, ids);
}

}  // namespace
}  // namespace rota::testing
