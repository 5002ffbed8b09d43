// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_time.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace rota::rpc {
namespace {

google::protobuf::Duration span(std::int64_t seconds, std::int32_t nanos) {
  google::protobuf::Duration duration;
  duration.set_seconds(seconds);
  duration.set_nanos(nanos);
  return duration;
}
google::protobuf::Timestamp instant(std::int64_t seconds, std::int32_t nanos) {
  google::protobuf::Timestamp time;
  time.set_seconds(seconds);
  time.set_nanos(nanos);
  return time;
}

TEST(ConvertTime, InstantsGoThereAndBack) {
  for (const std::int64_t ms : {0LL, 1LL, -1LL, -999LL, -1000LL, 1'795'000'000'123LL}) {
    google::protobuf::Timestamp wire;
    put_time(ms, &wire);
    EXPECT_GE(wire.nanos(), 0);
    EXPECT_EQ(*time_ms("t", wire), ms);
  }
}

TEST(ConvertTime, InstantsOutsideTheYearsAreRefused) {
  EXPECT_TRUE(time_ms("t", instant(253'402'300'799, 999'999'999)));
  for (const auto& bad : {instant(253'402'300'800, 0), instant(-62'135'596'801, 0), instant(0, -1),
                          instant(0, 1'000'000'000)}) {
    const auto ms = time_ms("run_at", bad);
    ASSERT_FALSE(ms);
    EXPECT_EQ(ms.error().field, "run_at");
  }
}

TEST(ConvertTime, DurationsHaveBounds) {
  EXPECT_EQ(*duration_ms("d", span(5, 250'000'000), 0, 10'000), 5'250);
  EXPECT_EQ(*duration_ms("d", span(10, 0), 0, 10'000), 10'000);
  for (const auto& bad : {span(10, 1'000'000), span(-1, 0), span(1, -1), span(-1, 1),
                          span(INT64_MAX, 0), span(0, 1'000'000'000)}) {
    const auto ms = duration_ms("wait_duration", bad, 0, 10'000);
    ASSERT_FALSE(ms);
    EXPECT_EQ(ms.error().field, "wait_duration");
  }
}

TEST(ConvertTime, NegativeDurationsKeepOneSign) {
  google::protobuf::Duration wire;
  put_duration(-1'500, &wire);
  EXPECT_EQ(wire.seconds(), -1);
  EXPECT_EQ(wire.nanos(), -500'000'000);
}

}  // namespace
}  // namespace rota::rpc
