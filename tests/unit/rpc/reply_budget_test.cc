// SPDX-License-Identifier: Apache-2.0
//
// What is counted of answers, by itself; with real connections: tests/integration/rpc.
#include "rpc/reply_budget.h"

#include <gtest/gtest.h>

#include <string>

#include "rota/v1/job_service.pb.h"

namespace rota::rpc {
namespace {

v1::GetJobRequest answer_of(std::size_t bytes) {
  v1::GetJobRequest answer;
  answer.set_job_id(std::string(bytes, 'x'));
  return answer;
}

TEST(ReplyBudget, AnAnswerCountsUntilItsCallIsOver) {
  ReplyBudget replies(10'000);
  const auto contexts = replies.contexts();
  auto* first = contexts->NewCallbackServerContext();
  auto* second = contexts->NewCallbackServerContext();
  replies.hand_over(first, answer_of(1'000));
  replies.hand_over(second, answer_of(500));
  EXPECT_GE(replies.bytes(), 1'500);
  EXPECT_LT(replies.bytes(), 1'520);
  contexts->Release(first);
  EXPECT_LT(replies.bytes(), 510);
  contexts->Release(second);
  EXPECT_EQ(replies.bytes(), 0);
}

TEST(ReplyBudget, IsUsedUpByManySmallAnswers) {
  ReplyBudget replies(100'000);
  const auto contexts = replies.contexts();
  grpc::CallbackServerContext call;
  std::vector<grpc::CallbackServerContext*> open;
  while (replies.bytes() < 100'000) {
    ASSERT_LE(open.size(), 100U);
    open.push_back(contexts->NewCallbackServerContext());
    replies.hand_over(open.back(), answer_of(1'000));
  }
  EXPECT_TRUE(replies.used_up(call));
  for (auto* one : open) contexts->Release(one);
  EXPECT_FALSE(replies.used_up(call));
  EXPECT_EQ(replies.bytes(), 0);
}

// Those that the library made in advance and never gave a call: a leak checker would see them.
TEST(ReplyBudget, ContextsThatWereNeverUsedEndWithTheServer) {
  ReplyBudget replies(100);
  auto contexts = replies.contexts();
  auto* first = contexts->NewCallbackServerContext();
  contexts->NewCallbackServerContext();
  auto* last = contexts->NewCallbackServerContext();
  contexts->Release(last);
  contexts->Release(first);
  contexts.reset();
}

}  // namespace
}  // namespace rota::rpc
