// SPDX-License-Identifier: Apache-2.0
//
// What `rota` and `rota-worker` refuse, in which words, and with which code.
#include "e2e/cli_fixture.h"

namespace rota::e2e {
namespace {

class CliRefusals : public CliTest {
 protected:
  void SetUp() override {
    start();
    make_queue("work");
  }
  // The first line of standard error.
  std::string refused(const std::string& arguments, int code, const std::string& input = "") {
    const Said said = rota(arguments, input);
    EXPECT_EQ(said.code, code) << arguments << "\n" << said.out << said.err;
    EXPECT_EQ(said.out, "") << arguments;
    return said.err.substr(0, said.err.find('\n'));
  }
};

TEST_F(CliRefusals, ErrorsOfTheServerNameTheOptionOfTheCommand) {
  const auto names = [&](const std::string& arguments, const std::string& option) {
    const std::string line = refused(arguments, 2);
    EXPECT_TRUE(contains(line, ": " + option + ": ")) << arguments << "\n" << line;
  };
  names("job enqueue work 'a b'", "KIND");
  names("job enqueue 'a b' k", "QUEUE");
  names("job enqueue work k --priority 256", "--priority");
  names("job enqueue work k --attempt-timeout 1ms", "--attempt-timeout");
  names("job enqueue work k --give-up-after 0s", "--give-up-after");
  names("job enqueue work k --backoff-first 31d", "--backoff-first");
  names("job enqueue work k --backoff-delays 1s,40d", "--backoff-delays");
  names("job enqueue work k --run-at 2999-01-01", "--run-at");
  names("job enqueue work k --delay 99999d", "--delay");
  names("job enqueue work k --content-type '\xc3\xa9'", "--content-type");
  names("job enqueue work k --label 'a b=1'", "--label");
  names("job get 'Not An Id'", "JOB");
  names("job list work --scheduler 'a b'", "--scheduler");
  names("queue set work --concurrency 0", "--concurrency");
  names("queue set work --max-waiting -1", "--max-waiting");
  names("queue set work --dead-age 1s", "--dead-age");
  names("scheduler preview --cron '77 * * * *'", "--cron");
  names("scheduler preview --every 1ms", "--every");
  names("scheduler preview --cron '@daily' --time-zone Mars/Base", "--time-zone");
  names("scheduler preview --cron '@daily' --business-day-offset 9999", "--business-day-offset");
  names("scheduler upsert s --every 1h --queue work --kind 'k k'", "--kind");
  names("scheduler upsert s --every 1h --queue work --kind k --catch-up-window 1ms",
        "--catch-up-window");
  names("scheduler upsert s --every 1h --queue work --kind k --business-key static",
        "--business-key");
  names("scheduler upsert 'a b' --every 1h --queue work --kind k", "SCHEDULER");
  names("scheduler runs s --business-date 2026-13-01", "--business-date");
  EXPECT_TRUE(contains(refused("job enqueue nope k", 3), ": QUEUE: "));
  EXPECT_TRUE(
      contains(refused("scheduler upsert s --every 1h --queue nope --kind k", 3), ": --queue: "));
  EXPECT_TRUE(contains(refused("queue list --namespace other", 3), "--namespace: "));
  EXPECT_EQ(counters().created(), 0);
}

TEST_F(CliRefusals, BadCronTextSaysItsPlaceOnce) {
  EXPECT_EQ(refused("scheduler preview --cron '*/61 * * * *'", 2),
            "error: BAD_CRON: --cron: field \"minute\", position 3: step 61 is larger than the 60 "
            "values that it steps through; allowed: a step from 1 to 60");
  EXPECT_EQ(refused("scheduler upsert s --cron '0 0 31 4 *' --queue work --kind k", 2)
                .rfind("error: BAD_CRON: --cron: field \"day of month\", position 5: ", 0),
            0U);
}

TEST_F(CliRefusals, AnOlderRevisionIsAConflict) {
  const std::string upsert = "scheduler upsert s --every 1h --queue work --kind k --revision ";
  EXPECT_EQ(rota(upsert + "2").code, 0);
  EXPECT_EQ(rota(upsert + "2").code, 0) << "unchanged is no error";
  const Said older = rota(upsert + "1");
  EXPECT_EQ(older.code, 4);
  EXPECT_TRUE(contains(older.out, "older revision s ")) << older.out;
  EXPECT_EQ(older.err, "--revision 1 is lower than the stored 2: exit code 4\n");
  EXPECT_EQ(json::parse(rota(upsert + "1 -o json").out)["result"], "RESULT_OLDER_REVISION");
  EXPECT_EQ(rota_json("scheduler get s")["scheduler"]["declaration"]["revision"], "2");
}

TEST_F(CliRefusals, AReusedRequestIdIsSaidOnceAndNamesTheOption) {
  EXPECT_EQ(rota("job enqueue work k --request-id r").code, 0);
  const std::string wanted =
      "error: REQUEST_ID_REUSED: --request-id: this request id was used for a call with other "
      "contents; use a new one";
  EXPECT_EQ(refused("job enqueue work other --request-id r", 2), wanted);
  const std::string line = "{\"queue\": \"work\", \"kind\": \"k\"}\n";
  EXPECT_EQ(rota("job enqueue - --request-id lines", line).code, 0);
  const Said said = rota("job enqueue - --request-id lines", line + line);
  EXPECT_EQ(said.code, 2);
  EXPECT_EQ(said.err.substr(0, said.err.find('\n')), wanted);
  EXPECT_EQ(said.lines().at(0)["error"]["field"], "requestId");
  EXPECT_EQ(said.lines().at(0)["error"]["message"].get<std::string>().rfind("this request id", 0),
            0U);
}

TEST_F(CliRefusals, WhatDoesNotExistIsNotAnEmptyList) {
  EXPECT_TRUE(contains(refused("scheduler runs nowhere", 3), "SCHEDULER_NOT_FOUND: SCHEDULER: "));
  EXPECT_TRUE(contains(refused("job list nowhere", 3), "QUEUE_NOT_FOUND: QUEUE: "));
  EXPECT_EQ(rota("job list work").code, 0);
  EXPECT_EQ(rota("scheduler upsert s --every 1h --queue work --kind k").code, 0);
  EXPECT_TRUE(contains(rota("scheduler runs s").err, "no runs of \"s\" yet"));
  EXPECT_TRUE(contains(rota("scheduler runs s --from 2026-11-26").err,
                       "no run of \"s\" matches the filter"));
}

TEST_F(CliRefusals, PreviewsInJsonSayAllThatPeopleSee) {
  const json preview = rota_json(
      "scheduler preview --cron '30 3 * * *' --time-zone Europe/Helsinki --after 2027-03-27 "
      "--count 2 --business-day-offset -1");
  EXPECT_EQ(preview["times"], json::array({"2027-03-27T01:30:00Z", "2027-03-28T01:00:00Z"}));
  ASSERT_EQ(preview["ticks"].size(), 2U);
  const json& changed = preview["ticks"][1];
  EXPECT_EQ(changed["time"], "2027-03-28T01:00:00Z");
  EXPECT_EQ(changed["localTime"], "2027-03-28T04:00:00+03:00");
  EXPECT_EQ(changed["businessDate"], "2027-03-27");
  EXPECT_TRUE(contains(changed["note"].get<std::string>(), "END_OF_GAP"));
  EXPECT_EQ(preview["ticks"][0]["note"], "");
}

TEST_F(CliRefusals, LinesNameFieldsAsTheyStandInThem) {
  const Said said = rota("job enqueue -",
                         "{\"queue\": \"work\", \"kind\": \"k\", \"businessKey\": \"a\\u0001\"}\n"
                         "{\"queue\": \"work\", \"kind\": \"k\", \"attemptTimeout\": \"1ms\"}\n"
                         "{\"queue\": \"work\", \"kind\": \"k\", \"retry\": {\"maxAttempts\": 0}}\n"
                         "{\"queue\": \"work\", \"kind\": \"k\"}\n");
  EXPECT_EQ(said.code, 2);
  const auto lines = said.lines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0]["error"]["field"], "businessKey");
  EXPECT_EQ(lines[1]["error"]["field"], "attemptTimeout");
  EXPECT_EQ(lines[2]["error"]["field"], "retry.maxAttempts");
  EXPECT_EQ(lines[3]["created"], true);
  EXPECT_EQ(counters().created(), 1);
}

