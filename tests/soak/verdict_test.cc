// SPDX-License-Identifier: Apache-2.0
#include "soak/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rota::soak {
namespace {

using testing::HasSubstr;

// A round of three jobs in which all is well; each test makes one thing wrong.
class VerdictTest : public testing::Test {
 protected:
  VerdictTest() {
    acknowledged_ = {{"a", "ok", "", true},
                     {"b", "ok", "key/1", true},
                     {"c", "doomed", "", true},
                     {"b", "ok", "key/1", false}};
    jobs_.resize(3);
    for (int i = 0; i < 3; ++i) {
      jobs_[static_cast<std::size_t>(i)].set_id(std::string(1, static_cast<char>('a' + i)));
      jobs_[static_cast<std::size_t>(i)].set_state(v1::JOB_STATE_SUCCEEDED);
    }
    add_attempt(0, 1, 10, 12, v1::ATTEMPT_OUTCOME_SUCCEEDED);
    add_attempt(1, 2, 11, 13, v1::ATTEMPT_OUTCOME_LOST);
    add_attempt(1, 3, 13, 14, v1::ATTEMPT_OUTCOME_SUCCEEDED);
    add_attempt(2, 4, 15, 16, v1::ATTEMPT_OUTCOME_FAILED);
    jobs_[2].set_state(v1::JOB_STATE_DEAD);
    counters_.set_created(3);
    counters_.set_succeeded(2);
    counters_.set_dead(1);
  }

  void add_attempt(std::size_t job, std::int64_t token, std::int64_t granted, std::int64_t ended,
                   v1::AttemptOutcome outcome) {
    v1::Attempt* attempt = jobs_[job].add_attempts();
    attempt->set_number(jobs_[job].attempts_size());
    attempt->set_fencing_token(token);
    attempt->set_granted_seq(granted);
    attempt->set_ended_seq(ended);
    attempt->set_outcome(outcome);
    jobs_[job].mutable_result()->set_data(std::to_string(token));
  }

  // All that is found, one a line.
  std::string found() {
    Contradictions contradictions;
    figures_ = judge(acknowledged_, jobs_, counters_, &contradictions);
    std::string text;
    for (const std::string& one : contradictions.shown()) text += one + "\n";
    return text;
  }

  std::vector<Acknowledged> acknowledged_;
  std::vector<v1::Job> jobs_;
  v1::QueueCounters counters_;
  Figures figures_;
};

TEST_F(VerdictTest, AllIsWell) {
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.most_live, 2);
  EXPECT_EQ(figures_.lost, 1);
}

TEST_F(VerdictTest, AJobIsGone) {
  jobs_.pop_back();
  EXPECT_THAT(found(), HasSubstr("acknowledged job c is gone"));
}

TEST_F(VerdictTest, AJobOfNobody) {
  acknowledged_.pop_back();
  acknowledged_.erase(acknowledged_.begin());
  EXPECT_THAT(found(), HasSubstr("job a exists, but no client was told of it"));
}

TEST_F(VerdictTest, ListedTwice) {
  jobs_.push_back(jobs_[0]);
  EXPECT_THAT(found(), HasSubstr("job a is listed twice"));
}

TEST_F(VerdictTest, OneKeyTwoJobs) {
  acknowledged_.push_back({"a", "ok", "key/1", false});
  EXPECT_THAT(found(), HasSubstr("business key key/1 has two jobs, b and a"));
}

TEST_F(VerdictTest, CreatedTwice) {
  acknowledged_.push_back({"a", "ok", "", true});
  EXPECT_THAT(found(), HasSubstr("job a was created 2 times"));
}

TEST_F(VerdictTest, NotFinal) {
  jobs_[0].set_state(v1::JOB_STATE_READY);
  EXPECT_THAT(found(), HasSubstr("job a of kind ok is JOB_STATE_READY"));
}

