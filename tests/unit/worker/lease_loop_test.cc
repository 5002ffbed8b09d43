// SPDX-License-Identifier: Apache-2.0
#include "src/lease_loop.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

namespace rota::internal {
namespace {

using Done = std::function<void(Result<LeaseReply>)>;

// Keeps every lease call until the test answers it.
class HeldPort final : public WorkerPort {
 public:
  struct Held {
    LeaseCall call;
    Done done;
  };
  void lease(LeaseCall call, Done done) override {
    calls.push_back({std::move(call), std::move(done)});
  }
  void beat(std::vector<LeaseKey>, Millis,
            std::function<void(Result<std::vector<BeatResult>>)>) override {
    ADD_FAILURE() << "no heartbeat is a lease loop's";
  }
  void finish(std::shared_ptr<const std::vector<FinishItem>>, Millis,
              std::function<void(Result<std::vector<Result<Ok>>>)>) override {
    ADD_FAILURE() << "no outcome is a lease loop's";
  }
  std::vector<Held> calls;
};

Error error_of(Code code, std::string reason) {
  Error error;
  error.code = code;
  error.reason = std::move(reason);
  return error;
}

Error replaced() {
  Error error;
  error.code = Code::kConflict;
  error.reason = "POLL_REPLACED";
  return error;
}

struct LeaseLoopTest : testing::Test {
  LeaseLoopTest()
      : loop(port, {.queues = {"q"}, .concurrency = 10, .ttl = Millis(30'000)},
             {.granted =
                  [this](LeaseReply reply, BootTime sent) {
                    granted += reply.grants.size();
                    counted_from = sent;
                  },
              .wake = [] {},
              .ended = [this] { ended = true; },
              .carry = [this](BootTime) { return carry(); }},
             [](int, std::string_view) {}) {}

  void step() { loop.step(BootClock::now()); }

  // Each call that asks finds as many outcomes as `outcomes` says.
  Carried carry() {
    ++asked;
    if (outcomes == 0) return {};
    return {.items = std::make_shared<std::vector<FinishItem>>(std::exchange(outcomes, 0)),
            .timeout = Millis(1'500),
            .answered = [this](Result<std::vector<Result<Ok>>> answer) {
              settled.push_back(std::move(answer));
            }};
  }

  HeldPort port;
  std::size_t granted = 0;
  BootTime counted_from{};
  std::size_t outcomes = 0;
  int asked = 0;
  std::vector<Result<std::vector<Result<Ok>>>> settled;
  bool ended = false;
  LeaseLoop loop;
};

// The server counts from its receipt of the call, which is later; an answer may lie about for long.
TEST_F(LeaseLoopTest, ALeaseIsCountedFromWhenItsCallLeftNotFromItsAnswer) {
  const BootTime first = BootClock::now() - Millis(30'000);
  loop.step(first);
  LeaseReply late;
  late.grants.push_back({.job_id = "j", .fencing_token = 7});
  port.calls.at(0).done(std::move(late));
  ASSERT_EQ(granted, 1U);
  EXPECT_EQ(counted_from, first);
}

// A repeat renews what the first call brought: its leases begin when the repeat left.
TEST_F(LeaseLoopTest, WhatARepeatBringsIsCountedFromWhenTheRepeatLeft) {
  const BootTime first = BootClock::now() - Millis(60'000);
  loop.step(first);
  port.calls.at(0).done(error_of(Code::kUnavailable, ""));
  const BootTime again = BootClock::now() + Millis(60'000);  // behind any pause
  loop.step(again);
  ASSERT_EQ(port.calls.size(), 2U);
  EXPECT_EQ(port.calls[1].call.request_id, port.calls[0].call.request_id);
  LeaseReply brings;
  brings.grants.push_back({.job_id = "j", .fencing_token = 7});
  port.calls[1].done(std::move(brings));
  ASSERT_EQ(granted, 1U);
  EXPECT_EQ(counted_from, again);
}

TEST_F(LeaseLoopTest, StopEndsAParkedPollByARepeatThatDoesNotWait) {
  step();
  loop.stop();
  step();
  step();
  ASSERT_EQ(port.calls.size(), 2U);  // and no third
  EXPECT_EQ(port.calls[1].call.request_id, port.calls[0].call.request_id);
  EXPECT_EQ(port.calls[1].call.wait, Millis(0));
  port.calls[0].done(replaced());
  EXPECT_FALSE(loop.has_ended());
  port.calls[1].done(LeaseReply{});
  EXPECT_TRUE(loop.has_ended());
  EXPECT_TRUE(ended);
}

// Both calls leave in one moment and arrive the other way round: the server lets the first one take
// the place of its repeat, and would hold it for the whole wait.
TEST_F(LeaseLoopTest, ARepeatThatWasOvertakenByItsFirstCallIsSentAgain) {
  step();
  loop.stop();
  step();
  ASSERT_EQ(port.calls.size(), 2U);
  port.calls[1].done(replaced());
  EXPECT_FALSE(loop.has_ended());  // the first may still bring jobs
  step();
  ASSERT_EQ(port.calls.size(), 3U);
  EXPECT_EQ(port.calls[2].call.request_id, port.calls[0].call.request_id);
  EXPECT_EQ(port.calls[2].call.wait, Millis(0));
  port.calls[0].done(replaced());
  LeaseReply late;
  late.grants.push_back({.job_id = "j", .fencing_token = 7});
  port.calls[2].done(late);
  EXPECT_EQ(granted, 1U);
  EXPECT_TRUE(loop.has_ended());
}

// The repeat is handled before the first call has even arrived: what that one then brings is taken.
TEST_F(LeaseLoopTest, AFirstCallThatArrivesLateIsWaitedForAndWhatItBringsIsTaken) {
  step();
  loop.stop();
  step();
  port.calls[1].done(LeaseReply{});
  EXPECT_FALSE(loop.has_ended());
  step();
  ASSERT_EQ(port.calls.size(), 3U);
  EXPECT_EQ(port.calls[2].call.wait, Millis(0));
  LeaseReply late;
  late.grants.push_back({.job_id = "j", .fencing_token = 7});
  port.calls[0].done(late);
  EXPECT_EQ(granted, 1U);
  port.calls[2].done(late);  // the same grant again
  EXPECT_EQ(granted, 1U);
  EXPECT_TRUE(loop.has_ended());
}

TEST_F(LeaseLoopTest, AFirstCallThatIsNeverAnsweredIsNotWaitedForWithoutEnd) {
  step();
  loop.stop();
  for (std::size_t i = 1; i <= 3; ++i) {
    step();
    ASSERT_EQ(port.calls.size(), i + 1);
    port.calls[i].done(LeaseReply{});
  }
  step();
  EXPECT_EQ(port.calls.size(), 4U);
  EXPECT_TRUE(loop.has_ended());
}

TEST_F(LeaseLoopTest, ACallThatCarriesOutcomesHardlyWaitsAndHandsTheirResultsOn) {
  outcomes = 3;
  step();
  ASSERT_EQ(port.calls.size(), 1U);
  ASSERT_TRUE(port.calls[0].call.outcomes);
  EXPECT_EQ(port.calls[0].call.outcomes->size(), 3U);
  EXPECT_EQ(port.calls[0].call.wait, Millis(10));
  EXPECT_EQ(port.calls[0].call.timeout, Millis(1'500));
  LeaseReply reply;
  reply.finished.resize(3, Ok{});
  port.calls[0].done(std::move(reply));
  ASSERT_EQ(settled.size(), 1U);
  ASSERT_TRUE(settled[0]);
  EXPECT_EQ(settled[0]->size(), 3U);
  step();  // that it brought no jobs at once says nothing of a server that does not hold polls
  ASSERT_EQ(port.calls.size(), 2U);
  EXPECT_FALSE(port.calls[1].call.outcomes);
  EXPECT_GT(port.calls[1].call.wait, Millis(10));
  EXPECT_NE(port.calls[1].call.request_id, port.calls[0].call.request_id);
}

TEST_F(LeaseLoopTest, OutcomesAreSettledByTheAnswerOfTheirOwnCall) {
  outcomes = 1;
  step();
  loop.stop();
  outcomes = 1;
  step();
  ASSERT_EQ(port.calls.size(), 2U);
  EXPECT_FALSE(port.calls[1].call.outcomes) << "a call that ends the poll carries nothing";
  LeaseReply brings;
  brings.grants.push_back({.job_id = "j", .fencing_token = 7});
  port.calls[1].done(std::move(brings));
  EXPECT_TRUE(loop.has_ended());
  EXPECT_TRUE(settled.empty());
  port.calls[0].done(replaced());  // too late for the poll
  ASSERT_EQ(settled.size(), 1U);
  EXPECT_FALSE(settled[0]);
}

TEST_F(LeaseLoopTest, AFailedCallGivesItsOutcomesBackAndIsRepeatedWithItsId) {
  outcomes = 1;
  step();
  port.calls[0].done(error_of(Code::kUnavailable, "DRAINING"));
  ASSERT_EQ(settled.size(), 1U);
  EXPECT_FALSE(settled[0]);
  loop.step(BootTime::max());
  ASSERT_EQ(port.calls.size(), 2U);
  EXPECT_EQ(port.calls[1].call.request_id, port.calls[0].call.request_id);
}

// The first call committed its grants and lost its answer; the server is then too busy for the
// repeat. Its grants are held by this session, which hears of them under no other id.
TEST_F(LeaseLoopTest, ARefusedRepeatOfACallWithoutAnswerKeepsItsId) {
  const Error refusals[] = {error_of(Code::kExhausted, "OVERLOADED"), replaced(),
                            error_of(Code::kNotFound, "QUEUE_NOT_FOUND")};
  step();
  Error broken = error_of(Code::kUnavailable, "SERVER_UNREACHABLE");
  broken.may_have_happened = true;
  port.calls[0].done(broken);
  for (const Error& refusal : refusals) {
    loop.step(BootTime::max());
    EXPECT_EQ(port.calls.back().call.request_id, port.calls[0].call.request_id);
    port.calls.back().done(refusal);
  }
  loop.step(BootClock::now());
  EXPECT_EQ(port.calls.size(), 4U) << "asked again without a pause";
  loop.step(BootTime::max());
  ASSERT_EQ(port.calls.size(), 5U);
  EXPECT_EQ(port.calls[4].call.request_id, port.calls[0].call.request_id);
  LeaseReply kept;
  kept.grants.push_back({.job_id = "j", .fencing_token = 7});
  port.calls[4].done(std::move(kept));
  EXPECT_EQ(granted, 1U);
  loop.step(BootTime::max());  // answered: what comes next is another poll
  ASSERT_EQ(port.calls.size(), 6U);
  EXPECT_NE(port.calls[5].call.request_id, port.calls[0].call.request_id);
}

TEST_F(LeaseLoopTest, ARefusedCallWithNoneBeforeItGivesItsIdUp) {
  step();
  port.calls[0].done(error_of(Code::kExhausted, "OVERLOADED"));
  loop.step(BootTime::max());
  ASSERT_EQ(port.calls.size(), 2U);
  EXPECT_NE(port.calls[1].call.request_id, port.calls[0].call.request_id);
}

// A stop is not held up for ever by a server that stays busy.
TEST_F(LeaseLoopTest, AStopGivesUpARepeatThatIsRefusedAgainAndAgain) {
  step();
  Error broken = error_of(Code::kUnavailable, "SERVER_UNREACHABLE");
  broken.may_have_happened = true;
  port.calls[0].done(broken);
  loop.stop();
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_FALSE(loop.has_ended());
    loop.step(BootTime::max());
    ASSERT_EQ(port.calls.size(), i + 1);
    port.calls[i].done(error_of(Code::kExhausted, "OVERLOADED"));
  }
  EXPECT_TRUE(loop.has_ended());
}

TEST_F(LeaseLoopTest, ARefusalIsThePollsOnlyWhenItCarriedNothing) {
  outcomes = 1;
  step();
  port.calls[0].done(error_of(Code::kInvalid, "TOO_MANY_ITEMS"));
  EXPECT_FALSE(loop.error());
  outcomes = 1;
  step();
  ASSERT_EQ(port.calls.size(), 2U);
  EXPECT_FALSE(port.calls[1].call.outcomes);
  port.calls[1].done(error_of(Code::kInvalid, "INVALID_FIELD"));
  EXPECT_TRUE(loop.error());
}

}  // namespace
}  // namespace rota::internal
