// SPDX-License-Identifier: Apache-2.0
//
// Each check is shown a history in which one thing is wrong, and must say which.
#include "blackbox/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blackbox/checker_history.h"

namespace rota::blackbox {
namespace {

using ::testing::HasSubstr;

TEST_F(CheckerTest, AllIsWell) {
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.jobs, 3);
  EXPECT_EQ(figures_.lost, 1);
  EXPECT_EQ(figures_.most_live, 2);
  EXPECT_EQ(figures_.executions, 2);
}

// --- time

TEST_F(CheckerTest, ACommitBeforeItsCall) {
  h_.enqueues[2].call.seq = 11;
  EXPECT_THAT(found(),
              HasSubstr("the enqueue of op-c was answered with commit 11, but commit 11 had "
                        "been answered before it was sent"));
}

TEST_F(CheckerTest, AReadOfThePast) {
  h_.job_reads.push_back(
      {.call = done(340, 350, 17), .job = "b", .state = v1::JOB_STATE_SUCCEEDED});
  EXPECT_THAT(found(), HasSubstr("a read of job b was answered with commit 17, but commit 18"));
  h_.job_reads[0].call.seq = 18;  // a read makes no commit of its own
  EXPECT_EQ(found(), "");
}

TEST_F(CheckerTest, AnEpochThatComesBack) {
  h_.beats.push_back({.call = done(330, 340, 17), .token = 3, .epoch = 2, .renewed = false});
  EXPECT_THAT(found(), HasSubstr("epoch 2 answered with commit 17, the epoch before it (1) with"));
}

// --- lives

TEST_F(CheckerTest, AStateThatNoEventLedTo) {
  h_.jobs[0].state = v1::JOB_STATE_DEAD;
  h_.totals["q"].set_succeeded(1);
  h_.totals["q"].set_dead(1);
  EXPECT_THAT(found(),
              HasSubstr("job a (ok) is JOB_STATE_DEAD after 0 redrives, which its events do "
                        "not lead to"));
}

TEST_F(CheckerTest, MoreAttemptsThanAllowed) {
  h_.enqueues[0].max_attempts = 1;
  EXPECT_THAT(found(), HasSubstr("job a (ok) in commit 15: grant of token 3; it was dead with 1"));
}

TEST_F(CheckerTest, AnAttemptAfterASuccess) {
  attempt(1, 4, 20, 21, v1::ATTEMPT_OUTCOME_SUCCEEDED, "raw");
  EXPECT_THAT(found(), HasSubstr("job b (ok) in commit 20: grant of token 4; it was succeeded"));
}

TEST_F(CheckerTest, TwoLiveLeases) {
  h_.jobs[0].attempts[0].ended = 16;
  EXPECT_THAT(found(), HasSubstr("job a (ok) in commit 15: grant of token 3; it was running"));
}

TEST_F(CheckerTest, GrantedBeforeItWasCreated) {
  h_.jobs[1].attempts[0].granted = 9;
  EXPECT_THAT(found(), HasSubstr("grant of token 2 before it was created, in commit 11"));
}

TEST_F(CheckerTest, ARepeatedEnqueueNamesALaterCommit) {
  h_.enqueues[0].call = done(100, 165, 13);
  h_.enqueues[0].call.tries = 2;
  EXPECT_THAT(found(), HasSubstr("grant of token 1 before it was created, in commit 13"));
}

TEST_F(CheckerTest, ACancelledJobGoesOn) {
  attempt(2, 5, 19, 20, v1::ATTEMPT_OUTCOME_SUCCEEDED, "raw");
  EXPECT_THAT(found(), HasSubstr("job c (ok) in commit 19: grant of token 5; it was cancelled"));
}

TEST_F(CheckerTest, ACancelThatWasAnsweredAndForgotten) {
  h_.jobs[2].state = v1::JOB_STATE_READY;
  h_.totals["q"].set_cancelled(0);
  h_.totals["q"].set_ready(1);
  EXPECT_THAT(found(), HasSubstr("job c (ok) is JOB_STATE_READY after 0 redrives"));
}

TEST_F(CheckerTest, ACancelWithoutAnswerMayHaveHappenedOrNot) {
  h_.job_calls[0].call = {.invoked = 300, .tries = 1};
  h_.job_calls[0].state = v1::JOB_STATE_UNSPECIFIED;
  EXPECT_EQ(found(), "");
  h_.jobs[2].state = v1::JOB_STATE_READY;
  h_.totals["q"].set_cancelled(0);
  h_.totals["q"].set_ready(1);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.open, 1);
}

