// SPDX-License-Identifier: Apache-2.0
//
// Values that jobs, queues and schedulers share, between wire and model: retry policy, attempt
// timeout, labels. Everything from the wire is checked against its limits here; an error names the
// field as a path within the thing that is set, its fault and the limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/map.h>

#include "base/error.h"
#include "model/job.h"
#include "rota/v1/common.pb.h"

namespace rota::rpc {

// "2", "0.2": for texts that people read.
std::string short_number(double value);

using base::Error;
using base::Result;

// Fields are named `retry.…`.
Result<model::RetryPolicy> retry_from_wire(const v1::RetryPolicy& wire);
void retry_to_wire(const model::RetryPolicy& retry, v1::RetryPolicy* wire);

// The fields attempt_timeout and no_attempt_timeout of several messages; nothing when neither is
// set, model::kNoTimeout for none.
Result<std::optional<std::int64_t>> attempt_timeout_from_wire(
    bool given, const google::protobuf::Duration& timeout, bool none);

using WireLabels = google::protobuf::Map<std::string, std::string>;
Result<model::Labels> labels_from_wire(const WireLabels& wire);
void labels_to_wire(const model::Labels& labels, WireLabels* wire);

// Empty means application/json.
Result<std::string> content_type_from_wire(const std::string& field, const std::string& text);

// PAYLOAD_TOO_LARGE with size, limit and the option that moves it.
std::optional<Error> check_payload_size(std::size_t bytes, std::int64_t limit_bytes);

}  // namespace rota::rpc
