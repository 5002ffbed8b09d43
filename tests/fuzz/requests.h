// SPDX-License-Identifier: Apache-2.0
//
// For the targets that read requests: bytes become a message as the transport would make it, the
// service's conversion judges it, and what it lets through is within its limits.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"
#include "base/names.h"
#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "model/job.h"
#include "rpc/status_map.h"

namespace rota::fuzz {

// A moment in 2026, the server's time in every request.
inline constexpr std::int64_t kNowMs = 1'796'040'000'000;

template <class Message>
bool read(std::string_view bytes, Message* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// "jobs", "retry.backoff.first", "items[3].lease.job_id", "labels["any text"]".
inline bool is_path(std::string_view field) {
  const std::string_view names = field.substr(0, field.find('['));
  if (names.empty() || names.front() == '.' || names.back() == '.') return false;
  return base::is_utf8(field) && std::all_of(names.begin(), names.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
         });
}

// A refused request names a field and a reason of the table, in words that can be sent, and the
// status that leaves the server says the same.
inline void check_refusal(const base::Error& error) {
  const std::string words = base::to_string(error);
  const base::ReasonInfo& info = base::reason_info(error.reason);
  FUZZ_CHECK(
      info.code == base::StatusCode::kInvalidArgument || info.code == base::StatusCode::kNotFound,
      "a request was refused for what is no fault of it: " + words);
  FUZZ_CHECK(!error.message.empty(), "refused without words: " + words);
  FUZZ_CHECK(base::is_utf8(error.message), "words that cannot be sent: " + words);
  FUZZ_CHECK(info.code != base::StatusCode::kInvalidArgument || is_path(error.field),
             "refused without a field: " + words);
  for (const auto& [key, value] : error.meta) {
    FUZZ_CHECK(base::is_utf8(value), key + " cannot be sent: " + words);
  }

  const grpc::Status status = rpc::to_status(error);
  google::rpc::Status details;
  FUZZ_CHECK(details.ParseFromString(status.error_details()), "details that cannot be read");
  int infos = 0;
  for (const auto& detail : details.details()) {
    google::rpc::ErrorInfo found;
    if (detail.UnpackTo(&found)) {
      ++infos;
      FUZZ_CHECK(found.reason() == info.name, "another reason is sent: " + found.reason());
    }
    google::rpc::BadRequest bad;
    if (detail.UnpackTo(&bad)) {
      FUZZ_CHECK(bad.field_violations_size() == 1 && bad.field_violations(0).field() == error.field,
                 "another field is sent: " + words);
    }
  }
  FUZZ_CHECK(infos == 1, "not one ErrorInfo: " + words);
}

inline void check_within(std::int64_t v, std::int64_t least, std::int64_t most, const char* what) {
  FUZZ_CHECK(v >= least && v <= most, std::string(what) + ": " + std::to_string(v));
}

inline void check_retry(const model::RetryPolicy& retry) {
  namespace limits = base::limits;
  check_within(retry.max_attempts, limits::kAttemptsMin, limits::kAttemptsMax, "max_attempts");
  check_within(retry.first_ms, 0, limits::kBackoffMsMax, "first");
  check_within(retry.cap_ms, retry.first_ms, limits::kBackoffMsMax, "cap");
  check_within(retry.give_up_after_ms, 0, limits::kGiveUpAfterMsMax, "give_up_after");
  FUZZ_CHECK(retry.factor >= 1 && retry.factor <= limits::kBackoffFactorMax, "factor");
  FUZZ_CHECK(retry.jitter >= 0 && retry.jitter <= 1, "jitter");
  FUZZ_CHECK(retry.delays_ms.size() <= limits::kBackoffListMax, "delays");
  for (const std::int64_t ms : retry.delays_ms) check_within(ms, 0, limits::kBackoffMsMax, "delay");
}

inline void check_timeout(std::optional<std::int64_t> ms) {
  namespace limits = base::limits;
  if (!ms || *ms == model::kNoTimeout) return;
  check_within(*ms, limits::kAttemptTimeoutMsMin, limits::kAttemptTimeoutMsMax, "attempt_timeout");
}

inline void check_named(const char* what, std::string_view name) {
  const auto fault = base::check_name(what, name);
  FUZZ_CHECK(!fault, base::to_string(*fault));
}

}  // namespace rota::fuzz
