// SPDX-License-Identifier: Apache-2.0
//
// The judge of the quickstart must find what is wrong: a run of ten days in which all is well, and
// one fault in each test. A fault breaks the promises it belongs to and no other.
#include "driver/quickstart_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "invoice_store.h"

namespace rota::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kSchedule[] = "one schedule for 3 nodes, one run a tick";
constexpr char kOneJob[] = "one job a run, each succeeded";
constexpr char kOneAtOnce[] = "at most 1 running, in the server's order";
constexpr char kOverlaps[] = "only the suspended handler overlaps";
constexpr char kDeadWorker[] = "a dead worker's job goes to another";
constexpr char kDurable[] = "acknowledged is durable";
constexpr char kStale[] = "a stale worker changes nothing";
constexpr char kTokens[] = "tokens grow, also across the restart";
constexpr char kOneInvoice[] = "one invoice per customer and day";
constexpr char kSecondInsert[] = "a second invoice is refused";
constexpr char kNothingLeft[] = "no process left behind";

constexpr std::int64_t kFirstMs = 1'795'000'000'000;

std::string date(int day) { return fmt::format("2026-11-{:02}", day); }

class QuickstartCheckTest : public testing::Test {
 protected:
  ~QuickstartCheckTest() override { std::filesystem::remove_all(options_.folder); }

  void make_folder() {
    std::string path = testing::TempDir() + "/rota-quickstart-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    options_.folder = path;
  }

  void SetUp() override {
    make_folder();
    std::string error;
    // The tables are those of the worker itself.
    ASSERT_NE(invoices::InvoiceStore::open(options_.folder + "/invoices.db", true, &error), nullptr)
        << error;
    story_.first_tick_ms = kFirstMs;
    story_.declared = {"node-a unchanged", "node-b created", "node-c unchanged"};
    std::string rows;
    for (int day = 1; day <= kDays; ++day) rows += live_through(day);
    sql(rows);
    story_.late_finish_reason = "LEASE_LOST";
    story_.faults = {{kServerDiesOnDay, "server SIGKILL"},
                     {kDieOnDay, "w3 SIGKILL"},
                     {kSuspendOnDay, "w2 SIGSTOP"}};
    story_.acknowledged = story_.found = 214;
    story_.drained = true;
  }

  // Adds run and job of a day to the story; returns what its handlers left in the database.
  std::string live_through(int day) {
    v1::Run& run = story_.runs.emplace_back();
    const std::int64_t at_s = kFirstMs / 1000 + day - 1;
    run.mutable_nominal_time()->set_seconds(at_s);
    run.mutable_decide_time()->set_seconds(at_s);
    run.set_outcome(v1::Run::OUTCOME_FIRED);
    run.set_job_id("j" + std::to_string(day));
    v1::Job& job = story_.jobs.emplace_back();
    job.set_id(run.job_id());
    job.set_state(v1::JOB_STATE_SUCCEEDED);
    switch (day) {
      case kDieOnDay:  // wrote, and never ended
        attempt(job, v1::ATTEMPT_OUTCOME_LOST);
        attempt(job, v1::ATTEMPT_OUTCOME_SUCCEEDED);
        return execution(day, 1, 0, 0) + invoice(day, 1) + execution(day, 2, 500, 600) +
               refusal("insert", day, 2, last_token_, 0);
      case kSuspendOnDay:
        story_.late_finish_token =
            static_cast<std::uint64_t>(attempt(job, v1::ATTEMPT_OUTCOME_LOST));
        attempt(job, v1::ATTEMPT_OUTCOME_SUCCEEDED);
        return execution(day, 1, 0, 900) + execution(day, 2, 500, 600) + invoice(day, 2) +
               refusal("stale", day, 1, last_token_ - 1, last_token_);
      default:
        attempt(job, v1::ATTEMPT_OUTCOME_SUCCEEDED);
        return execution(day, 1, 500, 600) + invoice(day, 1);
    }
  }

