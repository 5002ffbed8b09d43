// SPDX-License-Identifier: Apache-2.0
//
// The simulator on a few seeds, and on itself: it repeats bit for bit, and it finds what is wrong
// when something is.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "model/keys.h"
#include "model/records.h"
#include "sim/shrink.h"
#include "sim/world.h"

namespace rota::sim {
namespace {

using core::JobEvent;

constexpr std::uint64_t kSeeds = 40;
constexpr std::uint64_t kTamperedSeeds = 40;

Profile short_profile(std::uint64_t seed) {
  Reduction reduction;
  reduction.steps = 4'000;
  return Profile::draw(seed, reduction);
}

TEST(Sim, SomeSeeds) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RunResult result = run_once(Profile::draw(seed, {}), false);
    ASSERT_FALSE(result.violation)
        << "seed " << seed << ": I" << result.violation->invariant << " at step "
        << result.violation->step << ": " << result.violation->text;
    EXPECT_GT(result.steps, 1'000U);
  }
}

// Seeds of faults that were fixed: a number, then why. That none of them breaks anything is all
// that is asserted: a draw that was added since made other runs of some, so that they may not come
// near their faults any more. What each fault was has a test of its own, in tests/unit/core or
// here.
TEST(Sim, FixedSeeds) {
  std::ifstream file(SIM_SEEDS);
  ASSERT_TRUE(file) << SIM_SEEDS;
  int seeds = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::uint64_t seed = 0;
    std::string why;
    ASSERT_TRUE(words >> seed >> why) << line;
    const RunResult result = run_once(Profile::draw(seed, {}), false);
    EXPECT_FALSE(result.violation) << line << ": " << result.violation->text;
    ++seeds;
  }
  EXPECT_GT(seeds, 0);
  RecordProperty("seeds", seeds);
}

TEST(Sim, OneSeedIsOneRun) {
  const RunResult first = run_once(short_profile(7), false);
  const RunResult second = run_once(short_profile(7), false);
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  EXPECT_EQ(first.steps, second.steps);
  EXPECT_EQ(first.coverage.numbers(), second.coverage.numbers());
  EXPECT_NE(first.trace_hash, run_once(short_profile(8), false).trace_hash);
}

TEST(Sim, ArgumentsOfAReplayGiveTheReduction) {
  Reduction reduction;
  ASSERT_TRUE(add_dropped("crash,purges,late-read", &reduction));
  Reduction again;
  const std::string text = arguments_of(reduction);
  ASSERT_EQ(text.substr(0, 8), " --drop ");
  ASSERT_TRUE(add_dropped(text.substr(8), &again));
  EXPECT_EQ(again, reduction);
  const Profile profile = Profile::draw(1, reduction);
  EXPECT_EQ(profile.of(Fault::kCrash), 0.0);
  EXPECT_FALSE(profile.has(Feature::kPurges));
  EXPECT_FALSE(add_dropped("crash,nonsense", &again));
}

TEST(Sim, CoverageNamesWhatWasNotReached) {
  Coverage coverage;
  const std::size_t all = coverage.zeros().size();
  EXPECT_GT(all, 100U);
  coverage.hit(Fault::kStall);
  coverage.hit_pair<core::CancelJob>(core::JobState::kBlocked);
  EXPECT_EQ(coverage.zeros().size(), all - 2);
  Coverage sum;
  ASSERT_TRUE(sum.add_numbers(coverage.numbers()));
  EXPECT_EQ(sum.numbers(), coverage.numbers());
  EXPECT_FALSE(sum.add_numbers("1 2 3"));
}

