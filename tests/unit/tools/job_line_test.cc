// SPDX-License-Identifier: Apache-2.0
#include "rota/job_line.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>

namespace rota::cli {
namespace {

v1::JobSpec parsed(std::string_view line) {
  v1::JobSpec job;
  Error error;
  EXPECT_TRUE(parse_job_line(line, &job, &error)) << line << ": " << error.message;
  return job;
}

Error refused(std::string_view line) {
  v1::JobSpec job;
  Error error;
  EXPECT_FALSE(parse_job_line(line, &job, &error)) << line;
  EXPECT_EQ(error.code, Code::kInvalid);
  return error;
}

TEST(JobLine, HoldsEveryFieldOfAJob) {
  const v1::JobSpec job = parsed(
      R"({"queue": "q", "kind": "k", "payload": "p", "contentType": "text/plain", "priority": 7,
          "runAt": "2026-11-30T08:00:00.25+02:00", "startDeadline": "2026-12-01T00:00:00Z",
          "attemptTimeout": "1m30s", "businessKey": "b", "businessKeyScope": "s",
          "labels": {"a": "1", "b/c": "ü"},
          "retry": {"maxAttempts": 3, "giveUpAfter": "20h",
                    "backoff": {"mode": "EXPONENTIAL", "first": "2s", "factor": 1.5, "cap": "1h",
                                "jitter": 0}},
          "dedup": {"onDead": "REDRIVE"}})");
  v1::JobSpec wanted;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(queue: "q" kind: "k" payload { data: "p" content_type: "text/plain" } priority: 7
         run_at { seconds: 1796018400 nanos: 250000000 } start_deadline { seconds: 1796083200 }
         attempt_timeout { seconds: 90 } business_key: "b" business_key_scope: "s"
         labels { key: "a" value: "1" } labels { key: "b/c" value: "\303\274" }
         retry { max_attempts: 3 give_up_after { seconds: 72000 }
                 backoff { mode: MODE_EXPONENTIAL first { seconds: 2 } factor: 1.5
                           cap { seconds: 3600 } jitter: 0 } }
         dedup { on_dead: ON_DEAD_REDRIVE })",
      &wanted));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(job, wanted)) << job.DebugString();
  const v1::JobSpec other = parsed(
      R"({"delay": "10m", "noAttemptTimeout": true,
          "retry": {"backoff": {"mode": "LISTED", "delays": ["1s", "5m"]}}})");
  EXPECT_EQ(other.delay().seconds(), 600);
  EXPECT_TRUE(other.no_attempt_timeout());
  EXPECT_EQ(other.retry().backoff().delays_size(), 2);
}

TEST(JobLine, SpellsValuesAsTheOptionsDo) {
  const auto mode = [](const std::string& word) {
    return parsed(R"({"retry": {"backoff": {"mode": ")" + word + "\"}}}").retry().backoff().mode();
  };
  EXPECT_EQ(mode("fixed"), v1::Backoff::MODE_FIXED);
  EXPECT_EQ(mode("EXPONENTIAL"), v1::Backoff::MODE_EXPONENTIAL);
  EXPECT_EQ(mode("MODE_LISTED"), v1::Backoff::MODE_LISTED);
  const auto on_dead = [](const std::string& word) {
    return parsed(R"({"dedup": {"onDead": ")" + word + "\"}}").dedup().on_dead();
  };
  EXPECT_EQ(on_dead("redrive"), v1::DedupPolicy::ON_DEAD_REDRIVE);
  EXPECT_EQ(on_dead("Return"), v1::DedupPolicy::ON_DEAD_RETURN);
  EXPECT_EQ(on_dead("ON_DEAD_REDRIVE"), v1::DedupPolicy::ON_DEAD_REDRIVE);

  const v1::JobSpec job = parsed(R"({"runAt": "2026-11-30", "startDeadline": "2026-12-01",
      "attemptTimeout": "none", "noAttemptTimeout": false, "retry": {"giveUpAfter": "none"}})");
  EXPECT_EQ(job.run_at().seconds(), 1795996800) << "the day begins in UTC";
  EXPECT_EQ(job.start_deadline().seconds(), 1795996800 + 86'400);
  EXPECT_TRUE(job.no_attempt_timeout());
  EXPECT_FALSE(job.has_attempt_timeout());
  EXPECT_TRUE(job.has_retry());
  EXPECT_FALSE(job.retry().has_give_up_after());
  EXPECT_EQ(refused(R"({"runAt": "2026-02-30"})").message,
            "\"2026-02-30\" is a date that does not exist");
}

TEST(JobLine, KnowsEachFieldOfTheMessage) {
  // A new field of JobSpec must find its name here.
  EXPECT_EQ(v1::JobSpec::descriptor()->field_count(), 14);
  EXPECT_EQ(v1::RetryPolicy::descriptor()->field_count(), 3);
  EXPECT_EQ(v1::Backoff::descriptor()->field_count(), 6);
  EXPECT_EQ(v1::DedupPolicy::descriptor()->field_count(), 1);
}

TEST(JobLine, SendsAPayloadThatIsNoStringAsItsText) {
  const auto payload = [](const char* json) {
    return parsed(std::string(R"({"payload": )") + json + "}").payload().data();
  };
  EXPECT_EQ(payload(R"("a\nb")"), "a\nb");
  EXPECT_EQ(payload(R"({"user": 42,  "x":[1.50]})"), R"({"user": 42,  "x":[1.50]})");
  EXPECT_EQ(payload("[1, 2]"), "[1, 2]");
  EXPECT_EQ(payload("12.0"), "12.0");
  EXPECT_EQ(payload("true"), "true");
  EXPECT_EQ(payload("null"), "null");
  EXPECT_EQ(payload(R"("")"), "");
  EXPECT_EQ(payload(R"("\u0000\u00ff")"), std::string("\0\xC3\xBF", 3));
}