TEST_F(CheckerTest, ACancelBeforeItWasSent) {
  h_.job_calls[0].call = {.invoked = 300, .tries = 1};
  h_.job_calls[0].state = v1::JOB_STATE_UNSPECIFIED;
  // Told as cancelled at a commit that was over when the only cancel was sent.
  h_.job_reads.push_back(
      {.call = done(151, 152, 12), .job = "c", .state = v1::JOB_STATE_CANCELLED});
  EXPECT_THAT(found(),
              HasSubstr("a read told that job c is JOB_STATE_CANCELLED, which it was at no "
                        "commit from 12 to 12"));
}

TEST_F(CheckerTest, ARunningJobIsCancelledByItsEnd) {
  h_.job_calls.push_back({.call = done(270, 340, 17),
                          .kind = JobCall::Kind::kCancel,
                          .job = "a",
                          .state = v1::JOB_STATE_RUNNING});
  EXPECT_EQ(found(), "");  // a success all the same
  h_.jobs[0].attempts[1].outcome = v1::ATTEMPT_OUTCOME_FAILED;
  EXPECT_THAT(found(), HasSubstr("end of token 3 as ATTEMPT_OUTCOME_FAILED; it was running"));
}

TEST_F(CheckerTest, RedrivesAreCounted) {
  h_.enqueues[0].max_attempts = 1;
  h_.job_calls.push_back({.call = done(185, 190, 15),
                          .kind = JobCall::Kind::kRedrive,
                          .job = "a",
                          .state = v1::JOB_STATE_READY});
  h_.jobs[0].redrives = 1;
  h_.leases[0].call.seq = 16;
  h_.jobs[0].attempts[1].granted = 16;
  h_.job_calls[0].call = done(300, 310, 17);
  EXPECT_EQ(found(), "");
  h_.jobs[0].redrives = 2;
  EXPECT_THAT(found(), HasSubstr("job a (ok) is JOB_STATE_SUCCEEDED after 2 redrives"));
}

TEST_F(CheckerTest, RefusalsTellTheState) {
  h_.job_calls.push_back(
      {.call = refused(340, 350, "ALREADY_FINAL"), .kind = JobCall::Kind::kCancel, .job = "a"});
  EXPECT_EQ(found(), "");
  h_.job_calls[1].call = refused(111, 112, "ALREADY_FINAL");  // it waits; op-b comes later
  EXPECT_THAT(found(), HasSubstr("a cancel of job a was refused without cause: ALREADY_FINAL"));
  h_.job_calls[1] = {
      .call = refused(340, 350, "JOB_NOT_FOUND"), .kind = JobCall::Kind::kRedrive, .job = "a"};
  EXPECT_THAT(found(), HasSubstr("a redrive of job a was refused without cause: JOB_NOT_FOUND"));
}

// --- grants

TEST_F(CheckerTest, Tokens) {
  h_.jobs[1].attempts[0].token = 1;
  EXPECT_THAT(found(), HasSubstr("token 1 was given twice"));
  h_.jobs[1].attempts[0].token = 4;
  EXPECT_THAT(found(), HasSubstr("token 4 of commit 12 is above one of commit 15"));
}

TEST_F(CheckerTest, AttemptNumbers) {
  h_.jobs[0].attempts[1].number = 3;
  h_.jobs[0].attempt_count = 2;
  EXPECT_THAT(found(), HasSubstr("job a (ok) attempt 3 comes after attempt 1"));
}

TEST_F(CheckerTest, ALeaseThatTheServerDoesNotKnow) {
  h_.leases[0].granted[0].token = 9;
  EXPECT_THAT(found(),
              HasSubstr("lease call r1 was given token 9 of job a, which the server does not "
                        "know"));
}

