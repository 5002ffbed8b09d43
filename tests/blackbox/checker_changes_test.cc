// SPDX-License-Identifier: Apache-2.0
//
// The checks of what changes a job that waits, and of jobs that leave: each is shown a history in
// which one thing is wrong, and must say which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blackbox/checker_history.h"

namespace rota::blackbox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ChangesTest : public CheckerTest {
 protected:
  JobCall& call(JobCall::Kind kind, const std::string& job, Call answer) {
    JobCall& one = h_.job_calls.emplace_back();
    one.kind = kind;
    one.job = job;
    one.call = std::move(answer);
    return one;
  }
  JobCall& update(const std::string& job, Call answer) {
    return call(JobCall::Kind::kUpdate, job, std::move(answer));
  }
  // Job b was read as final in commit 18, then deleted in commit 19.
  void delete_b() {
    h_.jobs[1].left = true;
    h_.jobs[1].read_at = 18;
    call(JobCall::Kind::kDelete, "b", done(340, 350, 19));
    h_.totals["q"].set_succeeded(1);
    h_.totals["q"].set_removed(1);
  }
  // Job c was EXPIRED instead of cancelled.
  void expire_c(std::int64_t deadline_ms, std::int64_t finish_ms) {
    h_.job_calls.clear();
    h_.enqueues[2].deadline_ms = deadline_ms;
    h_.jobs[2].state = v1::JOB_STATE_EXPIRED;
    h_.jobs[2].finish_ms = finish_ms;
    h_.totals["q"].set_cancelled(0);
    h_.totals["q"].set_expired(1);
  }
};

// --- deletes

TEST_F(ChangesTest, ADeletedJob) {
  delete_b();
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.deleted, 1);
  h_.jobs[1].left = false;  // and yet it is there
  h_.totals["q"].set_succeeded(2);
  h_.totals["q"].set_removed(0);
  EXPECT_THAT(found(), HasSubstr("job b (ok) is JOB_STATE_SUCCEEDED after 0 redrives, which its"));
}

TEST_F(ChangesTest, AJobThatNobodyDeleted) {
  delete_b();
  h_.job_calls.pop_back();
  EXPECT_THAT(found(), HasSubstr("job b (ok) is listed no more, but nobody deleted it"));
}

TEST_F(ChangesTest, ADeleteOfAJobThatWaits) {
  call(JobCall::Kind::kDelete, "c", done(255, 263, 15));
  EXPECT_THAT(found(), HasSubstr("job c (ok) in commit 15: delete; it was waiting"));
}

TEST_F(ChangesTest, ADeleteWithoutAnswerMayHaveHappened) {
  delete_b();
  h_.job_calls.back().call = {.invoked = 340, .tries = 1};
  EXPECT_EQ(found(), "");
  // Told as gone before anybody asked for it.
  h_.job_reads.push_back({.call = refused(331, 332, kGone), .job = "b"});
  h_.enqueues.push_back({.call = done(333, 334, 19),
                         .op = "op-d",
                         .queue = "q",
                         .kind = std::string(kOk),
                         .job = "d",
                         .created = true});
  job("d", "op-d", v1::JOB_STATE_READY);
  h_.totals["q"].set_created(4);
  h_.totals["q"].set_ready(1);
  EXPECT_THAT(found(), HasSubstr("a read of job b was refused: JOB_NOT_FOUND"));
}

TEST_F(ChangesTest, ADeletedJobIsReadAgain) {
  delete_b();
  h_.job_reads.push_back(
      {.call = done(360, 370, 19), .job = "b", .state = v1::JOB_STATE_SUCCEEDED});
  EXPECT_THAT(found(), HasSubstr("a read told that job b is JOB_STATE_SUCCEEDED, which it was at"));
  h_.job_reads[0].call = refused(360, 370, kGone);
  EXPECT_EQ(found(), "");
}

