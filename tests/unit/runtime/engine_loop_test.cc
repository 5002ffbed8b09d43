// SPDX-License-Identifier: Apache-2.0
//
// Order of answers, admission, cancelled calls and failures of the loop.
#include "runtime/engine_loop.h"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/keys.h"
#include "unit/runtime/loop_harness.h"

namespace rota::runtime {
namespace {

using base::Reason;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

core::EnqueueJobs one_job(std::size_t payload_bytes = 10) {
  core::EnqueueJobs enqueue;
  enqueue.jobs.push_back({.queue = "q", .kind = "k", .payload = std::string(payload_bytes, 'x')});
  return enqueue;
}

core::GrantedJob granted(std::uint64_t seq, std::uint64_t token) {
  core::GrantedJob job;
  job.key = {.queue = 1, .priority = 100, .seq = seq};
  job.token = token;
  job.body = std::make_shared<model::JobBody>();
  return job;
}

TEST_F(EngineLoopTest, AnAnswerLeavesAfterItsBatchIsDurable) {
  start();
  ASSERT_TRUE(submit(one_job(), "a"));
  ASSERT_TRUE(executor_.wait_for(1));
  EXPECT_THAT(log(), IsEmpty());
  executor_.run_one();
  ASSERT_TRUE(logged_within(1));
  EXPECT_THAT(log(), ElementsAre("a ok"));
  EXPECT_EQ(store_->last_committed(), 1U);
}

TEST_F(EngineLoopTest, OneBatchIsInFlightAndTheNextIsBuiltMeanwhile) {
  start();
  ASSERT_TRUE(submit(one_job(), "a"));
  ASSERT_TRUE(executor_.wait_for(1));
  ASSERT_TRUE(submit(one_job(), "b"));
  ASSERT_TRUE(submit(one_job(), "c"));
  on_loop([] {});
  ASSERT_TRUE(engine_.wait([&] { return engine_.applied_.size() == 3; }));
  EXPECT_EQ(executor_.size(), 1U) << "the second batch waits for the first";
  executor_.run_one();
  ASSERT_TRUE(executor_.wait_for(1));
  ASSERT_TRUE(logged_within(1));
  EXPECT_THAT(log(), ElementsAre("a ok"));
  executor_.run_one();
  ASSERT_TRUE(logged_within(3));
  EXPECT_THAT(log(), ElementsAre("a ok", "b ok", "c ok"));
  EXPECT_EQ(store_->last_committed(), 2U) << "b and c shared a batch";
}

TEST_F(EngineLoopTest, AnAnswerThatChangedNothingWaitsForWhatItSaw) {
  start();
  ASSERT_TRUE(submit(one_job(), "write"));
  ASSERT_TRUE(executor_.wait_for(1));
  ASSERT_TRUE(submit(core::ExplainJob{}, "read"));
  on_loop([] {});
  EXPECT_THAT(log(), IsEmpty());
  executor_.run_one();
  ASSERT_TRUE(logged_within(2));
  EXPECT_THAT(log(), ElementsAre("write ok", "read ok"));
}

TEST_F(EngineLoopTest, AnAnswerThatSawOnlyDurableThingsLeavesWithoutACommit) {
  start();
  ASSERT_TRUE(submit(core::ExplainJob{}, "read"));
  ASSERT_TRUE(logged_within(1));
  EXPECT_EQ(executor_.size(), 0U);
}

TEST_F(EngineLoopTest, AHeartbeatIsAnsweredWhileACommitIsSlow) {
  start();
  ASSERT_TRUE(submit(one_job(), "write"));
  ASSERT_TRUE(executor_.wait_for(1));
  ASSERT_TRUE(submit(core::Heartbeat{}, "beat"));
  ASSERT_TRUE(logged_within(1));
  EXPECT_THAT(log(), ElementsAre("beat ok"));
}

TEST_F(EngineLoopTest, EventsOfABatchArePublishedBeforeItsAnswers) {
  start();
  const auto poll = submit(core::LeaseJobs{}, "poll");
  ASSERT_TRUE(poll);
  ASSERT_TRUE(engine_.wait([&] { return engine_.parked_.size() == 1; }));
  on_loop([&] { engine_.grant(*poll, granted(1, 7)); });
  ASSERT_TRUE(submit(one_job(), "write"));
  ASSERT_TRUE(executor_.wait_for(1));
  executor_.run_one();
  ASSERT_TRUE(logged_within(3));
  EXPECT_THAT(log(), ElementsAre("event 7", "poll leased 1", "write ok"));
}

TEST_F(EngineLoopTest, ClosingCommandsAreTakenBeforeOpeningOnes) {
  start();
  ASSERT_TRUE(submit(one_job(), "first"));
  ASSERT_TRUE(executor_.wait_for(1));
  ASSERT_TRUE(submit(one_job(), "open"));
  ASSERT_TRUE(submit(core::FinishJobs{}, "close"));
  ASSERT_TRUE(submit(core::Heartbeat{}, "beat"));
  executor_.let_through();
  ASSERT_TRUE(engine_.wait([&] { return engine_.applied_.size() == 4; }));
  const auto index = [](const core::CommandBody& body) { return static_cast<int>(body.index()); };
  EXPECT_THAT(engine_.applied_, ElementsAre(index(core::EnqueueJobs{}), index(core::Heartbeat{}),
                                            index(core::FinishJobs{}), index(core::EnqueueJobs{})));
}

TEST_F(EngineLoopTest, AFullQueueRefusesOpeningCommandsFirst) {
  make({.admission = {.commands = 8, .bytes = 1 << 20, .reserve_percent = 25}});
  loop_->start();
  // The loop is kept busy, so that commands stay in the queue.
  const auto go_on = hold_loop();
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(submit(one_job(), "open"));
  const auto refused = submit(one_job(), "open");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kOverloaded);
  EXPECT_TRUE(submit(core::FinishJobs{}, "close"));
  EXPECT_TRUE(submit(core::Heartbeat{}, "beat"));
  const auto hard = submit(core::FinishJobs{}, "close");
  ASSERT_FALSE(hard);
  EXPECT_EQ(hard.error().reason, Reason::kOverloaded);
  go_on();
  executor_.let_through();
  ASSERT_TRUE(logged_within(8)) << "what was accepted is answered";
  EXPECT_TRUE(submit(one_job(), "later"));
}

// What waits for rows inside the engine is bounded by it; the queue then fills and refuses.
TEST_F(EngineLoopTest, AFullEngineIsGivenNothingButHeartbeats) {
  make({.admission = {.commands = 8, .bytes = 1 << 20, .reserve_percent = 25}});
  engine_.full_ = true;
  loop_->start();
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(submit(one_job(), "open"));
  const auto refused = submit(one_job(), "open");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kOverloaded);
  EXPECT_TRUE(submit(core::Heartbeat{}, "beat"));
  ASSERT_TRUE(logged_within(1));
  EXPECT_THAT(log(), ElementsAre("beat ok"));
  EXPECT_TRUE(engine_.wait([&] { return engine_.applied_.size() == 1; })) << "only the heartbeat";
  engine_.full_ = false;
  executor_.let_through();
  loop_->poke();
  ASSERT_TRUE(logged_within(7));
}

