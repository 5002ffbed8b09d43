// SPDX-License-Identifier: Apache-2.0
#include "blackbox/execution_log.h"

#include <gtest/gtest.h>

namespace rota::blackbox {
namespace {

TEST(ExecutionLogTest, WhatHandlersDid) {
  History history;
  std::string why;
  ASSERT_TRUE(
      read_execution_log("B 100 7 job1 1\n"
                         "B 110 8 job2 3\n"
                         "S 120 7\n"
                         "E 130 7 done\n"
                         "P 140 400\n"
                         "E 410 8 -\n",
                         "w1", kNever, &history, &why))
      << why;
  ASSERT_EQ(history.executions.size(), 2U);
  const Execution& first = history.executions[0];
  EXPECT_EQ(first.worker, "w1");
  EXPECT_EQ(first.job, "job1");
  EXPECT_EQ(first.token, 7);
  EXPECT_EQ(first.attempt, 1);
  EXPECT_EQ(first.began, 100);
  EXPECT_EQ(first.told, 120);
  EXPECT_EQ(first.ended, 130);
  EXPECT_EQ(first.result, "done");
  EXPECT_TRUE(first.returned);
  EXPECT_EQ(history.executions[1].told, kNever);
  EXPECT_EQ(history.executions[1].result, "");
  ASSERT_EQ(history.standstills.size(), 1U);
  EXPECT_EQ(history.standstills[0].from, 140);
  EXPECT_EQ(history.standstills[0].to, 400);
}

TEST(ExecutionLogTest, AKilledWorkerRanUntilItWasLastSeen) {
  History history;
  std::string why;
  ASSERT_TRUE(read_execution_log("B 100 7 job1 1\nB 110 8 jo", "w1", 500, &history, &why)) << why;
  ASSERT_EQ(history.executions.size(), 1U);
  EXPECT_EQ(history.executions[0].ended, 500);
  EXPECT_FALSE(history.executions[0].returned);
  ASSERT_TRUE(read_execution_log("B 600 9 job1 2\n", "w2", 500, &history, &why)) << why;
  EXPECT_EQ(history.executions[1].ended, 600);  // it began after that look
}

TEST(ExecutionLogTest, LinesThatSayNothing) {
  for (const char* text : {"X 1 2\n", "B 1 2\n", "E 5 9 -\n", "B one two job 1\n"}) {
    History history;
    std::string why;
    EXPECT_FALSE(read_execution_log(text, "w1", kNever, &history, &why)) << text;
    EXPECT_NE(why.find("w1"), std::string::npos);
  }
}

}  // namespace
}  // namespace rota::blackbox
