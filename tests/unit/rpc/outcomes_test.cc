// SPDX-License-Identifier: Apache-2.0
//
// Many outcomes become several commands, and one answer.
#include "rpc/outcomes.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/limits.h"

namespace rota::rpc {
namespace {

namespace limits = base::limits;

core::FinishJobs outcomes(std::size_t count, std::size_t bytes) {
  core::FinishJobs finish{.session_id = "s", .items = {}};
  for (std::size_t i = 0; i < count; ++i) {
    core::FinishItem item;
    item.lease.token = i + 1;
    item.outcome.result = std::string(bytes, 'r');
    finish.items.push_back(std::move(item));
  }
  return finish;
}

TEST(Outcomes, AUsualCallIsOneCommand) {
  const auto parts = split(outcomes(kOutcomesPerCommandMax, 100));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].items.size(), kOutcomesPerCommandMax);
}

TEST(Outcomes, ManyAreSeveralInTheirOrder) {
  const auto parts = split(outcomes(1'000, 100));
  EXPECT_EQ(parts.size(), (1'000 + kOutcomesPerCommandMax - 1) / kOutcomesPerCommandMax);
  std::uint64_t token = 0;
  for (const auto& part : parts) {
    EXPECT_EQ(part.session_id, "s");
    EXPECT_LE(part.items.size(), kOutcomesPerCommandMax);
    for (const auto& item : part.items) EXPECT_EQ(item.lease.token, ++token);
  }
  EXPECT_EQ(token, 1'000U);
}

TEST(Outcomes, LargeOnesAreFewInACommand) {
  const std::size_t large = limits::kResultBytesMax;
  const auto parts = split(outcomes(30, large));
  std::size_t items = 0;
  for (const auto& part : parts) {
    EXPECT_LE(part.items.size() * large, kOutcomeBytesPerCommandMax);
    items += part.items.size();
  }
  EXPECT_EQ(items, 30U);
}

core::Reply answer(core::CommitSeq seq, std::size_t items, model::JobState state) {
  core::FinishReply finish;
  for (std::size_t i = 0; i < items; ++i) finish.items.emplace_back(core::FinishedJob{state});
  return {.call = 1, .body = std::move(finish), .seq = seq};
}

TEST(Outcomes, AnswersAreJoinedInTheOrderOfTheParts) {
  std::optional<core::Reply> whole;
  const auto each = join(3, [&](core::Reply reply) { whole = std::move(reply); });
  ASSERT_EQ(each.size(), 3U);
  each[2](answer(9, 1, model::JobState::kReady));
  each[0](answer(7, 2, model::JobState::kDead));
  EXPECT_FALSE(whole) << "a part is still open";
  each[1](answer(8, 1, model::JobState::kSucceeded));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->seq, 9U);
  const auto& items = std::get<core::FinishReply>(whole->body).items;
  ASSERT_EQ(items.size(), 4U);
  const auto state = [&](std::size_t i) { return std::get<core::FinishedJob>(items[i]).state; };
  EXPECT_EQ(state(1), model::JobState::kDead);
  EXPECT_EQ(state(2), model::JobState::kSucceeded);
  EXPECT_EQ(state(3), model::JobState::kReady);
}

TEST(Outcomes, OneErrorIsTheAnswerWhenAllHaveCome) {
  std::optional<core::Reply> whole;
  const auto each = join(3, [&](core::Reply reply) { whole = std::move(reply); });
  each[1]({.call = 1, .body = base::make_error(base::Reason::kOverloaded, "x"), .seq = 8});
  each[0](answer(7, 2, model::JobState::kDead));
  EXPECT_FALSE(whole);
  each[2](answer(9, 1, model::JobState::kReady));
  ASSERT_TRUE(whole);
  EXPECT_EQ(std::get<base::Error>(whole->body).reason, base::Reason::kOverloaded);
}

}  // namespace
}  // namespace rota::rpc
