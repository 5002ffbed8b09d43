// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_time.h"

#include <string>

#include "base/names.h"
#include "base/time_format.h"

namespace rota::rpc {
namespace {

constexpr std::int64_t kMsPerSecond = 1'000;
constexpr std::int64_t kNanosPerMs = 1'000'000;
constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::int64_t kDurationSecondsMax = 315'576'000'000;  // the standard's own bound

}  // namespace

base::Result<std::int64_t> time_ms(std::string_view field,
                                   const google::protobuf::Timestamp& time) {
  const std::int64_t seconds = time.seconds();
  if (seconds < base::kTimeMsMin / kMsPerSecond || seconds > base::kTimeMsMax / kMsPerSecond ||
      time.nanos() < 0 || time.nanos() >= kNanosPerSecond) {
    return base::invalid_field(std::string(field),
                               "no instant of the years 1 to 9999: " + std::to_string(seconds) +
                                   " s and " + std::to_string(time.nanos()) + " ns");
  }
  return seconds * kMsPerSecond + time.nanos() / kNanosPerMs;
}

base::Result<std::int64_t> duration_ms(std::string_view field,
                                       const google::protobuf::Duration& duration,
                                       std::int64_t least_ms, std::int64_t most_ms) {
  const std::int64_t seconds = duration.seconds();
  const std::int64_t nanos = duration.nanos();
  const bool mixed = (seconds < 0 && nanos > 0) || (seconds > 0 && nanos < 0);
  if (mixed || nanos <= -kNanosPerSecond || nanos >= kNanosPerSecond ||
      seconds < -kDurationSecondsMax || seconds > kDurationSecondsMax) {
    return base::invalid_field(std::string(field), "no span of time: " + std::to_string(seconds) +
                                                       " s and " + std::to_string(nanos) + " ns");
  }
  const std::int64_t ms = seconds * kMsPerSecond + nanos / kNanosPerMs;
  if (auto fault = base::check_duration(field, ms, least_ms, most_ms)) return *fault;
  return ms;
}

void put_time(std::int64_t ms, google::protobuf::Timestamp* time) {
  std::int64_t seconds = ms / kMsPerSecond;
  std::int64_t rest = ms % kMsPerSecond;
  if (rest < 0) {
    rest += kMsPerSecond;
    seconds -= 1;
  }
  time->set_seconds(seconds);
  time->set_nanos(static_cast<std::int32_t>(rest * kNanosPerMs));
}

void put_duration(std::int64_t ms, google::protobuf::Duration* duration) {
  duration->set_seconds(ms / kMsPerSecond);
  duration->set_nanos(static_cast<std::int32_t>(ms % kMsPerSecond * kNanosPerMs));
}

}  // namespace rota::rpc
