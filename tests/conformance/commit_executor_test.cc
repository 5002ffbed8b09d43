// SPDX-License-Identifier: Apache-2.0
#include "store/commit_executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <thread>
#include <vector>

namespace rota::testing {
namespace {

using store::AdaptiveExecutor;
using store::ThreadExecutor;

TEST(ThreadExecutorTest, RunsInOrderOnOneOtherThread) {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  {
    ThreadExecutor executor;
    for (int i = 0; i < 1000; ++i) {
      executor.execute([&, i] {
        order.push_back(i);
        threads.push_back(std::this_thread::get_id());
      });
    }
  }  // the destructor runs what is queued
  ASSERT_EQ(order.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  for (const auto& id : threads) EXPECT_EQ(id, threads.front());
  EXPECT_NE(threads.front(), std::this_thread::get_id());
}

TEST(ThreadExecutorTest, DrainWaitsForTheLastPiece) {
  ThreadExecutor executor;
  int ran = 0;
  std::latch gate(1);
  executor.execute([&] { gate.wait(); });
  for (int i = 0; i < 10; ++i) {
    executor.execute([&] { ++ran; });
  }
  gate.count_down();
  executor.drain();
  EXPECT_EQ(ran, 10);
}

TEST(ThreadExecutorTest, APieceMayGiveFurtherPieces) {
  ThreadExecutor executor;
  std::vector<int> order;
  executor.execute([&] {
    executor.execute([&] { order.push_back(2); });
    order.push_back(1);
  });
  executor.drain();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(AdaptiveExecutorTest, RunsHereWhenAskedAndNothingWaits) {
  AdaptiveExecutor executor;
  executor.set_prefer_inline(true);
  std::thread::id id;
  executor.execute([&] { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
  executor.set_prefer_inline(false);
  std::promise<std::thread::id> other;
  executor.execute([&] { other.set_value(std::this_thread::get_id()); });
  EXPECT_NE(other.get_future().get(), std::this_thread::get_id());
}

TEST(AdaptiveExecutorTest, KeepsTheOrderWhenThePlaceChanges) {
  AdaptiveExecutor executor;
  std::vector<int> order;
  std::latch gate(1);
  executor.execute([&] {
    gate.wait();
    order.push_back(0);
  });
  // Something runs on the thread, so these may not overtake it, however much inline is preferred.
  for (int i = 1; i <= 50; ++i) {
    executor.set_prefer_inline(i % 2 == 0);
    executor.execute([&, i] { order.push_back(i); });
  }
  gate.count_down();
  executor.drain();
  executor.set_prefer_inline(true);
  executor.execute([&] { order.push_back(51); });
  ASSERT_EQ(order.size(), 52U);
  for (int i = 0; i <= 51; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(AdaptiveExecutorTest, ALongReadHoldsUpNoLaterPieceAndDrainWaitsForIt) {
  AdaptiveExecutor executor;
  std::promise<void> open;
  std::shared_future<void> gate = open.get_future().share();
  std::promise<void> piece;
  std::atomic<bool> read{false};
  executor.execute([&] {
    executor.execute_read([&, gate] {
      gate.wait();
      read = true;
    });
  });
  executor.execute([&] { piece.set_value(); });
  piece.get_future().wait();  // with the read still under way
  EXPECT_FALSE(read);
  open.set_value();
  executor.drain();
  EXPECT_TRUE(read);
}

TEST(AdaptiveExecutorTest, AnInlinePieceMayGiveFurtherPieces) {
  AdaptiveExecutor executor;
  executor.set_prefer_inline(true);
  std::vector<int> order;
  executor.execute([&] {
    executor.execute([&] { order.push_back(2); });  // not nested: never two pieces at once
    order.push_back(1);
  });
  executor.drain();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(AdaptiveExecutorTest, NeverTwoAtOnceUnderRapidChanges) {
  AdaptiveExecutor executor;
  int inside = 0;  // unsynchronised on purpose: a second piece at once is a data race
  int ran = 0;
  for (int i = 0; i < 20'000; ++i) {
    executor.set_prefer_inline(i % 3 != 0);
    executor.execute([&] {
      EXPECT_EQ(++inside, 1);
      ++ran;
      --inside;
    });
  }
  executor.drain();
  EXPECT_EQ(ran, 20'000);
}

}  // namespace
}  // namespace rota::testing
