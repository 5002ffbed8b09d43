// SPDX-License-Identifier: Apache-2.0
//
// Keys: they sort as what they stand for, parse back, and no two tuples share one.
#include "model/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rota::model {
namespace {

TEST(Keys, JobsSortByQueueThenPriorityDownThenSequence) {
  const std::vector<JobKey> ordered = {{1, 255, 1},   {1, 255, 2}, {1, 100, 1}, {1, 100, 256},
                                       {1, 100, 257}, {1, 0, 1},   {2, 255, 1}, {256, 3, 9}};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    EXPECT_EQ(keys::parse_job(keys::job(ordered[i])), ordered[i]);
    EXPECT_EQ(keys::job(ordered[i]).size(), 13U);
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      EXPECT_EQ(ordered[i] < ordered[j], i < j);
      EXPECT_EQ(keys::job(ordered[i]) < keys::job(ordered[j]), i < j);
    }
  }
}

TEST(Keys, RangesHoldTheirQueueAndLevelOnly) {
  const std::string begin = keys::queue_begin(5);
  const std::string end = keys::queue_end(5);
  for (const JobKey key : {JobKey{5, 255, 0}, JobKey{5, 0, UINT64_MAX}}) {
    EXPECT_LE(begin, keys::job(key));
    EXPECT_LT(keys::job(key), end);
  }
  EXPECT_LT(keys::job({4, 0, UINT64_MAX}), begin);
  EXPECT_LE(end, keys::job({6, 255, 0}));
  EXPECT_LT(keys::job({5, 100, UINT64_MAX}), keys::level_end(5, 100));
  EXPECT_LE(keys::level_end(5, 100), keys::job({5, 99, 0}));
  EXPECT_LT(keys::job({5, 0, UINT64_MAX}), keys::level_end(5, 0));
  EXPECT_LE(keys::level_end(5, 0), keys::job({6, 255, 0}));
}

TEST(Keys, ReadyKeyIsTheJobKeyWithItsPresentPriority) {
  const JobKey key{3, 100, 17};
  EXPECT_EQ(keys::ready(key, 100), keys::job(key));
  EXPECT_EQ(keys::parse_job(keys::ready(key, 7)), (JobKey{3, 7, 17}));
}

