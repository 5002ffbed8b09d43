// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace rota::base {
namespace {

TEST(ReasonTable, EveryLineIsFoundByItsNameAndByItsValue) {
  std::set<std::string_view> names;
  int index = 0;
  for (const ReasonInfo& info : reason_table()) {
    EXPECT_EQ(static_cast<int>(info.reason), index++);
    EXPECT_EQ(find_reason(info.name), info.reason);
    EXPECT_EQ(&reason_info(info.reason), &info);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
  EXPECT_FALSE(find_reason("LEASE_FOUND"));
  EXPECT_FALSE(find_reason(""));
}

TEST(ReasonTable, KeepsTheRulesOfErrorInfo) {
  for (const ReasonInfo& info : reason_table()) {
    EXPECT_LE(info.name.size(), 63u);
    EXPECT_EQ(info.name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), std::string_view::npos);
    EXPECT_EQ(info.sentence.back(), '.') << info.name;
    // What the program itself may repeat must be one of the two codes that mean "not now".
    if (info.retryable) {
      EXPECT_TRUE(info.code == StatusCode::kUnavailable ||
                  info.code == StatusCode::kResourceExhausted)
          << info.name;
    }
    if (info.code == StatusCode::kUnavailable) {
      EXPECT_TRUE(info.retryable) << info.name;
    }
  }
}

TEST(Error, TextNamesReasonFieldAndFault) {
  const Error error = make_error(Reason::kPayloadTooLarge, "312 KiB, limit 256 KiB", "payload");
  EXPECT_EQ(to_string(error), "PAYLOAD_TOO_LARGE: payload: 312 KiB, limit 256 KiB");
  EXPECT_EQ(to_string(Error{.reason = Reason::kDraining}), "DRAINING");
  EXPECT_EQ(in_field("jobs[3]", error).field, "jobs[3].payload");
  EXPECT_EQ(in_field("jobs[3]", Error{}).field, "jobs[3]");
  EXPECT_EQ(in_field("", error).field, "payload");
}

TEST(Result, HoldsAValueOrAnError) {
  Result<int> good = 7;
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 7);
  EXPECT_EQ(good.value_or(1), 7);
  Result<int> bad = invalid_field("n", "too small");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().field, "n");
  EXPECT_EQ(bad.value_or(1), 1);
  EXPECT_TRUE(Status());
  EXPECT_FALSE(Status(Error{}));
}

TEST(Result, MovesWhatCannotBeCopiedAndConvertsWhatConverts) {
  Result<std::unique_ptr<int>> owner = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(owner).value();
  EXPECT_EQ(*taken, 5);
  const Result<std::string> text = "literal";
  EXPECT_EQ(*text, "literal");
  EXPECT_EQ(text->size(), 7u);
}

TEST(ResultDeathTest, ReadingTheWrongSideEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Result<int> bad = Error{};
  Result<int> good = 1;
  EXPECT_DEATH((void)bad.value(), "");
  EXPECT_DEATH((void)good.error(), "");
}

}  // namespace
}  // namespace rota::base
