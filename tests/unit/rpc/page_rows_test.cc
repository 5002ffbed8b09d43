// SPDX-License-Identifier: Apache-2.0
//
// The rows of a page: on the wire they are what any answer is, in memory little more than that.
#include "rpc/page_rows.h"

#include <gtest/gtest.h>

#include <string>

#include "rota/v1/job_service.pb.h"

namespace rota::rpc {
namespace {

void fill(int number, std::size_t payload_bytes, v1::Job* job) {
  job->set_id("job-" + std::to_string(number));
  job->set_queue("mail");
  job->set_kind("welcome");
  job->mutable_create_time()->set_seconds(1'700'000'000 + number);
  (*job->mutable_labels())["op"] = std::to_string(number);
  job->mutable_payload()->set_data(std::string(payload_bytes, 'x'));
}

TEST(PageRowsTest, WhatGoesOverTheWireIsTheMessageWithItsRows) {
  v1::ListJobsResponse answer, wanted;
  PageRows<v1::Job> rows(&answer, v1::ListJobsResponse::kJobsFieldNumber);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(rows.add([&](v1::Job* job) { fill(i, 10, job); }));
    fill(i, 10, wanted.add_jobs());
  }
  EXPECT_EQ(rows.size(), 3);
  answer.set_next_page_token("next");
  answer.set_commit_seq(7);
  wanted.set_next_page_token("next");
  wanted.set_commit_seq(7);
  EXPECT_EQ(answer.ByteSizeLong(), wanted.ByteSizeLong());
  v1::ListJobsResponse read;
  ASSERT_TRUE(read.ParseFromString(answer.SerializeAsString()));
  EXPECT_EQ(read.DebugString(), wanted.DebugString());
}

// A row is filled into what held the one before it, of which nothing may be left.
TEST(PageRowsTest, NothingOfARowIsLeftInTheNext) {
  v1::ListJobsResponse answer;
  PageRows<v1::Job> rows(&answer, v1::ListJobsResponse::kJobsFieldNumber);
  ASSERT_TRUE(rows.add([](v1::Job* job) { fill(1, 10, job); }));
  ASSERT_TRUE(rows.add([](v1::Job* job) { job->set_id("bare"); }));
  v1::ListJobsResponse read;
  ASSERT_TRUE(read.ParseFromString(answer.SerializeAsString()));
  v1::Job bare;
  bare.set_id("bare");
  EXPECT_EQ(read.jobs(1).DebugString(), bare.DebugString());
}

TEST(PageRowsTest, ARowThatDoesNotFitIsNotInIt) {
  v1::ListJobsResponse answer;
  PageRows<v1::Job> rows(&answer, v1::ListJobsResponse::kJobsFieldNumber);
  EXPECT_TRUE(rows.add([](v1::Job* job) { fill(0, 2 * kPageBytesMax, job); }));  // the first may
  EXPECT_FALSE(rows.add([](v1::Job* job) { fill(1, 1, job); }));
  EXPECT_EQ(rows.size(), 1);
  v1::ListJobsResponse read;
  ASSERT_TRUE(read.ParseFromString(answer.SerializeAsString()));
  ASSERT_EQ(read.jobs_size(), 1);
  EXPECT_EQ(read.jobs(0).id(), "job-0");
}

// What a caller that never reads makes the server keep.
TEST(PageRowsTest, AnAnswerTakesLittleMoreThanItsBytes) {
  v1::ListJobsResponse answer;
  PageRows<v1::Job> rows(&answer, v1::ListJobsResponse::kJobsFieldNumber);
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(rows.add([&](v1::Job* job) { fill(i, 100, job); }));
  }
  EXPECT_LT(answer.SpaceUsedLong(), 2 * answer.ByteSizeLong());
  v1::ListJobsResponse read;
  ASSERT_TRUE(read.ParseFromString(answer.SerializeAsString()));
  EXPECT_GT(read.SpaceUsedLong(), 4 * answer.ByteSizeLong());  // as messages
}

}  // namespace
}  // namespace rota::rpc