// How much a command makes the engine write shows when it is applied: what was taken together with
// it waits for the next turn, in its place.
TEST_F(EngineLoopTest, AnEngineThatIsFullInTheMiddleGetsTheRestInTheNextTurns) {
  executor_.let_through();
  engine_.full_at_ = 3;
  start();
  const auto go_on = hold_loop();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(submit(one_job(), "open " + number(i)));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(submit(core::FinishJobs{}, "close " + number(i)));
  ASSERT_TRUE(submit(core::Heartbeat{}, "beat"));
  go_on();
  ASSERT_TRUE(logged_within(9));
  EXPECT_THAT(log(), ElementsAre("beat ok", "close 0 ok", "close 1 ok", "close 2 ok", "close 3 ok",
                                 "open 0 ok", "open 1 ok", "open 2 ok", "open 3 ok"));
  EXPECT_TRUE(engine_.wait([&] {
    int applied = 0;
    for (const int commands : engine_.turns_) applied += commands;
    return applied == 8;
  }));
  for (const int commands : engine_.turns_) EXPECT_LE(commands, 3);
}

// Posted together with the end of a failed commit: somebody may wait for it.
TEST_F(EngineLoopTest, PostedWorkRunsAlthoughACommitHasFailed) {
  disk_->fail_commit(1, store::CommitFault::kUnknownLost);
  start();
  ASSERT_TRUE(submit(one_job(), "a"));
  ASSERT_TRUE(executor_.wait_for(1));
  const auto go_on = hold_loop();
  executor_.run_one();
  std::promise<void> ran;
  ASSERT_TRUE(loop_->post([&] { ran.set_value(); }));
  go_on();
  EXPECT_EQ(ran.get_future().wait_for(10s), std::future_status::ready);
  EXPECT_FALSE(loop_->post([] {})) << "the loop has ended";
}

