// SPDX-License-Identifier: Apache-2.0
// What a worker asks for and reports when nothing goes wrong, and how it stops.
#include <signal.h>

#include <atomic>
#include <map>
#include <stdexcept>

#include "worker_fixture.h"

namespace rota::test {
namespace {

TEST_F(WorkerTest, RunsAJobAndReportsItsResult) {
  make(3).handle("greet", [](Context& context) {
    const Job& job = context.job();
    EXPECT_EQ(job.queue, "q");
    EXPECT_EQ(job.attempt, 1);
    EXPECT_EQ(job.max_attempts, 5);
    EXPECT_GT(job.fencing_token, 0u);
    EXPECT_GT(context.time_left(), 20s);
    EXPECT_FALSE(context.stop().stop_requested());
    context.log("working");
    return Outcome::succeed("hello " + job.payload);
  });
  server_.give("greet", "world");
  start();
  const auto item = finished();
  EXPECT_EQ(item.outcome().success().result().data(), "hello world");
  EXPECT_EQ(item.log_tail(), "working\n");
  const auto& call = server_.lease_calls[0];
  EXPECT_EQ(call.max_jobs(), 3);
  EXPECT_EQ(call.queues(0), "q");
  EXPECT_EQ(call.worker().worker_id(), "w1");
  EXPECT_EQ(call.worker().concurrency(), 3);
  EXPECT_EQ(call.session_id().size(), 32u);
  EXPECT_EQ(call.lease_ttl().seconds(), 30);
}

TEST_F(WorkerTest, EveryKindOfOutcome) {
  make()
      .handle("fail", [](Context&) { return Outcome::fail("no").with_type("Refused"); })
      .handle("dead", [](Context&) { return Outcome::fail_for_good("never"); })
      .handle("later", [](Context&) { return Outcome::retry_in(90s, "busy"); })
      .handle("snooze", [](Context&) { return Outcome::snooze(); })
      .handle("until",
              [](Context&) {
                return Outcome::snooze(
                    std::chrono::floor<Millis>(std::chrono::system_clock::now()) + 60s);
              })
      .handle("throw", [](Context&) -> Outcome { throw std::runtime_error("boom"); })
      .handle("throw-int", [](Context&) -> Outcome { throw 7; })
      .handle("large", [](Context&) { return Outcome::succeed(std::string(256 * 1024 + 1, 'x')); })
      .handle("cut", [](Context&) { return Outcome::succeed("begin").truncated(); });
  std::map<std::string, std::string> ids;
  for (const char* kind : {"fail", "dead", "later", "snooze", "until", "throw", "throw-int",
                           "large", "cut", "unknown"}) {
    ids[kind] = server_.give(kind);
  }
  start();
  ASSERT_TRUE(server_.wait_until([&] { return server_.finished.size() == ids.size(); }));
  std::map<std::string, v1::Outcome> by_id;
  for (const auto& item : server_.finished) by_id[item.lease().job_id()] = item.outcome();
  const auto of = [&](const char* kind) -> const v1::Outcome& { return by_id[ids[kind]]; };

  EXPECT_EQ(of("fail").failure().failure().message(), "no");
  EXPECT_EQ(of("fail").failure().failure().type(), "Refused");
  EXPECT_FALSE(of("fail").failure().not_retryable());
  EXPECT_TRUE(of("dead").failure().not_retryable());
  EXPECT_EQ(of("later").failure().retry_after().seconds(), 90);
  EXPECT_TRUE(of("snooze").has_snooze());
  EXPECT_FALSE(of("snooze").snooze().has_delay());
  EXPECT_GE(of("until").snooze().delay().seconds(), 50);
  EXPECT_EQ(of("throw").failure().failure().message(), "boom");
  EXPECT_EQ(of("throw").failure().failure().type(), "exception");
  EXPECT_FALSE(of("throw").failure().not_retryable());
  EXPECT_TRUE(of("throw-int").has_failure());
  EXPECT_EQ(of("large").failure().failure().type(), "RESULT_TOO_LARGE");
  EXPECT_TRUE(of("large").failure().not_retryable());
  EXPECT_TRUE(of("cut").success().result_truncated());
  EXPECT_EQ(of("unknown").release().reason(), v1::ReleaseOutcome::REASON_NO_HANDLER);
}

TEST_F(WorkerTest, AnyKindCanHaveAHandler) {
  make().handle_any([](Context& context) { return Outcome::succeed(context.job().kind); });
  server_.give("whatever");
  start();
  EXPECT_EQ(finished().outcome().success().result().data(), "whatever");
}

TEST_F(WorkerTest, ThousandsOfJobsEachOnceInFewCalls) {
  constexpr int kJobs = 5'000, kConcurrency = 100;
  std::atomic<int> running{0}, most{0};
  make(kConcurrency).handle("k", [&](Context&) {
    const int now = ++running;
    int seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    --running;
    return Outcome::succeed();
  });
  for (int i = 0; i < kJobs; ++i) server_.give("k");
  start();
  ASSERT_TRUE(server_.wait_until([&] { return server_.finished.size() == std::size_t{kJobs}; }));
  EXPECT_TRUE(server_.refused.empty());
  EXPECT_TRUE(server_.live.empty());
  EXPECT_LE(server_.most_finishes_at_once, 1);  // none when lease calls carried them all
  EXPECT_LE(server_.most_leases_at_once, 2);    // at most one for each half of the slots
  EXPECT_LE(most, kConcurrency);
  EXPECT_LT(server_.finish_calls + static_cast<int>(server_.lease_calls.size()), kJobs / 2);
}

TEST_F(WorkerTest, OutcomesGoWithTheNextLeaseCall) {
  constexpr int kJobs = 30;
  make(1).handle("k", [](Context&) { return Outcome::succeed(); });
  for (int i = 0; i < kJobs; ++i) server_.give("k");
  start();
  ASSERT_TRUE(server_.wait_until([&] { return server_.finished.size() == std::size_t{kJobs}; }));
  EXPECT_TRUE(stop());
  // All but those that ended in the very moment in which the pump looked.
  EXPECT_GT(server_.carried_calls, kJobs / 2);
  EXPECT_LT(server_.finish_calls, kJobs / 2);
  for (const auto& call : server_.lease_calls) {
    EXPECT_LE(call.outcomes_size(), 1);
    if (call.outcomes_size() == 0) continue;
    EXPECT_EQ(call.wait_duration().seconds(), 0);
    EXPECT_EQ(call.wait_duration().nanos(), 10'000'000);
  }
  EXPECT_TRUE(server_.live.empty());
}

// The poll is parked for the other slot, for as long as there is nothing.
TEST_F(WorkerTest, OutcomesDoNotWaitForAParkedPoll) {
  make(2).handle("k", [this](Context&) {
    wait_for_parked_polls();
    return Outcome::succeed();
  });
  server_.give("k");
  start();
  finished();
  EXPECT_TRUE(stop());
  EXPECT_EQ(server_.finish_calls, 1);
  EXPECT_EQ(server_.carried_calls, 0);
}

TEST_F(WorkerTest, NeverMoreThanItsSlots) {
  Gate gate;
  std::atomic<int> running{0};
  make(3).handle("k", [&](Context&) {
    ++running;
    gate.wait();
    return Outcome::succeed();
  });
  for (int i = 0; i < 10; ++i) server_.give("k");
  start();
  ASSERT_TRUE(server_.wait_until([&] { return server_.live.size() == 3; }));
  EXPECT_EQ(server_.lease_calls.size(), 1u);  // no slot is free: nothing is asked for
  gate.open();
  ASSERT_TRUE(server_.wait_until([&] { return server_.finished.size() == 10; }));
  for (const auto& call : server_.lease_calls) EXPECT_LE(call.max_jobs(), 3);
}

TEST_F(WorkerTest, LongJobsAllRunAtOnce) {
  constexpr int kJobs = 64;
  std::atomic<int> arrived{0};
  Gate all;
  make(kJobs).handle("k", [&](Context&) {
    if (++arrived == kJobs) all.open();
    all.wait();
    return Outcome::succeed();
  });
  for (int i = 0; i < kJobs; ++i) server_.give("k");
  start();
  EXPECT_TRUE(server_.wait_until([&] { return server_.finished.size() == std::size_t{kJobs}; }));
}

TEST_F(WorkerTest, ShortJobsPassALongOne) {
  Gate gate;
  make(2)
      .handle("long",
              [&](Context&) {
                gate.wait();
                return Outcome::succeed("long");
              })
      .handle("short", [](Context&) { return Outcome::succeed("short"); });
  server_.give("long");
  for (int i = 0; i < 20; ++i) server_.give("short");
  start();
  EXPECT_TRUE(server_.wait_until([&] { return server_.finished.size() == 20; }));
  gate.open();
  EXPECT_TRUE(server_.wait_until([&] { return server_.finished.size() == 21; }));
}

TEST_F(WorkerTest, StopLetsHandlersFinishAndEndsThePoll) {
  Gate started, gate;
  make().handle("k", [&](Context& context) {
    started.open();
    gate.wait();
    EXPECT_FALSE(context.stop().stop_requested());
    return Outcome::succeed("done");
  });
  server_.give("k");
  start();
  started.wait();
  wait_for_parked_polls();
  worker_->stop();
  // The parked poll is ended by a repeat with its id that does not wait.
  ASSERT_TRUE(server_.wait_until([&] {
    return server_.lease_calls.size() >= 3 &&
           server_.lease_calls.back().wait_duration().seconds() == 0;
  }));
  EXPECT_EQ(server_.lease_calls[1].request_id(), server_.lease_calls.back().request_id());
  gate.open();
  EXPECT_TRUE(run_.get());
  EXPECT_EQ(finished().outcome().success().result().data(), "done");
  EXPECT_TRUE(server_.live.empty());
}

TEST_F(WorkerTest, DrainGivesBackWhatCannotFinish) {
  Gate started;
  make(1, 100ms).handle("k", [&](Context& context) {
    started.open();
    wait_for_stop(context);
    return Outcome::fail("was told to stop");
  });
  server_.give("k");
  start();
  started.wait();
  EXPECT_TRUE(stop());
  EXPECT_EQ(finished().outcome().release().reason(), v1::ReleaseOutcome::REASON_SHUTDOWN);
}

TEST_F(WorkerTest, SuccessWhileDrainingCounts) {
  Gate started;
  make(1, 0ms).handle("k", [&](Context& context) {
    started.open();
    wait_for_stop(context);
    return Outcome::succeed();
  });
  server_.give("k");
  start();
  started.wait();
  EXPECT_TRUE(stop());
  EXPECT_TRUE(finished().outcome().has_success());
}

TEST_F(WorkerTest, SigtermDrains) {
  Gate started;
  make(1, 100ms).handle("k", [&](Context& context) {
    started.open();
    wait_for_stop(context);
    return Outcome::fail("stopped");
  });
  server_.give("k");
  start();
  started.wait();
  raise(SIGTERM);
  EXPECT_TRUE(run_.get());
  EXPECT_TRUE(finished().outcome().has_release());
}

TEST_F(WorkerTest, StopWithoutAnyServer) {
  make();
  server_.stop();
  start();
  EXPECT_TRUE(stop());
}

TEST_F(WorkerTest, WaitsForAQueueThatDoesNotExistYet) {
  make().handle("k", [](Context&) { return Outcome::succeed(); });
  server_.wait_until([&] {
    server_.queue_exists = false;
    return true;
  });
  server_.give("k");
  start();
  ASSERT_TRUE(server_.wait_until([&] {
    if (server_.lease_calls.size() < 2) return false;
    server_.queue_exists = true;
    return true;
  }));
  finished();
}

TEST_F(WorkerTest, RefusedForGoodEndsTheRun) {
  make();
  server_.always("LeaseJobs", Trouble::kInvalid);
  start();
  auto ended = run_.get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kInvalid);
}

TEST_F(WorkerTest, OptionsAreChecked) {
  auto client = Client::create();
  ASSERT_TRUE(client);
  const auto field = [&](WorkerOptions options) {
    Worker worker(*client, std::move(options));
    auto ended = worker.run();
    return ended ? std::string("none") : ended.error().field;
  };
  EXPECT_EQ(field({}), "queues");
  EXPECT_EQ(field({.queues = {"q"}, .concurrency = 0}), "concurrency");
  EXPECT_EQ(field({.queues = {"q"}, .lease_ttl = 4s}), "lease_ttl");
  EXPECT_EQ(field({.queues = {"q"}, .drain = -1ms}), "drain");
}

TEST_F(WorkerTest, RunsOnlyOnce) {
  make();
  start();
  ASSERT_TRUE(server_.wait_until([&] { return !server_.lease_calls.empty(); }));
  EXPECT_TRUE(stop());
  auto again = worker_->run();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kPrecondition);
}

}  // namespace
}  // namespace rota::test
