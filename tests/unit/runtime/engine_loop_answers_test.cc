// SPDX-License-Identifier: Apache-2.0
//
// Answers of many items, which another thread turns into messages; two commands of one call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>
#include <vector>

#include "unit/runtime/loop_harness.h"

namespace rota::runtime {
namespace {

constexpr std::uint64_t kMany = 17;  // one more than the loop sends itself

std::vector<core::GrantedJob> many() {
  std::vector<core::GrantedJob> jobs;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    core::GrantedJob job;
    job.key = {.queue = 1, .priority = 100, .seq = i};
    job.body = std::make_shared<const model::JobBody>();
    job.token = i;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

TEST_F(EngineLoopTest, EventsAreOutBeforeAnAnswerOfManyItems) {
  executor_.let_through();
  start();
  const auto poll = submit(core::LeaseJobs{.session_id = "s"}, "poll");
  ASSERT_TRUE(poll);
  ASSERT_TRUE(engine_.wait([&] { return engine_.parked_.size() == 1; }));
  on_loop([&] { engine_.grant(*poll, many()); });
  ASSERT_TRUE(submit(core::ExplainJob{}, "turn"));
  ASSERT_TRUE(logged_within(kMany + 2));
  const auto lines = log();
  const auto answer = std::find(lines.begin(), lines.end(), "poll leased 17");
  ASSERT_NE(answer, lines.end());
  EXPECT_GE(answer - lines.begin(), static_cast<std::ptrdiff_t>(kMany));
}

TEST_F(EngineLoopTest, ManyJobsForACallerThatIsGoneGoBackTogether) {
  executor_.let_through();
  start();
  const auto poll = submit(core::LeaseJobs{.session_id = "s"}, "poll", Delivery::kCallerGone);
  ASSERT_TRUE(poll);
  ASSERT_TRUE(engine_.wait([&] { return engine_.parked_.size() == 1; }));
  on_loop([&] { engine_.grant(*poll, many()); });
  ASSERT_TRUE(submit(core::ExplainJob{}, "turn"));
  ASSERT_TRUE(engine_.wait([&] { return engine_.abandoned_.size() == 1; }));
  EXPECT_EQ(engine_.abandoned_[0].session_id, "s");
  EXPECT_EQ(engine_.abandoned_[0].leases.size(), kMany);
}

TEST_F(EngineLoopTest, AStopWaitsForAnAnswerOnItsWayAndTakesItsGrantBack) {
  executor_.let_through();
  start();
  std::promise<void> entered;
  std::promise<void> leave;
  core::Command command;
  command.body = core::LeaseJobs{.session_id = "s"};
  const auto poll =
      loop_->submit(std::move(command), [&entered, held = leave.get_future().share()](core::Reply) {
        entered.set_value();
        held.wait();
        return Delivery::kCallerGone;
      });
  ASSERT_TRUE(poll);
  ASSERT_TRUE(engine_.wait([&] { return engine_.parked_.size() == 1; }));
  on_loop([&] { engine_.grant(*poll, many()); });
  ASSERT_TRUE(submit(core::ExplainJob{}, "turn"));
  entered.get_future().wait();
  std::thread stopper([this] { loop_->stop(); });
  while (submit(core::ExplainJob{}, "late")) std::this_thread::yield();  // until the stop has begun
  leave.set_value();
  stopper.join();
  ASSERT_TRUE(engine_.wait([&] { return engine_.abandoned_.size() == 1; }));
  EXPECT_EQ(engine_.abandoned_[0].leases.size(), kMany);
}

// ---- two commands together

core::Command command_of(core::CommandBody body) {
  core::Command command;
  command.body = std::move(body);
  return command;
}

TEST_F(EngineLoopTest, TwoCommandsOfOneCallAreAppliedRightAfterEachOther) {
  executor_.let_through();
  start();
  const auto go_on = hold_loop();
  ASSERT_TRUE(submit(core::LeaseJobs{}, "earlier"));
  ASSERT_TRUE(loop_->submit_both(command_of(core::FinishJobs{}), logged("outcomes"),
                                 command_of(core::LeaseJobs{}), logged("grants")));
  ASSERT_TRUE(submit(core::FinishJobs{}, "later"));
  go_on();
  ASSERT_TRUE(engine_.wait([&] { return engine_.applied_.size() == 4; }));
  const int lease = static_cast<int>(core::CommandBody(core::LeaseJobs{}).index());
  const int finish = static_cast<int>(core::CommandBody(core::FinishJobs{}).index());
  EXPECT_EQ(engine_.applied_, (std::vector<int>{finish, lease, finish, lease}));
  loop_->drain();  // answers the two that are parked
  ASSERT_TRUE(logged_within(4));
  EXPECT_TRUE(loop_->wait_idle(10'000));
}

TEST_F(EngineLoopTest, TwoCommandsAreRefusedTogetherLikeTheOneThatIsRefusedFirst) {
  make({.admission = {.commands = 8, .bytes = 1 << 20, .reserve_percent = 25}});
  loop_->start();
  const auto both = [&] {
    return loop_->submit_both(command_of(core::FinishJobs{}), logged("outcomes"),
                              command_of(core::LeaseJobs{}), logged("grants"));
  };
  const auto go_on = hold_loop();
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(submit(core::FinishJobs{}, "close"));
  const auto full = both();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason, base::Reason::kOverloaded);
  EXPECT_TRUE(submit(core::FinishJobs{}, "close"));
  go_on();
  executor_.let_through();
  ASSERT_TRUE(logged_within(7)) << "and nothing of what was refused is answered";
  loop_->drain();
  const auto late = both();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, base::Reason::kDraining);
  EXPECT_TRUE(loop_->wait_idle(10'000));
  EXPECT_EQ(log().size(), 7U);
}

TEST_F(EngineLoopTest, AFailureAnswersBothOfTwoCommandsThatStillWait) {
  start();
  disk_->fail_commit(1, store::CommitFault::kUnknownLost);
  ASSERT_TRUE(submit(core::EnqueueJobs{}, "write"));
  ASSERT_TRUE(executor_.wait_for(1));
  const auto go_on = hold_loop();
  ASSERT_TRUE(loop_->submit_both(command_of(core::FinishJobs{}), logged("outcomes"),
                                 command_of(core::LeaseJobs{}), logged("grants")));
  executor_.run_one();
  go_on();
  ASSERT_TRUE(logged_within(4));
  auto lines = log();
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines[1], "grants STORE_FAILED");
  EXPECT_EQ(lines[2], "outcomes STORE_FAILED");
}

TEST_F(EngineLoopTest, WhatACallerGivesBackLaterIsTakenBack) {
  executor_.let_through();
  start();
  loop_->take_back("s", {{{.queue = 1, .priority = 100, .seq = 3}, 9}});
  ASSERT_TRUE(engine_.wait([&] { return engine_.abandoned_.size() == 1; }));
  EXPECT_EQ(engine_.abandoned_[0].session_id, "s");
  EXPECT_EQ(engine_.abandoned_[0].leases[0].token, 9U);
}

}  // namespace
}  // namespace rota::runtime
