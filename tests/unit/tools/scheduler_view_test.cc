// SPDX-License-Identifier: Apache-2.0
#include "rota/scheduler_view.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/time_format.h"

namespace rota::cli {
namespace {

template <class Message>
Message message(const std::string& text) {
  Message parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parsed)) << text;
  return parsed;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// 7 h 58 min before midnight in Helsinki.
const View kView = {.now_ms = *base::parse_time("2026-11-29T14:02:00Z")};

constexpr const char* kCreated = R"(
  result: RESULT_CREATED
  scheduler { generation: 1 declaration {
    id: "invoices/daily" revision: 412
    spec { parts { cron: "0 0 * * *" } time_zone: "Europe/Helsinki" }
    overlap { mode: MODE_ALLOW } catch_up { mode: MODE_ALL max_runs: 1000
                                            window { seconds: 31536000 } }
    job { queue: "invoices" kind: "daily-invoice" business_key: "run/{{business_date}}" } } }
  next_ticks { nominal_time { seconds: 1795989600 } local_time: "2026-11-30T00:00:00+02:00"
               business_date: "2026-11-29" })";

TEST(SchedulerView, ADeclarationSaysWhatItDecided) {
  const auto response = message<v1::UpsertSchedulerResponse>(kCreated);
  EXPECT_EQ(upsert_text(response, 1, kView),
            "created invoices/daily (generation 1, revision 412)\n"
            "  first  2026-11-30 00:00 +02:00  in 7 h 58 min, business date 2026-11-29      "
            "starts from now, nothing past is run\n"
            "  a run still going: allow (queue \"invoices\" runs 1 at a time) · missed while down: "
            "all, at most 1000, not older than 365 d\n");
  EXPECT_TRUE(contains(upsert_text(response, 0, kView), "has no limit"));
  EXPECT_FALSE(contains(upsert_text(response, std::nullopt, kView), "queue \""));
}

TEST(SchedulerView, ARepeatedDeclarationSaysSo) {
  auto response = message<v1::UpsertSchedulerResponse>(kCreated);
  response.set_result(v1::UpsertSchedulerResponse::RESULT_UNCHANGED);
  std::string text = upsert_text(response, 1, kView);
  EXPECT_TRUE(contains(text, "unchanged invoices/daily")) << text;
  EXPECT_TRUE(contains(text, "  next   2026-11-30")) << text;
  EXPECT_FALSE(contains(text, "starts from now"));
  response.set_result(v1::UpsertSchedulerResponse::RESULT_CHANGED);
  response.add_changed_fields("spec.time_zone");
  EXPECT_TRUE(contains(upsert_text(response, 1, kView), "revision 412): spec.time_zone\n"));
  response.set_result(v1::UpsertSchedulerResponse::RESULT_OLDER_REVISION);
  EXPECT_TRUE(contains(upsert_text(response, 1, kView), "nothing was changed"));
}

TEST(SchedulerView, ADeclarationOfAPausedOnePromisesNoTick) {
  auto response = message<v1::UpsertSchedulerResponse>(kCreated);
  response.set_result(v1::UpsertSchedulerResponse::RESULT_CHANGED);
  response.mutable_scheduler()->mutable_pause()->set_note("year-end");
  ASSERT_FALSE(response.next_ticks().empty());
  const std::string text = upsert_text(response, 1, kView);
  EXPECT_TRUE(contains(text, "\n  next   -  no tick runs until it is resumed\n")) << text;
  EXPECT_TRUE(contains(text, "year-end")) << text;
  EXPECT_FALSE(contains(text, "2026-11-30")) << text;
  EXPECT_FALSE(contains(text, "in 7 h")) << text;
}

TEST(SchedulerView, WhatWentBackToItsDefaultHasALineOfItsOwn) {
  auto response = message<v1::UpsertSchedulerResponse>(kCreated);
  response.set_result(v1::UpsertSchedulerResponse::RESULT_CHANGED);
  const std::string text =
      upsert_text(response, 1, kView, {"--priority 7 -> 100", "--owner ada -> none"});
  EXPECT_TRUE(contains(text, "\n  reset  --priority 7 -> 100, --owner ada -> none   ")) << text;
  EXPECT_FALSE(contains(upsert_text(response, 1, kView), "reset"));
}

TEST(SchedulerView, APreviewMarksChangesOfTheClocks) {
  const auto response = message<v1::PreviewSchedulerResponse>(R"(
    ticks { nominal_time { seconds: 1806111000 } local_time: "2027-03-27T03:30:00+02:00" }
    ticks { nominal_time { seconds: 1806195600 } local_time: "2027-03-28T04:00:00+03:00"
            mark: MARK_GAP note: "03:30 does not exist that day" })");
  EXPECT_EQ(preview_text(response, false),
            "2027-03-27 03:30 +02:00\n"
            "2027-03-28 04:00 +03:00   03:30 does not exist that day\n");
  EXPECT_EQ(preview_json(response),
            "{\"times\": [\"2027-03-27T01:30:00Z\", \"2027-03-28T01:00:00Z\"],\n"
            " \"ticks\": [\n"
            "  {\"time\": \"2027-03-27T01:30:00Z\", \"localTime\": \"2027-03-27T03:30:00+02:00\", "
            "\"businessDate\": \"\", \"note\": \"\"},\n"
            "  {\"time\": \"2027-03-28T01:00:00Z\", \"localTime\": \"2027-03-28T04:00:00+03:00\", "
            "\"businessDate\": \"\", \"note\": \"03:30 does not exist that day\"}]}\n");
  EXPECT_EQ(preview_json({}), "{\"times\": [],\n \"ticks\": []}\n");
}

