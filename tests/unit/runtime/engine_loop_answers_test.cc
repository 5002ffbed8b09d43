// SPDX-License-Identifier: Apache-2.0
//
// Answers of many items, which another thread turns into messages.
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

}  // namespace
}  // namespace rota::runtime
