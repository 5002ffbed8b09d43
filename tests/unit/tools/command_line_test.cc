// SPDX-License-Identifier: Apache-2.0
#include "rota/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "rota/version.h"
#include "tools_support.h"

namespace rota::cli {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(CommandLine, HelpBeginsWithExamplesAndNamesEveryVerb) {
  const Ran help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  const std::size_t examples = help.out.find("Examples:");
  ASSERT_NE(examples, std::string::npos);
  EXPECT_LT(examples, help.out.find("Usage:"));
  for (const Noun& noun : nouns()) {
    EXPECT_TRUE(contains(help.out, noun.name));
    for (const Verb& verb : noun.verbs) EXPECT_TRUE(contains(help.out, verb.name)) << verb.name;
  }
  for (const auto& words : std::vector<std::vector<std::string>>{{}, {"job"}, {"-o", "json"}}) {
    const Ran ran = run(words);  // help, but not what was asked for
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(contains(ran.err, "Usage: rota ")) << ran.err;
  }
  EXPECT_EQ(run({"help"}).out, help.out);
  EXPECT_EQ(run({"-h"}).out, help.out);
}

TEST(CommandLine, EachVerbHasHelpWithItsExamplesFirst) {
  for (const Noun& noun : nouns()) {
    for (const Verb& verb : noun.verbs) {
      const Ran help = run({std::string(noun.name), std::string(verb.name), "--help"});
      EXPECT_EQ(help.code, 0) << noun.name << " " << verb.name;
      const std::size_t examples = help.out.find("Examples:");
      ASSERT_NE(examples, std::string::npos) << help.out;
      EXPECT_LT(examples, help.out.find("Usage:")) << help.out;
      EXPECT_TRUE(contains(help.out, "--wait-for-server"));
      EXPECT_EQ(run({"help", std::string(noun.name), std::string(verb.name)}).out, help.out);
      // Each example is of this verb.
      EXPECT_TRUE(
          contains(verb.examples, "rota " + std::string(noun.name) + " " + std::string(verb.name)));
    }
  }
  EXPECT_TRUE(contains(run({"job", "--help"}).out, "enqueue"));
}

TEST(CommandLine, TellsItsVersion) {
  const Ran ran = run({"--version"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, std::string("rota ") + ROTA_VERSION + "\n");
}

TEST(CommandLine, SuggestsForUnknownWords) {
  const auto refused = [](const std::vector<std::string>& words) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_TRUE(contains(refused({"jbo", "list"}), "did you mean job?"));
  EXPECT_TRUE(contains(refused({"scheduler", "upsrt"}), "did you mean upsert?"));
  EXPECT_TRUE(contains(refused({"zzz"}), "there are job, queue, scheduler, worker, server"));
  EXPECT_TRUE(contains(refused({"job", "get", "x", "--paylod"}), "did you mean --payload?"));
  EXPECT_TRUE(contains(refused({"queue", "get", "q", "--limt=3"}), "unknown option"));
  EXPECT_TRUE(contains(refused({"queue", "get", "a", "b"}), "one argument too many"));
  EXPECT_TRUE(contains(refused({"job"}), "Usage: rota job VERB"));
  EXPECT_TRUE(contains(refused({"queue", "get"}), "QUEUE"));
  EXPECT_TRUE(contains(refused({"job", "list", "q", "--limit", "many"}), "--limit"));
  EXPECT_TRUE(contains(refused({"job", "list", "q", "--state", "raedy"}), "did you mean ready?"));
}

TEST(CommandLine, RefusesBadGlobalOptionsBeforeItAsksAServer) {
  const auto refused = [](const std::vector<std::string>& words) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_TRUE(contains(refused({"queue", "list", "-o", "yaml"}), "--output"));
  EXPECT_TRUE(contains(refused({"queue", "list", "--timeout", "10"}), "--timeout"));
  EXPECT_TRUE(contains(refused({"queue", "list", "--wait-for-server", "x"}), "--wait-for-server"));
  EXPECT_TRUE(contains(refused({"queue", "list", "--color", "pink"}), "--color"));
  EXPECT_TRUE(contains(refused({"queue", "list", "--server", "nowhere"}), "--server"));
  EXPECT_TRUE(contains(refused({"--server", "nowhere", "queue", "list"}), "--server"));
}

std::string refusal(const std::vector<std::string>& words) {
  std::vector<std::string> all = words;
  all.insert(all.end(), {"--server", "127.0.0.1:1"});  // nobody listens there
  const Ran ran = run(all);
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(ran.out, "");
  return ran.err.substr(0, ran.err.find('\n'));
}

TEST(CommandLine, EmptyValuesAreRefusedUnlessTheySaySomething) {
  EXPECT_EQ(refusal({"job", "enqueue", "q", "k", "--business-key", ""}),
            "error: INVALID_FIELD: --business-key: must not be empty");
  EXPECT_EQ(refusal({"job", "list", "q", "--business-key="}),
            "error: INVALID_FIELD: --business-key: must not be empty");
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"job", "get", ""},
                                             {"job", "enqueue", "", "k"},
                                             {"job", "enqueue", "q", ""},
                                             {"job", "list", "q", "--kind", ""},
                                             {"job", "list", "q", "--state", ""},
                                             {"job", "enqueue", "q", "k", "--run-at", ""},
                                             {"job", "enqueue", "q", "k", "--label", ""},
                                             {"job", "enqueue", "q", "k", "--request-id", ""},
                                             {"queue", "set", "q", "--concurrency", ""},
                                             {"queue", "set", "q", "--etag", ""},
                                             {"scheduler", "preview", "--cron", ""},
                                             {"scheduler", "runs", "s", "--from", ""},
                                             {"queue", "list", "-o", ""},
                                             {"queue", "list", "--timeout", ""},
                                             {"queue", "list", "--namespace", ""}}) {
    EXPECT_TRUE(contains(refusal(words), "must not be empty")) << words[1] << " " << words[2];
  }
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"job", "enqueue", "q", "k", "--payload", ""},
                                             {"queue", "pause", "q", "--note", ""},
                                             {"queue", "list", "--prefix", ""},
                                             {"job", "cancel", "0g7m2", "--reason", ""}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--server", "127.0.0.1:1"});
    EXPECT_EQ(run(all).code, 6) << words[1];
  }
}