TEST(JobLine, TakesNullForAFieldThatIsLeftOut) {
  const v1::JobSpec job = parsed(R"({"queue": "q", "priority": null, "runAt": null, "labels": null,
                                     "retry": null, "dedup": null})");
  EXPECT_FALSE(job.has_priority());
  EXPECT_FALSE(job.has_run_at());
  EXPECT_FALSE(job.has_retry());
  EXPECT_FALSE(job.has_dedup());
}

TEST(JobLine, RefusesWhatIsNoJson) {
  EXPECT_EQ(refused("").reason, "INVALID_JSON");
  EXPECT_EQ(refused("[]").reason, "INVALID_JSON");
  EXPECT_EQ(refused(R"({"queue": "q")").reason, "INVALID_JSON");
  EXPECT_EQ(refused(R"({"queue": })").reason, "INVALID_JSON");
  EXPECT_EQ(refused(R"({"queue": "q"} x)").reason, "INVALID_JSON");
  EXPECT_EQ(refused("{\"queue\": \"\xFF\"}").reason, "INVALID_JSON");
  EXPECT_EQ(refused(R"({"payload": [1,]})").reason, "INVALID_JSON");
  EXPECT_EQ(refused(R"({"queue" "q"})").message, "expected ':' at byte 10");
}

TEST(JobLine, NamesTheFieldAtFault) {
  const auto field = [](std::string_view line) {
    const Error error = refused(line);
    EXPECT_EQ(error.reason, "INVALID_FIELD") << line;
    return error.field;
  };
  EXPECT_EQ(field(R"({"queue": 1})"), "queue");
  EXPECT_EQ(field(R"({"priority": "high"})"), "priority");
  EXPECT_EQ(field(R"({"priority": 1.5})"), "priority");
  EXPECT_EQ(field(R"({"priority": 1e300})"), "priority");
  EXPECT_EQ(field(R"({"priority": 1e400})"), "priority") << "no double holds it";
  EXPECT_EQ(field(R"({"priority": 1e-400})"), "priority");
  EXPECT_EQ(field(R"({"retry": {"backoff": {"factor": 1e999}}})"), "retry.backoff.factor");
  EXPECT_EQ(field(R"({"retry": {"maxAttempts": 0}})"), "retry.maxAttempts");
  EXPECT_EQ(field(R"({"retry": {"maxAttempts": -3}})"), "retry.maxAttempts");
  EXPECT_EQ(field(R"({"retry": {"backoff": {"factor": 0}}})"), "retry.backoff.factor");
  EXPECT_EQ(field(R"({"businessKey": ""})"), "businessKey");
  EXPECT_EQ(field(R"({"businessKeyScope": ""})"), "businessKeyScope");
  EXPECT_EQ(field(R"({"contentType": ""})"), "contentType");
  EXPECT_EQ(field(R"({"labels": {"a": "1", "b": "2", "a": "1"}})"), "labels");
  EXPECT_EQ(field(R"({"priority": 99999999999})"), "priority");
  EXPECT_EQ(field(R"({"runAt": "tomorrow"})"), "runAt");
  EXPECT_EQ(field(R"({"attemptTimeout": "30"})"), "attemptTimeout");
  EXPECT_EQ(field(R"({"labels": {"a": 1}})"), "labels");
  EXPECT_EQ(field(R"({"retry": {"backoff": {"mode": "FAST"}}})"), "retry.backoff.mode");
  EXPECT_EQ(field(R"({"dedup": {"onDead": "X"}})"), "dedup.onDead");
  EXPECT_EQ(field(R"({"queue": "a", "queue": "b"})"), "queue");
}

TEST(JobLine, MessagesOfTheServerNameFieldsAsTheLinesDo) {
  EXPECT_EQ(line_field("retry.max_attempts"), "retry.maxAttempts");
  EXPECT_EQ(line_message("not together with run_at"), "not together with runAt");
  EXPECT_EQ(line_message("only together with business_key"), "only together with businessKey");
  EXPECT_EQ(line_message("see retry.give_up_after"), "see retry.giveUpAfter");
  EXPECT_EQ(line_message("not together with attempt_timeout"), "not together with attemptTimeout");
  for (const char* text : {"the limit is 256 KiB (server option limits.payload_bytes)",
                           "max_waiting of the queue", "no queue \"run_at\"", "priority"}) {
    EXPECT_EQ(line_message(text), text) << "no field of a line";
  }
}

TEST(JobLine, RefusesUnknownFieldsWithASuggestion) {
  Error error = refused(R"({"queue": "q", "pririty": 5})");
  EXPECT_EQ(error.field, "pririty");
  EXPECT_EQ(error.message, "is no field; did you mean priority?");
  EXPECT_EQ(refused(R"({"retry": {"maxAttempt": 5}})").field, "retry.maxAttempt");
  EXPECT_EQ(refused(R"({"colour": 5})").message, "is not a field of a job");
  EXPECT_EQ(refused(R"({"": 5})").field, R"("")") << "a name that is empty is shown all the same";
  error = refused(R"({"requestId": "r"})");
  EXPECT_EQ(error.field, "requestId");
  EXPECT_NE(error.message.find("--request-id"), std::string::npos);
}

TEST(JobLine, RefusesAPayloadThatNoServerTakes) {
  const std::string line = R"({"payload": ")" + std::string(4 * 1024 * 1024 + 1, 'x') + "\"}";
  const Error error = refused(line);
  EXPECT_EQ(error.reason, "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(error.field, "payload");
}

}  // namespace
}  // namespace rota::cli