TEST_F(CliRefusals, MessagesNameOtherFieldsAsTheInputHasThem) {
  const Said said =
      rota("job enqueue -",
           "{\"queue\": \"work\", \"kind\": \"k\", \"delay\": \"5s\", \"runAt\": \"2099-01-01\"}\n"
           "{\"queue\": \"work\", \"kind\": \"k\", \"attemptTimeout\": \"5s\", "
           "\"noAttemptTimeout\": true}\n"
           "{\"queue\": \"work\", \"kind\": \"k\", \"businessKeyScope\": \"s\"}\n");
  const auto lines = said.lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["error"]["message"], "not together with runAt");
  EXPECT_EQ(lines[1]["error"]["message"], "not together with attemptTimeout");
  EXPECT_EQ(lines[2]["error"]["message"], "only together with businessKey");
  EXPECT_EQ(refused("job enqueue work k --run-at 2030-01-02 --start-deadline 2030-01-01", 2),
            "error: INVALID_FIELD: --start-deadline: before --run-at");
  EXPECT_TRUE(contains(refused("scheduler preview --cron '0 0 29 2 *' --start 2027-01-01 --end "
                               "2027-02-01",
                               2),
                       "between --start and --end"));
  EXPECT_TRUE(contains(refused("scheduler upsert s --every 1h --queue work --kind k --business-key "
                               "'run/{{bussiness_date}}/{{nominal_time}}'",
                               2),
                       "allowed: {{nominal_time}}, {{business_date}}"));
  EXPECT_EQ(counters().created(), 0);
}

