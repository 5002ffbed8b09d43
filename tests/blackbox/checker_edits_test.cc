// SPDX-License-Identifier: Apache-2.0
//
// The check of a scheduler that several nodes edit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blackbox/checker_history.h"

namespace rota::blackbox {
namespace {

using ::testing::HasSubstr;
using Kind = SchedulerCall::Kind;
using Result = SchedulerCall::Result;

// Made in commit 30 at 900 with an interval of 1 s, changed in 31 at 3,500 to 2 s, paused in 32 at
// 6,500, resumed in 33 at 8,500, deleted in 34, and made again in 35 at 9,500.
class EditsTest : public CheckerTest {
 protected:
  EditsTest() {
    h_.edited = {"s"};
    add(Kind::kDeclare, 30, 1, 1'000, Result::kCreated, 7, 900);
    add(Kind::kDeclare, 31, 2, 2'000, Result::kChanged, 7, 3'500);
    add(Kind::kPause, 32, 0, 0, Result::kNone, 7, 6'500);
    add(Kind::kResume, 33, 0, 0, Result::kNone, 7, 8'500);
    add(Kind::kDelete, 34, 0, 0, Result::kNone, 0, 0);
    add(Kind::kDeclare, 35, 1, 1'000, Result::kCreated, 8, 9'500);
    fired("t1", 7, 1'000);
    fired("t2", 7, 2'000);
    missed(7, 3'000, 3'000, "SPEC_CHANGED");
    fired("t4", 7, 4'000);
    fired("t6", 7, 6'000);
    missed(7, 8'000, 8'000, "PAUSED");
    fired("t10", 8, 10'000);
  }
  SchedulerCall& add(Kind kind, Seq seq, std::int64_t revision, std::int64_t every_ms,
                     Result result, std::int64_t generation, std::int64_t at_ms) {
    SchedulerCall& one = h_.scheduler_calls.emplace_back();
    one = {.call = done(next_, next_ + 1, seq),
           .kind = kind,
           .scheduler = "s",
           .revision = revision,
           .every_ms = every_ms,
           .result = result,
           .generation = generation,
           .at_ms = at_ms};
    next_ += 10;
    return one;
  }
  void fired(const std::string& id, std::int64_t generation, std::int64_t ms) {
    job(id, "", v1::JOB_STATE_READY);
    h_.jobs.back().queue = "ticks";
    h_.jobs.back().scheduler = "s";
    h_.jobs.back().generation = generation;
    h_.jobs.back().nominal_ms = ms;
    h_.runs.push_back({.scheduler = "s",
                       .job = id,
                       .generation = generation,
                       .first_ms = ms,
                       .last_ms = ms,
                       .ticks = 1,
                       .outcome = v1::Run::OUTCOME_FIRED});
  }
  void missed(std::int64_t generation, std::int64_t first, std::int64_t last,
              const std::string& reason) {
    h_.runs.push_back({.scheduler = "s",
                       .reason = reason,
                       .generation = generation,
                       .first_ms = first,
                       .last_ms = last,
                       .ticks = 1,
                       .outcome = v1::Run::OUTCOME_MISSED});
  }
  RunRecord& run_at(std::int64_t ms) {
    for (RunRecord& run : h_.runs) {
      if (run.first_ms == ms) return run;
    }
    return h_.runs.emplace_back();
  }
  void forget(std::int64_t ms) {
    std::erase_if(h_.runs, [&](const RunRecord& run) { return run.first_ms == ms; });
    std::erase_if(h_.jobs, [&](const JobRecord& job) { return job.nominal_ms == ms; });
  }

  Ns next_ = 1'000;
};

TEST_F(EditsTest, AllIsWell) {
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.edited_ticks, 6);
}

TEST_F(EditsTest, ARevisionThatGoesBack) {
  h_.scheduler_calls[1].revision = 0;
  EXPECT_THAT(found(), HasSubstr("scheduler s: revision 0 in commit 31 was taken after revision 1 "
                                 "in commit 30"));
}

TEST_F(EditsTest, ARevisionThatChangesItTwice) {
  add(Kind::kDeclare, 36, 1, 1'000, Result::kUnchanged, 8, 9'500);
  EXPECT_EQ(found(), "");
  h_.scheduler_calls.back().result = Result::kChanged;
  EXPECT_THAT(found(), HasSubstr("revision 1 in commit 36 changed it after revision 1 in commit "
                                 "35"));
}

TEST_F(EditsTest, OlderThanNothing) {
  add(Kind::kDeclare, 36, 0, 1'000, Result::kOlder, 8, 0);
  EXPECT_EQ(found(), "");
  h_.scheduler_calls.back().revision = 1;
  EXPECT_THAT(found(),
              HasSubstr("revision 1 in commit 36 is said to be older, but none is higher"));
  SchedulerCall& open = add(Kind::kDeclare, 0, 2, 2'000, Result::kNone, 0, 0);
  open.call = {.invoked = 1, .tries = 1};
  EXPECT_EQ(found(), "");
}

TEST_F(EditsTest, Reads) {
  SchedulerCall& read = add(Kind::kRead, 35, 1, 1'000, Result::kNone, 8, 0);
  EXPECT_EQ(found(), "");
  read.every_ms = 2'000;
  EXPECT_THAT(found(), HasSubstr("shows revision 1 with an interval of 2000 ms, which nobody"));
  read = h_.scheduler_calls[0];
  read.kind = Kind::kRead;
  read.call = done(1'011, 1'012, 31);  // of what was before the change that it had to see
  EXPECT_THAT(found(), HasSubstr("a read at commit 31 shows revision 1 after revision 2 in commit "
                                 "31"));
}

TEST_F(EditsTest, RefusedOnlyWhileItIsNotThere) {
  SchedulerCall& read = add(Kind::kRead, 0, 0, 0, Result::kNone, 0, 0);
  read.call = refused(1'041, 1'042, "SCHEDULER_NOT_FOUND");
  EXPECT_EQ(found(), "");
  read.call = refused(990, 995, "SCHEDULER_NOT_FOUND");  // not made yet
  EXPECT_EQ(found(), "");
  read.call = refused(1'060, 1'061, "SCHEDULER_NOT_FOUND");  // made again before
  EXPECT_THAT(found(), HasSubstr("a call was refused without cause: SCHEDULER_NOT_FOUND"));
  read.call = refused(1'012, 1'013, "SCHEDULER_NOT_FOUND");
  EXPECT_THAT(found(), HasSubstr("a call was refused without cause: SCHEDULER_NOT_FOUND"));
}

TEST_F(EditsTest, ATickInNoRecord) {
  forget(2'000);
  EXPECT_THAT(found(), HasSubstr("tick 2000, every 1000 ms from 900 to 3500, is in no record"));
  h_.scheduler_calls[1].at_ms = 0;  // it is not known when it was changed
  EXPECT_EQ(found(), "");
}

TEST_F(EditsTest, WhatItOwedIsInNoRecord) {
  forget(8'000);
  EXPECT_THAT(found(), HasSubstr("tick 8000, every 2000 ms from 6500 to 8500, is in no record"));
}

TEST_F(EditsTest, ATickOfTheOldInterval) {
  fired("t5", 7, 5'000);
  EXPECT_THAT(found(), HasSubstr("tick 5000 fired, but it ticked every 2000 ms from 3500 to 6500"));
}

TEST_F(EditsTest, ATickInAPause) {
  forget(8'000);
  fired("t8", 7, 8'000);
  EXPECT_THAT(found(), HasSubstr("tick 8000 fired, but it was paused from 6500 to 8500"));
}

TEST_F(EditsTest, ATickInTwoRecords) {
  missed(7, 2'000, 2'000, "LATE");
  EXPECT_THAT(found(), HasSubstr("scheduler s: tick 2000 is in two records"));
}

TEST_F(EditsTest, ATickBeforeItWasMade) {
  fired("t9", 8, 9'000);
  EXPECT_THAT(found(), HasSubstr("tick 9000 of a generation that was made at 9500"));
}

TEST_F(EditsTest, ATickAfterItWasDeleted) {
  fired("t11", 7, 11'000);
  EXPECT_THAT(found(), HasSubstr("tick 11000 of a generation that was over at 9500"));
}

TEST_F(EditsTest, JobsAndTicks) {
  run_at(4'000).job = "t6";
  EXPECT_THAT(found(), HasSubstr("tick 4000: job t6 (ok) is not of this tick"));
  EXPECT_THAT(found(), HasSubstr("tick 6000: job t6 is of two ticks"));
  EXPECT_THAT(found(), HasSubstr("job t4 (ok) has no run record"));
}

TEST_F(EditsTest, TheJobOfATickIsGone) {
  std::erase_if(h_.jobs, [](const JobRecord& job) { return job.id == "t4"; });
  EXPECT_THAT(found(), HasSubstr("tick 4000: its job t4 is gone"));
}

}  // namespace
}  // namespace rota::blackbox