TEST_F(CheckerTest, ALeaseOfAnotherCommit) {
  h_.leases[0].call.seq = 16;
  EXPECT_THAT(found(),
              HasSubstr("lease call r1 was answered with commit 16, but token 3 was granted "
                        "in commit 15"));
}

TEST_F(CheckerTest, ARepeatedLeaseCallHasTheSameLeases) {
  Lease repeat = h_.leases[0];
  repeat.call = done(270, 340, 17);
  repeat.repeat = true;
  h_.leases.push_back(repeat);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.repeats, 1);
  h_.leases[1].granted = {{.job = "b", .token = 2, .attempt = 1}};
  EXPECT_THAT(found(), HasSubstr("lease call r1 was given a second set, with token 2"));
}

TEST_F(CheckerTest, OneLeaseForTwoCalls) {
  Lease second = h_.leases[0];
  second.request = "r2";
  h_.leases.push_back(second);
  EXPECT_THAT(found(), HasSubstr("token 3 was given to lease call r2 and to r1"));
}

TEST_F(CheckerTest, MoreJobsThanSlots) {
  h_.leases[0].max_jobs = 0;
  EXPECT_THAT(found(), HasSubstr("lease call r1 asked for 0 jobs and got 1"));
}

TEST_F(CheckerTest, AFinishOfAnotherCommit) {
  h_.finishes[0].call.seq = 17;
  EXPECT_THAT(found(),
              HasSubstr("the finish of token 3 was answered with commit 17, the attempt ended "
                        "in commit 18"));
}

TEST_F(CheckerTest, ARepeatedFinishChangesNothing) {
  finish(340, 350, 18);
  h_.finishes[1].already_ended = true;
  h_.finishes[1].result = "another";
  h_.finishes[1].outcome = v1::ATTEMPT_OUTCOME_FAILED;
  EXPECT_EQ(found(), "");
  h_.finishes[1].already_ended = false;
  EXPECT_THAT(found(), HasSubstr("the finish of token 3 was accepted twice"));
}

TEST_F(CheckerTest, AlreadyEndedByNobody) {
  h_.finishes[0].already_ended = true;
  EXPECT_THAT(found(), HasSubstr("the finish of token 3 had ended already, but nothing was sent"));
}

TEST_F(CheckerTest, ARefusedFinishThatCounted) {
  h_.finishes[0].call = refused(320, 330, "LEASE_LOST");
  EXPECT_THAT(found(), HasSubstr("the finish of token 3 was refused (LEASE_LOST), but job a (ok) "
                                 "attempt 2 ended in commit 18 as ATTEMPT_OUTCOME_SUCCEEDED"));
}

TEST_F(CheckerTest, AStaleFinishThatWasAccepted) {
  h_.finishes.push_back({.call = done(340, 350, 19),
                         .session = "w1-session",
                         .job = "a",
                         .result = "late",
                         .token = 1,
                         .epoch = 1,
                         .outcome = v1::ATTEMPT_OUTCOME_SUCCEEDED,
                         .recorded = v1::ATTEMPT_OUTCOME_SUCCEEDED});
  EXPECT_THAT(found(), HasSubstr("the finish of token 1 was told that it is recorded as "
                                 "ATTEMPT_OUTCOME_SUCCEEDED, it is ATTEMPT_OUTCOME_LOST"));
  h_.finishes[1].call = refused(340, 350, "LEASE_LOST");
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.stale_refused, 1);
}

TEST_F(CheckerTest, AResultThatNobodySent) {
  h_.jobs[0].result = "late";
  EXPECT_THAT(found(), HasSubstr("has a result that was never sent for it: late"));
}

TEST_F(CheckerTest, Beats) {
  h_.beats.push_back({.call = done(270, 280, 16), .token = 1, .epoch = 1, .renewed = true});
  EXPECT_THAT(found(), HasSubstr("a beat renewed token 1, which had ended in commit 14"));
  h_.beats[0] = {.call = done(262, 263, 15), .token = 3, .epoch = 1, .renewed = false};
  EXPECT_THAT(found(), HasSubstr("a beat was told that token 3 is lost, but it ended later"));
}

// --- handlers

