// SPDX-License-Identifier: Apache-2.0
#include "rota/command_line.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(run({}).out, help.out);
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

TEST(CommandLine, ARefusedConnectionIsReportedAtOnce) {
  // Nobody listens on port 1.
  const Ran ran = run({"queue", "list", "--server", "127.0.0.1:1", "-o", "json"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(contains(ran.err, "SERVER_UNREACHABLE")) << ran.err;
  EXPECT_TRUE(contains(ran.err, "--wait-for-server")) << ran.err;
}

TEST(CommandLine, DestructiveVerbsNeedYesWhereNobodyCanBeAsked) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"job", "delete", "0g7m2"}, {"queue", "delete", "q"}, {"scheduler", "delete", "s"}}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(contains(ran.err, "--yes")) << ran.err;
  }
}

TEST(CommandLine, NamesThatAreWordsOfTheProgramAreNames) {
  // The server is asked for them, so the connection is what fails.
  EXPECT_EQ(run({"queue", "get", "list", "--server", "127.0.0.1:1"}).code, 6);
  EXPECT_EQ(run({"queue", "pause", "job", "--server", "127.0.0.1:1"}).code, 6);
  EXPECT_EQ(run({"--server", "127.0.0.1:1", "scheduler", "get", "help"}).code, 6);
}

}  // namespace
}  // namespace rota::cli
