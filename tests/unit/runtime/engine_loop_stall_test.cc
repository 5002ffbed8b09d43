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
