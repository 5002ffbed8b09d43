// SPDX-License-Identifier: Apache-2.0
#include "rota/fields.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

#include "base/time_format.h"

namespace rota::cli {
namespace {

std::string instant(const std::string& text, const std::string& zone = "UTC") {
  auto ms = read_instant("--after", text, zone);
  return ms ? base::format_time(*ms) : "refused: " + ms.error().field;
}

TEST(Fields, InstantsAreRfc3339OrTheBeginOfADay) {
  EXPECT_EQ(instant("2026-11-30T08:00:00+02:00"), "2026-11-30T06:00:00Z");
  EXPECT_EQ(instant("2026-11-30"), "2026-11-30T00:00:00Z");
  EXPECT_EQ(instant("2026-11-30", "Europe/Helsinki"), "2026-11-29T22:00:00Z");
  EXPECT_EQ(instant("2026-07-01", "Europe/Helsinki"), "2026-06-30T21:00:00Z");
  EXPECT_EQ(instant("2026-11-30", "+05:30"), "2026-11-29T18:30:00Z");
  EXPECT_EQ(instant("2026-11-30", "Nowhere/At-All"), "refused: --after");
  EXPECT_EQ(instant("1970-01-01"), "1970-01-01T00:00:00Z");
  EXPECT_EQ(instant("2026-11-30T08:00:00"), "refused: --after");
  EXPECT_EQ(instant("tomorrow"), "refused: --after");
}

TEST(Fields, SpansNeedAUnit) {
  EXPECT_EQ(*read_span("--delay", "1h30m"), 5'400'000);
  const auto refused = read_span("--delay", "30");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "--delay");
}

TEST(Fields, LabelsArePairs) {
  google::protobuf::Map<std::string, std::string> labels;
  ASSERT_TRUE(read_labels({"a=1", "b=x=y", "c="}, &labels));
  EXPECT_EQ(labels.at("a"), "1");
  EXPECT_EQ(labels.at("b"), "x=y");
  EXPECT_EQ(labels.at("c"), "");
  EXPECT_FALSE(read_labels({"a"}, &labels));
  EXPECT_FALSE(read_labels({"=1"}, &labels));
}

TEST(Fields, PayloadsComeFromTextOrFile) {
  EXPECT_EQ(*read_payload("{\"a\":1}"), "{\"a\":1}");
  EXPECT_EQ(*read_payload(""), "");
  char path[] = "rota-payload-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  const std::string bytes("a\0b\n", 4);
  ASSERT_EQ(write(fd, bytes.data(), bytes.size()), 4);
  EXPECT_EQ(*read_payload("@" + std::string(path)), bytes);
  ASSERT_EQ(ftruncate(fd, 5 * 1024 * 1024), 0);
  EXPECT_EQ(read_payload("@" + std::string(path)).error().reason, "PAYLOAD_TOO_LARGE");
  close(fd);
  unlink(path);
  EXPECT_EQ(read_payload("@" + std::string(path)).error().code, Code::kInvalid);
}

TEST(Fields, StatesAreReadInAnyCase) {
  EXPECT_EQ(*read_state("DEAD"), v1::JOB_STATE_DEAD);
  EXPECT_EQ(*read_state("ready"), v1::JOB_STATE_READY);
  EXPECT_NE(read_state("runing").error().message.find("running"), std::string::npos);
}

TEST(Fields, RetryChangesWhatIsGivenAndLeavesTheRest) {
  v1::RetryPolicy policy;
  policy.set_max_attempts(5);
  policy.mutable_backoff()->set_mode(v1::Backoff::MODE_EXPONENTIAL);
  policy.mutable_backoff()->mutable_first()->set_seconds(7);
  policy.mutable_backoff()->set_factor(3);
  policy.mutable_backoff()->set_jitter(0.5);

  RetryFlags flags;
  flags.cap = "2m";
  ASSERT_TRUE(flags.apply(&policy));
  EXPECT_EQ(policy.max_attempts(), 5);
  EXPECT_EQ(policy.backoff().first().seconds(), 7);
  EXPECT_EQ(policy.backoff().cap().seconds(), 120);

  flags = {};
  flags.max_attempts = 2;
  flags.delays = "10s,1m";
  ASSERT_TRUE(flags.apply(&policy));
  EXPECT_EQ(policy.max_attempts(), 2);
  EXPECT_EQ(policy.backoff().mode(), v1::Backoff::MODE_LISTED);
  EXPECT_FALSE(policy.backoff().has_first());
  EXPECT_EQ(policy.backoff().factor(), 0);
  EXPECT_EQ(policy.backoff().jitter(), 0.5);
  ASSERT_EQ(policy.backoff().delays_size(), 2);
  EXPECT_EQ(policy.backoff().delays(1).seconds(), 60);

  flags = {};
  flags.fixed = "1s";
  ASSERT_TRUE(flags.apply(&policy));
  EXPECT_EQ(policy.backoff().mode(), v1::Backoff::MODE_FIXED);
  EXPECT_EQ(policy.backoff().delays_size(), 0);
  flags.first = "1s";
  EXPECT_FALSE(flags.apply(&policy));
}

TEST(Fields, GivingUpIsSwitchedOffByTheWordNone) {
  v1::RetryPolicy policy;
  policy.set_max_attempts(7);
  policy.mutable_give_up_after()->set_seconds(60);
  RetryFlags flags;
  flags.give_up_after = "none";
  EXPECT_TRUE(flags.any());
  ASSERT_TRUE(flags.apply(&policy));
  EXPECT_FALSE(policy.has_give_up_after());
  EXPECT_EQ(policy.max_attempts(), 7);
  flags.give_up_after = "never";
  EXPECT_EQ(flags.apply(&policy).error().field, "--give-up-after");
}

TEST(Fields, RetryNumbersOutOfTheirBoundsNameTheOption) {
  const auto fault = [](const std::function<void(RetryFlags&)>& set) {
    RetryFlags flags;
    set(flags);
    v1::RetryPolicy policy;
    const auto applied = flags.apply(&policy);
    EXPECT_FALSE(applied);
    EXPECT_EQ(policy.SerializeAsString(), "");
    return applied ? Error() : applied.error();
  };
  for (const int attempts : {0, -1, 1'001}) {
    const Error error = fault([&](RetryFlags& flags) { flags.max_attempts = attempts; });
    EXPECT_EQ(error.field, "--max-attempts");
    EXPECT_EQ(error.message, std::to_string(attempts) + ", must be from 1 to 1000");
  }
  for (const double factor : {0.0, 0.99, -2.0, 101.0, std::nan("")}) {
    EXPECT_EQ(fault([&](RetryFlags& flags) { flags.factor = factor; }).field, "--backoff-factor");
  }
  for (const double jitter : {-0.1, 1.1, std::nan("")}) {
    EXPECT_EQ(fault([&](RetryFlags& flags) { flags.jitter = jitter; }).field, "--backoff-jitter");
  }
}

TEST(Fields, ALabelIsGivenOnce) {
  google::protobuf::Map<std::string, std::string> labels;
  EXPECT_TRUE(read_labels({"a=1", "b=", "c=x=y"}, &labels));
  EXPECT_EQ(labels.at("c"), "x=y");
  labels.clear();
  const auto twice = read_labels({"a=1", "b=2", "a=1"}, &labels);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().field, "--label");
  EXPECT_EQ(twice.error().message, "the key \"a\" is given twice");
}

TEST(Fields, ADateGoneWrongIsCalledADate) {
  const auto message = [](const char* text) {
    const auto at = read_instant("--run-at", text);
    EXPECT_FALSE(at) << text;
    return at ? std::string() : at.error().message;
  };
  EXPECT_EQ(message("2026-13-01"), "\"2026-13-01\" is a date that does not exist");
  EXPECT_EQ(message("2026-02-29"), "\"2026-02-29\" is a date that does not exist");
  EXPECT_EQ(message("2026-1x-01"), "\"2026-1x-01\" is not a date; write 2026-11-30");
  const std::string time = message("2026-11-30T08:00:00");
  EXPECT_NE(time.find("offset"), std::string::npos) << time;
  EXPECT_NE(time.find("write 2026-11-30T08:00:00Z or 2026-11-30T10:00:00+02:00, or 2026-11-30 for"),
            std::string::npos)
      << time;
  EXPECT_EQ(time.find("2026-11-30T08:00:00\": \"2026"), std::string::npos) << "said once";
}

}  // namespace
}  // namespace rota::cli