TEST_F(CheckerTest, AHandlerThatRanTwice) {
  h_.executions.push_back(h_.executions[0]);
  EXPECT_THAT(found(), HasSubstr("w1 ran job b with token 2 twice"));
}

TEST_F(CheckerTest, AHandlerWithoutALease) {
  h_.executions[0].token = 77;
  EXPECT_THAT(found(), HasSubstr("w1 ran job b with token 77, which no job has"));
}

TEST_F(CheckerTest, ASuccessThatNoHandlerReturned) {
  h_.executions[0].returned = false;
  EXPECT_THAT(found(),
              HasSubstr("job b (ok) attempt 1 succeeded in w1 with result 'result b', which "
                        "no handler returned"));
}

TEST_F(CheckerTest, TwoHandlersOfOneJobAtOnce) {
  h_.executions[1].ended = 40'000'000;
  h_.jobs[0].attempts[1].worker = "w2";
  h_.executions.push_back({.worker = "w2",
                           .job = "a",
                           .token = 3,
                           .attempt = 2,
                           .began = 265,
                           .ended = 270,
                           .result = "result a",
                           .returned = true});
  EXPECT_THAT(found(), HasSubstr("job a ran in w1 with token 1 and, 39 ms before that ended, in w2 "
                                 "with token 3"));
  h_.executions[1].told = 264;
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.overlaps, 1);
  h_.executions[1].told = kNever;
  h_.standstills.push_back({.worker = "w1", .from = 200, .to = 300});
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.overlaps, 1);
  h_.standstills[0].worker = "w2";
  EXPECT_THAT(found(), HasSubstr("job a ran in w1 with token 1 and"));
}

// A pause excuses the overlap that it leads to, no other one.
class OverlapTest : public CheckerTest {
 protected:
  static constexpr Ns kSecond = 1'000'000'000;
  OverlapTest() {
    h_.executions[1].ended = 9 * kSecond;
    h_.jobs[0].attempts[1].worker = "w2";
    h_.executions.push_back({.worker = "w2",
                             .job = "a",
                             .token = 3,
                             .attempt = 2,
                             .began = 8 * kSecond,
                             .ended = 8 * kSecond + 5,
                             .result = "result a",
                             .returned = true});
  }
};

TEST_F(OverlapTest, AStandstillThatWasOverInTime) {
  h_.standstills.push_back({.worker = "w1", .from = kSecond, .to = 6 * kSecond});
  EXPECT_THAT(found(), HasSubstr("job a ran in w1 with token 1 and, 1000 ms before that ended, in "
                                 "w2 with token 3"));
  h_.standstills[0].to = 7 * kSecond;
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.overlaps, 1);
  h_.standstills[0] = {.worker = "w1", .from = 8 * kSecond + 1, .to = 9 * kSecond};  // too late
  EXPECT_THAT(found(), HasSubstr("job a ran in w1 with token 1 and"));
}

TEST_F(OverlapTest, LongAfterItWasToldToStop) {
  h_.executions[1].told = 6 * kSecond;
  EXPECT_THAT(found(), HasSubstr("in w2 with token 3, 3000 ms after it was to stop"));
  h_.executions[1].told = 7 * kSecond;
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.overlaps, 1);
  // Told, then stopped: it could not return. Noted twice, it is one standstill.
  h_.executions[1].told = 6 * kSecond;
  h_.standstills.push_back({.worker = "w1", .from = 7 * kSecond, .to = 8 * kSecond});
  h_.standstills.push_back({.worker = "w1", .from = 7 * kSecond, .to = 8 * kSecond});
  EXPECT_EQ(found(), "");
  h_.executions[1].ended = 10 * kSecond;
  EXPECT_THAT(found(), HasSubstr("4000 ms after it was to stop"));
}

TEST_F(OverlapTest, LongAfterAStandstill) {
  h_.standstills.push_back({.worker = "w1", .from = 3 * kSecond, .to = 20 * kSecond});
  h_.executions[1].ended = 21 * kSecond;
  EXPECT_EQ(found(), "");
  h_.executions[1].ended = 23 * kSecond;
  EXPECT_THAT(found(), HasSubstr("3000 ms after it was to stop"));
}

