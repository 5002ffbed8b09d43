// SPDX-License-Identifier: Apache-2.0
#include "rota/output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "rota/v1/job_service.pb.h"
#include "tools_support.h"

namespace rota::cli {
namespace {

TEST(Output, KnowsItsForms) {
  EXPECT_EQ(*parse_form("table"), Form::kTable);
  EXPECT_EQ(*parse_form("json"), Form::kJson);
  EXPECT_EQ(*parse_form("jsonl"), Form::kJsonl);
  EXPECT_EQ(*parse_form("name"), Form::kName);
  EXPECT_EQ(parse_form("yaml").error().code, Code::kInvalid);
}

TEST(Output, JsonIsThatOfTheMessageWithEmptyListsAndZeros) {
  const auto json = nlohmann::json::parse(to_json(v1::ListJobsResponse(), true));
  EXPECT_EQ(json["jobs"], nlohmann::json::array());
  EXPECT_EQ(json["nextPageToken"], "");
  v1::EnqueueJobResponse answer;
  answer.mutable_job()->set_id("0g7m2");
  answer.set_commit_seq(9007199254740993);
  const std::string line = to_json(answer, false);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed["job"]["created"], false);
  EXPECT_EQ(parsed["commitSeq"], "9007199254740993");
}

TEST(Output, ManyAnswersBecomeOneArray) {
  const auto shown = [](Form form, int count) {
    Capture out, err;
    Output output(out.file(), err.file());
    output.form = form;
    output.begin_many();
    for (int i = 0; i < count; ++i) {
      v1::DeleteJobResponse answer;
      answer.set_commit_seq(i);
      output.show(answer, "id" + std::to_string(i), [] { return std::string("text\n"); });
    }
    output.end_many();
    return out.text();
  };
  EXPECT_EQ(nlohmann::json::parse(shown(Form::kJson, 0)), nlohmann::json::array());
  EXPECT_EQ(nlohmann::json::parse(shown(Form::kJson, 3)).size(), 3U);
  EXPECT_EQ(shown(Form::kName, 2), "id0\nid1\n");
  EXPECT_EQ(shown(Form::kTable, 2), "text\ntext\n");
  EXPECT_EQ(shown(Form::kJsonl, 1), "{\"commitSeq\":\"0\"}\n");
}

TEST(Output, AnswersToIdsBeginWithTheIdThatWasAskedFor) {
  Error error = usage_error("JOB", "not an \"id\"");
  error.reason = "BAD_JOB_ID";
  const auto shown = [&error](Form form) {
    Capture out, err;
    Output output(out.file(), err.file());
    output.form = form;
    output.begin_many();
    v1::GetJobResponse answer;
    answer.mutable_job()->set_id("0g7k9");
    output.show(
        answer, "0g7k9", [] { return std::string("text\n"); }, "0G7K9");
    output.show_refused("\"\xff", error);
    output.end_many();
    EXPECT_EQ(err.text(), "");
    return out.text();
  };
  const auto all = nlohmann::json::parse(shown(Form::kJson));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["id"], "0G7K9") << "as it was given";
  EXPECT_EQ(all[0]["job"]["id"], "0g7k9");
  EXPECT_FALSE(all[0].contains("error"));
  EXPECT_EQ(all[1]["id"], "\"\xEF\xBF\xBD");
  EXPECT_EQ(
      all[1]["error"],
      (nlohmann::json{{"reason", "BAD_JOB_ID"}, {"field", "JOB"}, {"message", "not an \"id\""}}));
  const std::string lines = shown(Form::kJsonl);
  EXPECT_EQ(nlohmann::json::parse(lines.substr(0, lines.find('\n'))), all[0]);
  EXPECT_EQ(nlohmann::json::parse(lines.substr(lines.find('\n') + 1)), all[1]);
  EXPECT_EQ(shown(Form::kName), "0g7k9\n") << "only what was answered";
  EXPECT_EQ(shown(Form::kTable), "text\n");
}

TEST(Output, AnErrorInJsonTellsWhetherItMayHaveHappened) {
  Error error = usage_error("", "late");
  EXPECT_FALSE(nlohmann::json::parse(json_error(error)).contains("mayHaveHappened"));
  error.request_id = "r-1";
  EXPECT_FALSE(nlohmann::json::parse(json_error(error)).contains("requestId"));
  error.may_have_happened = true;
  EXPECT_EQ(nlohmann::json::parse(json_error(error))["mayHaveHappened"], true);
  EXPECT_EQ(nlohmann::json::parse(json_error(error))["requestId"], "r-1");
  error.request_id.clear();  // of a call that has none
  EXPECT_FALSE(nlohmann::json::parse(json_error(error)).contains("requestId"));
}

