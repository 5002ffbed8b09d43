// SPDX-License-Identifier: Apache-2.0
#include "runtime/reader_pool.h"

#include <atomic>
#include <future>
#include <string>

#include <gtest/gtest.h>

namespace rota::runtime {
namespace {

TEST(ReaderPool, BoundedQueueRefusesButAcceptedAnswersGoFirst) {
  ReaderPool pool(1, 2);
  std::promise<void> busy;
  std::promise<void> go_on;
  auto held = go_on.get_future();
  ASSERT_TRUE(pool.submit([&] {
    busy.set_value();
    held.wait();
  }));
  busy.get_future().wait();
  std::string order;
  EXPECT_TRUE(pool.submit([&] { order += "a"; }));
  EXPECT_TRUE(pool.submit([&] { order += "b"; }));
  EXPECT_FALSE(pool.submit([&] { order += "c"; }));
  EXPECT_TRUE(pool.submit_first([&] { order += "1"; }));
  EXPECT_EQ(pool.queued(), 3U);
  go_on.set_value();
  pool.stop();
  EXPECT_EQ(order, "1ab");
}

TEST(ReaderPool, NothingIsTakenAfterStop) {
  ReaderPool pool(2);
  pool.stop();
  EXPECT_FALSE(pool.submit([] {}));
  EXPECT_FALSE(pool.submit_first([] {}));
}

TEST(ReaderPool, AllWorkIsDone) {
  std::atomic<int> done{0};
  {
    ReaderPool pool(4, 100'000);
    for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(pool.submit([&] { ++done; }));
  }
  EXPECT_EQ(done, 10'000);
}

}  // namespace
}  // namespace rota::runtime
