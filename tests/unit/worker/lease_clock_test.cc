// SPDX-License-Identifier: Apache-2.0
#include "src/lease_clock.h"

#include <gtest/gtest.h>

#include "src/lease.h"

namespace rota::internal {
namespace {

using namespace std::chrono_literals;

const BootTime kSent{std::chrono::hours(100)};

TEST(LeaseClockTest, DeadlineIsEarlierThanTheServersByRateAndMargin) {
  EXPECT_EQ(grant_deadline(kSent, 0ms, 30s) - kSent, 25'500ms);  // 28.5 s - 3 s
  EXPECT_EQ(grant_deadline(kSent, 20s, 30s) - kSent, 45'500ms);  // a poll that was parked
  EXPECT_EQ(grant_deadline(kSent, 0ms, 5s) - kSent, 3'750ms);    // the margin is at least 1 s
  EXPECT_EQ(renewal_deadline(kSent, 30s, 30s) - kSent, 25'500ms);
  EXPECT_EQ(renewal_deadline(kSent, 4s, 30s) - kSent, 3'400ms);  // cut by the attempt timeout
}

TEST(LeaseClockTest, GraceAndBeats) {
  EXPECT_EQ(stop_grace(30s), 5s);
  EXPECT_EQ(stop_grace(5s), 1s);
  EXPECT_EQ(cap_grace(30s, 1s), 100ms);
  EXPECT_EQ(cap_grace(30s, Millis(1h)), 5s);
  EXPECT_EQ(beat_interval(30s), 10s);
  EXPECT_EQ(beat_timeout(5s), 833ms);
  for (const Millis ttl : {Millis(5s), Millis(30s), Millis(60s), Millis(3'600s)}) {
    const Millis first_pause_max(100);
    const BootTime told = grant_deadline(BootTime{}, Millis(0), ttl) - stop_grace(ttl);
    EXPECT_LT(BootTime{} + beat_interval(ttl) + beat_timeout(ttl) + first_pause_max, told)
        << ttl.count();
  }
}

Grant grant(std::optional<Millis> attempt_left = std::nullopt) {
  Grant grant;
  grant.job_id = "j1";
  grant.fencing_token = 7;
  grant.business_date = "2026-11-29";
  grant.attempt_left = attempt_left;
  return grant;
}

TEST(LeaseTest, RenewalMovesTheEndOnlyForward) {
  Lease lease(grant(), kSent, 0ms, 30s);
  EXPECT_EQ(lease.end() - kSent, 25'500ms);
  EXPECT_EQ(lease.stop_time() - kSent, 20'500ms);
  lease.renew(kSent + 10s, 30s);
  EXPECT_EQ(lease.end() - kSent, 35'500ms);
  EXPECT_EQ(lease.next_beat() - kSent, 20s);
  lease.renew(kSent + 1s, 30s);  // an answer that was overtaken
  EXPECT_EQ(lease.end() - kSent, 35'500ms);
}

TEST(LeaseTest, TimeoutCapsRenewals) {
  Lease lease(grant(60s), kSent, 0ms, 30s);
  EXPECT_FALSE(lease.ends_by_timeout());
  for (int beat = 1; beat <= 5; ++beat) {
    const auto at = beat * 10s;
    lease.renew(kSent + at, std::min<Millis>(30s, 60s - at));
  }
  EXPECT_TRUE(lease.ends_by_timeout());
  EXPECT_EQ(lease.end() - kSent, 59'940ms);
  EXPECT_EQ(lease.stop_time() - kSent, 54'940ms);
  EXPECT_FALSE(lease.over(kSent + 59s));
  EXPECT_TRUE(lease.over(kSent + 60s));
}

TEST(LeaseTest, ShortTimeoutIsNotEatenByTheMargins) {
  Lease lease(grant(1s), kSent, 0ms, 30s);
  EXPECT_EQ(lease.end() - kSent, 999ms);
  EXPECT_EQ(lease.stop_time() - kSent, 899ms);
}

TEST(LeaseTest, FirstCauseStays) {
  Lease lease(grant(), kSent, 0ms, 30s);
  EXPECT_TRUE(lease.set_cause(StopReason::kCancel));
  EXPECT_FALSE(lease.set_cause(StopReason::kLost));
  EXPECT_EQ(lease.stop_reason(), StopReason::kCancel);
}

TEST(LeaseTest, LogKeepsTheTail) {
  Lease lease(grant(), kSent, 0ms, 30s);
  for (int i = 0; i < 5'000; ++i) lease.log("line " + std::to_string(i));
  const std::string tail = lease.take_log();
  EXPECT_LE(tail.size(), 8u * 1024);
  EXPECT_TRUE(tail.ends_with("line 4999\n"));
}

TEST(LeaseTest, BusinessDate) {
  using std::chrono::year_month_day;
  EXPECT_EQ(Lease(grant(), kSent, 0ms, 30s).job().business_date,
            year_month_day(std::chrono::year(2026), std::chrono::month(11), std::chrono::day(29)));
  EXPECT_FALSE(Lease({}, kSent, 0ms, 30s).job().business_date.ok());
}

}  // namespace
}  // namespace rota::internal