TEST_F(EngineLoopTest, BytesFillTheQueueToo) {
  make({.admission = {.commands = 1000, .bytes = 100'000, .reserve_percent = 25}});
  loop_->start();
  const auto go_on = hold_loop();
  EXPECT_TRUE(submit(one_job(70'000), "large"));
  const auto refused = submit(one_job(10'000), "more");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kOverloaded);
  EXPECT_TRUE(submit(core::FinishJobs{}, "close"));
  go_on();
}

TEST_F(EngineLoopTest, AStoreShortOfSpaceRefusesNewWorkAndLetsWorkEnd) {
  start();
  disk_->set_pressure(core::Pressure::kRefuseNew);
  ASSERT_TRUE(submit(one_job(), "a"));
  ASSERT_TRUE(executor_.wait_for(1));
  executor_.let_through();
  ASSERT_TRUE(logged_within(1));
  const auto refused = submit(one_job(), "b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kOverloaded);
  // The backlog can be worked off and made smaller.
  EXPECT_TRUE(submit(core::FinishJobs{}, "close"));
  EXPECT_TRUE(submit(core::LeaseJobs{}, "lease"));
  EXPECT_TRUE(submit(core::PurgeQueue{}, "purge"));
  EXPECT_TRUE(submit(core::DeleteJob{}, "delete"));
}

TEST_F(EngineLoopTest, AFullStoreStillTakesHeartbeats) {
  start();
  disk_->set_pressure(core::Pressure::kReadOnly);
  ASSERT_TRUE(submit(one_job(), "a"));
  ASSERT_TRUE(executor_.wait_for(1));
  executor_.let_through();
  ASSERT_TRUE(logged_within(1));
  EXPECT_FALSE(submit(core::FinishJobs{}, "close"));
  EXPECT_TRUE(submit(core::Heartbeat{}, "beat"));
}

TEST_F(EngineLoopTest, ACancelledPollIsForgotten) {
  start();
  const auto poll = submit(core::LeaseJobs{}, "poll");
  ASSERT_TRUE(poll);
  ASSERT_TRUE(engine_.wait([&] { return engine_.parked_.size() == 1; }));
  loop_->cancel(*poll);
  ASSERT_TRUE(engine_.wait([&] { return engine_.dropped_.size() == 1; }));
  EXPECT_TRUE(loop_->wait_idle(10'000));
  EXPECT_THAT(log(), IsEmpty());
}

TEST_F(EngineLoopTest, ACancelThatOvertakesItsCallStillCounts) {
  start();
  const auto go_on = hold_loop();
  const auto poll = submit(core::LeaseJobs{}, "poll");
  ASSERT_TRUE(poll);
  loop_->cancel(*poll);
  go_on();
  ASSERT_TRUE(engine_.wait([&] { return engine_.dropped_.size() == 1; }));
  EXPECT_TRUE(loop_->wait_idle(10'000));
}

TEST_F(EngineLoopTest, AGrantDecidedForACancelledPollGoesBack) {
  start();
  const auto poll = submit(core::LeaseJobs{.session_id = "s"}, "poll");
  ASSERT_TRUE(poll);
  ASSERT_TRUE(engine_.wait([&] { return engine_.parked_.size() == 1; }));
  on_loop([&] { engine_.grant(*poll, granted(5, 9)); });
  ASSERT_TRUE(submit(core::ExplainJob{}, "turn"));
  ASSERT_TRUE(executor_.wait_for(1));
  loop_->cancel(*poll);
  on_loop([] {});
  executor_.let_through();
  ASSERT_TRUE(engine_.wait([&] { return engine_.abandoned_.size() == 1; }));
  EXPECT_EQ(engine_.abandoned_[0].session_id, "s");
  ASSERT_EQ(engine_.abandoned_[0].leases.size(), 1U);
  EXPECT_EQ(engine_.abandoned_[0].leases[0].token, 9U);
}

TEST_F(EngineLoopTest, AGrantThatCouldNotBeHandedOverGoesBack) {
  start();
  const auto poll = submit(core::LeaseJobs{.session_id = "s"}, "poll", Delivery::kCallerGone);
  ASSERT_TRUE(poll);
  ASSERT_TRUE(engine_.wait([&] { return engine_.parked_.size() == 1; }));
  executor_.let_through();
  on_loop([&] { engine_.grant(*poll, granted(5, 11)); });
  ASSERT_TRUE(submit(core::ExplainJob{}, "turn"));
  ASSERT_TRUE(engine_.wait([&] { return engine_.abandoned_.size() == 1; }));
  EXPECT_EQ(engine_.abandoned_[0].leases[0].token, 11U);
}

// Whoever took the answer may be at work already: whatever the transport says later, only a repeat
// or the end of the lease decides.
TEST_F(EngineLoopTest, AGrantThatWasHandedOverStaysThoughItsCallIsCancelledLater) {
  start();
  const auto poll = submit(core::LeaseJobs{.session_id = "s"}, "poll");
  ASSERT_TRUE(poll);
  ASSERT_TRUE(engine_.wait([&] { return engine_.parked_.size() == 1; }));
  executor_.let_through();
  on_loop([&] { engine_.grant(*poll, granted(5, 13)); });
  ASSERT_TRUE(submit(core::ExplainJob{}, "turn"));
  ASSERT_TRUE(logged_within(2));
  loop_->cancel(*poll);
  // Closing commands, as a grant that is given back would be one, go before this.
  ASSERT_TRUE(submit(core::ExplainJob{}, "after"));
  ASSERT_TRUE(logged_within(3));
  EXPECT_TRUE(engine_.wait([&] { return engine_.abandoned_.empty() && engine_.dropped_.empty(); }));
  EXPECT_THAT(log(), Contains("poll leased 1"));
}

TEST_F(EngineLoopTest, ALargePayloadIsReadBeforeTheLeaseReplyLeaves) {
  executor_.let_through();
  const model::JobKey key{.queue = 1, .priority = 100, .seq = 3};
  start();
  const auto poll = submit(core::LeaseJobs{}, "poll");
  ASSERT_TRUE(poll);
  std::promise<std::string> payload;
  core::Command command;
  command.body = core::LeaseJobs{};
  const auto second = loop_->submit(std::move(command), [&](core::Reply reply) {
    payload.set_value(std::get<core::LeaseReply>(reply.body).jobs.at(0).body->payload);
    return Delivery::kTaken;
  });
  ASSERT_TRUE(second);
  ASSERT_TRUE(engine_.wait([&] { return engine_.parked_.size() == 2; }));
  on_loop([&] {
    core::GrantedJob job = granted(3, 12);
    auto body = std::make_shared<model::JobBody>();
    body->payload_apart = true;
    job.body = body;
    engine_.grant(*second, job);
    engine_.put(core::Keyspace::kPayload, model::keys::job(key), "large payload");
  });
  ASSERT_TRUE(submit(core::ExplainJob{}, "turn"));
  auto read = payload.get_future();
  ASSERT_EQ(read.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(read.get(), "large payload");
}

TEST_F(EngineLoopTest, AMissingPayloadOfALiveJobStopsTheLoop) {
  executor_.let_through();
  const model::JobKey key{.queue = 1, .priority = 100, .seq = 3};
  start();
  const auto poll = submit(core::LeaseJobs{}, "poll");
  ASSERT_TRUE(poll);
  ASSERT_TRUE(engine_.wait([&] { return engine_.parked_.size() == 1; }));
  on_loop([&] {
    core::GrantedJob job = granted(3, 12);
    auto body = std::make_shared<model::JobBody>();
    body->payload_apart = true;
    job.body = body;
    engine_.grant(*poll, job);
    engine_.put(core::Keyspace::kJob, model::keys::job(key), "body");
  });
  ASSERT_TRUE(submit(core::ExplainJob{}, "turn"));
  ASSERT_TRUE(logged_within(4));  // the event of the grant and both answers, too
  const std::vector<std::string> lines = log();
  EXPECT_THAT(lines, Contains("poll STORE_FAILED"));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("fatal"), HasSubstr("keyspace payload"),
                                    HasSubstr("is missing"))));
  EXPECT_TRUE(loop_->failed());
}

TEST_F(EngineLoopTest, AfterAnUnknownOutcomeNothingIsAcknowledged) {
  start();
  disk_->fail_commit(1, store::CommitFault::kUnknownLost);
  ASSERT_TRUE(submit(one_job(), "a"));
  ASSERT_TRUE(executor_.wait_for(1));
  ASSERT_TRUE(submit(one_job(), "b"));
  const auto poll = submit(core::LeaseJobs{}, "poll");
  ASSERT_TRUE(poll);
  executor_.let_through();
  ASSERT_TRUE(logged_within(4));
  std::vector<std::string> lines = log();
  EXPECT_THAT(lines[0], HasSubstr("fatal batch 1"));
  std::sort(lines.begin() + 1, lines.end());
  EXPECT_THAT(std::vector<std::string>(lines.begin() + 1, lines.end()),
              ElementsAre("a STORE_FAILED", "b STORE_FAILED", "poll STORE_FAILED"));
  const auto refused = submit(one_job(), "c");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kStoreFailed);
}

TEST_F(EngineLoopTest, DrainRefusesOpeningAnswersPollsAndLetsWorkEnd) {
  start();
  executor_.let_through();
  ASSERT_TRUE(submit(core::LeaseJobs{}, "poll"));
  loop_->drain();
  ASSERT_TRUE(logged_within(1));
  EXPECT_THAT(log(), ElementsAre("poll leased 0"));
  const auto refused = submit(one_job(), "a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kDraining);
  ASSERT_TRUE(submit(core::FinishJobs{}, "close"));
  EXPECT_TRUE(loop_->wait_idle(10'000));
  EXPECT_THAT(log(), ElementsAre("poll leased 0", "close ok"));
  // Questions are answered to the end.
  ASSERT_TRUE(submit(core::ExplainJob{}, "explain"));
  ASSERT_TRUE(submit(core::GetOperation{}, "operation"));
  EXPECT_FALSE(submit(core::PurgeQueue{}, "purge"));
  EXPECT_TRUE(loop_->wait_idle(10'000));
  EXPECT_EQ(log().size(), 4U);
}

// Each end sends the next call at once, so that a waiter finds one open whenever it looks.
TEST_F(EngineLoopTest, AnIdleMomentInABusyDrainCounts) {
  start();
  executor_.let_through();
  std::atomic<bool> enough{false};
  std::function<void()> send_next = [&] {
    core::Command command;
    command.body = core::FinishJobs{};
    const auto call = loop_->submit(std::move(command), [&](core::Reply) {
      if (!enough) loop_->post(send_next);  // runs when this call is over
      return Delivery::kTaken;
    });
    EXPECT_TRUE(call || enough);
  };
  on_loop(send_next);
  loop_->drain();
  EXPECT_TRUE(loop_->wait_idle(10'000));
  enough = true;
  loop_->stop();
}

TEST_F(EngineLoopTest, StopAnswersAllThatWasAccepted) {
  start();
  ASSERT_TRUE(submit(one_job(), "write"));
  ASSERT_TRUE(executor_.wait_for(1));
  ASSERT_TRUE(submit(core::LeaseJobs{}, "poll"));
  executor_.let_through();
  loop_->stop();
  EXPECT_THAT(log(), ElementsAre("write ok", "poll DRAINING"));
  const auto refused = submit(core::FinishJobs{}, "late");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kDraining);
}

TEST_F(EngineLoopTest, ItsTimeNeverGoesBack) {
  // Stored by a former process whose clock was ahead.
  engine_.stored_ms_ = clock_.wall_ms() + 60'000;
  start();
  EXPECT_EQ(loop_->wall_ms(), engine_.stored_ms_);
  clock_.advance(100'000);
  EXPECT_EQ(loop_->wall_ms(), clock_.wall_ms());
  on_loop([] {});
  const std::int64_t seen_ms = clock_.wall_ms();
  clock_.step_wall(-3'600'000);
  EXPECT_EQ(loop_->wall_ms(), seen_ms);
}

TEST_F(EngineLoopTest, ManyWhoAskForNumbersShareOneLook) {
  start();
  constexpr int kAskers = 1'000;
  std::atomic<int> answered{0};
  engine_.stats_asked_ = 0;
  const auto go_on = hold_loop();
  for (int i = 0; i < kAskers; ++i) loop_->ask_stats([&](LoopStats) { ++answered; });
  EXPECT_EQ(answered, 0);
  go_on();
  on_loop([] {});
  EXPECT_EQ(answered, kAskers);
  EXPECT_EQ(engine_.stats_asked_, 1);
  std::promise<LoopStats> later;
  loop_->ask_stats([&](LoopStats stats) { later.set_value(stats); });
  EXPECT_EQ(later.get_future().wait_for(10s), std::future_status::ready);
  EXPECT_EQ(engine_.stats_asked_, 2);
  // Nobody is left without an answer.
  loop_->stop();
  loop_->ask_stats([&](LoopStats) { ++answered; });
  EXPECT_EQ(answered, kAskers + 1);
}

TEST_F(EngineLoopTest, ManyCallersShareBatches) {
  start();
  executor_.let_through();
  constexpr int kCallers = 4;
  constexpr int kEach = 500;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) EXPECT_TRUE(submit(one_job(), "a"));
    });
  }
  for (std::thread& caller : callers) caller.join();
  ASSERT_TRUE(loop_->wait_idle(10'000));
  EXPECT_EQ(log().size(), static_cast<std::size_t>(kCallers * kEach));
  EXPECT_LE(store_->last_committed(), static_cast<core::CommitSeq>(kCallers * kEach));
}

}  // namespace
}  // namespace rota::runtime
