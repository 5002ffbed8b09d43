// SPDX-License-Identifier: Apache-2.0
//
// The program `rota` against a real server: what it prints, and with which code it ends.
#include "e2e/cli_fixture.h"

namespace rota::e2e {
namespace {

TEST_F(CliTest, ALifeOfAJob) {
  start();
  EXPECT_EQ(rota_json("queue list")["queues"], json::array());
  Said said = rota("queue set mail --concurrency 4");
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(contains(said.out, "created mail")) << said.out;
  said = rota("queue set mail --concurrency 1");
  EXPECT_TRUE(contains(said.out, "mail: concurrency 4 -> 1")) << said.out;

  said = rota("job enqueue mail welcome --payload - --business-key w/42 -o name", "{\"user\":42}");
  ASSERT_EQ(said.code, 0) << said.err;
  const std::string id = said.out.substr(0, said.out.size() - 1);
  EXPECT_EQ(
      rota("job enqueue mail welcome --payload '{\"user\":42}' --business-key w/42 -o name").out,
      said.out);
  EXPECT_EQ(rota("job enqueue mail welcome --payload other --business-key w/42").code, 4);
  EXPECT_TRUE(contains(rota("job explain " + id).out, "READY, not running"));
  EXPECT_EQ(rota_json("job get " + id)["job"]["state"], "JOB_STATE_READY");
  EXPECT_EQ(rota("job list mail --state ready -o name").out, said.out);
  EXPECT_EQ(rota_json("job list mail --state dead")["jobs"], json::array());

  EXPECT_EQ(rota("job update " + id + " --priority 200").code, 0);
  EXPECT_EQ(rota_json("job get " + id)["job"]["priority"], 200);
  const auto leased = lease({.queue = "mail"});
  ASSERT_EQ(leased.jobs_size(), 1);
  EXPECT_EQ(leased.jobs(0).payload().data(), "{\"user\":42}");
  EXPECT_EQ(rota("job wait " + id + " --at-most 0s").code, 6);
  finish(success("session-1", leased.jobs(0), "sent"));
  said = rota("job wait " + id);
  EXPECT_EQ(said.code, 0);
  EXPECT_TRUE(contains(said.out, "SUCCEEDED in attempt 1: sent")) << said.out;
  EXPECT_EQ(rota("job cancel " + id).code, 4);
  EXPECT_EQ(rota("job delete " + id).code, 2);
  EXPECT_EQ(rota("job delete --yes " + id).code, 0);
  EXPECT_EQ(rota("job get " + id).code, 3);
}

TEST_F(CliTest, DeadJobsAreListedAndRedrivenThroughAPipe) {
  start();
  ASSERT_EQ(rota("queue set work --max-attempts 1").code, 0);
  EXPECT_EQ(rota_json("queue get work")["queue"]["settings"]["retry"]["maxAttempts"], 1);
  const std::string id = enqueue("x");
  const auto leased = lease({});
  ASSERT_EQ(leased.jobs_size(), 1);
  finish(failure("session-1", leased.jobs(0)));
  EXPECT_EQ(rota("job wait " + id).code, 7);
  EXPECT_TRUE(contains(rota("job get " + id).out, "redrive: rota job redrive " + id));
  const Said dead = rota("job list work --state dead -o name");
  EXPECT_EQ(dead.out, id + "\n");
  const Said redriven = rota("job redrive - nothinghere", dead.out);
  EXPECT_TRUE(contains(redriven.out, "DEAD -> READY")) << redriven.out;
  EXPECT_EQ(redriven.code, 3) << redriven.err;
  EXPECT_EQ(rota("queue purge work --yes").out, "work: 1 job removed\n");
  EXPECT_EQ(rota("queue delete work --yes").code, 0);
}

TEST_F(CliTest, AnswersToSeveralIdsTellWhichIsWhich) {
  start();
  ASSERT_EQ(rota("queue set work --max-attempts 1").code, 0);
  const std::string dead = enqueue("dead");
  const auto leased = lease({});
  ASSERT_EQ(leased.jobs_size(), 1);
  finish(failure("session-1", leased.jobs(0)));
  const std::string ready = enqueue("ready");
  const auto ask = [&](const std::string& verb, int code) {
    const std::string words = "job " + verb + " " + dead + " nothinghere " + ready;
    const Said said = rota(words + " -o json");
    EXPECT_EQ(said.code, code) << words << ": " << said.err;
    const json all = json::parse(said.out);
    EXPECT_EQ(all.size(), 3U) << said.out;
    EXPECT_EQ(all[0]["id"], dead) << said.out;
    EXPECT_EQ(all[1]["id"], "nothinghere") << said.out;
    EXPECT_EQ(all[1]["error"]["reason"], "JOB_NOT_FOUND") << said.out;
    EXPECT_FALSE(contains(all[1]["error"]["message"].get<std::string>(), "(nothinghere)"));
    EXPECT_EQ(all[2]["id"], ready) << said.out;
    return all;
  };
  EXPECT_EQ(ask("get", 3)[0]["job"]["state"], "JOB_STATE_DEAD");
  EXPECT_EQ(ask("explain", 3)[2]["explanation"]["jobId"], ready);
  const json waited = ask("wait --at-most 0s", 7);
  EXPECT_EQ(waited[0]["finished"], true);
  EXPECT_EQ(waited[2]["finished"], false);
  const json redriven = ask("redrive", 3);
  EXPECT_EQ(redriven[0]["state"], "JOB_STATE_READY");
  EXPECT_EQ(redriven[2]["error"]["reason"], "NOT_DEAD");
  EXPECT_FALSE(redriven[0].contains("error"));
  EXPECT_EQ(ask("delete --yes", 4)[2]["error"]["reason"], "NOT_FINAL");
  EXPECT_EQ(ask("cancel --yes", 3)[2]["state"], "JOB_STATE_CANCELLED");
  const json deleted = ask("delete --yes", 3);
  EXPECT_FALSE(deleted[0].contains("error"));
  EXPECT_TRUE(deleted[0].contains("commitSeq"));
}

TEST_F(CliTest, JsonLinesHaveAnOutcomeEach) {
  start();
  make_queue("work");
  std::string input;
  for (int i = 0; i < 2'500; ++i) {
    input += R"({"queue": "work", "kind": "k", "payload": {"n": )" + std::to_string(i) + "}}\n";
  }
  input += "{\"queue\": \"nope\", \"kind\": \"k\"}\nnonsense\n";
  const Said said = rota("job enqueue - --request-id again", input);
  EXPECT_EQ(said.code, 3) << said.err;
  const auto lines = said.lines();
  ASSERT_EQ(lines.size(), 2'502U);
  EXPECT_EQ(lines[0]["created"], true);
  EXPECT_EQ(lines[2'500]["line"], 2'501);
  EXPECT_EQ(lines[2'500]["error"]["reason"], "QUEUE_NOT_FOUND");
  EXPECT_EQ(lines[2'501]["error"]["reason"], "INVALID_JSON");
  EXPECT_TRUE(contains(said.err, "2500 jobs accepted, 2 refused")) << said.err;
  EXPECT_EQ(counters().ready(), 2'500);
  // The same input with the same id again creates nothing twice.
  EXPECT_EQ(rota("job enqueue - --request-id again", input).out, said.out);
  EXPECT_EQ(counters().ready(), 2'500);
  v1::GetJobRequest request;
  request.set_job_id(lines[17]["id"].get<std::string>());
  request.set_include_payload(true);
  EXPECT_EQ(must(client().get_job(request)).job().payload().data(), "{\"n\": 17}");
}

TEST_F(CliTest, SchedulersSayWhatTheyDecided) {
  start();
  make_queue("invoices", 1);
  const std::string upsert =
      "scheduler upsert invoices/daily --cron '0 0 * * *' --time-zone Europe/Helsinki --overlap "
      "allow --catch-up all --business-day-offset -1 --queue invoices --kind daily-invoice "
      "--business-key 'run/{{business_date}}' --revision 412";
  Said said = rota(upsert);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(contains(said.out, "created invoices/daily (generation")) << said.out;
  EXPECT_TRUE(contains(said.out, "starts from now, nothing past is run"));
  EXPECT_TRUE(contains(said.out, "allow (queue \"invoices\" runs 1 at a time)"));
  EXPECT_TRUE(contains(said.out, "all, at most 1000, not older than 366 d"));
  EXPECT_TRUE(contains(rota(upsert).out, "unchanged invoices/daily"));
  EXPECT_EQ(rota_json("scheduler list")["schedulers"].size(), 1U);
  EXPECT_TRUE(contains(rota("scheduler pause invoices/daily --note year-end").out, "paused"));
  EXPECT_TRUE(contains(rota("scheduler get invoices/daily").out, "year-end"));
  said = rota(upsert);
  EXPECT_TRUE(contains(said.out, "  next   -  ")) << said.out;
  EXPECT_FALSE(contains(said.out, "business date")) << "no tick is promised: " << said.out;
  said = rota("scheduler preview invoices/daily --count 1");
  EXPECT_TRUE(contains(said.out, "   business date ")) << said.out;
  EXPECT_TRUE(contains(said.err, "invoices/daily is paused")) << said.err;
  EXPECT_EQ(rota("scheduler resume invoices/daily").code, 0);
  EXPECT_EQ(rota("queue delete invoices --yes").code, 4);
  EXPECT_EQ(rota_json("scheduler runs invoices/daily")["runs"], json::array());
  EXPECT_EQ(rota("scheduler delete invoices/daily --yes").code, 0);
  EXPECT_EQ(rota("scheduler get invoices/daily").code, 3);
  EXPECT_EQ(rota("scheduler upsert x --cron '*/0 * * * *' --queue invoices --kind k").code, 2);
}

TEST_F(CliTest, AnUpsertSaysWhatItPutBackToTheDefaults) {
  start();
  make_queue("work");
  const std::string upsert = "scheduler upsert s --every 1h --queue work --kind k";
  Said said =
      rota(upsert +
           " --time-zone Europe/Helsinki --overlap allow --catch-up all --catch-up-max-runs "
           "7 --priority 7 --label team=billing --max-attempts 9 --backoff-fixed 5s "
           "--attempt-timeout 5m --start-deadline-after 10m --payload '{\"a\":1}' --owner ada");
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_FALSE(contains(said.out, "reset")) << "it was created: " << said.out;
  said = rota(upsert + " --overlap allow --priority 8 --owner ada");
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(contains(said.out, "changed s ")) << said.out;
  for (const char* part :
       {"--time-zone Europe/Helsinki -> UTC", "--catch-up all -> latest",
        "--label team=billing -> none", "--attempt-timeout 5 min -> the queue's",
        "--max-attempts 9 -> the queue's", "--backoff-fixed 5 s -> the queue's",
        "--start-deadline-after 10 min -> none", "--payload {\"a\":1} -> none"}) {
    EXPECT_TRUE(contains(said.out, part)) << part << "\n" << said.out;
  }
  for (const char* part : {"--overlap ", "--priority ", "--owner ", "--every ", "--kind "}) {
    EXPECT_FALSE(contains(said.out, part)) << part << " was given\n" << said.out;
  }
  said = rota(upsert + " --overlap allow --priority 9 --owner ada");
  EXPECT_TRUE(contains(said.out, "changed s ")) << said.out;
  EXPECT_FALSE(contains(said.out, "reset")) << "only what was given changed: " << said.out;
  // What queue set is not given stays.
  ASSERT_EQ(rota("queue set work --max-attempts 9").code, 0);
  ASSERT_EQ(rota("queue set work --concurrency 3").code, 0);
  EXPECT_EQ(rota_json("queue get work")["queue"]["settings"]["retry"]["maxAttempts"], 9);
}

TEST_F(CliTest, AListingGoesOnWhereItsLimitCutIt) {
  start();
  make_queue("a");
  make_queue("b");
  make_queue("work");
  for (int i = 0; i < 5; ++i) enqueue(std::to_string(i));
  for (const char* id : {"s1", "s2"}) {
    ASSERT_EQ(
        rota(std::string("scheduler upsert ") + id + " --every 1h --queue work --kind k").code, 0);
  }
  // The names of all items, page by page.
  const auto walk = [&](const std::string& listing, const std::string& items, auto name) {
    std::vector<std::string> names;
    std::string token;
    for (int pages = 1;; ++pages) {
      const json page = rota_json(listing + " --limit 2 --page-token '" + token + "'");
      for (const json& item : page[items]) names.push_back(name(item));
      token = page["nextPageToken"];
      if (token.empty() || pages == 10) return names;
      EXPECT_EQ(page[items].size(), 2U);
    }
  };
  std::vector<std::string> ids;
  std::istringstream names(rota("job list work -o name --limit 0").out);
  for (std::string id; std::getline(names, id);) ids.push_back(id);
  ASSERT_EQ(ids.size(), 5U);
  EXPECT_EQ(walk("job list work", "jobs", [](const json& job) { return job["id"]; }), ids);
  EXPECT_EQ(walk("queue list", "queues", [](const json& queue) { return queue["name"]; }),
            (std::vector<std::string>{"a", "b", "work"}));
  EXPECT_EQ(walk("scheduler list", "schedulers",
                 [](const json& scheduler) { return scheduler["declaration"]["id"]; }),
            (std::vector<std::string>{"s1", "s2"}));
  // The other forms, and no limit, begin there too.
  const std::string token = rota_json("job list work --limit 3")["nextPageToken"];
  EXPECT_EQ(rota("job list work -o name --limit 0 --page-token " + token).out,
            ids[3] + "\n" + ids[4] + "\n");
  for (const std::string listing :
       {"job list work", "queue list", "scheduler list", "scheduler runs s1", "worker list"}) {
    const Said said = rota(listing + " --page-token nonsense");
    EXPECT_EQ(said.code, 2) << listing;
    EXPECT_EQ(said.out, "") << listing;
    EXPECT_TRUE(contains(said.err, "error: INVALID_PAGE_TOKEN: --page-token: ")) << said.err;
  }
  // One of another listing is none of this.
  EXPECT_EQ(rota("job list a --page-token " + token).code, 2);
}

TEST_F(CliTest, PreviewsWhatIsNotSaved) {
  start();
  const std::string preview =
      "scheduler preview --cron '30 3 * * *' --time-zone Europe/Helsinki --after 2027-03-27 "
      "--count 2";
  EXPECT_EQ(rota_json(preview)["times"],
            json::array({"2027-03-27T01:30:00Z", "2027-03-28T01:00:00Z"}));
  const Said said = rota(preview);
  EXPECT_TRUE(contains(said.out, "2027-03-27 03:30 +02:00\n")) << said.out;
  EXPECT_TRUE(contains(said.out, "2027-03-28 04:00 +03:00   ")) << said.out;
  EXPECT_TRUE(contains(rota(preview + " --business-day-offset -1").out,
                       "2027-03-27 03:30 +02:00   business date 2027-03-26\n"));
  EXPECT_EQ(rota_json("scheduler preview --cron '0 0 1 1 *' --after 1969-06-01 --count 1")["times"],
            json::array({"1970-01-01T00:00:00Z"}));
}

TEST_F(CliTest, TellsHowTheServerFares) {
  start();
  EXPECT_EQ(rota("server health").out, "SERVING\n");
  EXPECT_EQ(rota_json("server health")["status"], "SERVING");
  EXPECT_TRUE(rota_json("server info")["server"].contains("largestScanRows"));
  EXPECT_TRUE(contains(rota("server info").out, "rocksdb"));
  EXPECT_EQ(rota_json("worker list")["workers"], json::array());
  server_.kill();
  const std::int64_t begin = mono_ms();
  const Said said = rota("server info");
  EXPECT_EQ(said.code, 6);
  EXPECT_TRUE(contains(said.err, "SERVER_UNREACHABLE")) << said.err;
  EXPECT_LT(mono_ms() - begin, 10'000);
}

}  // namespace
}  // namespace rota::e2e
