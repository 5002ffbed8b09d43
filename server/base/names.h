// SPDX-License-Identifier: Apache-2.0
//
// The forms that names, keys and small texts must have. Every check returns nothing when the value
// is good, else an INVALID_FIELD error (MISSING_FIELD for an empty value that is required) that
// names the field, the fault and the limit. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace rota::base {

using LabelMap = std::map<std::string, std::string, std::less<>>;

// Namespace, queue, kind, scheduler id, worker id, label key: 1-128 bytes, segments of
// [A-Za-z0-9._:-]+ joined by single slashes.
std::optional<Error> check_name(std::string_view field, std::string_view value);

// Business key, lock name, owner label: 1-256 bytes of UTF-8 without control characters.
std::optional<Error> check_text_key(std::string_view field, std::string_view value);

// Request id: 1-64 printable ASCII characters without space at either end.
std::optional<Error> check_request_id(std::string_view field, std::string_view value);
// Of a list of jobs that is sent in several calls, whose ids are VALUE:0, VALUE:1, ...
std::optional<Error> check_bulk_request_id(std::string_view field, std::string_view value);

// Session id of a worker process: the same form as a request id.
std::optional<Error> check_session_id(std::string_view field, std::string_view value);

// Content type: 1-128 printable ASCII characters.
std::optional<Error> check_content_type(std::string_view field, std::string_view value);

// Labels: at most 32 pairs and 4 KiB in all; keys are names, values UTF-8 without controls.
std::optional<Error> check_labels(std::string_view field, const LabelMap& labels);

// A free text that may be empty: at most `max_bytes` bytes of UTF-8. Line breaks and tabs are
// allowed, other control characters are not.
std::optional<Error> check_text(std::string_view field, std::string_view value,
                                std::size_t max_bytes);

// A number within [least, most], both allowed.
std::optional<Error> check_range(std::string_view field, std::int64_t value, std::int64_t least,
                                 std::int64_t most);

// The same for a span in milliseconds; the message shows durations ("2s, limit 5s to 1h").
std::optional<Error> check_duration(std::string_view field, std::int64_t value_ms,
                                    std::int64_t least_ms, std::int64_t most_ms);

// A size for a person: "312 KiB", "8 MiB", "1000 bytes".
std::string format_bytes(std::int64_t bytes);

}  // namespace rota::base