TEST_F(OverlapTest, AHandlerThatNeverEnded) {
  h_.executions[1].told = 7 * kSecond;
  h_.executions[1].ended = kNever;
  EXPECT_THAT(found(), HasSubstr("job a ran in w1 with token 1 and"));
}

// --- queues

TEST_F(CheckerTest, OverTheLimit) {
  set_limit(1, 2, 1, 2);
  EXPECT_EQ(found(), "");
  h_.queue_calls[0].limit = 1;
  EXPECT_THAT(found(),
              HasSubstr("queue q: a grant in commit 12 makes 2 live leases, the limit is 1"));
}

TEST_F(CheckerTest, ALoweredLimitGrantsNothingUntilThereIsRoom) {
  set_limit(1, 2, 1, 2);
  set_limit(155, 156, 13, 1);
  h_.jobs[0].attempts[0].ended = 17;  // still live when the limit falls
  h_.jobs[0].attempts[1].granted = 17;
  h_.leases[0].call = done(311, 312, 17);
  h_.job_calls[0].call.seq = 16;
  EXPECT_EQ(found(), "");
  attempt(2, 4, 17, 18, v1::ATTEMPT_OUTCOME_LOST, "w1");
  EXPECT_THAT(found(), HasSubstr("a grant in commit 17 makes 2 live leases, the limit is 1"));
}

TEST_F(CheckerTest, AGrantInAPause) {
  h_.queue_calls.push_back(
      {.call = done(190, 195, 14), .kind = QueueCall::Kind::kPause, .queue = "q"});
  h_.queue_calls.push_back(
      {.call = done(301, 305, 17), .kind = QueueCall::Kind::kResume, .queue = "q"});
  EXPECT_THAT(found(), HasSubstr("queue q: a grant in commit 15, paused since commit 14"));
  h_.queue_calls[1].call = {.invoked = 196, .tries = 1};  // may have been resumed by then
  EXPECT_EQ(found(), "");
}

TEST_F(CheckerTest, Overtaken) {
  h_.jobs[0].priority = h_.enqueues[0].priority = 50;
  EXPECT_EQ(found(), "");
  h_.jobs[0].attempts[0].granted = 11;  // of the lower priority, in the commit that creates b
  EXPECT_EQ(found(), "");
  h_.enqueues[1].call = done(108, 109, 9);
  EXPECT_THAT(found(), HasSubstr("queue q: job a (ok) was granted in commit 11 before job b (ok), "
                                 "READY since commit 9"));
}

TEST_F(CheckerTest, OvertakenAtTheSamePriority) {
  h_.jobs[0].attempts[0].granted = 13;
  h_.jobs[0].attempts[0].token = 2;
  h_.jobs[1].attempts[0].token = h_.executions[0].token = 1;
  h_.executions.pop_back();
  EXPECT_THAT(found(), HasSubstr("queue q: job b (ok) was granted in commit 12 before job a (ok), "
                                 "READY since commit 10"));
  h_.enqueues[0].delayed = true;  // then it is not known since when it is READY
  EXPECT_EQ(found(), "");
}

TEST_F(CheckerTest, CountersOnTheWay) {
  v1::QueueCounters now;
  now.set_created(3);
  now.set_ready(1);
  now.set_running(2);
  h_.queue_reads.push_back({.call = done(152, 153, 12), .queue = "q", .counters = now});
  EXPECT_EQ(found(), "");
  h_.queue_reads[0].counters.set_running(1);
  h_.queue_reads[0].counters.set_ready(2);
  EXPECT_THAT(found(),
              HasSubstr("the counters of queue q at commit 12: running is 1, by the history "
                        "2"));
  h_.queue_reads[0].counters.set_running(2);
  EXPECT_THAT(found(), HasSubstr("the sum of the states is 4, by the history 3"));
  h_.queue_reads[0].counters.set_created(4);
  EXPECT_THAT(found(), HasSubstr("created is 4, by the history 3"));
}

TEST_F(CheckerTest, CountersInTheEnd) {
  h_.totals["q"].set_created(4);
  h_.totals["q"].set_removed(1);
  EXPECT_THAT(found(), HasSubstr("queue q counts 4 jobs as created in the end, 3 are listed"));
  EXPECT_THAT(found(),
              HasSubstr("queue q counts 1 jobs as removed in the end, 0 are listed no more"));
}