TEST(Output, ErrorsNameReasonFieldMessageAndWayOut) {
  Error error = usage_error("--yes", "1 job waits");
  error.reason = "QUEUE_NOT_EMPTY";
  EXPECT_EQ(error_line(error), "error: QUEUE_NOT_EMPTY: --yes: 1 job waits");
  EXPECT_NE(way_out(error).find("rota queue purge"), std::string::npos);
  Capture out, err;
  Output output(out.file(), err.file());
  output.error(error);
  EXPECT_EQ(out.text(), "");
  EXPECT_EQ(err.text(), error_line(error) + "\n  " + way_out(error) + "\n");
  error.may_have_happened = true;
  error.request_id = "r-1";
  EXPECT_NE(error_line(error).find("the same again with --request-id r-1 is safe"),
            std::string::npos);
  error.request_id.clear();
  EXPECT_NE(error_line(error).find("the same command again is safe"), std::string::npos);
  // A message that is whole in itself gets no line below it.
  error = usage_error("--payload", "312 KiB, limit 256 KiB");
  error.reason = "PAYLOAD_TOO_LARGE";
  EXPECT_EQ(way_out(error), "");
}

TEST(Output, AFieldIsSaidOnce) {
  Error error = usage_error("request_id", "request_id: this request id was used");
  drop_repeated_field(&error);
  EXPECT_EQ(error_line(error), "error: INVALID_FIELD: request_id: this request id was used");
  drop_repeated_field(&error);
  EXPECT_EQ(error.message, "this request id was used");
}

TEST(Output, FieldsInAMessageAreRenamedAndNothingElse) {
  const auto renamed = [](std::string_view message) {
    return rename_fields(message,
                         [](std::string_view field) { return "<" + std::string(field) + ">"; });
  };
  EXPECT_EQ(renamed("before run_at"), "before <run_at>");
  EXPECT_EQ(renamed("run_at"), "<run_at>");
  EXPECT_EQ(renamed("one of run_at, retry.max_attempts."),
            "one of <run_at>, <retry.max_attempts>.");
  EXPECT_EQ(renamed("(start_time)"), "(<start_time>)");
  for (const char* text :
       {"", "a plain text, with its 2.5 MiB.", "\"run_at\" is no state", "\"a \\\" run_at\" x",
        "\"without an end run_at", "allowed: {{nominal_time}}, {{business_date}}",
        "ROTA_max_waiting", "a-run_at", "/var/run_at", "run_at=1", "run_at\xC3\xA4"}) {
    EXPECT_EQ(renamed(text), text);
  }
}

TEST(Output, AdviceIsOnlyForReasonsThatExist) {
  // Those of the server's table; the transport's own are the other two.
  for (const char* reason :
       {"QUEUE_NOT_FOUND", "JOB_NOT_FOUND", "SCHEDULER_NOT_FOUND", "NAMESPACE_NOT_FOUND",
        "BAD_JOB_ID", "BUSINESS_KEY_CONFLICT", "ETAG_MISMATCH", "ALREADY_FINAL", "JOB_RUNNING",
        "NOT_DEAD", "NOT_FINAL", "QUEUE_NOT_EMPTY", "QUEUE_IN_USE", "QUEUE_FULL",
        "BUSINESS_KEY_NEEDS_TIME", "DRAINING"}) {
    Error error;
    error.reason = reason;
    EXPECT_NE(way_out(error), "") << reason;
    EXPECT_TRUE(base::find_reason(reason)) << reason;
  }
}

TEST(Output, JsonStringsAreAlwaysValid) {
  for (const std::string& text :
       {std::string("plain"), std::string("\"\\\n\t\x01\x7f"), std::string("\xFF\xC3"),
        std::string("\xC3\xA4\xF0\x9F\x98\x80"), std::string("\0", 1)}) {
    EXPECT_TRUE(nlohmann::json::accept(json_string(text))) << json_string(text);
  }
  EXPECT_EQ(nlohmann::json::parse(json_string("\xC3\xA4\n\"")).get<std::string>(), "\xC3\xA4\n\"");
}

}  // namespace
}  // namespace rota::cli
