// SPDX-License-Identifier: Apache-2.0
//
// Cancel in each state, and against what the worker reports: commit order decides.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::Beat;
using core::JobState;
using core::Reason;
using model::AttemptOutcome;

TEST(Cancel, ReadyJobAtOnce) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto reply = h.expect<core::JobReply>(core::CancelJob{key, "not needed"});
  EXPECT_EQ(reply.state, JobState::kCancelled);
  EXPECT_EQ(h.final_record(key)->reason, "not needed");
  EXPECT_TRUE(h.nothing_to_lease("q"));
}

TEST(Cancel, ScheduledJobAtOnceWithItsTimer) {
  EngineHarness h;
  h.queue("q");
  auto later = job();
  later.run_at_ms = h.wall_ms() + 60'000;
  const auto key = h.enqueue(later).key;
  h.expect<core::JobReply>(core::CancelJob{key, ""});
  EXPECT_EQ(h.state(key), JobState::kCancelled);
  EXPECT_EQ(h.rows(core::Keyspace::kTimer), 0U);
  h.advance(61'000);
  EXPECT_TRUE(h.nothing_to_lease("q"));
}

TEST(Cancel, JobWaitingForRetry) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), failed());
  h.expect<core::JobReply>(core::CancelJob{key, ""});
  EXPECT_EQ(h.state(key), JobState::kCancelled);
  EXPECT_EQ(h.final_record(key)->history.size(), 1U);
}

// C170: a request right after the grant reaches the worker with its first heartbeat.
TEST(Cancel, RunningJobHearsOfItWithItsHeartbeat) {
  EngineHarness h;
  h.queue("q", with_limit(1));
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  const auto reply = h.expect<core::JobReply>(core::CancelJob{key, "stop"});
  EXPECT_EQ(reply.state, JobState::kRunning);
  EXPECT_TRUE(reply.cancel_requested);
  EXPECT_EQ(h.beat(granted).beat, Beat::kCancelRequested);
  h.enqueue(job());
  EXPECT_TRUE(h.nothing_to_lease("q"));  // the slot is held until the worker confirms
  EXPECT_EQ(h.finish(granted, failed()).state, JobState::kCancelled);
  EXPECT_EQ(h.final_record(key)->history.back().outcome, AttemptOutcome::kCancelled);
  EXPECT_EQ(h.final_record(key)->reason, "stop");
  h.take_job("q");
}

