// SPDX-License-Identifier: Apache-2.0
#include "rota/scheduler_reset.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tools_support.h"

namespace rota::cli {
namespace {

using Options = std::vector<std::string>;

v1::SchedulerDeclaration declaration(const std::string& text) {
  v1::SchedulerDeclaration parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parsed)) << text;
  return parsed;
}

// As the server keeps a declaration of the required options alone.
constexpr const char* kPlain = R"(
  id: "s" spec { parts { interval { every { seconds: 3600 } phase { } } } time_zone: "UTC" }
  overlap { mode: MODE_SKIP } catch_up { mode: MODE_LATEST window { seconds: 31622400 }
                                         max_runs: 1000 }
  job { queue: "q" kind: "k" payload { content_type: "application/json" } priority: 100 })";

constexpr const char* kFull = R"(
  id: "s" spec { parts { interval { every { seconds: 3600 } phase { seconds: 60 } } }
                 time_zone: "Europe/Helsinki"
                 start_time { seconds: 86400 } end_time { seconds: 172800 } }
  overlap { mode: MODE_ALLOW }
  catch_up { mode: MODE_ALL window { seconds: 3600 } max_runs: 7 }
  business_day_offset: -1 owner: "ada"
  job { queue: "q" kind: "k" payload { data: "{}" content_type: "text/plain" } priority: 7
        start_deadline_after { seconds: 60 } attempt_timeout { seconds: 300 }
        business_key: "run/{{nominal_time}}" business_key_scope: "shared"
        labels { key: "team" value: "billing" }
        retry { max_attempts: 9 give_up_after { seconds: 72000 }
                backoff { mode: MODE_EXPONENTIAL first { seconds: 2 } factor: 3
                          cap { seconds: 60 } jitter: 0.5 } } })";

constexpr const char* kFields[] = {
    "cron",    "every",    "time_zone", "start_time", "end_time", "business_day_offset",
    "overlap", "catch_up", "job",       "owner"};

Options reset(const std::string& before, const std::string& after, const Options& given = {},
              const Options& fields = {std::begin(kFields), std::end(kFields)}) {
  v1::UpsertSchedulerResponse response;
  *response.mutable_scheduler()->mutable_declaration() = declaration(after);
  for (const std::string& field : fields) response.add_changed_fields(field);
  return reset_options(declaration(before), response, [&](std::string_view option) {
    return std::find(given.begin(), given.end(), option) != given.end();
  });
}

TEST(SchedulerReset, EveryOptionThatIsLeftOutIsNamed) {
  EXPECT_EQ(reset(kFull, kPlain), (Options{"--phase 1 min -> 0 ms",
                                           "--time-zone Europe/Helsinki -> UTC",
                                           "--start 1970-01-02T00:00:00Z -> none",
                                           "--end 1970-01-03T00:00:00Z -> none",
                                           "--overlap allow -> skip",
                                           "--catch-up all -> latest",
                                           "--catch-up-window 1 h -> 366 d",
                                           "--business-day-offset -1 -> 0",
                                           "--payload {} -> none",
                                           "--content-type text/plain -> application/json",
                                           "--priority 7 -> 100",
                                           "--attempt-timeout 5 min -> the queue's",
                                           "--business-key run/{{nominal_time}} -> none",
                                           "--label team=billing -> none",
                                           "--max-attempts 9 -> the queue's",
                                           "--backoff-first 2 s -> the queue's",
                                           "--backoff-factor 3 -> the queue's",
                                           "--backoff-cap 1 min -> the queue's",
                                           "--backoff-jitter 0.5 -> the queue's",
                                           "--give-up-after 20 h -> the queue's",
                                           "--start-deadline-after 1 min -> none",
                                           "--owner ada -> none"}));
  EXPECT_EQ(reset(kFull, kFull), Options{}) << "nothing changed";
  EXPECT_EQ(reset(kFull, kPlain, {}, {}), Options{}) << "nothing was changed by this call";
}

TEST(SchedulerReset, WhatWasGivenIsNoReset) {
  const Options all = reset(kFull, kPlain, {"--time-zone", "--owner", "--max-attempts"});
  EXPECT_EQ(all.size(), 19U);
  for (const std::string& line : all) {
    EXPECT_NE(line.rfind("--time-zone", 0), 0U);
    EXPECT_NE(line.rfind("--owner", 0), 0U);
    EXPECT_NE(line.rfind("--max-attempts", 0), 0U);
  }
  EXPECT_EQ(reset(kFull, kPlain, {}, {"owner"}), Options{"--owner ada -> none"});
}

TEST(SchedulerReset, WhatMeansNothingAnyMoreIsNoLoss) {
  const std::string cron =
      R"(spec { parts { cron: "0 0 * * *" } time_zone: "UTC" } job { priority: 100 })";
  EXPECT_EQ(reset(kPlain, cron, {}, {"cron", "every"}), Options{});
  const std::string none = R"(catch_up { mode: MODE_NONE window { seconds: 31622400 } })";
  EXPECT_EQ(reset(kFull, none, {"--catch-up"}, {"catch_up"}), Options{});
  EXPECT_EQ(reset(kFull, R"(catch_up { mode: MODE_ALL window { seconds: 3600 } max_runs: 1000 })",
                  {"--catch-up", "--catch-up-window"}, {"catch_up"}),
            Options{"--catch-up-max-runs 7 -> 1000"});
  const std::string fixed = R"(
    job { retry { max_attempts: 9 give_up_after { seconds: 72000 }
                  backoff { mode: MODE_FIXED first { seconds: 5 } jitter: 0.5 } } })";
  const Options only_fixed = reset(kFull, fixed, {"--backoff-fixed"}, {"job"});
  EXPECT_EQ(std::count_if(only_fixed.begin(), only_fixed.end(),
                          [](const std::string& line) { return line.rfind("--backoff", 0) == 0; }),
            0);
  EXPECT_EQ(reset(fixed, R"(job { retry { max_attempts: 9 backoff { mode: MODE_LISTED
                            delays { seconds: 1 } jitter: 0.5 } } })",
                  {"--backoff-delays"}, {"job"}),
            Options{"--give-up-after 20 h -> none"});
  // The queue's policy gave way to one that was asked for.
  EXPECT_EQ(reset("job { }", fixed, {"--backoff-fixed"}, {"job"}), Options{});
}

TEST(SchedulerReset, KnowsTheOptionsOfTheCommand) {
  // Of each option either a reset is told, or it is one that cannot be left out without a word:
  // required, no part of the declaration, or one that decides what the declaration is.
  const Options told = [] {
    Options names;
    for (const std::string& line : reset(kFull, kPlain)) {
      names.push_back(line.substr(0, line.find(' ')));
    }
    // Shown where their kind stays the same.
    names.insert(names.end(), {"--catch-up-max-runs", "--backoff-fixed", "--backoff-delays",
                               "--business-key-scope"});
    return names;
  }();
  const Options others = {"--cron",   "--every",   "--queue",          "--kind",  "--revision",
                          "--etag",   "--help",    "--server",         "--color", "--namespace",
                          "--output", "--timeout", "--wait-for-server"};
  for (const Noun& noun : nouns()) {
    for (const Verb& verb : noun.verbs) {
      if (noun.name != "scheduler" || verb.name != "upsert") continue;
      for (const std::string& option : long_options(noun, verb)) {
        const bool known = std::count(told.begin(), told.end(), option) +
                               std::count(others.begin(), others.end(), option) ==
                           1;
        EXPECT_TRUE(known) << option;
      }
    }
  }
}

}  // namespace
}  // namespace rota::cli