  std::int64_t attempt(v1::Job& job, v1::AttemptOutcome outcome) {
    v1::Attempt* attempt = job.add_attempts();
    attempt->set_number(job.attempts_size());
    attempt->set_fencing_token(++last_token_);
    attempt->set_granted_seq(10 * last_token_);
    attempt->set_ended_seq(10 * last_token_ + 5);
    attempt->set_outcome(outcome);
    return last_token_;
  }

  static std::string invoice(int day, int attempt) {
    return fmt::format(
        "INSERT INTO invoices(customer, day, job, attempt) VALUES({0}, '{1}', 'j{0}', {2});", day,
        date(day), attempt);
  }
  static std::string refusal(const char* kind, int day, int attempt, std::int64_t token,
                             std::int64_t newest) {
    return fmt::format(
        "INSERT INTO refusals(kind, job, attempt, token, newest_token)"
        " VALUES('{}', 'j{}', {}, {}, {});",
        kind, day, attempt, token, newest);
  }
  // Milliseconds within the day's second; to 0: it never ended.
  static std::string execution(int day, int attempt, int from_ms, int to_ms) {
    const std::int64_t day_ms = kFirstMs + (day - 1) * 1000;
    return fmt::format(
        "INSERT INTO executions(job, attempt, day, started_ms, ended_ms)"
        " VALUES('j{}', {}, '{}', {}, {});",
        day, attempt, date(day), day_ms + from_ms,
        to_ms == 0 ? "NULL" : std::to_string(day_ms + to_ms));
  }

  void sql(const std::string& text) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((options_.folder + "/invoices.db").c_str(), &db), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, ("BEGIN;" + text + ";COMMIT").c_str(), nullptr, nullptr, &error),
              SQLITE_OK)
        << error;
    sqlite3_free(error);
    sqlite3_close(db);
  }

  v1::Job& job_of(int day) { return story_.jobs[static_cast<std::size_t>(day - 1)]; }
  v1::Run& run_of(int day) { return story_.runs[static_cast<std::size_t>(day - 1)]; }

  // The names of the promises that do not hold and count.
  std::vector<std::string> broken() {
    std::vector<std::string> names;
    for (const Promise& promise : judge(options_, story_)) {
      if (promise.counts && !promise.holds) names.push_back(promise.name);
    }
    // What is printed ends as it was judged.
    testing::internal::CaptureStdout();
    const bool all_hold = print_and_check(options_, story_);
    printed_ = testing::internal::GetCapturedStdout();
    EXPECT_EQ(all_hold, names.empty());
    return names;
  }

  StoryOptions options_;
  Story story_;
  std::int64_t last_token_ = 0;
  std::string printed_;
};

TEST_F(QuickstartCheckTest, AllIsWell) {
  EXPECT_THAT(broken(), IsEmpty());
  std::vector<std::string> names;
  for (const Promise& promise : judge(options_, story_)) {
    names.push_back(promise.name);
    EXPECT_TRUE(promise.holds) << promise.name << ": " << promise.seen;
    EXPECT_TRUE(promise.counts) << promise.name;
    EXPECT_THAT(printed_, HasSubstr(promise.name));
  }
  EXPECT_THAT(names, ElementsAre(kSchedule, kOneJob, kOneAtOnce, kOverlaps, kDeadWorker, kDurable,
                                 kStale, kTokens, kOneInvoice, kSecondInsert, kNothingLeft));
  EXPECT_THAT(printed_, HasSubstr("12 attempts, 10 invoices, 0 double"));
  EXPECT_THAT(printed_, HasSubstr("none: found the invoice of attempt 1"));
  EXPECT_THAT(printed_, HasSubstr("write refused by the database, token 8 < 9"));
  EXPECT_EQ(printed_.find("NO\n"), std::string::npos) << printed_;
}

TEST_F(QuickstartCheckTest, ATickIsMissing) {
  story_.runs.pop_back();
  story_.jobs.pop_back();
  EXPECT_THAT(broken(), ElementsAre(kSchedule, kOneJob));
  EXPECT_THAT(printed_, HasSubstr("10 ticks, 9 runs, 0 twice, 1 lost"));
}