TEST(Cancel, RunningJobHearsOfItThroughAParkedCall) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q", "s1");
  const auto other = h.send(poll({"q"}, 20'000, 1, "s2"));
  const auto mine = h.send(poll({"q"}, 20'000, 1, "s1"));
  h.settle();
  h.call(core::CancelJob{key, ""});
  const auto reply = h.take_as<core::LeaseReply>(mine);
  EXPECT_TRUE(reply.jobs.empty());
  ASSERT_EQ(reply.cancel_tokens.size(), 1U);
  EXPECT_EQ(reply.cancel_tokens[0], granted.token);
  EXPECT_FALSE(h.take(other).has_value());
}

// C169, second half: the effect exists, so the success stands and the request stays on record.
TEST(Cancel, SuccessAfterTheRequestIsASuccess) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  h.call(core::CancelJob{key, ""});
  EXPECT_EQ(h.finish(granted, succeeded("made it")).state, JobState::kSucceeded);
  EXPECT_TRUE(h.final_record(key)->cancel_requested);
}

TEST(Cancel, AfterTheSuccessIsRefusedWithTheState) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  h.finish(h.take_job("q"), succeeded());
  const auto error = h.refusal(core::CancelJob{key, ""});
  EXPECT_EQ(error.reason, Reason::kAlreadyFinal);
  EXPECT_EQ(error.meta.at("state"), "SUCCEEDED");
}

// C169, races: whichever commits first, in one batch or in two.
TEST(Cancel, RaceWithTheReportIsDecidedByOrder) {
  for (const bool cancel_first : {true, false}) {
    for (const bool success : {true, false}) {
      for (const bool one_batch : {true, false}) {
        EngineHarness h;
        h.queue("q");
        const auto key = h.enqueue(job()).key;
        const auto granted = h.take_job("q");
        const core::CancelJob cancel{key, ""};
        const auto report = finish(granted, success ? succeeded() : failed());
        core::CallId cancel_call = 0;
        if (cancel_first) cancel_call = h.send(cancel);
        if (!one_batch) h.settle();
        h.send(report);
        if (!one_batch) h.settle();
        if (!cancel_first) cancel_call = h.send(cancel);
        h.settle();
        const auto answer = h.take(cancel_call);
        ASSERT_TRUE(answer.has_value());
        const bool refused = std::holds_alternative<core::Error>(*answer);
        EXPECT_EQ(refused, !cancel_first && success);
        EXPECT_EQ(h.state(key), success ? JobState::kSucceeded : JobState::kCancelled);
      }
    }
  }
}

TEST(Cancel, ReleaseSnoozeAndExpiryAfterTheRequestCancel) {
  for (int kind = 0; kind < 3; ++kind) {
    EngineHarness h;
    h.queue("q");
    const auto key = h.enqueue(job()).key;
    const auto granted = h.take_job("q");
    h.call(core::CancelJob{key, ""});
    if (kind == 2) {
      h.advance(30'000);
    } else {
      const auto outcome = kind == 0 ? released() : snoozed(1'000);
      EXPECT_EQ(h.finish(granted, outcome).state, JobState::kCancelled);
    }
    EXPECT_EQ(h.state(key), JobState::kCancelled);
    EXPECT_EQ(h.counters("q").of(JobState::kRunning), 0U);
  }
}

// A worker asks again right after an answer; a cancel that comes in between waits for that call,
// not for a heartbeat.
using Tokens = std::vector<std::uint64_t>;

TEST(Cancel, RequestThatFindsNoPollParkedAnswersTheNextOneAtOnce) {
  EngineHarness h;
  h.queue("q");
  h.enqueue(job());
  const auto granted = h.take_job("q");
  h.call(core::CancelJob{granted.key, ""});
  const auto poll_of = [&] {
    auto poll = lease({"q"});
    poll.wait_ms = 20'000;
    poll.received_mono_ms = h.now().mono_ms;
    return h.send(poll);
  };
  const auto told_by = [&](core::CallId call) {
    const auto answer = h.take(call);
    return answer ? std::get<core::LeaseReply>(*answer).cancel_tokens : Tokens();
  };
  auto call = poll_of();
  h.settle();
  EXPECT_EQ(told_by(call), Tokens({granted.token}));
  // Told once: a worker that asks at once again is not answered in a circle.
  call = poll_of();
  h.settle();
  EXPECT_FALSE(h.take(call).has_value());
  h.enqueue(job());
  EXPECT_EQ(told_by(call), Tokens({granted.token})) << "named in every answer";
  // Whether it heard of it is not known over a crash.
  h.crash();
  call = poll_of();
  h.settle();
  EXPECT_EQ(told_by(call), Tokens({granted.token}));
}

TEST(Cancel, RequestSurvivesACrash) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  const auto granted = h.take_job("q");
  h.call(core::CancelJob{key, "stop"});
  h.crash();
  EXPECT_EQ(h.beat(granted).beat, Beat::kCancelRequested);
  EXPECT_EQ(h.finish(granted, failed()).state, JobState::kCancelled);
}

TEST(Cancel, TwiceIsOnce) {
  EngineHarness h;
  h.queue("q");
  const auto key = h.enqueue(job()).key;
  h.take_job("q");
  h.call(core::CancelJob{key, "first"});
  const auto reply = h.expect<core::JobReply>(core::CancelJob{key, "second"});
  EXPECT_TRUE(reply.cancel_requested);
  EXPECT_EQ(h.side(key)->cancel_reason, "first");
}

TEST(Cancel, JobOutsideTheWindow) {
  core::EngineOptions options;
  options.window_rows = 1;
  options.page_rows = 1;
  EngineHarness h(options);
  h.queue("q");
  std::vector<core::JobKey> keys;
  for (int i = 0; i < 6; ++i) keys.push_back(h.enqueue(job()).key);
  for (std::size_t i = 1; i < 5; ++i) h.expect<core::JobReply>(core::CancelJob{keys[i], ""});
  EXPECT_EQ(h.take_job("q").key, keys[0]);
  EXPECT_EQ(h.take_job("q").key, keys[5]);
  EXPECT_TRUE(h.nothing_to_lease("q"));
}

TEST(Cancel, UnknownJobIsNotFound) {
  EngineHarness h;
  h.queue("q");
  EXPECT_EQ(h.refusal(core::CancelJob{{1, 100, 77}, ""}).reason, Reason::kJobNotFound);
}

}  // namespace
}  // namespace rota::testing
