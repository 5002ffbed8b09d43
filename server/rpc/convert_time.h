// SPDX-License-Identifier: Apache-2.0
//
// Instants and spans between the wire (seconds and nanoseconds) and the server (milliseconds).
// Digits below a millisecond are dropped.
#pragma once

#include <cstdint>
#include <string_view>

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include "base/error.h"

namespace rota::rpc {

// INVALID_FIELD for an instant outside the years 1 to 9999 or with nanoseconds outside 0..1e9-1.
base::Result<std::int64_t> time_ms(std::string_view field, const google::protobuf::Timestamp& time);

// INVALID_FIELD for a span outside [least, most], or whose parts differ in sign.
base::Result<std::int64_t> duration_ms(std::string_view field,
                                       const google::protobuf::Duration& duration,
                                       std::int64_t least_ms, std::int64_t most_ms);

void put_time(std::int64_t ms, google::protobuf::Timestamp* time);
void put_duration(std::int64_t ms, google::protobuf::Duration* duration);

}  // namespace rota::rpc