TEST(Keys, TimersSortByTimeAndParseBack) {
  const std::vector<keys::TimerKey> ordered = {
      {-5, keys::TimerKind::kPromote, {1, 100, 1}},
      {0, keys::TimerKind::kPromote, {1, 100, 1}},
      {1'000, keys::TimerKind::kPromote, {1, 255, 9}},
      {1'000, keys::TimerKind::kPromote, {1, 100, 1}},
      {1'000, keys::TimerKind::kStartDeadline, {1, 100, 1}},
      {1'001, keys::TimerKind::kPromote, {1, 255, 1}}};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    EXPECT_EQ(keys::parse_timer(keys::timer(ordered[i])), ordered[i]);
    EXPECT_LE(keys::timer_begin(ordered[i].due_ms), keys::timer(ordered[i]));
    for (std::size_t j = i + 1; j < ordered.size(); ++j) {
      EXPECT_LT(keys::timer(ordered[i]), keys::timer(ordered[j]));
      EXPECT_LT(ordered[i], ordered[j]);
    }
  }
}

TEST(Keys, FinalRecordsAndTheirIndexStayApart) {
  const JobKey key{7, 100, 3};
  EXPECT_EQ(keys::parse_final(keys::final_record(key)), key);
  const std::string index = keys::final_index(7, JobState::kDead, 1'000, 55);
  const auto parsed = keys::parse_final_index(index);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->queue, 7U);
  EXPECT_EQ(parsed->group, JobState::kDead);
  EXPECT_EQ(parsed->ended_ms, 1'000);
  EXPECT_EQ(parsed->seq, 55U);
  EXPECT_FALSE(keys::parse_final(index).has_value());
  EXPECT_FALSE(keys::parse_final_index(keys::final_record(key)).has_value());
  EXPECT_LE(keys::final_index_begin(7, JobState::kDead, 1'000), index);
  EXPECT_LT(index, keys::final_index_end(7, JobState::kDead));
  EXPECT_LT(keys::final_record({7, 0, UINT64_MAX}), keys::final_end(7));
  EXPECT_LE(keys::final_end(7), keys::final_record({8, 255, 1}));
}

// C176: names with separators, empty parts and zero bytes never meet.
TEST(Keys, NoTwoTuplesShareAKey) {
  const std::vector<std::string> texts = {"",
                                          "a",
                                          "a:b",
                                          "b:c",
                                          "a/b",
                                          "x.y",
                                          "\x01",
                                          "\x01a",
                                          std::string("\0", 1),
                                          std::string("a\0b", 3),
                                          "q/1",
                                          "\xff\xff",
                                          std::string(127, 'n'),
                                          std::string(128, 'n')};
  std::set<std::string> all;
  std::size_t n = 0;
  for (const auto& a : texts) {
    for (const auto& b : texts) {
      n += 3;
      all.insert("L" + keys::ledger("default", a, b));
      all.insert("S" + keys::scheduler(a, b));
      all.insert("R" + keys::request(1, a, b));
    }
  }
  EXPECT_EQ(all.size(), n);
}

TEST(Keys, RunsOfOneSchedulerAreARange) {
  const std::string begin = keys::run_begin("default", "s", INT64_MIN);
  const std::string end = keys::run_end("default", "s");
  EXPECT_LE(begin, keys::run("default", "s", -5, 0));
  EXPECT_LT(keys::run("default", "s", INT64_MAX, UINT64_MAX), end);
  EXPECT_LT(keys::run("default", "s", 1, 9), keys::run("default", "s", 2, 1));
  for (const char* other : {"r", "t", "s1", "", "ss"}) {
    const std::string key = keys::run("default", other, 5, 5);
    EXPECT_TRUE(key < begin || key >= end) << other;
  }
}

TEST(Keys, ExpiryIndexIsInTimeOrderAndApartFromItsEntries) {
  EXPECT_EQ(keys::parse_expiry(keys::expiry(1'234, 9)), 1'234);
  EXPECT_LT(keys::expiry(999, 50), keys::expiry_begin(1'000));
  EXPECT_LE(keys::expiry_begin(1'000), keys::expiry(1'000, 0));
  EXPECT_LT(keys::expiry(INT64_MAX, UINT64_MAX), keys::expiry_end());
  EXPECT_FALSE(keys::parse_expiry(keys::ledger("a", "b", "c")).has_value());
  EXPECT_FALSE(keys::parse_expiry(keys::request(1, "a", "b")).has_value());
}

TEST(Keys, DamagedKeysParseToNothing) {
  for (const std::string& key : {std::string(), std::string("short"), std::string(14, 'x')}) {
    EXPECT_FALSE(keys::parse_job(key).has_value());
  }
  EXPECT_FALSE(keys::parse_timer(std::string(21, 'x')).has_value());
  EXPECT_FALSE(keys::parse_timer(std::string(23, 'x')).has_value());
  // Of the right length, and with a kind or a state that does not exist.
  std::string timer = keys::timer({5, keys::TimerKind::kPromote, {1, 2, 3}});
  EXPECT_TRUE(keys::parse_timer(timer).has_value());
  for (const char kind : {'\0', '\3', '\xff'}) {
    timer[8] = kind;
    EXPECT_FALSE(keys::parse_timer(timer).has_value());
  }
  std::string index = keys::final_index(1, JobState::kExpired, 5, 9);
  EXPECT_TRUE(keys::parse_final_index(index).has_value());
  for (const JobState state : {JobState::kUnknown, JobState::kRunning, static_cast<JobState>(9)}) {
    index[5] = static_cast<char>(state);
    EXPECT_FALSE(keys::parse_final_index(index).has_value()) << static_cast<int>(state);
  }
}

TEST(Keys, TimerLimitIsTheFirstKeyThatIsNotBelow) {
  const keys::TimerKey timer{5, keys::TimerKind::kStartDeadline, {1, 2, 3}};
  const std::string whole = keys::timer(timer);
  EXPECT_EQ(keys::timer_limit(whole), timer);
  EXPECT_GT(keys::timer_limit(keys::after(whole)), timer);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_LE(keys::timer_limit(whole.substr(0, size)), timer) << size;
  }
  EXPECT_GT(keys::timer_limit(whole.substr(0, 8) + "\xff"), timer);
}

TEST(Keys, AfterPrefixIsAboveEveryKeyOfThePrefix) {
  EXPECT_EQ(keys::after_prefix("ab"), "ac");
  EXPECT_EQ(keys::after_prefix(std::string("a\xff")), "b");
  EXPECT_EQ(keys::after("ab"), std::string("ab\0", 3));
}

}  // namespace
}  // namespace rota::model