TEST_F(ChangesTest, RefusedDeletes) {
  call(JobCall::Kind::kDelete, "b", refused(340, 350, "NOT_FINAL"));
  EXPECT_THAT(found(), HasSubstr("a delete of job b was refused without cause: NOT_FINAL"));
  h_.job_calls.back().call = refused(121, 125, "NOT_FINAL");
  h_.job_calls.back().job = "a";
  EXPECT_EQ(found(), "");
  h_.job_calls.back().call.reason = kGone;
  EXPECT_THAT(found(), HasSubstr("a delete of job a was refused without cause: JOB_NOT_FOUND"));
}

TEST_F(ChangesTest, DeletedJobsAreCounted) {
  delete_b();
  h_.totals["q"].set_removed(0);
  EXPECT_THAT(found(), HasSubstr("counts 0 jobs as removed in the end, 1 are listed no more"));
  h_.totals["q"].set_removed(1);
  v1::QueueCounters now = h_.totals["q"];
  h_.queue_reads.push_back({.call = done(360, 370, 19), .queue = "q", .counters = now});
  EXPECT_EQ(found(), "");
  h_.queue_reads[0].counters.set_removed(0);
  h_.queue_reads[0].counters.set_succeeded(2);
  EXPECT_THAT(found(), HasSubstr("removed is 0, by the history 1"));
}

TEST_F(ChangesTest, WhatWasReadLastStandsForADeletedJob) {
  JobRecord dead = h_.jobs[2];
  dead.state = v1::JOB_STATE_DEAD;
  h_.jobs.pop_back();
  dead.read_at = 20;
  JobRecord before = dead;
  before.read_at = 17;
  before.priority = 1;
  h_.seen = {dead, before, h_.jobs[0]};
  call(JobCall::Kind::kRedrive, "c", done(400, 410, 19));
  History later = h_;
  h_.add_left();
  ASSERT_EQ(h_.jobs.size(), 3U);  // not the one that is listed
  EXPECT_TRUE(h_.jobs[2].left);
  EXPECT_EQ(h_.jobs[2].priority, 100);
  EXPECT_FALSE(h_.jobs[2].stale);
  later.job_calls.back().call.seq = 21;  // it went on after it was read
  later.add_left();
  EXPECT_TRUE(later.jobs[2].stale);
}

// --- updates

TEST_F(ChangesTest, AnUpdatedPriority) {
  update("c", done(255, 263, 15)).priority = 7;
  EXPECT_THAT(found(), HasSubstr("job c (ok) has priority 100, it was last set to 7"));
  h_.jobs[2].priority = 7;
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.updated, 1);
  update("c", {.invoked = 264, .tries = 1}).priority = 9;  // perhaps
  EXPECT_EQ(found(), "");
  h_.jobs[2].priority = 9;
  EXPECT_EQ(found(), "");
  h_.jobs[2].priority = 100;
  EXPECT_THAT(found(), HasSubstr("job c (ok) has priority 100"));
}

TEST_F(ChangesTest, AnUpdateOfARunningJob) {
  update("a", done(151, 155, 13)).run_at_ms = 0;
  EXPECT_THAT(found(), HasSubstr("job a (ok) in commit 13: update; it was running"));
  h_.job_calls.back().call = refused(160, 170, "JOB_RUNNING");
  EXPECT_EQ(found(), "");
  h_.job_calls.back().call = refused(340, 350, "JOB_RUNNING");
  EXPECT_THAT(found(), HasSubstr("an update of job a was refused without cause: JOB_RUNNING"));
  h_.job_calls.back().call.reason = "ALREADY_FINAL";
  EXPECT_EQ(found(), "");
}

TEST_F(ChangesTest, AnUpdatedRunTime) {
  update("a", done(192, 193, 14)).run_at_ms = 1'015;  // between its attempts
  EXPECT_EQ(found(), "");
  *h_.job_calls.back().run_at_ms = 1'016;
  EXPECT_THAT(found(), HasSubstr("job a (ok) attempt 2 was granted 1 ms before its time"));
  h_.job_calls.back().call = {.invoked = 192, .tries = 1};
  EXPECT_EQ(found(), "");
}