TEST(CommandLine, WhatIsNotUtf8IsRefusedBeforeItIsSent) {
  EXPECT_TRUE(contains(refusal({"job", "enqueue", "q", "k", "--business-key", "\xff"}),
                       "--business-key: \"\\xff\" is not UTF-8"));
  EXPECT_TRUE(contains(refusal({"queue", "get", "\xc3("}), "QUEUE: "));
  EXPECT_EQ(run({"job", "enqueue", "q", "k", "--payload", "\xff", "--server", "127.0.0.1:1"}).code,
            6);
}

TEST(CommandLine, AnOptionThatWouldBeIgnoredIsRefused) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"--priority", "3"},
                                                                 {"--payload", "x"},
                                                                 {"--run-at", "2030-01-01"},
                                                                 {"--label", "a=b"},
                                                                 {"--max-attempts", "3"},
                                                                 {"--business-key", "k"}}) {
    std::vector<std::string> all = {"job", "enqueue", "-"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_TRUE(contains(refusal(all), words[0] + ": does not go with -")) << words[0];
  }
  EXPECT_TRUE(contains(refusal({"job", "enqueue", "-", "-o", "json"}), "--output: "));
  EXPECT_TRUE(contains(refusal({"job", "enqueue", "-", "-o", "name"}), "--output: "));
  EXPECT_TRUE(contains(refusal({"job", "enqueue", "-", "--in-flight", "0"}), "from 1 to 64"));
  EXPECT_TRUE(contains(refusal({"job", "enqueue", "q", "k", "--in-flight", "2"}), "--in-flight"));
  EXPECT_TRUE(contains(refusal({"job", "enqueue", "-", "--request-id", std::string(57, 'x')}),
                       "--request-id: 57 bytes, limit 56"));
  EXPECT_TRUE(
      contains(refusal({"job", "enqueue", "q", "k", "--run-at", "2030-01-01", "--delay", "1m"}),
               "not both"));
  EXPECT_TRUE(contains(refusal({"scheduler", "preview", "s", "--start", "2030-01-01"}),
                       "--start: does not go with a saved scheduler"));
  EXPECT_TRUE(contains(refusal({"scheduler", "preview", "s", "--business-day-offset", "1"}),
                       "--business-day-offset: does not go with a saved scheduler"));
  EXPECT_TRUE(contains(refusal({"job", "redrive", "a", "b", "--request-id", "x"}),
                       "--request-id: goes with one job only"));
}

