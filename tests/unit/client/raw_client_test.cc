// SPDX-License-Identifier: Apache-2.0
#include "internal/raw_client.h"

#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <future>

#include "rota/v1/job_service.grpc.pb.h"
#include "src/repeat.h"
#include "src/reply_limit.h"
#include "support/fake_server/fake_server.h"

namespace rota::internal {
namespace {

using namespace std::chrono_literals;
using test::FakeServer;
using test::Trouble;

RawClient make_raw(const std::string& address) {
  auto raw = RawClient::create({.address = address});
  EXPECT_TRUE(raw);
  return *std::move(raw);
}

std::string closed_address() {
  FakeServer server;
  return server.address();
}

TEST(RawClientTest, RefusedConnectionCanBeReportedAtOnce) {
  RawClient raw = make_raw(closed_address());
  auto result = raw.get_server_info({}, {.timeout = 60s, .repeat_refused = false});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnavailable);
  EXPECT_EQ(result.error().reason, "SERVER_UNREACHABLE");
}

TEST(RawClientTest, WaitForServerEndsWhenItAnswers) {
  FakeServer server;
  server.stop();
  RawClient raw = make_raw(server.address());
  auto waiting = std::async(std::launch::async, [&] { return raw.wait_for_server(20s); });
  server.start();
  EXPECT_TRUE(waiting.get());
}

TEST(RawClientTest, WaitForServerGivesUp) {
  RawClient raw = make_raw(closed_address());
  EXPECT_EQ(raw.wait_for_server(100ms).error().code, Code::kUnavailable);
}

// Takes and sends messages up to its own limits, and answers with an id of a given size.
class SizedServer final : public v1::JobService::Service {
 public:
  explicit SizedServer(std::size_t answer_bytes, int receive_max = -1, int send_max = -1)
      : answer_bytes_(answer_bytes) {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(receive_max);
    builder.SetMaxSendMessageSize(send_max);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status EnqueueJob(grpc::ServerContext*, const v1::EnqueueJobRequest*,
                          v1::EnqueueJobResponse* response) override {
    response->mutable_job()->set_id(std::string(answer_bytes_, 'x'));
    return grpc::Status::OK;
  }

 private:
  const std::size_t answer_bytes_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(RawClientTest, ARequestThatIsTooLargeIsTheCallersFault) {
  SizedServer server(0, /*receive_max=*/1'000);
  v1::EnqueueJobRequest request;
  request.mutable_job()->mutable_payload()->set_data(std::string(2'000, 'x'));
  const auto result = make_raw(server.address()).enqueue_job(request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalid) << result.error().message;
  EXPECT_EQ(result.error().reason, "MESSAGE_TOO_LARGE");
  EXPECT_FALSE(result.error().may_have_happened);
}

TEST(RawClientTest, AnAnswerThatIsTooLargeIsNotTheCallersFaultAndTheWorkMayBeDone) {
  SizedServer refuses_to_send(2'000, -1, /*send_max=*/1'000);
  SizedServer sends(kReplyBytesMax);  // and what belongs to it besides
  for (const SizedServer* server : {&refuses_to_send, &sends}) {
    const auto result = make_raw(server->address()).enqueue_job({}, {.timeout = 60s});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kInternal) << result.error().message;
    EXPECT_EQ(result.error().reason, "ANSWER_TOO_LARGE");
    EXPECT_TRUE(result.error().may_have_happened);
  }
}

TEST(RawClientTest, ADeleteWhoseAnswerWasLostIsDoneWhenTheRepeatFindsNothing) {
  FakeServer server;
  RawClient raw = make_raw(server.address());
  server.next("DeleteQueue", Trouble::kLoseAnswer);
  EXPECT_TRUE(raw.delete_queue({}));

  server.queue_exists = true;
  server.next("DeleteQueue", Trouble::kLoseAnswer);
  std::promise<bool> answered;
  raw.delete_queue_async({}, {},
                         [&](const auto& answer) { answered.set_value(answer.has_value()); });
  EXPECT_TRUE(answered.get_future().get());

  // Not when nothing was lost, nor when the server had refused the first try.
  auto plain = raw.delete_queue({});
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().reason, "QUEUE_NOT_FOUND");
  EXPECT_FALSE(plain.error().may_have_happened);
  server.next("DeleteQueue", Trouble::kRefuse);
  auto refused = raw.delete_queue({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "QUEUE_NOT_FOUND");
  EXPECT_FALSE(refused.error().may_have_happened);
}

TEST(RawClientTest, OnlyTheFittingRefusalSettlesAnEarlierTry) {
  Fault fault;
  fault.from_server = true;
  v1::CancelJobResponse cancelled;
  fault.error.reason = "ALREADY_FINAL";
  fault.state = "SUCCEEDED";
  EXPECT_FALSE(done_by_earlier_try(fault, &cancelled));
  fault.state = "CANCELLED";
  EXPECT_TRUE(done_by_earlier_try(fault, &cancelled));
  EXPECT_EQ(cancelled.state(), v1::JOB_STATE_CANCELLED);
  v1::DeleteJobResponse deleted;
  EXPECT_FALSE(done_by_earlier_try(fault, &deleted));
  fault.error.reason = "NAMESPACE_NOT_FOUND";
  v1::DeleteQueueResponse queue;
  v1::DeleteSchedulerResponse scheduler;
  v1::RedriveJobResponse redriven;
  EXPECT_FALSE(done_by_earlier_try(fault, &deleted));
  EXPECT_FALSE(done_by_earlier_try(fault, &queue));
  EXPECT_FALSE(done_by_earlier_try(fault, &scheduler));
  fault.error.reason = "JOB_NOT_FOUND";
  EXPECT_TRUE(done_by_earlier_try(fault, &deleted));
  EXPECT_FALSE(done_by_earlier_try(fault, &redriven));
}

TEST(RawClientTest, ReadsNeverHappen) {
  FakeServer server;
  RawClient raw = make_raw(server.address());
  server.always("GetServerInfo", Trouble::kLoseAnswer);
  auto result = raw.get_server_info({}, {.timeout = 100ms});
  ASSERT_FALSE(result);
  EXPECT_FALSE(result.error().may_have_happened);
}

TEST(RawClientTest, MissingServiceIsAnError) {
  FakeServer server;
  RawClient raw = make_raw(server.address());
  auto health = raw.health("", 5s);
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().reason, "NOT_SUPPORTED_BY_SERVER");
}

TEST(RawClientTest, CloseEndsTheWaitBetweenRepeats) {
  RawClient raw = make_raw(closed_address());
  std::promise<Result<v1::GetServerInfoResponse>> answer;
  raw.get_server_info_async({}, {.timeout = 60s},
                            [&](auto result) { answer.set_value(std::move(result)); });
  raw.close();
  EXPECT_EQ(answer.get_future().get().error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace rota::internal