TEST_F(CliRefusals, RedriveWithARequestIdHappensOnce) {
  ASSERT_EQ(rota("queue set work --max-attempts 1").code, 0);
  const std::string id = enqueue("x");
  const auto die = [&] {
    const auto leased = lease({});
    ASSERT_EQ(leased.jobs_size(), 1);
    finish(failure("session-1", leased.jobs(0)));
  };
  die();
  const std::string redrive = "job redrive " + id + " --request-id ";
  EXPECT_EQ(rota(redrive + "r-1").code, 0);
  die();
  EXPECT_EQ(rota(redrive + "r-1").code, 0);
  EXPECT_EQ(job(id).state(), v1::JOB_STATE_DEAD);
  EXPECT_EQ(rota(redrive + "r-2").code, 0);
  EXPECT_EQ(job(id).state(), v1::JOB_STATE_READY);
  EXPECT_EQ(rota(redrive + "r-3").code, 4);
  EXPECT_EQ(job(id).redrive_count(), 2);
}

TEST_F(CliRefusals, InputAndOutputThatCannotBeUsed) {
  const auto said = [&](const std::string& line, int code, const std::string& part) {
    const Said got = shell(line);
    EXPECT_EQ(got.code, code) << line << "\n" << got.err;
    EXPECT_TRUE(contains(got.err, part)) << line << "\n" << got.err;
    return got;
  };
  said("rota job enqueue work k --payload - <&-", 2, "standard input");
  said("rota job enqueue - <&-", 1, "standard input");
  said("rota job redrive - <&-", 2, "standard input");
  said("rota job enqueue work k --payload @/does/not/exist", 2, "No such file");
  said("rota job enqueue work k --payload @/", 2, "Is a directory");
  EXPECT_EQ(counters().created(), 0);
  said("rota queue list >/dev/full", 1, "standard output cannot be written");
  said("rota queue list >&-", 1, "standard output cannot be written");
  EXPECT_EQ(shell("rota job redrive - </dev/null").code, 0) << "nothing to do is no error";
  const std::string line = "{\"queue\": \"work\", \"kind\": \"k\"}";
  said("echo '" + line + "' | rota job enqueue - >/dev/full", 1, "OUTPUT_UNWRITABLE");
  EXPECT_EQ(shell("yes '{\"queue\": \"work\", \"kind\": \"k\"}' | head -5000 | rota job enqueue - "
                  "| head -1 >/dev/null")
                .code,
            0);
}

TEST_F(CliRefusals, WorkersSayWhatIsWrongWithTheirOptions) {
  const auto said = [&](const std::string& arguments, int code, const std::string& part) {
    const Said got = shell("rota-worker " + arguments + " </dev/null");
    EXPECT_EQ(got.code, code) << arguments << "\n" << got.err;
    EXPECT_TRUE(contains(got.err, part)) << arguments << "\n" << got.err;
    EXPECT_EQ(got.out, "") << arguments;
  };
  said("exec --queue work --concurency 2 -- true", 2,
       "unknown option \"--concurency\"; did you mean --concurrency?");
  said("exec --queue work --color=never ls", 2, "options of COMMAND stand after --");
  said("exce --queue work -- true", 2, "unknown word \"exce\"; there is exec");
  said("exec --queue work", 2, "COMMAND");
  said("exec -- true", 2, "--queue");
  said("exec --queue work --concurrency 0 -- true", 2, "--concurrency: 0, must be 1 to");
  said("exec --queue work --lease-ttl 1s -- true", 2, "--lease-ttl: 1000 ms, must be 5 s to 1 h");
  said("exec --queue work --lease-ttl 5 -- true", 2, "--lease-ttl: ");
  said("exec --queue '' -- true", 2, "--queue: must not be empty");
  said("exec --queue 'a b' -- true", 2, "error: INVALID_FIELD: --queue: \"a b\" has");
  said("exec --queue work --id 'a b' -- true", 2, "error: INVALID_FIELD: --id: \"a b\" has");
  said("exec --queue work --server nowhere -- true", 2, "--server: ");
  said("exec --queue work --server 127.0.0.1:1 -- true", 6, "SERVER_UNREACHABLE");
  said("exec --queue work --namespace other -- true", 3, "NAMESPACE_NOT_FOUND");
}

}  // namespace
}  // namespace rota::e2e