TEST(CommandLine, NumbersOutOfBoundsNameTheirOptionAndTheBounds) {
  EXPECT_EQ(refusal({"job", "list", "q", "--limit", "-2"}),
            "error: INVALID_FIELD: --limit: -2, must be 0 (all) or more");
  EXPECT_EQ(refusal({"job", "enqueue", "q", "k", "--max-attempts", "0"}),
            "error: INVALID_FIELD: --max-attempts: 0, must be from 1 to 1000");
  EXPECT_TRUE(contains(refusal({"job", "enqueue", "q", "k", "--backoff-factor", "nan"}),
                       "--backoff-factor: nan, must be from 1 to 100"));
  EXPECT_TRUE(contains(refusal({"scheduler", "preview", "--cron", "* * * * *", "--count", "0"}),
                       "--count: 0, must be from 1 to 1000"));
  EXPECT_TRUE(contains(refusal({"scheduler", "upsert", "s", "--cron", "* * * * *", "--queue", "q",
                                "--kind", "k", "--catch-up", "all", "--catch-up-max-runs", "0"}),
                       "--catch-up-max-runs: 0, must be from 1 to 100000"));
  EXPECT_TRUE(contains(refusal({"job", "enqueue", "q", "k", "--label", "a=1", "--label", "a=2"}),
                       "--label: the key \"a\" is given twice"));
  EXPECT_EQ(refusal({"queue", "set", "q", "--concurrency", "99999999999999999999"}),
            "error: INVALID_FIELD: --concurrency: must be 1 to 1000000, or unlimited");
  EXPECT_EQ(refusal({"queue", "set", "q", "--max-waiting", "99999999999999999999"}),
            "error: INVALID_FIELD: --max-waiting: must be 1 to 9223372036854775807, or unlimited");
  EXPECT_TRUE(contains(refusal({"queue", "set", "q", "--concurrency", "9x"}), "is no number"));
  EXPECT_EQ(refusal({"scheduler", "runs", "s", "--from", "2026-11-30T00:00:00Z", "--to",
                     "2026-11-29T00:00:00Z"}),
            "error: INVALID_FIELD: --to: 2026-11-29T00:00:00Z lies before --from "
            "2026-11-30T00:00:00Z");
}

TEST(CommandLine, EveryListingThatIsCutCanGoOn) {
  for (const Noun& noun : nouns()) {
    for (const Verb& verb : noun.verbs) {
      const auto options = long_options(noun, verb);
      const auto has = [&](const char* option) {
        return std::find(options.begin(), options.end(), option) != options.end();
      };
      EXPECT_EQ(has("--page-token"), has("--limit")) << noun.name << " " << verb.name;
    }
  }
  // Empty, as the first call of a loop in a script has it: from the begin.
  EXPECT_EQ(run({"queue", "list", "--page-token", "", "--server", "127.0.0.1:1"}).code, 6);
}

TEST(CommandLine, ABadAddressNamesWhereItStands) {
  setenv("ROTA_ADDRESS", "nonsense", 1);
  Ran ran = run({"queue", "list"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err, ": ROTA_ADDRESS: 'nonsense' is not HOST:PORT")) << ran.err;
  ran = run({"queue", "list", "--server", "other"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err, ": --server: 'other' is not HOST:PORT")) << ran.err;
  unsetenv("ROTA_ADDRESS");
}

TEST(CommandLine, TheHelpOfANounShowsWholeExamples) {
  const std::string help = run({"scheduler", "--help"}).out;
  EXPECT_TRUE(contains(help, "--revision 412\n")) << help;
  const std::string all = help.substr(0, help.find("Usage:"));
  EXPECT_FALSE(contains(all, "\\\n\n")) << all;
}

TEST(CommandLine, ARefusedConnectionIsReportedAtOnce) {
  // Nobody listens on port 1.
  const Ran ran = run({"queue", "list", "--server", "127.0.0.1:1", "-o", "json"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(contains(ran.err, "SERVER_UNREACHABLE")) << ran.err;
  EXPECT_TRUE(contains(ran.err, "--wait-for-server")) << ran.err;
}

TEST(CommandLine, DestructiveVerbsNeedYesWhereNobodyCanBeAsked) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"job", "delete", "0g7m2"},
                                             {"job", "cancel", "0g7m2", "0g7m3"},
                                             {"queue", "delete", "q"},
                                             {"scheduler", "delete", "s"}}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(contains(ran.err, "--yes: must be given where nobody can be asked")) << ran.err;
    EXPECT_TRUE(contains(run({words[0], words[1], "--help"}).out,
                         "must be given where nobody can be asked"));
  }
  // One job named by hand is cancelled without a question: this one only meets no server.
  EXPECT_EQ(run({"job", "cancel", "0g7m2", "--server", "127.0.0.1:1"}).code, 6);
}

TEST(CommandLine, BehindTheMarkAllWordsAreArguments) {
  EXPECT_EQ(run({"--server", "127.0.0.1:1", "queue", "get", "--", "-x"}).code, 6);
  EXPECT_EQ(run({"queue", "list", "--server", "127.0.0.1:1", "--"}).code, 6);
  EXPECT_EQ(run({"queue", "get", "--", "-x", "-y"}).code, 2);
}

TEST(CommandLine, NamesThatAreWordsOfTheProgramAreNames) {
  // The server is asked for them, so the connection is what fails.
  EXPECT_EQ(run({"queue", "get", "list", "--server", "127.0.0.1:1"}).code, 6);
  EXPECT_EQ(run({"queue", "pause", "job", "--server", "127.0.0.1:1"}).code, 6);
  EXPECT_EQ(run({"--server", "127.0.0.1:1", "scheduler", "get", "help"}).code, 6);
}

}  // namespace
}  // namespace rota::cli