// --- totals

TEST_F(CheckerTest, AnAcknowledgedJobIsGone) {
  h_.jobs.pop_back();
  h_.totals["q"].set_created(2);
  h_.totals["q"].set_cancelled(0);
  EXPECT_THAT(found(), HasSubstr("acknowledged job c (ok) is gone"));
}

TEST_F(CheckerTest, AJobOfNobody) {
  h_.jobs[2].op = "op-x";
  EXPECT_THAT(found(), HasSubstr("job c (ok) exists, but nobody sent it"));
}

TEST_F(CheckerTest, AnEnqueueThatHappenedTwice) {
  h_.enqueues[2].call = {.invoked = 140, .tries = 2};  // never answered
  job("d", "op-c", v1::JOB_STATE_READY);
  h_.totals["q"].set_created(4);
  h_.totals["q"].set_ready(1);
  EXPECT_THAT(found(), HasSubstr("op-c was sent once and made two jobs, one of them d"));
}

TEST_F(CheckerTest, ARefusedEnqueueThatHappened) {
  h_.enqueues[2].call = refused(140, 150, kNotNow);
  EXPECT_THAT(found(), HasSubstr("job c (ok) exists, but its enqueue was refused: NOT_NOW"));
  h_.enqueues[2].call = refused(140, 150, "INTERNAL");
  EXPECT_THAT(found(), HasSubstr("the enqueue of op-c was refused without cause: INTERNAL"));
}

TEST_F(CheckerTest, AnotherJobThanWasSent) {
  h_.jobs[2].priority = 7;
  EXPECT_THAT(found(), HasSubstr("job c (ok) has priority 7, it was last set to 100"));
}

TEST_F(CheckerTest, OneKeyTwoJobs) {
  for (const std::size_t i : {1, 2}) h_.jobs[i].key = h_.enqueues[i].key = "k";
  EXPECT_THAT(found(), HasSubstr("key k: job c (ok) was made although job b (ok) kept it"));
  h_.jobs[1].key = h_.enqueues[1].key = "";
  EXPECT_EQ(found(), "");
}

TEST_F(CheckerTest, AnswersForAKey) {
  h_.jobs[1].key = h_.enqueues[1].key = "k";
  h_.enqueues.push_back({.call = done(332, 333, 18),
                         .op = "op-d",
                         .queue = "q",
                         .key = "k",
                         .job = "b",
                         .state = v1::JOB_STATE_SUCCEEDED});
  EXPECT_EQ(found(), "");
  h_.enqueues[3].state = v1::JOB_STATE_READY;
  EXPECT_THAT(found(),
              HasSubstr("the enqueue of op-d told that job b is JOB_STATE_READY, which it was "
                        "at no commit"));
  h_.enqueues[3].state = v1::JOB_STATE_SUCCEEDED;
  h_.enqueues[3].payload = "other";
  EXPECT_THAT(found(), HasSubstr("was answered with job b (ok), which has another key or payload"));
  h_.enqueues[3].call = refused(332, 333, "BUSINESS_KEY_CONFLICT");
  h_.enqueues[3].job.clear();
  EXPECT_EQ(found(), "");
  h_.enqueues[3].key = "free";
  EXPECT_THAT(found(), HasSubstr("op-d was refused, but no job had key free with another payload"));
}

TEST_F(CheckerTest, GrantedTooEarly) {
  h_.jobs[0].run_at_ms = 1'020;
  EXPECT_THAT(found(), HasSubstr("job a (ok) attempt 1 was granted 8 ms before its time"));
}

// --- schedulers

