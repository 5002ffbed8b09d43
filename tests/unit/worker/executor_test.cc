// SPDX-License-Identifier: Apache-2.0
#include "src/executor.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/lease.h"

namespace rota::internal {
namespace {

using namespace std::chrono_literals;

// Handlers that return when the test says so.
class Gate {
 public:
  void run(const LeasePtr& lease) {
    std::unique_lock lock(mutex_);
    started_.insert(lease->job().id);
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_.contains(lease->job().id); });
  }
  void open(const std::string& job) {
    std::lock_guard lock(mutex_);
    open_.insert(job);
    changed_.notify_all();
  }
  bool wait_started(const std::string& job) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, [&] { return started_.contains(job); });
  }
  void settled() {
    std::lock_guard lock(mutex_);
    ++settled_;
    changed_.notify_all();
  }
  bool wait_settled(int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, [&] { return settled_ >= times; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> started_, open_;
  int settled_ = 0;
};

LeasePtr job(std::string id) {
  return std::make_shared<Lease>(Grant{.job_id = std::move(id)}, BootClock::now(), 0ms, 30s);
}

struct ExecutorTest : testing::Test {
  Gate gate;
  // One thread: what is not running stands in line.
  Executor executor{1, [this](const LeasePtr& lease) { gate.run(lease); },
                    [this] { gate.settled(); }};
};

TEST_F(ExecutorTest, OutcomesWaitWhileTheLineMovesAndAtMostHalfAMillisecond) {
  executor.submit({job("a"), job("b"), job("c")});
  ASSERT_TRUE(gate.wait_started("a"));
  const BootTime now = BootClock::now();
  EXPECT_EQ(executor.gather_until(now), now) << "nothing has ended yet";
  gate.open("a");
  ASSERT_TRUE(gate.wait_started("b"));
  // As of the very moment: "a" has ended and "c" stands in line.
  const BootTime until = executor.gather_until(now);
  EXPECT_GT(until, now);
  EXPECT_LE(until, BootClock::now() + 500us);
  EXPECT_EQ(executor.gather_until(until), until) << "the time is over: send";
  EXPECT_EQ(executor.gather_until(now), now) << "and nothing has ended since";
  gate.open("b");
  gate.open("c");
  EXPECT_TRUE(gate.wait_settled(1));
}

TEST_F(ExecutorTest, AnOutcomeThatLeavesTheLineEmptyDoesNotWait) {
  executor.submit({job("a"), job("b")});
  ASSERT_TRUE(gate.wait_started("a"));
  gate.open("a");
  ASSERT_TRUE(gate.wait_started("b"));  // the line is empty, "b" may take hours
  const BootTime now = BootClock::now();
  EXPECT_EQ(executor.gather_until(now), now);
  gate.open("b");
  EXPECT_TRUE(gate.wait_settled(1));
}

}  // namespace
}  // namespace rota::internal
