// SPDX-License-Identifier: Apache-2.0
#include "runtime/waiters.h"

#include <future>
#include <string>

#include <gtest/gtest.h>

namespace rota::runtime {
namespace {

using core::JobEvent;
using namespace std::chrono_literals;

constexpr std::int64_t kLongMs = 3'600'000;

model::JobKey job(std::uint64_t seq) { return {.queue = 1, .priority = 100, .seq = seq}; }

JobEvent event(std::uint64_t seq, JobEvent::Kind kind) {
  return {.kind = kind, .key = job(seq), .state = model::JobState::kSucceeded, .seq = 9};
}

TEST(Waiters, TheEndOfTheJobFiresAllThatWaitForIt) {
  Timer timer;
  Waiters waiters(timer);
  int fired = 0;
  const auto count = [&](WaitEnd end, const JobEvent* ended) {
    EXPECT_EQ(end, WaitEnd::kFinal);
    EXPECT_EQ(ended->seq, 9U);
    ++fired;
  };
  ASSERT_TRUE(waiters.add(job(1), kLongMs, count));
  ASSERT_TRUE(waiters.add(job(1), kLongMs, count));
  ASSERT_TRUE(waiters.add(job(2), kLongMs, [](WaitEnd, const JobEvent*) {}));
  waiters.publish({event(1, JobEvent::Kind::kGranted), event(1, JobEvent::Kind::kAttemptEnded)});
  EXPECT_EQ(fired, 0);
  waiters.publish({event(1, JobEvent::Kind::kFinal)});
  EXPECT_EQ(fired, 2);
  EXPECT_EQ(waiters.size(), 1U);
}

TEST(Waiters, ARemovedJobIsAnEndToo) {
  Timer timer;
  Waiters waiters(timer);
  int fired = 0;
  ASSERT_TRUE(waiters.add(job(1), kLongMs, [&](WaitEnd, const JobEvent*) { ++fired; }));
  waiters.publish({event(1, JobEvent::Kind::kRemoved)});
  EXPECT_EQ(fired, 1);
}

TEST(Waiters, TheWaitEndsByTime) {
  Timer timer;
  Waiters waiters(timer);
  std::promise<WaitEnd> ended;
  ASSERT_TRUE(waiters.add(job(1), 1, [&](WaitEnd end, const JobEvent* event_or_none) {
    EXPECT_EQ(event_or_none, nullptr);
    ended.set_value(end);
  }));
  auto future = ended.get_future();
  ASSERT_EQ(future.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(future.get(), WaitEnd::kTimeout);
  EXPECT_EQ(waiters.size(), 0U);
}

TEST(Waiters, ACancelledOneNeverRuns) {
  Timer timer;
  Waiters waiters(timer);
  const auto id = waiters.add(job(1), kLongMs, [](WaitEnd, const JobEvent*) { FAIL(); });
  ASSERT_TRUE(id);
  EXPECT_TRUE(waiters.cancel(*id));
  EXPECT_FALSE(waiters.cancel(*id));
  waiters.publish({event(1, JobEvent::Kind::kFinal)});
}

TEST(Waiters, Bounded) {
  Timer timer;
  Waiters waiters(timer, 2);
  const auto nothing = [](WaitEnd, const JobEvent*) {};
  ASSERT_TRUE(waiters.add(job(1), kLongMs, nothing));
  ASSERT_TRUE(waiters.add(job(2), kLongMs, nothing));
  const auto refused = waiters.add(job(3), kLongMs, nothing);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, base::Reason::kTooManyPolls);
}

TEST(Waiters, DrainAnswersAllAndRefusesLater) {
  Timer timer;
  Waiters waiters(timer);
  int drained = 0;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(waiters.add(job(i), kLongMs, [&](WaitEnd end, const JobEvent*) {
      if (end == WaitEnd::kDraining) ++drained;
    }));
  }
  waiters.drain();
  EXPECT_EQ(drained, 100);
  const auto refused = waiters.add(job(1), kLongMs, [](WaitEnd, const JobEvent*) {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, base::Reason::kDraining);
}

}  // namespace
}  // namespace rota::runtime