TEST_F(QuickstartCheckTest, ATickDidNotFire) {
  run_of(3).set_outcome(v1::Run::OUTCOME_MISSED);
  EXPECT_THAT(broken(), ElementsAre(kSchedule));
}

TEST_F(QuickstartCheckTest, ATickFiredTwiceInPlaceOfAnother) {
  run_of(4) = run_of(3);
  EXPECT_THAT(broken(), ElementsAre(kSchedule));
  EXPECT_THAT(printed_, HasSubstr("1 twice, 1 lost"));
}

TEST_F(QuickstartCheckTest, ATickIsOffItsSecond) {
  run_of(4).mutable_nominal_time()->set_nanos(250'000'000);
  EXPECT_THAT(broken(), ElementsAre(kSchedule));
}

TEST_F(QuickstartCheckTest, TwoNodesCreated) {
  story_.declared[0] = "node-a created";
  EXPECT_THAT(broken(), ElementsAre(kSchedule));
}

TEST_F(QuickstartCheckTest, AJobFailed) {
  job_of(9).set_state(v1::JOB_STATE_DEAD);
  EXPECT_THAT(broken(), ElementsAre(kOneJob));
}

TEST_F(QuickstartCheckTest, TwoRunsShareAJob) {
  job_of(9).set_id("j8");
  EXPECT_THAT(broken(), ElementsAre(kOneJob));
}

TEST_F(QuickstartCheckTest, TwoLiveLeases) {
  // Granted one commit before the one before it ended.
  v1::Attempt* before = job_of(3).mutable_attempts(0);
  before->set_ended_seq(job_of(4).attempts(0).granted_seq() + 1);
  EXPECT_THAT(broken(), ElementsAre(kOneAtOnce));
  EXPECT_THAT(printed_, HasSubstr("most at once: 2"));
}