TEST_F(VerdictTest, TwoSuccesses) {
  add_attempt(0, 5, 17, 18, v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_THAT(found(), HasSubstr("job a attempt 2 came after a success"));
}

TEST_F(VerdictTest, AttemptsOverlap) {
  jobs_[1].mutable_attempts(0)->set_ended_seq(14);
  EXPECT_THAT(found(), HasSubstr("job b attempt 2 was granted before the one before it had ended"));
}

TEST_F(VerdictTest, ResultOfAnotherAttempt) {
  jobs_[1].mutable_result()->set_data("2");
  EXPECT_THAT(found(), HasSubstr("job b has the result of token 2, but succeeded with token 3"));
}

TEST_F(VerdictTest, OverTheLimit) {
  for (int i = 0; i < kLimit; ++i) {
    jobs_.push_back(jobs_[0]);
    jobs_.back().set_id("more" + std::to_string(i));
    jobs_.back().mutable_attempts(0)->set_fencing_token(1);
  }
  EXPECT_THAT(found(), HasSubstr("8 live leases at commit 10, the limit is 7"));
}

TEST_F(VerdictTest, EndsComeBeforeGrantsOfTheSameCommit) {
  jobs_.clear();
  acknowledged_.clear();
  for (int i = 0; i < 2 * kLimit; ++i) {
    const std::string id = "j" + std::to_string(i);
    acknowledged_.push_back({id, "ok", "", true});
    jobs_.emplace_back().set_id(id);
    jobs_.back().set_state(v1::JOB_STATE_SUCCEEDED);
    const int turn = i / kLimit;
    add_attempt(static_cast<std::size_t>(i), i + 1, 1 + turn, 2 + turn,
                v1::ATTEMPT_OUTCOME_SUCCEEDED);
  }
  counters_.set_created(2 * kLimit);
  counters_.set_succeeded(2 * kLimit);
  counters_.set_dead(0);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(figures_.most_live, kLimit);
}

TEST_F(VerdictTest, Tokens) {
  jobs_[2].mutable_attempts(0)->set_fencing_token(3);
  EXPECT_THAT(found(), HasSubstr("token 3 was given twice"));
  jobs_[2].mutable_attempts(0)->set_fencing_token(2);
  jobs_[1].mutable_attempts(0)->set_fencing_token(4);
  EXPECT_THAT(found(), HasSubstr("token 3 of commit 13 is above one of commit 15"));
}

TEST_F(VerdictTest, Counters) {
  counters_.set_created(4);
  counters_.set_running(1);
  EXPECT_THAT(found(), HasSubstr("the counter created is 4, there are 3"));
  EXPECT_THAT(found(), HasSubstr("the counter running is 1, there are 0"));
}

// A round that was one; each test takes one thing away.
class ConductTest : public testing::Test {
 protected:
  std::string found() {
    Contradictions contradictions;
    judge_conduct(conduct_, figures_, &contradictions);
    std::string text;
    for (const std::string& one : contradictions.shown()) text += one + "\n";
    return text;
  }

  Conduct conduct_{.planned_worker_kills = 6,
                   .planned_server_kills = 3,
                   .worker_kills = 6,
                   .server_kills = 3,
                   .unknown = 4,
                   .repeated = 4};
  Figures figures_{.jobs = 3, .succeeded = 3, .most_live = kLimit};
};

TEST_F(ConductTest, AllIsWell) { EXPECT_EQ(found(), ""); }

TEST_F(ConductTest, TheLimitWasNotReached) {
  figures_.most_live = kLimit - 1;
  EXPECT_EQ(found(), "the limit of 7 live leases was not reached: 6 at most\n");
}

TEST_F(ConductTest, AKillDidNotStrike) {
  conduct_.worker_kills = 5;
  EXPECT_EQ(found(), "5 kills of workers struck, 6 were planned\n");
  conduct_.worker_kills = 6;
  conduct_.server_kills = 2;
  EXPECT_EQ(found(), "2 kills of the server struck, 3 were planned\n");
}

TEST_F(ConductTest, TooFewKillsWerePlanned) {
  conduct_.planned_worker_kills = conduct_.worker_kills = 4;
  EXPECT_EQ(found(), "only 4 kills of workers were planned, at least 5 belong to a round\n");
  conduct_.planned_worker_kills = conduct_.worker_kills = 5;
  conduct_.planned_server_kills = conduct_.server_kills = 2;
  EXPECT_EQ(found(), "only 2 kills of the server were planned, at least 3 belong to a round\n");
}

TEST_F(ConductTest, NoAnswerWasLost) {
  conduct_.unknown = conduct_.repeated = 0;
  EXPECT_EQ(found(), "no answer was lost, so no call was repeated\n");
}

TEST_F(ConductTest, ALostAnswerWasNotAskedForAgain) {
  conduct_.repeated = 3;
  EXPECT_EQ(found(), "4 answers were lost, 3 of them came when asked for again\n");
}

// Whatever the seed: enough kills, in order, and one that is aimed at answers on their way while
// every client still sends.
TEST(PlanTest, EachRoundHasItsKills) {
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    int workers = 0, servers = 0, aimed_early = 0;
    double before = 0;
    for (const Kill& kill : plan_kills(seed)) {
      EXPECT_GE(kill.at, before);
      EXPECT_LT(kill.at, 1.0);
      before = kill.at;
      ++(kill.server ? servers : workers);
      if (kill.server && kill.aimed && kill.at <= kAimedEarly) ++aimed_early;
    }
    EXPECT_GE(workers, kLeastWorkerKills) << seed;
    EXPECT_GE(servers, kLeastServerKills) << seed;
    EXPECT_GE(aimed_early, 1) << seed;
  }
}

}  // namespace
}  // namespace rota::soak
