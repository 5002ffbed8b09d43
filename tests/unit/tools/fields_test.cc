// SPDX-License-Identifier: Apache-2.0
#include "rota/fields.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
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

}  // namespace
}  // namespace rota::cli