TEST(SchedulerView, APreviewShowsTheEpochAndBusinessDates) {
  const auto response = message<v1::PreviewSchedulerResponse>(R"(
    ticks { nominal_time { seconds: 0 } local_time: "1970-01-01T00:00:00Z"
            business_date: "1969-12-31" note: "a note" })");
  EXPECT_TRUE(contains(preview_json(response), "{\"times\": [\"1970-01-01T00:00:00Z\"]"));
  EXPECT_EQ(preview_text(response, true),
            "1970-01-01 00:00 +00:00   business date 1969-12-31   a note\n");
}

TEST(SchedulerView, TheDefaultCatchUpWindowIsShownAsItIs) {
  EXPECT_EQ(catch_up_text({}), "the latest, not older than 366 d");
}

TEST(SchedulerView, RunsTellWhatBecameOfTheirTicks) {
  const auto fired = message<v1::Run>(R"(
    nominal_time { seconds: 1795989600 } tick_count: 1 business_date: "2026-11-29"
    outcome: OUTCOME_FIRED job_id: "0g7m2" lateness { nanos: 40000000 }
    job { id: "0g7m2" state: JOB_STATE_SUCCEEDED attempt_count: 2
      attempts { number: 1 worker_id: "w-7f" outcome: ATTEMPT_OUTCOME_LOST
                 failure { message: "no heartbeat for 30 s" } }
      attempts { number: 2 worker_id: "w-2a" outcome: ATTEMPT_OUTCOME_SUCCEEDED } })");
  EXPECT_EQ(run_cells(fired, kView),
            (std::vector<std::string>{"2026-11-29", "2026-11-29T22:00:00Z", "fired", "0g7m2",
                                      "SUCCEEDED", "2", "w-7f,w-2a", "0.0 s",
                                      "attempt 1 lost: no heartbeat for 30 s"}));
  EXPECT_EQ(run_cells(fired, kView).size(), run_header().size());
  const auto missed = message<v1::Run>(R"(
    nominal_time { seconds: 1795989600 } last_nominal_time { seconds: 1795989660 } tick_count: 61
    tick_count_exact: true outcome: OUTCOME_MISSED reason: "PAUSED")");
  EXPECT_EQ(run_cells(missed, kView).back(), "61 ticks; PAUSED");
  EXPECT_TRUE(contains(run_cells(missed, kView)[1], " to "));
  const auto skipped = message<v1::Run>(R"(tick_count: 1 outcome: OUTCOME_SKIPPED
                                           reason: "RUN_UNFINISHED" job_id: "0g7c1"
    job { id: "0g7c1" state: JOB_STATE_RUNNING attempt_count: 2
          attempts { number: 1 worker_id: "w-7f" outcome: ATTEMPT_OUTCOME_LOST }
          attempts { number: 2 worker_id: "w-2a" } })");
  const auto cells = run_cells(skipped, kView);
  EXPECT_EQ(cells.back(), "RUN_UNFINISHED; job 0g7c1 in the way");
  EXPECT_EQ((std::vector<std::string>{cells.begin() + 3, cells.begin() + 7}),
            (std::vector<std::string>{"-", "-", "-", "-"}))
      << "the job in the way is not its own";
}

TEST(SchedulerView, ListsShowTicksNextAndPause) {
  auto scheduler = message<v1::Scheduler>(R"(
    declaration { id: "s" spec { parts { interval { every { seconds: 300 } } } }
                  job { queue: "q" kind: "k" } }
    next_times { seconds: 1795961040 })");
  auto cells = scheduler_cells(scheduler, kView);
  EXPECT_EQ(cells.size(), scheduler_header().size());
  EXPECT_EQ(cells[1], "every 5 min");
  EXPECT_EQ(cells[2], "in 2 min");
  scheduler.mutable_pause()->set_note("year-end");
  cells = scheduler_cells(scheduler, kView);
  EXPECT_EQ(cells[2], "-");
  EXPECT_TRUE(contains(cells.back(), "year-end"));
  EXPECT_TRUE(contains(scheduler_text(scheduler, kView), "paused"));
}

TEST(SchedulerView, OneShowsAllThatItsJobsAreGiven) {
  auto scheduler =
      message<v1::Scheduler>(R"(declaration { id: "s" job { queue: "q" kind: "k" } })");
  std::string text = scheduler_text(scheduler, kView);
  for (const char* absent : {"payload", "labels", "priority"}) {
    EXPECT_FALSE(contains(text, absent)) << text;
  }
  auto* job = scheduler.mutable_declaration()->mutable_job();
  job->mutable_payload()->set_data(R"({"date":"{{business_date}}"})");
  (*job->mutable_labels())["team"] = "billing";
  (*job->mutable_labels())["a"] = "1";
  job->set_priority(7);
  text = scheduler_text(scheduler, kView);
  EXPECT_TRUE(contains(text, R"({"date":"{{business_date}}"}  (28 bytes, application/json))"))
      << text;
  EXPECT_TRUE(contains(text, "a=1 team=billing")) << text;
  EXPECT_TRUE(contains(text, "priority   7")) << text;
}

}  // namespace
}  // namespace rota::cli