TEST_F(ChangesTest, ARunTimeThatWasSent) {
  h_.enqueues[1].run_at_ms = 1'012;
  EXPECT_EQ(found(), "");
  h_.enqueues[1].run_at_ms = 1'013;
  EXPECT_THAT(found(), HasSubstr("job b (ok) attempt 1 was granted 1 ms before its time"));
  update("b", done(121, 135, 11)).run_at_ms = 0;  // brought forward before the grant
  EXPECT_EQ(found(), "");
}

TEST_F(ChangesTest, AnUpdatedPriorityIsAPlaceInLine) {
  // Both granted in commit 12; now b in 12 and a in 15, though a was moved ahead in between.
  h_.jobs[0].attempts.erase(h_.jobs[0].attempts.begin());
  h_.jobs[0].attempts[0].number = 1;
  h_.jobs[0].attempt_count = 1;
  h_.leases[0].granted[0].attempt = 1;
  h_.executions.pop_back();
  h_.jobs[0].priority = h_.enqueues[0].priority = 50;
  EXPECT_EQ(found(), "");
  h_.jobs[0].priority = 150;
  update("a", done(121, 135, 11)).priority = 150;
  EXPECT_THAT(found(), HasSubstr("queue q: job b (ok) was granted in commit 12 before job a (ok), "
                                 "READY since commit 10"));
  h_.job_calls.back().call = done(131, 145, 12);  // in the commit of the grant
  EXPECT_EQ(found(), "");
}

// --- start deadlines

TEST_F(ChangesTest, AnExpiredJob) {
  expire_c(1'500, 1'500);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.expired, 1);
  expire_c(1'500, 1'499);
  EXPECT_THAT(found(), HasSubstr("job c (ok) is EXPIRED 1 ms before its start deadline"));
  expire_c(0, 1'500);
  EXPECT_THAT(found(), HasSubstr("job c (ok) is EXPIRED and had no start deadline"));
  update("c", done(255, 263, 15)).deadline_ms = 1'400;
  EXPECT_EQ(found(), "");
}

TEST_F(ChangesTest, ADeadlineThatWasTakenBack) {
  expire_c(1'500, 1'600);
  update("c", done(255, 263, 15)).deadline_ms = 0;
  EXPECT_THAT(found(), HasSubstr("job c (ok) is EXPIRED and had no start deadline"));
}

TEST_F(ChangesTest, GrantedAfterItsDeadline) {
  h_.enqueues[1].deadline_ms = 1'012;
  EXPECT_EQ(found(), "");
  h_.enqueues[1].deadline_ms = 1'011;
  EXPECT_THAT(found(), HasSubstr("job b (ok) was granted for the first time 1 ms after its start "
                                 "deadline"));
  h_.clock_steps = true;  // then none passes for an hour
  EXPECT_EQ(found(), "");
}

TEST_F(ChangesTest, AStartedJobDoesNotExpire) {
  h_.enqueues[0].deadline_ms = 1'020;
  h_.jobs[0].state = v1::JOB_STATE_EXPIRED;
  h_.jobs[0].finish_ms = 1'030;
  h_.totals["q"].set_succeeded(1);
  h_.totals["q"].set_expired(1);
  EXPECT_THAT(found(), HasSubstr("job a (ok): what must have happened has no place among its"));
  h_.jobs[0].state = v1::JOB_STATE_SUCCEEDED;
  h_.totals["q"].set_succeeded(2);
  h_.totals["q"].set_expired(0);
  update("a", done(192, 193, 14)).deadline_ms = 1'025;
  EXPECT_THAT(found(), HasSubstr("job a (ok) in commit 14: end of token 1 as "));
  h_.job_calls.back().call = refused(192, 193, "INVALID_STATE");
  EXPECT_EQ(found(), "");
}

TEST_F(ChangesTest, ADeadlineThatHadPassedWhenItCame) {
  h_.enqueues.push_back({.call = refused(332, 333, "INVALID_FIELD"), .op = "op-d", .queue = "q"});
  EXPECT_THAT(found(), HasSubstr("the enqueue of op-d was refused without cause: INVALID_FIELD"));
  h_.enqueues.back().too_late = true;
  EXPECT_EQ(found(), "");
}

