// SPDX-License-Identifier: Apache-2.0
#include "internal/raw_client.h"

#include <gtest/gtest.h>

#include <future>

#include "src/repeat.h"
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
