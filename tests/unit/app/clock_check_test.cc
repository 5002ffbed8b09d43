// SPDX-License-Identifier: Apache-2.0
#include "app/clock_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "model/keys.h"
#include "model/queue.h"
#include "model/records.h"
#include "store/memory_store.h"

namespace rota::app {
namespace {

using base::kDayMs;
using base::kMinuteMs;
using base::kSecondMs;
using testing::HasSubstr;

constexpr std::int64_t kStored = 1'796'040'000'000;

TEST(ClockCheck, WhatAGapMeans) {
  EXPECT_EQ(judge_clock(0, 5), ClockVerdict::kFine) << "an empty store knows no time";
  EXPECT_EQ(judge_clock(kStored, kStored), ClockVerdict::kFine);
  EXPECT_EQ(judge_clock(kStored, kStored - 5 * kSecondMs), ClockVerdict::kFine);
  EXPECT_EQ(judge_clock(kStored, kStored - 6 * kSecondMs), ClockVerdict::kBehind);
  EXPECT_EQ(judge_clock(kStored, kStored - kDayMs), ClockVerdict::kBehind);
  EXPECT_EQ(judge_clock(kStored, kStored - kDayMs - 1), ClockVerdict::kRefuse);
  EXPECT_EQ(judge_clock(kStored, kStored + 30 * kDayMs), ClockVerdict::kFine);
  EXPECT_EQ(judge_clock(kStored, kStored + 31 * kDayMs), ClockVerdict::kAhead);
}

TEST(ClockCheck, TheSentenceNamesBothTimesAndTheCure) {
  const std::string text = clock_sentence(ClockVerdict::kRefuse, kStored, kStored - 2 * kDayMs);
  EXPECT_THAT(text, HasSubstr("2026-11-30T"));
  EXPECT_THAT(text, HasSubstr("2026-11-28T"));
  EXPECT_THAT(text, HasSubstr("--trust-clock"));
  EXPECT_EQ(clock_sentence(ClockVerdict::kFine, 0, 0), "");
}

class StoredTimeTest : public testing::Test {
 protected:
  void put(core::Keyspace keyspace, std::string key, std::string value) {
    auto batch = std::make_shared<core::Batch>();
    batch->put(keyspace, std::move(key), std::move(value));
    store_->commit(batch, store_->last_committed() + 1,
                   [](core::CommitSeq, core::Outcome, const std::string&) {});
  }
  std::string row(core::Keyspace keyspace, std::string key) {
    core::ReadSpec spec;
    spec.gets.push_back({keyspace, std::move(key)});
    core::ReadResult read;
    std::string detail;
    EXPECT_EQ(store_->snapshot_read(spec, &read, &detail), core::ReadError::kNone);
    return read.values[0].value_or("");
  }
  core::InlineExecutor executor_;
  std::shared_ptr<store::MemoryDisk> disk_ = store::MemoryDisk::create();
  std::unique_ptr<core::ShardStore> store_ = disk_->open(executor_);
};

TEST_F(StoredTimeTest, AnEmptyStoreHasNone) {
  const auto stored = stored_time_ms(*store_);
  ASSERT_TRUE(stored);
  EXPECT_EQ(*stored, 0);
}

TEST_F(StoredTimeTest, ADamagedRecordIsRefused) {
  put(core::Keyspace::kMeta, model::keys::engine_meta(), "garbage");
  EXPECT_FALSE(stored_time_ms(*store_));
}

TEST_F(StoredTimeTest, SettingItBackLowersTheSweepsAndKeepsTheRest) {
  model::EngineMeta meta;
  meta.next_token = 77;
  meta.now_ms = kStored;
  meta.timers_swept_ms = kStored - 1;
  meta.ledger_swept_ms = 5;
  meta.deletions_held_ms = kStored - 7;
  put(core::Keyspace::kMeta, model::keys::engine_meta(), model::encode(meta));
  model::QueueCounters counters;
  counters.next_seq = 12;
  counters.swept_ms[5] = kStored - 10;
  put(core::Keyspace::kQueueState, model::keys::queue_counters(3), model::encode(counters));

  EXPECT_TRUE(*stored_hold(*store_));
  const std::int64_t wall_ms = kStored - 2 * kDayMs;
  ASSERT_TRUE(set_stored_time(*store_, wall_ms));
  EXPECT_EQ(*stored_time_ms(*store_), wall_ms);
  EXPECT_FALSE(*stored_hold(*store_));
  model::EngineMeta after;
  ASSERT_TRUE(model::decode(row(core::Keyspace::kMeta, model::keys::engine_meta()), &after));
  EXPECT_EQ(after.next_token, 77U);
  EXPECT_EQ(after.timers_swept_ms, wall_ms);
  EXPECT_EQ(after.ledger_swept_ms, 5);
  model::QueueCounters lowered;
  ASSERT_TRUE(
      model::decode(row(core::Keyspace::kQueueState, model::keys::queue_counters(3)), &lowered));
  EXPECT_EQ(lowered.next_seq, 12U);
  EXPECT_EQ(lowered.swept_ms[5], wall_ms);
}

// Else a handler that hangs would keep its slot until the time at which its attempt was granted.
TEST_F(StoredTimeTest, SettingItBackLetsNoAttemptBeginLaterThanNow) {
  const std::int64_t wall_ms = kStored - 2 * kDayMs;
  const auto grant = [](std::uint64_t token, std::int64_t granted_ms) {
    model::Grant g;
    g.session_id = "s";
    g.ttl_ms = 30'000;
    g.granted_ms = granted_ms;
    model::GrantEntry entry;
    entry.job = {1, 100, 4};
    entry.token = token;
    entry.attempt_timeout_ms = 60'000;
    g.entries.push_back(entry);
    return g;
  };
  for (const auto& [token, granted_ms] :
       {std::pair{std::uint64_t{7}, kStored}, std::pair{std::uint64_t{8}, wall_ms - 5}}) {
    put(core::Keyspace::kGrant, model::keys::grant(token), model::encode(grant(token, granted_ms)));
    put(core::Keyspace::kMeta, model::keys::overdue_grant(token),
        model::encode(model::OverdueGrant{granted_ms + 9}));
  }
  ASSERT_TRUE(set_stored_time(*store_, wall_ms));
  model::Grant after;
  ASSERT_TRUE(model::decode(row(core::Keyspace::kGrant, model::keys::grant(7)), &after));
  EXPECT_EQ(after.granted_ms, wall_ms);
  EXPECT_EQ(after.entries.at(0).token, 7U);
  EXPECT_EQ(after.entries.at(0).attempt_timeout_ms, 60'000);
  EXPECT_EQ(row(core::Keyspace::kMeta, model::keys::overdue_grant(7)), "");
  ASSERT_TRUE(model::decode(row(core::Keyspace::kGrant, model::keys::grant(8)), &after));
  EXPECT_EQ(after.granted_ms, wall_ms - 5) << "one from before is as it was";
  EXPECT_NE(row(core::Keyspace::kMeta, model::keys::overdue_grant(8)), "");
}

TEST_F(StoredTimeTest, ACommitThatFailsIsReported) {
  disk_->fail_commit(1, store::CommitFault::kUnknownLost);
  EXPECT_FALSE(set_stored_time(*store_, kStored));
}

}  // namespace
}  // namespace rota::app
