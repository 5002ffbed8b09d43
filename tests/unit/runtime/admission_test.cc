// SPDX-License-Identifier: Apache-2.0
#include "runtime/admission.h"

#include <string>

#include <gtest/gtest.h>

namespace rota::runtime {
namespace {

TEST(Admission, ClassesByWhatACommandDoes) {
  EXPECT_EQ(admission_class(core::Heartbeat{}), AdmissionClass::kBeat);
  EXPECT_EQ(admission_class(core::FinishJobs{}), AdmissionClass::kClosing);
  EXPECT_EQ(admission_class(core::AbandonGrant{}), AdmissionClass::kClosing);
  EXPECT_EQ(admission_class(core::CancelJob{}), AdmissionClass::kClosing);
  EXPECT_EQ(admission_class(core::ExplainJob{}), AdmissionClass::kQuestion);
  EXPECT_EQ(admission_class(core::GetOperation{}), AdmissionClass::kQuestion);
  EXPECT_EQ(admission_class(core::EnqueueJobs{}), AdmissionClass::kOpening);
  EXPECT_EQ(admission_class(core::LeaseJobs{}), AdmissionClass::kOpening);
  EXPECT_EQ(admission_class(core::UpsertScheduler{}), AdmissionClass::kOpening);
}

TEST(Admission, SizeCountsPayloadsResultsAndItems) {
  core::EnqueueJobs enqueue;
  for (int i = 0; i < 3; ++i) enqueue.jobs.push_back({.payload = std::string(1000, 'x')});
  const CommandSize jobs = size_of({.body = enqueue});
  EXPECT_EQ(jobs.items, 3U);
  EXPECT_GE(jobs.bytes, 3000U);

  core::FinishJobs finish;
  finish.items.resize(2);
  finish.items[0].outcome.result = std::string(5000, 'r');
  finish.items[1].outcome.log_tail = std::string(700, 'l');
  const CommandSize outcomes = size_of({.body = finish});
  EXPECT_EQ(outcomes.items, 2U);
  EXPECT_GE(outcomes.bytes, 5700U);
}

TEST(Admission, AQuarterIsKeptForClosingCommands) {
  AdmissionQueue<int> queue({.commands = 100, .bytes = 1000, .reserve_percent = 25});
  for (int i = 0; i < 75; ++i) queue.push(AdmissionClass::kOpening, 1, i);
  EXPECT_FALSE(queue.admits(AdmissionClass::kOpening, 1));
  EXPECT_TRUE(queue.admits(AdmissionClass::kClosing, 1));
  EXPECT_TRUE(queue.admits(AdmissionClass::kBeat, 900));
  EXPECT_FALSE(queue.admits(AdmissionClass::kClosing, 950));
}

TEST(Admission, QuestionsMayUseHalfOfTheReserve) {
  AdmissionQueue<int> queue({.commands = 100, .bytes = 1000, .reserve_percent = 20});
  for (int i = 0; i < 80; ++i) queue.push(AdmissionClass::kOpening, 1, i);
  EXPECT_FALSE(queue.admits(AdmissionClass::kOpening, 1));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(queue.admits(AdmissionClass::kQuestion, 1));
    queue.push(AdmissionClass::kQuestion, 1, i);
  }
  EXPECT_FALSE(queue.admits(AdmissionClass::kQuestion, 1));
  EXPECT_TRUE(queue.admits(AdmissionClass::kClosing, 1));
}

TEST(Admission, OneCommandAloneIsNeverTooLarge) {
  AdmissionQueue<int> queue({.commands = 10, .bytes = 100, .reserve_percent = 25});
  EXPECT_TRUE(queue.admits(AdmissionClass::kOpening, 500));
}

TEST(Admission, EachClassIsFirstInFirstOut) {
  AdmissionQueue<int> queue({});
  queue.push(AdmissionClass::kOpening, 10, 1);
  queue.push(AdmissionClass::kClosing, 20, 2);
  queue.push(AdmissionClass::kOpening, 30, 3);
  EXPECT_EQ(queue.bytes(), 60U);
  EXPECT_EQ(queue.pop(AdmissionClass::kOpening), 1);
  EXPECT_EQ(queue.pop(AdmissionClass::kOpening), 3);
  EXPECT_EQ(queue.pop(AdmissionClass::kOpening), std::nullopt);
  EXPECT_EQ(queue.pop(AdmissionClass::kClosing), 2);
  EXPECT_EQ(queue.bytes(), 0U);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace rota::runtime
