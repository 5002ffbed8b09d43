// SPDX-License-Identifier: Apache-2.0
//
// The orderly end: every parked call is answered, new work is refused, and it is quick.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/in_process_server.h"

namespace rota::testing {
namespace {

using Clock = std::chrono::steady_clock;

// Many lease calls at once without a thread for each.
class ManyPolls {
 public:
  ManyPolls(const std::string& address, int count) {
    for (int i = 0; i < count; ++i) {
      if (i % 500 == 0) stubs_.push_back(stub(address, i));
      auto call = std::make_unique<Call>();
      call->request = lease_request("q", "session-" + std::to_string(i), 1, 30'000);
      calls_.push_back(std::move(call));
      Call& started = *calls_.back();
      stubs_.back()->async()->LeaseJobs(&started.context, &started.request, &started.response,
                                        [this, &started](grpc::Status s) {
                                          std::lock_guard lock(mutex_);
                                          started.status = std::move(s);
                                          ++answered_;
                                          changed_.notify_all();
                                        });
    }
  }
  bool wait_answered() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10),
                             [&] { return answered_ == calls_.size(); });
  }
  int count(grpc::StatusCode code) const {
    int n = 0;
    for (const auto& call : calls_) n += call->status.error_code() == code ? 1 : 0;
    return n;
  }

 private:
  struct Call {
    CallContext context{60'000};
    v1::LeaseJobsRequest request;
    v1::LeaseJobsResponse response;
    grpc::Status status;
  };
  // One connection takes a bounded number of calls at once.
  static std::unique_ptr<v1::WorkerService::Stub> stub(const std::string& address, int number) {
    grpc::ChannelArguments arguments;
    arguments.SetInt("rota.test.connection", number);
    return v1::WorkerService::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  std::vector<std::unique_ptr<v1::WorkerService::Stub>> stubs_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t answered_ = 0;
};

TEST(Drain, AnswersAThousandParkedCallsWithinSeconds) {
  InProcessServer server;
  server.make_queue("q");
  ManyPolls polls(server.address(), 1'000);
  ASSERT_TRUE(eventually([&] { return server.info().parked_poll_count() == 1'000; }));
  const auto began = Clock::now();
  server.stop(10'000);
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(3));
  ASSERT_TRUE(polls.wait_answered());
  EXPECT_EQ(polls.count(grpc::StatusCode::OK), 1'000);
}

TEST(Drain, AWaiterIsAnsweredToo) {
  InProcessServer server;
  server.make_queue("q");
  const std::string id = server.enqueue("q");
  v1::WaitJobRequest request;
  request.set_job_id(id);
  request.mutable_wait_duration()->set_seconds(30);
  v1::WaitJobResponse response;
  CallContext context;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<grpc::Status> status;
  auto stub = server.jobs();
  stub->async()->WaitJob(&context, &request, &response, [&](grpc::Status s) {
    std::lock_guard lock(mutex);
    status = std::move(s);
    changed.notify_all();
  });
  ASSERT_TRUE(eventually([&] { return server.server().waiters().size() == 1; }));
  const auto began = Clock::now();
  server.stop(10'000);
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(3));
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(10), [&] { return status.has_value(); }));
  EXPECT_TRUE(status->ok()) << status->error_message();
  EXPECT_FALSE(response.finished());
  EXPECT_EQ(response.job().state(), v1::JOB_STATE_READY);
}

TEST(Drain, DataIsClosedCleanlyAndFoundAgain) {
  InProcessServer server;
  server.make_queue("q");
  const std::string id = server.enqueue("q");
  for (int i = 0; i < 3; ++i) {
    server.restart();
    EXPECT_EQ(server.get(id).state(), v1::JOB_STATE_READY);
  }
}

}  // namespace
}  // namespace rota::testing
