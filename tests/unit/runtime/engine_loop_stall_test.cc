// SPDX-License-Identifier: Apache-2.0
//
// Stalls of the server itself: no lease may end because the loop or a commit stood still.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/runtime/loop_harness.h"

namespace rota::runtime {
namespace {

using testing::Each;
using testing::Ge;
using testing::IsEmpty;
using testing::Not;

TEST_F(EngineLoopTest, AProcessThatWasStoppedTellsTheEngineHowLong) {
  start();
  on_loop([] {});
  clock_.advance(20'000);
  loop_->poke();
  ASSERT_TRUE(engine_.wait([&] { return !engine_.stalls_.empty(); }));
  EXPECT_THAT(engine_.stalls_, Each(Ge(20'000)));
  EXPECT_THAT(engine_.stalled_, Each(core::Stall::kLoop));
}

TEST_F(EngineLoopTest, ASlowCommitTellsTheEngine) {
  start();
  core::EnqueueJobs enqueue;
  enqueue.jobs.push_back({.queue = "q", .kind = "k"});
  ASSERT_TRUE(submit(enqueue, "a"));
  ASSERT_TRUE(executor_.wait_for(1));
  for (int i = 0; i < 8; ++i) {
    // The loop looks at the clock in between: only the commit was slow, not the loop.
    clock_.advance(100);
    on_loop([] {});
  }
  executor_.run_one();
  ASSERT_TRUE(logged_within(1));
  ASSERT_TRUE(engine_.wait([&] { return !engine_.stalls_.empty(); }));
  EXPECT_THAT(engine_.stalls_, Each(Ge(800)));
  EXPECT_THAT(engine_.stalled_, Each(core::Stall::kCommit));
}

// A stop in the middle of a step, after the loop has looked: told before the turn is sealed.
TEST_F(EngineLoopTest, AStopInTheMiddleOfAStepIsToldBeforeTheTurnIsSealed) {
  start();
  on_loop([] {});
  on_loop([&] {
    ASSERT_TRUE(engine_.wait([&] { return engine_.stalls_.empty(); }));
    clock_.advance(20'000);
    engine_.expect_stall_before_seal_ = true;
  });
  core::EnqueueJobs enqueue;
  enqueue.jobs.push_back({.queue = "q", .kind = "k"});
  ASSERT_TRUE(submit(enqueue, "a"));
  executor_.let_through();
  ASSERT_TRUE(logged_within(1));
  EXPECT_TRUE(engine_.wait([&] { return engine_.stalls_.size() == 1; }));
  EXPECT_FALSE(engine_.sealed_before_stall_);
}

// A stop of the process during a commit is told once, not as a stall and as a slow commit again.
TEST_F(EngineLoopTest, AStopDuringACommitIsCountedOnce) {
  start();
  core::EnqueueJobs enqueue;
  enqueue.jobs.push_back({.queue = "q", .kind = "k"});
  ASSERT_TRUE(submit(enqueue, "a"));
  ASSERT_TRUE(executor_.wait_for(1));
  on_loop([] {});
  clock_.advance(20'000);
  on_loop([] {});  // the loop looks: the stop is found here
  ASSERT_TRUE(engine_.wait([&] { return engine_.stalls_.size() == 1; }));
  clock_.advance(100);
  on_loop([] {});
  executor_.run_one();
  ASSERT_TRUE(logged_within(1));
  on_loop([] {});
  std::int64_t told = 0;
  ASSERT_TRUE(engine_.wait([&] {
    told = 0;
    for (const std::int64_t gap : engine_.stalls_) told += gap;
    return true;
  }));
  EXPECT_GE(told, 20'000);
  EXPECT_LE(told, 20'200);
}

// A disk that is nearly full makes no new jobs by itself either.
TEST_F(EngineLoopTest, PressureOfTheStoreHoldsTicksAndIsTold) {
  std::mutex mutex;
  std::vector<core::Pressure> told;
  EngineLoopOptions options;
  options.on_pressure = [&](core::Pressure pressure) {
    std::lock_guard lock(mutex);
    told.push_back(pressure);
  };
  start(options);
  for (const auto pressure : {core::Pressure::kSlow, core::Pressure::kRefuseNew,
                              core::Pressure::kReadOnly, core::Pressure::kOk}) {
    disk_->set_pressure(pressure);
    on_loop([] {});
    on_loop([] {});  // a look at the store lies between the two
  }
  loop_->stop();
  EXPECT_THAT(told, testing::ElementsAre(core::Pressure::kSlow, core::Pressure::kRefuseNew,
                                         core::Pressure::kReadOnly, core::Pressure::kOk));
  EXPECT_TRUE(engine_.wait([&] {
    return engine_.ticks_held_ == std::vector<bool>({true, false});
  }));
}

TEST_F(EngineLoopTest, OrdinaryWaitingIsNoStall) {
  start();
  for (int i = 0; i < 20; ++i) {
    clock_.advance(300);
    on_loop([] {});
  }
  EXPECT_TRUE(engine_.wait([&] { return engine_.stalls_.empty(); }));
}

}  // namespace
}  // namespace rota::runtime