// --- purges

// Queue q is purged in commit 17; job d waited and is gone.
class PurgeTest : public ChangesTest {
 protected:
  PurgeTest() {
    h_.leaving["q"] = {.purged = true};
    h_.queue_calls.push_back({.call = done(312, 313, 17),
                              .kind = QueueCall::Kind::kPurge,
                              .queue = "q",
                              .operation = "p"});
    h_.operations["p"] = {v1::Operation::STATE_SUCCEEDED, 1};
    enqueue("op-d", "d", 255, 268, 15);
    h_.totals["q"].set_created(4);
    h_.totals["q"].set_removed(1);
  }
};

TEST_F(PurgeTest, AllIsWell) {
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.purged, 1);
}

TEST_F(PurgeTest, GoneWithoutAPurge) {
  h_.enqueues.back().call = done(314, 325, 18);  // after the purge began
  EXPECT_THAT(found(),
              HasSubstr("queue q: job d (ok) is gone, but no purge began after commit 18"));
  h_.queue_calls.push_back(
      {.call = {.invoked = 316, .tries = 1}, .kind = QueueCall::Kind::kPurge, .queue = "q"});
  EXPECT_EQ(found(), "");
}

TEST_F(PurgeTest, GoneWhileItRan) {
  h_.leases.push_back({.call = done(314, 315, 18),
                       .request = "r2",
                       .max_jobs = 1,
                       .epoch = 1,
                       .granted = {{.job = "d", .queue = "q", .token = 9, .attempt = 1}}});
  EXPECT_THAT(found(),
              HasSubstr("queue q: job d (ok) is gone, but no purge began after commit 18"));
}

TEST_F(PurgeTest, GoneAfterItSucceeded) {
  finish(314, 316, 16);
  h_.finishes.back().job = "d";
  h_.finishes.back().queue = "q";
  h_.finishes.back().token = 9;
  EXPECT_THAT(found(), HasSubstr("queue q: job d (ok) succeeded in commit 16 and is gone"));
}

TEST_F(PurgeTest, GoneAfterItWasCancelled) {
  call(JobCall::Kind::kCancel, "d", done(301, 302, 16)).state = v1::JOB_STATE_CANCELLED;
  EXPECT_THAT(found(), HasSubstr("queue q: job d (ok) was cancelled and is gone"));
}

TEST_F(PurgeTest, GrantedAlthoughItWasToBeRemoved) {
  h_.queue_calls[0].call = done(152, 153, 13);
  h_.enqueues.back().call = done(145, 146, 12);
  EXPECT_EQ(found(), "");  // a came back in commit 14
  h_.jobs[1].attempts[0].granted = 14;
  h_.jobs[1].attempts[0].ended = 15;
  h_.jobs[1].attempts[0].token = 2;
  EXPECT_THAT(found(), HasSubstr("queue q: job b (ok) attempt 1 was granted in commit 14, but it "
                                 "waited when the purge of commit 13 began"));
}

TEST_F(PurgeTest, WhatIsGoneStaysGone) {
  h_.job_reads.push_back({.call = refused(340, 350, kGone), .job = "d"});
  EXPECT_EQ(found(), "");
  h_.job_reads.push_back({.call = done(360, 370, 18), .job = "d"});
  EXPECT_THAT(found(), HasSubstr("a read shows job d, which was gone before"));
}

TEST_F(PurgeTest, ItsOperationIsOverAndSaysHowMany) {
  h_.operations["p"].state = v1::Operation::STATE_RUNNING;
  EXPECT_THAT(found(), HasSubstr("queue q: the purge p is not over in the end"));
  h_.operations["p"] = {v1::Operation::STATE_SUCCEEDED, 2};
  EXPECT_THAT(found(), HasSubstr("the purge p removed 2 jobs, of 1 that were removed in all"));
  h_.operations["p"].removed = 0;
  EXPECT_THAT(found(), HasSubstr("queue q: its purges removed 0 jobs, but 1 are gone"));
  h_.leaving.clear();
  EXPECT_THAT(found(), HasSubstr("acknowledged job d (ok) is gone"));
}

