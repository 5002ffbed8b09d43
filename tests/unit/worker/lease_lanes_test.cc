// SPDX-License-Identifier: Apache-2.0
#include "src/lease_lanes.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

namespace rota::internal {
namespace {

class HeldPort final : public WorkerPort {
 public:
  struct Held {
    LeaseCall call;
    std::function<void(Result<LeaseReply>)> done;
  };
  void lease(LeaseCall call, std::function<void(Result<LeaseReply>)> done) override {
    calls.push_back({std::move(call), std::move(done)});
  }
  void beat(std::vector<LeaseKey>, Millis,
            std::function<void(Result<std::vector<BeatResult>>)>) override {}
  void finish(std::shared_ptr<const std::vector<FinishItem>>, Millis,
              std::function<void(Result<std::vector<Result<Ok>>>)>) override {}
  std::vector<Held> calls;
};

struct LeaseLanesTest : testing::Test {
  void make(int concurrency) {
    lanes = std::make_unique<LeaseLanes>(
        port,
        LeaseLoop::Options{.queues = {"q"}, .concurrency = concurrency, .ttl = Millis(30'000)},
        LeaseLanes::Hooks{
            .granted = [this](std::size_t lane, LeaseReply reply,
                              BootTime) { granted.emplace_back(lane, reply.grants.size()); },
            .wake = [] {},
            .ended = [this] { ++ended; }},
        [this](int, std::string_view) { ++lines; });
  }
  void step() { lanes->step(BootClock::now()); }
  static LeaseReply grants(int count) {
    LeaseReply reply;
    for (int i = 0; i < count; ++i) {
      reply.grants.push_back({.job_id = "j", .fencing_token = static_cast<std::uint64_t>(i + 1)});
    }
    return reply;
  }

  HeldPort port;
  std::vector<std::pair<std::size_t, std::size_t>> granted;
  int ended = 0, lines = 0;
  std::unique_ptr<LeaseLanes> lanes;
};

TEST_F(LeaseLanesTest, FewSlotsAreAskedForInOneCall) {
  make(31);
  step();
  ASSERT_EQ(port.calls.size(), 1U);
  EXPECT_EQ(port.calls[0].call.slots, 31);
}

TEST_F(LeaseLanesTest, ManySlotsAreAskedForInTwoHalvesThatAreFreedApart) {
  make(33);
  step();
  ASSERT_EQ(port.calls.size(), 2U);
  EXPECT_EQ(port.calls[0].call.slots + port.calls[1].call.slots, 33);
  EXPECT_NE(port.calls[0].call.request_id, port.calls[1].call.request_id);
  const int second = port.calls[1].call.slots;
  port.calls[1].done(grants(second));
  ASSERT_EQ(granted.size(), 1U);
  EXPECT_EQ(granted[0].first, 1U);
  step();
  EXPECT_EQ(port.calls.size(), 2U) << "its slots are taken, the other lane's call is out";
  lanes->freed(1, 5);
  step();
  ASSERT_EQ(port.calls.size(), 3U);
  EXPECT_EQ(port.calls[2].call.slots, 5);
}

TEST_F(LeaseLanesTest, EndsWhenBothHaveEnded) {
  make(100);
  step();
  lanes->stop();
  step();
  ASSERT_EQ(port.calls.size(), 4U);  // each lane's call and the repeat that ends it
  Error replaced;
  replaced.code = Code::kConflict;
  replaced.reason = "POLL_REPLACED";
  port.calls[0].done(replaced);
  port.calls[2].done(LeaseReply{});
  EXPECT_FALSE(lanes->has_ended());
  port.calls[1].done(replaced);
  port.calls[3].done(LeaseReply{});
  EXPECT_TRUE(lanes->has_ended());
  EXPECT_EQ(ended, 2);
}

TEST_F(LeaseLanesTest, ARefusalOfOneIsTheWorkersAndSaidOnce) {
  make(100);
  step();
  Error missing;
  missing.code = Code::kNotFound;
  missing.reason = "QUEUE_NOT_FOUND";
  missing.message = "no queue 'q'";
  port.calls[0].done(missing);
  port.calls[1].done(missing);
  EXPECT_EQ(lines, 1);
  EXPECT_FALSE(lanes->error());
  lanes->step(BootTime::max());
  ASSERT_EQ(port.calls.size(), 4U);
  Error invalid;
  invalid.code = Code::kInvalid;
  port.calls[3].done(invalid);
  ASSERT_TRUE(lanes->error());
  EXPECT_EQ(lanes->error()->code, Code::kInvalid);
}

TEST_F(LeaseLanesTest, WhatTheSecondAloneHasToSayIsSaid) {
  make(100);
  step();
  port.calls[0].done(grants(50));  // its slots are full of long jobs
  Error away;
  away.code = Code::kUnavailable;
  away.reason = "SERVER_UNREACHABLE";
  port.calls[1].done(away);
  EXPECT_EQ(lines, 1);
}

}  // namespace
}  // namespace rota::internal