// A start may have extended an attempt by up to a fifth of the ttl, and a slow commit by up to a
// ttl: a lease that it moved beyond that ends there, by the server's own choice and not later.
TEST(Sim, ALeaseMovedToItsAttemptTimeoutEndsInTheRangeOfThat) {
  constexpr std::int64_t kTtlMs = 5'000;
  LeaseClock::Lease overdue;  // 200 ms are left of what an earlier start gave it
  overdue.ttl_ms = kTtlMs;
  overdue.deadline_ms = overdue.latest_ms = 200;
  overdue.cap_ms = kTtlMs;
  overdue.latest_cap_ms = kTtlMs + kTtlMs / 5;
  LeaseClock clock;
  clock.restore(18, overdue);
  clock.stalled(13'000, core::Stall::kCommit);
  const LeaseClock::Lease* lease = clock.find(18);
  ASSERT_NE(lease, nullptr);
  EXPECT_EQ(lease->deadline_ms, 2 * kTtlMs);
  EXPECT_EQ(lease->latest_ms, 2 * kTtlMs + kTtlMs / 5);
  EXPECT_EQ(clock.sealed(2 * kTtlMs + 18, 0, 1), 0U);
  EXPECT_EQ(clock.sealed(lease->latest_ms - 1, 0, 1), 0U);
  EXPECT_EQ(clock.sealed(lease->latest_ms, 0, 1), 18U);

  // A short one moves the lease and does not bring it there: its end stays exact.
  clock.restore(18, overdue);
  clock.stalled(1'000, core::Stall::kCommit);
  EXPECT_EQ(lease->deadline_ms, 1'200);
  EXPECT_EQ(lease->latest_ms, 1'200);
  EXPECT_FALSE(lease->may_be_at_cap());
  EXPECT_EQ(clock.sealed(1'199, 0, 1), 0U);
  EXPECT_EQ(clock.sealed(1'200, 0, 1), 18U);
  EXPECT_EQ(clock.next_end_ms(), 1'200);
}

TEST(Sim, AJumpOfTheClockHoldsDeletionsForAnHourAndTicksForAMinute) {
  constexpr std::int64_t kMinuteMs = 60'000;
  constexpr std::int64_t kDayMs = 24 * 60 * kMinuteMs;
  constexpr std::int64_t kStartMs = 1'000 * kDayMs;
  HoldClock clock;
  clock.started({kStartMs, 0});
  EXPECT_FALSE(clock.deletions());
  // Ten minutes are no jump, nor is any time that the monotonic clock has made too.
  clock.told({kStartMs + 10 * kMinuteMs, 0});
  clock.told({kStartMs + 10 * kMinuteMs + kDayMs, kDayMs});
  EXPECT_FALSE(clock.deletions());
  EXPECT_FALSE(clock.ticks());

  const std::int64_t jump_ms = kStartMs + 20 * kMinuteMs + kDayMs + 1;
  clock.told({jump_ms, kDayMs});
  const HoldClock::Turn half = clock.sealed();
  EXPECT_FALSE(half.deletions);  // not all through it
  EXPECT_TRUE(half.deletions_once);
  EXPECT_EQ(half.deletions_after_ms, kStartMs + 10 * kMinuteMs + kDayMs);
  EXPECT_EQ(half.since_ms, jump_ms);
  clock.committed(half, jump_ms);
  clock.told({jump_ms + kMinuteMs - 1, kDayMs + kMinuteMs - 1});
  EXPECT_TRUE(clock.ticks());
  clock.told({jump_ms + kMinuteMs, kDayMs + kMinuteMs});
  EXPECT_FALSE(clock.ticks());
  EXPECT_TRUE(clock.deletions());
  EXPECT_TRUE(clock.sealed().deletions);

  // A restart 20 minutes before the end of the hour: 20 minutes are left, whatever it was told.
  clock.started({jump_ms + 40 * kMinuteMs, 7});
  EXPECT_FALSE(clock.ticks());
  clock.told({jump_ms + 60 * kMinuteMs - 1, 7 + 20 * kMinuteMs - 1});
  EXPECT_TRUE(clock.deletions());
  clock.told({jump_ms + 60 * kMinuteMs, 7 + 20 * kMinuteMs});
  EXPECT_FALSE(clock.deletions());
  const HoldClock::Turn over = clock.sealed();
  EXPECT_EQ(over.since_ms, 0);
  clock.committed(over, jump_ms + 60 * kMinuteMs);

  // Thirty days between what is stored and a start are no gap; a moment more is.
  clock.started({jump_ms + 60 * kMinuteMs + 30 * kDayMs, 0});
  EXPECT_FALSE(clock.deletions());
  clock.started({jump_ms + 60 * kMinuteMs + 30 * kDayMs + 1, 0});
  EXPECT_TRUE(clock.deletions());
  EXPECT_FALSE(clock.ticks());
  EXPECT_EQ(clock.seen().by_step, 1U);
  EXPECT_EQ(clock.seen().over_restart, 1U);
  EXPECT_EQ(clock.seen().by_gap, 1U);
  EXPECT_EQ(clock.seen().to_the_end, 1U);
}

// ---- the simulator is worth something only if it finds what is wrong
//
// Here what the engine says is changed, one check of the simulator at a time. Mistakes inside the
// engine and around it are planted by tools/mutation (server/base/mistakes.inc).

// `tag`: how the row's key begins; 0: any.
std::shared_ptr<core::Batch> copy_without(const core::Batch& batch, core::Keyspace keyspace,
                                          char tag) {
  auto out = std::make_shared<core::Batch>();
  bool dropped = false;
  for (const auto& [key, value] : batch.changes()) {
    if (!dropped && key.first == keyspace && (tag == 0 || key.second.front() == tag)) {
      dropped = true;
    } else if (value) {
      out->put(key.first, key.second, *value);
    } else {
      out->del(key.first, key.second);
    }
  }
  return dropped ? out : nullptr;
}

// Loses one row of the keyspace in every batch that has one.
std::function<void(core::Turn&)> lose_row(core::Keyspace keyspace, char tag = 0) {
  return [keyspace, tag](core::Turn& turn) {
    if (!turn.batch) return;
    if (auto less = copy_without(*turn.batch, keyspace, tag)) turn.batch = std::move(less);
  };
}

template <class Change>
std::function<void(core::Turn&)> change_event(JobEvent::Kind kind, Change change) {
  return [kind, change](core::Turn& turn) {
    for (std::size_t i = 0; i < turn.events.size(); ++i) {
      if (turn.events[i].kind == kind) return change(turn.events, i);
    }
  };
}

template <class Body, class Change>
std::function<void(core::Turn&)> change_reply(Change change) {
  return [change](core::Turn& turn) {
    for (core::Reply& reply : turn.replies) {
      if (auto* body = std::get_if<Body>(&reply.body)) change(*body);
    }
  };
}

// The engine is told something else about lease calls that wait.
template <class Change>
Tamper change_waiting_call(Change change) {
  Tamper tamper;
  tamper.command = [change](core::Command& command) {
    auto* call = std::get_if<core::LeaseJobs>(&command.body);
    if (call != nullptr && call->wait_ms > 0) change(*call);
  };
  return tamper;
}

// Ticks that were skipped because their scheduler is busy have another reason, where the settings
// do not speak against it: a template with a business key, a queue with a max_waiting.
std::function<void(core::Turn&)> skip_ticks(const std::string& reason) {
  struct Known {
    std::set<std::string> with_key;             // schedulers
    std::map<std::string, std::string> target;  // scheduler, queue
    std::set<std::string> bounded;              // queues
  };
  const auto known = std::make_shared<Known>();
  return [known, reason](core::Turn& turn) {
    if (!turn.batch) return;
    if (turn.seq == 1) *known = {};  // another run
    auto out = std::make_shared<core::Batch>();
    for (const auto& [key, value] : turn.batch->changes()) {
      if (!value) {
        out->del(key.first, key.second);
        continue;
      }
      std::string row = *value;
      model::Scheduler s;
      model::Queue q;
      if (key.first == core::Keyspace::kScheduler && key.second.front() == 's' &&
          model::decode(row, &s)) {
        if (s.settings.job.business_key.empty()) {
          known->with_key.erase(s.id);
        } else {
          known->with_key.insert(s.id);
        }
        known->target[s.id] = s.settings.job.queue;
      } else if (key.first == core::Keyspace::kQueueState && key.second.front() == 'q' &&
                 model::decode(row, &q)) {
        if (q.settings.max_waiting) {
          known->bounded.insert(q.name);
        } else {
          known->bounded.erase(q.name);
        }
      } else if (model::RunRecord run;
                 key.first == core::Keyspace::kRun && model::decode(row, &run)) {
        for (const auto& [id, queue] : known->target) {
          const bool fits = reason == "QUEUE_FULL" ? known->bounded.contains(queue)
                                                   : known->with_key.contains(id);
          if (fits && run.reason == "PREVIOUS_RUN_UNFINISHED" &&
              key.second.starts_with(model::keys::run_prefix("default", id))) {
            run.reason = reason;
            row = model::encode(run);
          }
        }
      }
      out->put(key.first, key.second, std::move(row));
    }
    turn.batch = std::move(out);
  };
}

// Once there are schedulers, whose ticks put jobs into queues, a queue that is deleted is said not
// to be empty.
std::function<void(core::Turn&)> keep_queues() {
  const auto ticks = std::make_shared<bool>(false);
  return [ticks](core::Turn& turn) {
    if (!turn.batch) return;
    if (turn.seq == 1) *ticks = false;  // another run
    for (const auto& [key, value] : turn.batch->changes()) {
      if (key.first == core::Keyspace::kScheduler) *ticks = true;
      model::Queue gone;
      if (!*ticks || key.first != core::Keyspace::kQueueState || key.second.front() != 'd' ||
          !value || !model::decode(*value, &gone)) {
        continue;
      }
      for (core::Reply& reply : turn.replies) {
        const auto* answer = std::get_if<core::QueueReply>(&reply.body);
        if (answer == nullptr || answer->queue.number != gone.number) continue;
        reply.body = base::make_error(base::Reason::kQueueNotEmpty, "it is");
        return;
      }
    }
  };
}

struct Planted {
  const char* name;
  Tamper tamper;
  // In what is reported, where another check might find it too.
  const char* says = "";
  bool whole_runs = false;  // what it changes is rare
};

std::vector<Planted> planted() {
  using Events = std::vector<JobEvent>;
  return {
      {"LosesASideRecord", lose_row(core::Keyspace::kSide)},
      {"LosesABody", lose_row(core::Keyspace::kJob)},
      {"LosesAGrant", lose_row(core::Keyspace::kGrant)},
      {"LosesATimer", lose_row(core::Keyspace::kTimer)},
      {"LosesCounters", lose_row(core::Keyspace::kQueueState)},
      {"LosesALedgerEntry", lose_row(core::Keyspace::kLedger)},
      {"LosesARunRecord", lose_row(core::Keyspace::kRun)},
      {"LosesARequest", lose_row(core::Keyspace::kRequest)},
      {"LosesAListingForRetention", lose_row(core::Keyspace::kFinal, 't')},
      {"LosesTheExpiryOfARequest", lose_row(core::Keyspace::kRequest, 't')},
      {"LosesAFinalRecord", lose_row(core::Keyspace::kFinal)},
      {"GrantsTwice", change_event(JobEvent::Kind::kGranted,
                                   [](Events& all, std::size_t i) { all.push_back(all[i]); })},
      {"GrantsWithAnOldToken", change_event(JobEvent::Kind::kGranted,
                                            [](Events& all, std::size_t i) { all[i].token = 1; })},
      {"GrantsAnotherJob", change_event(JobEvent::Kind::kGranted,
                                        [](Events& all, std::size_t i) { ++all[i].key.seq; })},
      {"ForgetsAnEnd", change_event(JobEvent::Kind::kFinal,
                                    [](Events& all, std::size_t i) {
                                      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
                                    })},
      {"AnswersAnotherState", change_reply<core::EnqueueReply>([](core::EnqueueReply& reply) {
         for (auto& item : reply.items) {
           if (auto* job = std::get_if<core::EnqueuedJob>(&item)) {
             job->state = core::JobState::kBlocked;
           }
         }
       })},
      {"AnswersEmpty",
       change_reply<core::LeaseReply>([](core::LeaseReply& reply) { reply.jobs.clear(); })},
      {"RenewsWhatIsLost", change_reply<core::HeartbeatReply>([](core::HeartbeatReply& reply) {
         for (auto& item : reply.items) item.beat = core::Beat::kRenewed;
       })},
      {"TakesAStaleToken", change_reply<core::FinishReply>([](core::FinishReply& reply) {
         for (auto& item : reply.items) {
           if (std::holds_alternative<core::Error>(item)) {
             item = core::FinishedJob{core::JobState::kSucceeded, false,
                                      model::AttemptOutcome::kSucceeded};
           }
         }
       })},
      {"AnswersBeforeItsCommit",
       [](core::Turn& turn) {
         for (core::Reply& reply : turn.replies) reply.immediate = true;
       }},
      {"SleepsThroughATimer",
       [](core::Turn& turn) {
         turn.wake_wall_ms = INT64_MAX;
         turn.more = false;
       }},
      {"SleepsThroughTheEndOfALease",
       [](core::Turn& turn) { turn.wake_mono_ms += 10 * base::kMinuteMs; }},
      {"StopsTicking", {{}, true}},
      // And would be believed if only its word counted.
      {"StopsTickingAndSaysThatItGoesOn", {[](core::Turn& turn) { turn.more = true; }, true}},
      {"KeepsAQueueThatIsEmpty", {keep_queues()}, "the deletion of queue", true},
      // Beside a READY job of the queue that the engine knows nothing of.
      {"LeavesALeaseCallParked", change_waiting_call([](core::LeaseJobs& call) {
         call.queues.erase(call.queues.begin() + 1, call.queues.end());
       }),
       "is READY"},
      {"AnswersALeaseCallEmptyAtOnce",
       change_waiting_call([](core::LeaseJobs& call) { call.wait_ms = 0; }),
       "answered empty before its wait was over"},
      {"LetsALeaseCallWaitTooLong",
       change_waiting_call([](core::LeaseJobs& call) { call.wait_ms += base::kMinuteMs; }),
       "stays parked, and its wait is over"},
      {"SkipsATickForAKeyThatIsFree", skip_ticks("BUSINESS_KEY_EXISTS")},
      {"SkipsATickForAQueueThatIsNotFull", skip_ticks("QUEUE_FULL")},
  };
}

class SimFinds : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SimFinds, WhatIsPlanted) {
  const Planted fault = planted()[GetParam()];
  for (std::uint64_t seed = 1; seed <= kTamperedSeeds; ++seed) {
    const Profile profile = fault.whole_runs ? Profile::draw(seed, {}) : short_profile(seed);
    const RunResult result = run_once(profile, false, fault.tamper);
    if (!result.violation) continue;
    EXPECT_GT(result.violation->invariant, 0) << result.violation->text;
    EXPECT_NE(result.violation->text.find(fault.says), std::string::npos) << result.violation->text;
    // It is the planted fault that was found, not another one.
    ASSERT_FALSE(run_once(profile, false).violation);
    RecordProperty("seed", static_cast<int>(seed));
    return;
  }
  FAIL() << "nothing was found in " << kTamperedSeeds << " seeds";
}

INSTANTIATE_TEST_SUITE_P(Sim, SimFinds, ::testing::Range<std::size_t>(0, planted().size()),
                         [](const auto& planted_one) { return planted()[planted_one.param].name; });

TEST(SimShrink, FindsASmallerRunThatStillFails) {
  const auto tamper = planted()[0].tamper;  // side records are lost
  const auto run = [&](const Profile& p) { return run_once(p, false, tamper); };
  std::uint64_t seed = 1;
  RunResult first = run(Profile::draw(seed, {}));
  while (!first.violation) first = run(Profile::draw(++seed, {}));
  int left = 60;
  const Shrunk small = shrink(seed, {}, *first.violation, run, [&] { return left-- > 0; });
  const Profile before = Profile::draw(seed, {});
  const Profile after = Profile::draw(seed, small.reduction);
  EXPECT_LT(after.steps, before.steps);
  EXPECT_EQ(after.features & ~before.features, 0U);
  // What is printed for a replay fails as it is said to.
  const RunResult again = run(after);
  ASSERT_TRUE(again.violation);
  EXPECT_EQ(again.violation->step, small.violation.step);
  EXPECT_EQ(again.violation->text, small.violation.text);
}

}  // namespace
}  // namespace rota::sim