// --- retention

// Queue q keeps one SUCCEEDED job and none that was cancelled: b, which succeeded first, is gone.
class RetentionTest : public ChangesTest {
 protected:
  RetentionTest() {
    h_.leaving["q"] = {.keeps_succeeded = 1};
    h_.finishes.push_back({.call = done(152, 153, 13),
                           .session = "raw-session",
                           .job = "b",
                           .queue = "q",
                           .token = 2,
                           .epoch = 1,
                           .outcome = v1::ATTEMPT_OUTCOME_SUCCEEDED,
                           .recorded = v1::ATTEMPT_OUTCOME_SUCCEEDED});
    h_.finishes[0].queue = "q";
    h_.executions.erase(h_.executions.begin());
    h_.jobs.erase(h_.jobs.begin() + 1, h_.jobs.end());
    h_.totals["q"].set_succeeded(1);
    h_.totals["q"].set_cancelled(0);
    h_.totals["q"].set_removed(2);
  }
};

TEST_F(RetentionTest, AllIsWell) {
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.retired, 2);
}

TEST_F(RetentionTest, GoneBeforeItsTime) {
  h_.leaving["q"].keeps_succeeded = 2;
  EXPECT_THAT(found(), HasSubstr("queue q: job b (ok) succeeded and is gone, but only 1 of 2 are"));
}

TEST_F(RetentionTest, GoneBeforeAnOlderOne) {
  h_.finishes.back().call = done(340, 350, 19);
  EXPECT_THAT(found(), HasSubstr("queue q: job b (ok) succeeded in commit 19 and is gone, one of "
                                 "commit 18 is kept"));
}

TEST_F(RetentionTest, GoneAndHadNotEnded) {
  h_.finishes.pop_back();
  EXPECT_THAT(found(), HasSubstr("queue q: job b (ok) is gone and had not ended"));
  h_.enqueues[1].deadline_ms = 1'100;
  EXPECT_EQ(found(), "");
  h_.job_calls.clear();
  EXPECT_THAT(found(), HasSubstr("queue q: job c (ok) is gone and had not ended"));
}

TEST_F(RetentionTest, GoneBeforeItWasToEnd) {
  h_.job_reads.push_back({.call = refused(151, 151, kGone), .job = "b"});
  EXPECT_THAT(found(), HasSubstr("queue q: job b (ok) is gone and had not ended"));
}

TEST_F(RetentionTest, MoreIsKeptThanWasToBe) {
  h_.jobs.push_back({.id = "b",
                     .op = "op-b",
                     .queue = "q",
                     .kind = std::string(kOk),
                     .priority = 100,
                     .state = v1::JOB_STATE_SUCCEEDED});
  attempt(1, 2, 12, 13, v1::ATTEMPT_OUTCOME_SUCCEEDED, "raw");
  h_.jobs[1].result = h_.finishes.back().result;
  h_.totals["q"].set_succeeded(2);
  h_.totals["q"].set_removed(1);
  EXPECT_THAT(found(), HasSubstr("queue q: it keeps 2 SUCCEEDED jobs, not 1"));
  h_.clock_steps = true;
  EXPECT_THAT(found(), Not(HasSubstr("it keeps 2 SUCCEEDED jobs")));
}

TEST_F(RetentionTest, CountersOnTheWay) {
  v1::QueueCounters now = h_.totals["q"];
  h_.queue_reads.push_back({.call = done(340, 350, 18), .queue = "q", .counters = now});
  EXPECT_EQ(found(), "");
  now.set_succeeded(0);
  now.set_cancelled(1);
  h_.queue_reads[0].counters = now;
  EXPECT_THAT(found(), HasSubstr("queue q: at commit 18 it keeps 0 SUCCEEDED jobs of 2"));
  EXPECT_THAT(found(), HasSubstr("at commit 18 it keeps 1 CANCELLED and 0 EXPIRED jobs"));
}

}  // namespace
}  // namespace rota::blackbox