class TicksTest : public CheckerTest {
 protected:
  TicksTest() {
    h_.schedulers.push_back(
        {.scheduler = "s", .every_ms = 1'000, .may_overlap = false, .catches_all = false});
    tick("t1", 1'000, 4, 20, 22);
    tick("t2", 4'000, 6, 22, 24);
    h_.runs.push_back({.scheduler = "s",
                       .job = "t1",
                       .first_ms = 1'000,
                       .last_ms = 1'000,
                       .ticks = 1,
                       .outcome = v1::Run::OUTCOME_FIRED});
    h_.runs.push_back({.scheduler = "s",
                       .job = "t2",
                       .first_ms = 4'000,
                       .last_ms = 4'000,
                       .ticks = 1,
                       .outcome = v1::Run::OUTCOME_FIRED});
    h_.runs.push_back({.scheduler = "s",
                       .reason = "EARLIER_RUN",
                       .first_ms = 2'000,
                       .last_ms = 3'000,
                       .ticks = 2,
                       .outcome = v1::Run::OUTCOME_SKIPPED});
  }
  void tick(const std::string& id, std::int64_t nominal, std::int64_t token, Seq granted,
            Seq ended) {
    job(id, "", v1::JOB_STATE_SUCCEEDED);
    h_.jobs.back().queue = "ticks";
    h_.jobs.back().scheduler = "s";
    h_.jobs.back().nominal_ms = nominal;
    attempt(h_.jobs.size() - 1, token, granted, ended, v1::ATTEMPT_OUTCOME_SUCCEEDED, "other");
    h_.jobs.back().attempts.back().start_ms = nominal + 5;
  }
};

TEST_F(TicksTest, AllIsWell) {
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.fired, 2);
  EXPECT_EQ(figures_.not_fired, 2);
}

TEST_F(TicksTest, ATickInNoRecord) {
  h_.runs.pop_back();
  EXPECT_THAT(found(),
              HasSubstr("scheduler s, tick 4000: the ticks before it are in no record, after "
                        "1000"));
}

TEST_F(TicksTest, ATickInTwoRecords) {
  h_.runs[2].last_ms = 4'000;
  h_.runs[2].ticks = 3;
  EXPECT_THAT(found(), HasSubstr("scheduler s, tick 4000: stands in two records"));
}

TEST_F(TicksTest, TwoJobsForOneTick) {
  tick("t3", 4'000, 7, 25, 26);
  EXPECT_THAT(found(), HasSubstr("job t3 (ok) of scheduler s has no run record"));
}

TEST_F(TicksTest, TheJobOfATickIsGone) {
  h_.jobs.pop_back();
  EXPECT_THAT(found(), HasSubstr("scheduler s, tick 4000: its job t2 is gone"));
}

TEST_F(TicksTest, RunsThatOverlap) {
  h_.jobs.back().attempts[0].granted = 21;
  EXPECT_THAT(found(), HasSubstr("scheduler s: job t2 (ok) was granted while job t1 (ok) was not "
                                 "over"));
  h_.schedulers[0].may_overlap = true;
  EXPECT_EQ(found(), "");
}

TEST_F(TicksTest, ASchedulerThatStopsTicking) {
  h_.schedulers[0].created_ms = 500;
  h_.schedulers[0].paused_ms = 15'000;  // as late as the last record may be
  EXPECT_EQ(found(), "");
  h_.schedulers[0].paused_ms = 15'001;
  EXPECT_THAT(found(), HasSubstr("scheduler s: its last tick on record is 4000, it was paused at "
                                 "15001"));
}

TEST_F(TicksTest, ASchedulerThatBeginsLate) {
  h_.schedulers[0].created_ms = 0;
  h_.schedulers[0].paused_ms = 5'000;
  EXPECT_EQ(found(), "");
  h_.schedulers[0].created_ms = -1;
  EXPECT_THAT(found(), HasSubstr("scheduler s: its first tick on record is 1000, it was made at "
                                 "-1"));
}

TEST_F(TicksTest, ASchedulerThatNeverTicks) {
  h_.schedulers.push_back({.scheduler = "mute", .every_ms = 1'000, .paused_ms = 11'000});
  EXPECT_EQ(found(), "");
  h_.schedulers[1].paused_ms = 11'001;
  EXPECT_THAT(found(),
              HasSubstr("scheduler mute: no tick is on record, made at 0, paused at 11001"));
}

TEST_F(TicksTest, ATickThatMustFire) {
  h_.schedulers[0].may_overlap = h_.schedulers[0].catches_all = true;
  EXPECT_THAT(found(),
              HasSubstr("tick 2000: did not fire (EARLIER_RUN), but every tick has its run"));
}

}  // namespace
}  // namespace rota::blackbox
