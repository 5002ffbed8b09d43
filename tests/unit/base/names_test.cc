// SPDX-License-Identifier: Apache-2.0
#include "base/names.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace rota::base {
namespace {

void expect_fault(const std::optional<Error>& error, Reason reason, std::string_view fault) {
  ASSERT_TRUE(error) << "accepted; expected: " << fault;
  EXPECT_EQ(error->reason, reason);
  EXPECT_NE(error->message.find(fault), std::string::npos) << error->message;
  EXPECT_FALSE(error->field.empty());
}

TEST(CheckName, TakesSegmentsJoinedBySingleSlashes) {
  for (const char* good : {"a", "invoices/daily", "A.b_c:d-9/x", "0", "a/b/c/d"}) {
    EXPECT_FALSE(check_name("queue", good)) << good;
  }
  EXPECT_FALSE(check_name("queue", std::string(128, 'q')));
}

TEST(CheckName, NamesTheFaultAndTheLimit) {
  expect_fault(check_name("queue", ""), Reason::kMissingField, "empty");
  expect_fault(check_name("queue", std::string(129, 'q')), Reason::kInvalidField,
               "129 bytes, limit 128");
  expect_fault(check_name("queue", "/a"), Reason::kInvalidField, "empty segment at byte 0");
  expect_fault(check_name("queue", "a//b"), Reason::kInvalidField, "empty segment at byte 2");
  expect_fault(check_name("queue", "a/"), Reason::kInvalidField, "ends with a slash");
  expect_fault(check_name("queue", "/"), Reason::kInvalidField, "empty segment");
  expect_fault(check_name("queue", "a b"), Reason::kInvalidField, "byte 1");
  expect_fault(check_name("queue", "caf\xc3\xa9"), Reason::kInvalidField, "byte 3");
  expect_fault(check_name("queue", std::string("a\0b", 3)), Reason::kInvalidField, "byte 1");
}

TEST(CheckTextKey, TakesUtf8WithoutControls) {
  EXPECT_FALSE(check_text_key("business_key", "invoice/42/2026-11"));
  EXPECT_FALSE(check_text_key("business_key", "Käyttäjä 7"));
  EXPECT_FALSE(check_text_key("business_key", std::string(256, 'k')));
  expect_fault(check_text_key("business_key", ""), Reason::kMissingField, "empty");
  expect_fault(check_text_key("business_key", std::string(257, 'k')), Reason::kInvalidField,
               "257 bytes, limit 256");
  expect_fault(check_text_key("business_key", "a\nb"), Reason::kInvalidField, "control");
  expect_fault(check_text_key("business_key", "a\xc2\x85"), Reason::kInvalidField, "control");
  expect_fault(check_text_key("business_key", "\xff"), Reason::kInvalidField, "UTF-8");
}

TEST(CheckRequestId, TakesPrintableAscii) {
  EXPECT_FALSE(check_request_id("request_id", "0b7f2c9e-1b7a-4c1e-9a59-0a9d6f6f7c11"));
  EXPECT_FALSE(check_request_id("request_id", "batch 7:0"));
  EXPECT_FALSE(check_request_id("request_id", std::string(64, '~')));
  expect_fault(check_request_id("request_id", ""), Reason::kMissingField, "empty");
  expect_fault(check_request_id("request_id", std::string(65, 'r')), Reason::kInvalidField,
               "65 bytes, limit 64");
  expect_fault(check_request_id("request_id", "a\tb"), Reason::kInvalidField, "printable");
  expect_fault(check_request_id("request_id", " a"), Reason::kInvalidField, "space");
}

TEST(CheckLabels, BoundsPairsBytesAndForms) {
  EXPECT_FALSE(check_labels("labels", {}));
  EXPECT_FALSE(check_labels("labels", {{"traceparent", "00-ab-cd-01"}, {"empty", ""}}));
  LabelMap many;
  for (int i = 0; i < 33; ++i) many["k" + std::to_string(i)] = "v";
  expect_fault(check_labels("labels", many), Reason::kInvalidField, "33 pairs, limit 32");
  expect_fault(check_labels("labels", {{"k", std::string(4'096, 'v')}}), Reason::kInvalidField,
               "limit 4 KiB");
  EXPECT_FALSE(check_labels("labels", {{"k", std::string(4'095, 'v')}}));
  expect_fault(check_labels("labels", {{"", "v"}}), Reason::kInvalidField, "empty key");
  expect_fault(check_labels("labels", {{"a b", "v"}}), Reason::kInvalidField, "byte 1");
  expect_fault(check_labels("labels", {{"k", "\xff"}}), Reason::kInvalidField, "UTF-8");
  expect_fault(check_labels("labels", {{"k", "a\nb"}}), Reason::kInvalidField, "control");
}

TEST(CheckText, AllowsLinesButNoOtherControls) {
  EXPECT_FALSE(check_text("note", "", 10));
  EXPECT_FALSE(check_text("note", "two\nlines\t", 10));
  expect_fault(check_text("note", "eleven byte", 10), Reason::kInvalidField, "11 bytes, limit 10");
  expect_fault(check_text("note", "\x1b[31m", 10), Reason::kInvalidField, "control");
  expect_fault(check_text("note", "\xc3", 10), Reason::kInvalidField, "UTF-8");
}

TEST(CheckRange, ShowsBothBounds) {
  EXPECT_FALSE(check_range("priority", 0, 0, 255));
  EXPECT_FALSE(check_range("priority", 255, 0, 255));
  expect_fault(check_range("priority", 256, 0, 255), Reason::kInvalidField, "256, limit 0 to 255");
  expect_fault(check_duration("lease_ttl", 2'000, limits::kLeaseTtlMsMin, limits::kLeaseTtlMsMax),
               Reason::kInvalidField, "2s, limit 5s to 1h");
  EXPECT_FALSE(check_duration("lease_ttl", 5'000, limits::kLeaseTtlMsMin, limits::kLeaseTtlMsMax));
}

TEST(FormatBytes, NeverMakesALargerSizeLookEqual) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1'023), "1023 bytes");
  EXPECT_EQ(format_bytes(256 * kKiB), "256 KiB");
  EXPECT_EQ(format_bytes(256 * kKiB + 1), "256.1 KiB");
  EXPECT_EQ(format_bytes(312 * kKiB), "312 KiB");
  EXPECT_EQ(format_bytes(8 * kMiB), "8 MiB");
  EXPECT_EQ(format_bytes(INT64_MAX), "8796093022208 MiB");
}

}  // namespace
}  // namespace rota::base
