// SPDX-License-Identifier: Apache-2.0
//
// Times that a server sends: exact within what it can mean, and never out of what a clock can hold.
#include "src/convert.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/limits.h"
#include "base/time_format.h"
#include "src/status.h"

namespace rota::internal {
namespace {

google::protobuf::Duration span(std::int64_t seconds, std::int32_t nanos = 0) {
  google::protobuf::Duration message;
  message.set_seconds(seconds);
  message.set_nanos(nanos);
  return message;
}
google::protobuf::Timestamp instant(std::int64_t seconds, std::int32_t nanos = 0) {
  google::protobuf::Timestamp message;
  message.set_seconds(seconds);
  message.set_nanos(nanos);
  return message;
}

TEST(Convert, SpansWithinAHundredYearsAreExact) {
  for (const std::int64_t ms : std::initializer_list<std::int64_t>{
           0, 1, -1, 999, 1'000, -1'001, 30 * base::kDayMs, base::limits::kRetentionAgeMsMax}) {
    google::protobuf::Duration message;
    set_duration(message, Millis(ms));
    EXPECT_EQ(to_millis(message), Millis(ms));
  }
}

TEST(Convert, SpansThatNoClockCanBeMovedByAreBounded) {
  const Millis most(base::limits::kRetentionAgeMsMax);
  for (const std::int64_t seconds : {INT64_MAX, INT64_MAX / 1'000, most.count() / 1'000 + 1}) {
    EXPECT_EQ(to_millis(span(seconds, INT32_MAX)), most);
    EXPECT_EQ(to_millis(span(-seconds, INT32_MIN)), -most);
  }
  EXPECT_EQ(to_millis(span(INT64_MIN)), -most);
  EXPECT_EQ(to_millis(span(5, INT32_MAX)), Millis(5'000)) << "more than a second of nanoseconds";
}

TEST(Convert, InstantsOutsideTheCalendarAreItsEnds) {
  EXPECT_EQ(to_time(instant(1'796'040'000, 5'000'000)).time_since_epoch(),
            Millis(1'796'040'000'005));
  EXPECT_EQ(to_time(instant(-1, 999'000'000)).time_since_epoch(), Millis(-1));
  EXPECT_EQ(to_time(instant(INT64_MAX)).time_since_epoch(),
            Millis(base::kTimeMsMax / 1'000 * 1'000));
  EXPECT_EQ(to_time(instant(INT64_MIN)).time_since_epoch(), Millis(base::kTimeMsMin));
}

TEST(Convert, AdviceToComeAgainCanBeFollowed) {
  v1::ItemError item;
  item.set_code(static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED));
  *item.mutable_retry_after() = span(0, 200'000'000);
  EXPECT_EQ(to_error(item).retry_after, Millis(200));
  *item.mutable_retry_after() = span(INT64_MAX);
  EXPECT_EQ(to_error(item).retry_after, Millis(base::kHourMs));
  *item.mutable_retry_after() = span(-5);
  EXPECT_EQ(to_error(item).retry_after, Millis(0));
  item.clear_retry_after();
  EXPECT_FALSE(to_error(item).retry_after);
}

TEST(Convert, CodeThatDoesNotExistIsInternal) {
  v1::ItemError item;
  for (const int code : {-1, 17, 49, INT32_MAX}) {
    item.set_code(code);
    EXPECT_EQ(to_error(item).code, Code::kInternal) << code;
  }
  item.set_code(static_cast<int>(grpc::StatusCode::NOT_FOUND));
  EXPECT_EQ(to_error(item).code, Code::kNotFound);
}

}  // namespace
}  // namespace rota::internal
