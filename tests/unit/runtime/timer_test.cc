// SPDX-License-Identifier: Apache-2.0
#include "runtime/timer.h"

#include <chrono>
#include <future>
#include <string>

#include <gtest/gtest.h>

namespace rota::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Timer, RunsInOrderOfTimeAndNeverEarly) {
  Timer timer;
  std::string order;
  std::promise<void> last;
  const auto started = std::chrono::steady_clock::now();
  timer.after(40, [&] {
    order += "c";
    last.set_value();
  });
  timer.after(20, [&] { order += "b"; });
  timer.after(0, [&] { order += "a"; });
  ASSERT_EQ(last.get_future().wait_for(10s), std::future_status::ready);
  EXPECT_EQ(order, "abc");
  EXPECT_GE(std::chrono::steady_clock::now() - started, 40ms);
}

TEST(Timer, ACancelledOneDoesNotRun) {
  Timer timer;
  std::promise<void> later;
  const Timer::Id id = timer.after(5, [] { FAIL(); });
  EXPECT_TRUE(timer.cancel(id));
  EXPECT_FALSE(timer.cancel(id));
  timer.after(10, [&] { later.set_value(); });
  EXPECT_EQ(later.get_future().wait_for(10s), std::future_status::ready);
}

TEST(Timer, NothingRunsAfterStop) {
  Timer timer;
  timer.after(3'600'000, [] { FAIL(); });
  timer.stop();
  EXPECT_EQ(timer.after(0, [] { FAIL(); }), 0U);
}

TEST(Timer, MayScheduleItselfAgain) {
  Timer timer;
  std::promise<void> third;
  int runs = 0;
  std::function<void()> again = [&] {
    if (++runs == 3) {
      third.set_value();
    } else {
      timer.after(0, again);
    }
  };
  timer.after(0, again);
  EXPECT_EQ(third.get_future().wait_for(10s), std::future_status::ready);
  timer.stop();
}

}  // namespace
}  // namespace rota::runtime