TEST_F(QuickstartCheckTest, AGrantInTheCommitOfAnEndIsNoOverlap) {
  job_of(3).mutable_attempts(0)->set_ended_seq(job_of(4).attempts(0).granted_seq());
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(QuickstartCheckTest, TwoHandlersOverlapThatWereNotSuspended) {
  sql("UPDATE executions SET ended_ms = ended_ms + 1000 WHERE job = 'j3'");
  EXPECT_THAT(broken(), ElementsAre(kOverlaps));
}

TEST_F(QuickstartCheckTest, TheSuspendedHandlerNeverOverlapped) {
  sql("UPDATE executions SET ended_ms = started_ms + 1 WHERE job = 'j7'");
  EXPECT_THAT(broken(), ElementsAre(kOverlaps));
}

TEST_F(QuickstartCheckTest, NobodyTookOver) {
  job_of(kDieOnDay).mutable_attempts(0)->set_outcome(v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_THAT(broken(), ElementsAre(kDeadWorker));
}

TEST_F(QuickstartCheckTest, AnAcknowledgedWriteIsMissing) {
  story_.found = story_.acknowledged - 1;
  EXPECT_THAT(broken(), ElementsAre(kDurable));
}

TEST_F(QuickstartCheckTest, NothingWasAcknowledged) {
  story_.found = story_.acknowledged = 0;
  EXPECT_THAT(broken(), ElementsAre(kDurable));
}

TEST_F(QuickstartCheckTest, TheLateFinishWasAccepted) {
  story_.late_finish_reason = "accepted";
  EXPECT_THAT(broken(), ElementsAre(kStale));
}

TEST_F(QuickstartCheckTest, NoLateFinishWasSent) {
  story_.late_finish_reason.clear();
  EXPECT_THAT(broken(), ElementsAre(kStale));
}

TEST_F(QuickstartCheckTest, TheStaleWriteWasNotRefused) {
  sql("DELETE FROM refusals WHERE kind = 'stale'");
  EXPECT_THAT(broken(), ElementsAre(kStale));
}

TEST_F(QuickstartCheckTest, ATokenIsGivenTwice) {
  job_of(4).mutable_attempts(0)->set_fencing_token(3);
  EXPECT_THAT(broken(), ElementsAre(kTokens));
}

TEST_F(QuickstartCheckTest, TokensBeginAgainAfterTheRestart) {
  for (int day = kServerDiesOnDay + 1; day <= kDays; ++day) {
    for (v1::Attempt& attempt : *job_of(day).mutable_attempts()) {
      attempt.set_fencing_token(attempt.fencing_token() - 2);
    }
  }
  EXPECT_THAT(broken(), ElementsAre(kTokens));
}

TEST_F(QuickstartCheckTest, TheServerWasNotRestarted) {
  story_.faults.erase(kServerDiesOnDay);
  EXPECT_THAT(broken(), ElementsAre(kTokens));
}

TEST_F(QuickstartCheckTest, AnInvoiceIsMissing) {
  sql("DELETE FROM invoices WHERE day = '2026-11-08'");
  EXPECT_THAT(broken(), ElementsAre(kOneInvoice));
}

TEST_F(QuickstartCheckTest, TwoInvoices) {
  sql("INSERT INTO invoices(customer, day) VALUES(11, '2026-11-08')");
  EXPECT_THAT(broken(), ElementsAre(kOneInvoice));
  EXPECT_THAT(printed_, HasSubstr("11 invoices, 0 double"));
}

TEST_F(QuickstartCheckTest, NoSecondInsertWasRefused) {
  sql("DELETE FROM refusals WHERE kind = 'insert'");
  EXPECT_THAT(broken(), ElementsAre(kSecondInsert));
}

TEST_F(QuickstartCheckTest, AProcessIsLeftBehind) {
  story_.left_behind = {"w2 pid 4711"};
  EXPECT_THAT(broken(), ElementsAre(kNothingLeft));
  EXPECT_THAT(printed_, HasSubstr("w2 pid 4711"));
}

TEST_F(QuickstartCheckTest, AProcessHadToBeKilled) {
  story_.drained = false;
  EXPECT_THAT(broken(), ElementsAre(kNothingLeft));
}

TEST_F(QuickstartCheckTest, WhatIsKeptOnPurposeIsNotLeftBehind) {
  options_.keep = true;
  story_.left_running = {"rota-server pid 1", "worker w1 pid 2"};
  EXPECT_THAT(broken(), IsEmpty());
  EXPECT_THAT(printed_, HasSubstr("2 kept on purpose"));
}

TEST_F(QuickstartCheckTest, WithoutADatabaseNothingAboutItHolds) {
  std::filesystem::remove(options_.folder + "/invoices.db");
  EXPECT_THAT(broken(), ElementsAre(kOverlaps, kStale, kOneInvoice, kSecondInsert));
}

// Without the guard the same story ends with twelve invoices, and that is what it is to show.
class WithoutGuardTest : public QuickstartCheckTest {
 protected:
  void SetUp() override {
    QuickstartCheckTest::SetUp();
    options_.guard = false;
    sql("DELETE FROM refusals;"
        "CREATE TABLE plain(number INTEGER PRIMARY KEY, customer INTEGER, day TEXT, job TEXT,"
        " attempt INTEGER);"
        "INSERT INTO plain SELECT number, customer, day, job, attempt FROM invoices;"
        "DROP TABLE invoices; ALTER TABLE plain RENAME TO invoices");
  }
};

TEST_F(WithoutGuardTest, DoubledInvoicesAreShownAndAreNoFailureOfRota) {
  sql(invoice(kDieOnDay, 2) + invoice(kSuspendOnDay, 1));
  EXPECT_THAT(broken(), IsEmpty());
  EXPECT_THAT(printed_, HasSubstr("12 attempts, 12 invoices, 2 double"));
  EXPECT_THAT(printed_, HasSubstr("2 customers were invoiced twice"));
}

TEST_F(WithoutGuardTest, WithoutADoubledInvoiceNothingWasShown) {
  EXPECT_THAT(broken(), ElementsAre("without the guard invoices are doubled"));
  sql(invoice(kDieOnDay, 2));
  EXPECT_THAT(broken(), ElementsAre("without the guard invoices are doubled"));
}

}  // namespace
}  // namespace rota::driver
