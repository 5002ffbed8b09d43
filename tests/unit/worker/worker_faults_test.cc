// SPDX-License-Identifier: Apache-2.0
// Rules W1 to W7: leases that end, cancels, timeouts, servers that go away and answers that get
// lost.
#include <atomic>
#include <functional>
#include <future>

#include "worker_fixture.h"

namespace rota::test {
namespace {

// Leases short enough to see them end: told to stop after 1.25 s, over after 1.85 s, a beat at 1 s.
constexpr auto kShortTtl = 3'000ms;

TEST_F(WorkerTest, LostLeaseStopsTheHandlerAndNothingIsReported) {
  server_.set_ttl(kShortTtl);
  Gate started, returned;
  make().handle("k", [&](Context& context) {
    started.open();
    wait_for_stop(context);
    EXPECT_EQ(context.time_left(), 0ms);
    returned.open();
    return Outcome::succeed("too late");
  });
  const std::string id = server_.give("k");
  start();
  started.wait();
  server_.end_lease(server_.token_of(id));
  returned.wait();
  EXPECT_TRUE(stop());
  EXPECT_TRUE(server_.finished.empty());
  EXPECT_TRUE(server_.refused.empty());
}

TEST_F(WorkerTest, SilentServerEndsTheLeaseLocally) {
  server_.set_ttl(kShortTtl);
  server_.always("Heartbeat", Trouble::kHang);
  Gate started, over;
  std::atomic<bool> told_in_time{false};
  make().handle("k", [&](Context& context) {
    started.open();
    wait_for_stop(context);
    told_in_time = context.time_left() > 0ms;  // the grace, before the lease is over
    over.wait();
    return Outcome::succeed("too late");
  });
  const std::string id = server_.give("k");
  start();
  started.wait();
  // The local deadline comes before the server's own, which this server never reaches.
  ASSERT_TRUE(server_.wait_until([&] { return !server_.beats.empty(); }));
  const auto begin = std::chrono::steady_clock::now();
  server_.wait_until([&] { return std::chrono::steady_clock::now() - begin > 1'500ms; });
  over.open();
  EXPECT_TRUE(stop());
  EXPECT_TRUE(told_in_time);
  EXPECT_TRUE(server_.finished.empty());
  EXPECT_TRUE(server_.refused.empty());
}

TEST_F(WorkerTest, BeatsKeepALongJobAlive) {
  server_.set_ttl(kShortTtl);
  std::atomic<bool> stopped{false};
  make().handle("k", [&](Context& context) {
    // Far longer than one lease.
    server_.wait_until([&] { return server_.beats.size() >= 4; });
    stopped = context.stop().stop_requested();
    return Outcome::succeed();
  });
  server_.give("k");
  start();
  EXPECT_TRUE(finished().outcome().has_success());
  EXPECT_FALSE(stopped);
}

TEST_F(WorkerTest, OneBeatForAllLeases) {
  server_.set_ttl(kShortTtl);
  Gate gate;
  make(20).handle("k", [&](Context&) {
    gate.wait();
    return Outcome::succeed();
  });
  for (int i = 0; i < 20; ++i) server_.give("k");
  start();
  ASSERT_TRUE(server_.wait_until([&] { return !server_.beats.empty(); }));
  EXPECT_EQ(server_.beats[0].leases_size(), 20);
  gate.open();
}

TEST_F(WorkerTest, CancelByHeartbeat) {
  server_.set_ttl(kShortTtl);
  Gate started;
  make().handle("k", [&](Context& context) {
    started.open();
    wait_for_stop(context);
    return Outcome::fail("cancelled");
  });
  const std::string id = server_.give("k");
  start();
  started.wait();
  server_.cancel(server_.token_of(id));
  EXPECT_EQ(finished().outcome().failure().failure().message(), "cancelled");
}

TEST_F(WorkerTest, CancelByTheParkedPollComesAtOnce) {
  Gate started;
  make().handle("k", [&](Context& context) {  // the first beat would come after 10 s
    started.open();
    wait_for_stop(context);
    return Outcome::succeed("all the same");
  });
  const std::string id = server_.give("k");
  start();
  started.wait();
  server_.cancel_by_lease(server_.token_of(id));
  EXPECT_EQ(finished().outcome().success().result().data(), "all the same");
  EXPECT_TRUE(server_.beats.empty());
}

TEST_F(WorkerTest, AttemptTimeoutStopsTheHandlerAndIsLeftToTheServer) {
  Gate stopped;
  make().handle("k", [&](Context& context) {
    EXPECT_LE(context.time_left(), 1s);
    wait_for_stop(context);
    EXPECT_GT(context.time_left(), 0ms);
    stopped.open();
    return Outcome::fail("was told to stop");
  });
  server_.give("k", "", 1'000ms);
  start();
  stopped.wait();
  EXPECT_TRUE(stop());
  EXPECT_TRUE(server_.finished.empty());
}

TEST_F(WorkerTest, SuccessWithinTheGraceOfTheTimeoutCounts) {
  make().handle("k", [&](Context& context) {
    wait_for_stop(context);
    return Outcome::succeed("just in time");
  });
  server_.give("k", "", 1'000ms);
  start();
  EXPECT_EQ(finished().outcome().success().result().data(), "just in time");
}

TEST_F(WorkerTest, JobWhoseEarlierHandlerStillRunsHereGoesBack) {
  Gate started, gate;
  std::atomic<int> runs{0};
  make(2).handle("k", [&](Context&) {
    ++runs;
    started.open();
    gate.wait();
    return Outcome::succeed();
  });
  const std::string id = server_.give("k");
  start();
  started.wait();
  server_.give_again(server_.token_of(id));
  EXPECT_EQ(finished().outcome().release().reason(), v1::ReleaseOutcome::REASON_STILL_RUNNING_HERE);
  gate.open();
  EXPECT_TRUE(stop());
  EXPECT_EQ(runs, 1);
}

TEST_F(WorkerTest, WorkGoesOnThroughARestartOfTheServer) {
  Gate started, gate;
  make().handle("k", [&](Context& context) {
    started.open();
    gate.wait();
    EXPECT_FALSE(context.stop().stop_requested());
    return Outcome::succeed("survived");
  });
  server_.give("k");
  start();
  started.wait();
  server_.stop();
  gate.open();  // its outcome meets a server that is away
  server_.start();
  EXPECT_EQ(finished().outcome().success().result().data(), "survived");
  server_.give("k");
  EXPECT_TRUE(server_.wait_until([&] { return server_.finished.size() == 2; }));
}

// A restart of the server that takes longer than the lease: it restores the lease, the handler was
// done in time, and only the report is late.
TEST_F(WorkerTest, AnOutcomeOutlivesItsLeaseWhileTheServerIsAway) {
  server_.set_ttl(kShortTtl);
  Gate away;
  Gate lease_over;
  make().handle("in time", [&](Context&) {
    away.wait();
    return Outcome::succeed("in time");
  });
  // Goes on for another whole lease after it was told to stop.
  worker_->handle("too late", [&](Context& context) {
    wait_for_stop(context);
    const auto until = std::chrono::steady_clock::now() + kShortTtl;
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    lease_over.open();
    return Outcome::succeed("too late");
  });
  server_.give("in time");
  server_.give("too late");
  start();
  ASSERT_TRUE(server_.wait_until([&] { return server_.live.size() == 2; }));
  server_.stop();
  away.open();
  lease_over.wait();
  server_.start();
  EXPECT_EQ(finished().outcome().success().result().data(), "in time");
  EXPECT_TRUE(stop());
  EXPECT_EQ(server_.finished.size(), 1U) << "a handler that came too late is not reported";
  EXPECT_TRUE(server_.refused.empty());
}

// But a worker that stops does not wait for it.
TEST_F(WorkerTest, AStoppingWorkerGivesUpTheOutcomeOfAnEndedLease) {
  server_.set_ttl(kShortTtl);
  Gate away;
  make().handle("k", [&](Context&) {
    away.wait();
    return Outcome::succeed();
  });
  server_.give("k");
  start();
  ASSERT_TRUE(server_.wait_until([&] { return server_.live.size() == 1; }));
  server_.stop();
  away.open();
  EXPECT_TRUE(stop()) << "the server stays away";
  EXPECT_TRUE(server_.finished.empty());
}

TEST_F(WorkerTest, LostAnswerToAFinishIsRepeated) {
  make().handle("k", [this](Context&) {
    wait_for_parked_polls();
    return Outcome::succeed();
  });
  server_.next("FinishJobs", Trouble::kLoseAnswer);
  server_.next("FinishJobs", Trouble::kRefuse);
  server_.give("k");
  start();
  ASSERT_TRUE(server_.wait_until([&] { return server_.finish_calls == 3; }));
  EXPECT_TRUE(stop());
  EXPECT_EQ(server_.finished.size(), 1u);
  EXPECT_TRUE(server_.refused.empty());
}

TEST_F(WorkerTest, LostAnswerToALeaseIsRepeatedWithItsId) {
  std::atomic<int> runs{0};
  make().handle("k", [&](Context&) {
    ++runs;
    return Outcome::succeed();
  });
  server_.next("LeaseJobs", Trouble::kLoseAnswer);
  server_.give("k");
  start();
  finished();
  ASSERT_TRUE(server_.wait_until([&] { return server_.lease_calls.size() >= 3; }));
  EXPECT_TRUE(stop());
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(server_.lease_calls[0].request_id(), server_.lease_calls[1].request_id());
  EXPECT_NE(server_.lease_calls[1].request_id(), server_.lease_calls[2].request_id());
  EXPECT_TRUE(server_.live.empty());
}

// Two jobs through a worker with one slot, with trouble at its second lease call, which brings the
// outcome of the first; `judge` looks at the end. An outcome that ends in the very moment in which
// the pump looks goes by itself: then again, with another server.
void with_trouble_at_the_second_lease(Trouble trouble,
                                      const std::function<void(FakeServer&)>& judge) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    FakeServer server;
    auto client = Client::create({.address = server.address()});
    ASSERT_TRUE(client);
    Worker worker(*client, {.queues = {"q"}, .concurrency = 1, .lease_ttl = 5s, .id = "w1"});
    std::atomic<int> runs{0};
    worker.handle("k", [&](Context&) {
      ++runs;
      return Outcome::succeed();
    });
    server.next("LeaseJobs", Trouble::kNone);
    server.next("LeaseJobs", trouble);
    server.give("k");
    server.give("k");
    auto run = std::async(std::launch::async, [&] { return worker.run(); });
    EXPECT_TRUE(server.wait_until([&] { return server.finished.size() == 2; }));
    worker.stop();
    EXPECT_TRUE(run.get());
    EXPECT_EQ(runs, 2);
    EXPECT_TRUE(server.refused.empty());
    EXPECT_TRUE(server.live.empty());
    if (server.lease_calls[1].outcomes_size() == 1) return judge(server);
  }
  FAIL() << "no lease call carried an outcome";
}

TEST(WorkerOutcomesTest, LostAnswerToALeaseWithThemLosesNeither) {
  with_trouble_at_the_second_lease(Trouble::kLoseAnswer, [](FakeServer& server) {
    EXPECT_EQ(server.lease_calls[1].request_id(), server.lease_calls[2].request_id());
    EXPECT_GE(server.finish_calls, 1);  // which found it ended already
  });
}

TEST(WorkerOutcomesTest, OfARefusedLeaseGoByThemselves) {
  for (const Trouble trouble :
       {Trouble::kRefuse, Trouble::kBusy, Trouble::kInvalid, Trouble::kHang}) {
    SCOPED_TRACE(static_cast<int>(trouble));
    with_trouble_at_the_second_lease(trouble,
                                     [](FakeServer& server) { EXPECT_GE(server.finish_calls, 1); });
  }
}

TEST_F(WorkerTest, ServerThatDoesNotKnowOfOutcomesInALeaseIsToldByFinishJobs) {
  constexpr int kJobs = 20;
  server_.wait_until([&] {
    server_.takes_outcomes = false;
    return true;
  });
  make(1).handle("k", [](Context&) { return Outcome::succeed(); });
  for (int i = 0; i < kJobs; ++i) server_.give("k");
  start();
  ASSERT_TRUE(server_.wait_until([&] { return server_.finished.size() == std::size_t{kJobs}; }));
  EXPECT_TRUE(stop());
  EXPECT_LE(server_.carried_calls, 1);  // then it is known
  EXPECT_TRUE(server_.refused.empty());
  EXPECT_TRUE(server_.live.empty());
  for (const auto& call : server_.lease_calls) {
    if (call.outcomes_size() > 0) {
      EXPECT_LE(call.wait_duration().nanos(), 10'000'000);
    }
  }
}

TEST(WorkerOutcomesTest, TheirLeaseIsKeptWhileTheCallThatCarriesThemHangs) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    FakeServer server;
    server.set_ttl(kShortTtl);
    auto client = Client::create({.address = server.address()});
    ASSERT_TRUE(client);
    Worker worker(*client, {.queues = {"q"}, .concurrency = 1, .lease_ttl = 5s, .id = "w1"});
    worker.handle("k", [](Context&) { return Outcome::succeed(); });
    server.next("LeaseJobs", Trouble::kNone);
    server.next("LeaseJobs", Trouble::kHang);  // with the outcome, for longer than a beat
    server.give("k");
    auto run = std::async(std::launch::async, [&] { return worker.run(); });
    EXPECT_TRUE(
        server.wait_until([&] { return !server.beats.empty() || !server.finished.empty(); }));
    // It may have ended in the very moment in which the pump looked: then it went by itself.
    const bool carried = server.finished.empty();
    if (carried) {
      EXPECT_EQ(server.beats[0].leases_size(), 1);
      server.stop();
      server.start();
    }
    EXPECT_TRUE(server.wait_until([&] { return server.finished.size() == 1; }));
    EXPECT_TRUE(server.finished[0].outcome().has_success());
    worker.stop();
    EXPECT_TRUE(run.get());
    if (carried) return;
  }
  FAIL() << "no lease call carried an outcome";
}

TEST_F(WorkerTest, SpentRequestIdIsReplaced) {
  make().handle("k", [](Context&) { return Outcome::succeed(); });
  server_.next("LeaseJobs", Trouble::kLoseAnswer);
  server_.next("LeaseJobs", Trouble::kRefuse);
  const std::string id = server_.give("k");
  start();
  ASSERT_TRUE(server_.wait_until([&] {
    if (server_.lease_calls.size() < 2) return false;
    server_.live.clear();  // the grant ends before any repeat gets through
    return true;
  }));
  server_.give("k");
  finished();
  EXPECT_NE(server_.lease_calls[0].request_id(), server_.lease_calls.back().request_id());
}

TEST_F(WorkerTest, BusyServerIsAskedLater) {
  make().handle("k", [this](Context&) {
    wait_for_parked_polls();
    return Outcome::succeed();
  });
  server_.next("LeaseJobs", Trouble::kBusy);
  server_.next("FinishJobs", Trouble::kBusy);
  server_.give("k");
  start();
  finished();
}

TEST_F(WorkerTest, BusyServerAfterALostAnswerDoesNotCostTheGrants) {
  make().handle("k", [](Context&) { return Outcome::succeed(); });
  server_.next("LeaseJobs", Trouble::kLoseAnswer);
  server_.next("LeaseJobs", Trouble::kBusy);
  server_.give("k");
  start();
  finished();  // given once only: under another id it would never come
  ASSERT_GE(server_.lease_calls.size(), 3U);
  EXPECT_EQ(server_.lease_calls[2].request_id(), server_.lease_calls[0].request_id());
}

TEST_F(WorkerTest, OutcomesPileUpWhileACallIsOut) {
  constexpr int kJobs = 50;  // so many slots have two lease loops
  std::atomic<int> returned{0};
  make(kJobs).handle("k", [&](Context&) {
    if (++returned == 1) wait_for_parked_polls(2);
    return Outcome::succeed();
  });
  server_.next("FinishJobs", Trouble::kHang);
  server_.give("k");
  start();
  ASSERT_TRUE(server_.wait_until([&] { return server_.finish_calls == 1; }));
  for (int i = 1; i < kJobs; ++i) server_.give("k");
  // The hung call ends at its timeout; then everything goes together.
  ASSERT_TRUE(server_.wait_until([&] { return server_.finished.size() == std::size_t{kJobs}; }));
  EXPECT_LE(server_.finish_calls, 3);
}

}  // namespace
}  // namespace rota::test
