// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_policy.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/duration.h"
#include "base/limits.h"
#include "base/names.h"
#include "rpc/convert_time.h"

namespace rota::rpc {

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

namespace {

namespace limits = base::limits;

std::optional<Error> check_number(const std::string& field, double value, double least,
                                  double most) {
  if (value >= least && value <= most) return std::nullopt;  // false for a value that is no number
  return base::invalid_field(
      field, short_number(value) + ", limit " + short_number(least) + " to " + short_number(most));
}

Error only_with(const std::string& field, const std::string& mode) {
  return base::invalid_field(field, "only with mode " + mode);
}

// The fields that belong to one mode only are refused with another: they would be ignored silently.
std::optional<Error> check_mode_fields(const v1::Backoff& wire, bool listed, bool exponential) {
  if (!exponential && wire.factor() != 0) {
    return only_with("retry.backoff.factor", "MODE_EXPONENTIAL");
  }
  if (!exponential && wire.has_cap()) return only_with("retry.backoff.cap", "MODE_EXPONENTIAL");
  if (listed && wire.has_first()) {
    return only_with("retry.backoff.first", "MODE_FIXED or MODE_EXPONENTIAL");
  }
  if (!listed && wire.delays_size() > 0) return only_with("retry.backoff.delays", "MODE_LISTED");
  return std::nullopt;
}

std::optional<Error> read_delays(const v1::Backoff& wire, model::RetryPolicy* retry) {
  if (wire.delays_size() == 0) {
    return base::make_error(base::Reason::kMissingField, "MODE_LISTED needs at least one",
                            "retry.backoff.delays");
  }
  if (auto fault = base::check_range("retry.backoff.delays", wire.delays_size(), 1,
                                     limits::kBackoffListMax)) {
    return fault;
  }
  for (const auto& delay : wire.delays()) {
    const auto ms = duration_ms("retry.backoff.delays", delay, 0, limits::kBackoffMsMax);
    if (!ms) return ms.error();
    retry->delays_ms.push_back(*ms);
  }
  return std::nullopt;
}

std::optional<Error> read_backoff(const v1::Backoff& wire, model::RetryPolicy* retry) {
  const auto mode = wire.mode();
  if (!v1::Backoff::Mode_IsValid(mode)) {
    return base::invalid_field("retry.backoff.mode", "unknown mode " + std::to_string(mode));
  }
  const bool listed = mode == v1::Backoff::MODE_LISTED;
  const bool fixed = mode == v1::Backoff::MODE_FIXED;
  if (auto fault = check_mode_fields(wire, listed, !listed && !fixed)) return fault;
  if (wire.has_jitter()) {
    if (auto fault = check_number("retry.backoff.jitter", wire.jitter(), 0, 1)) return fault;
    retry->jitter = wire.jitter();
  }
  if (listed) return read_delays(wire, retry);
  if (wire.has_first()) {
    const auto ms = duration_ms("retry.backoff.first", wire.first(), 0, limits::kBackoffMsMax);
    if (!ms) return ms.error();
    retry->first_ms = *ms;
  }
  if (fixed) {
    retry->factor = 1.0;
    retry->cap_ms = std::max(retry->cap_ms, retry->first_ms);
    return std::nullopt;
  }
  if (wire.factor() != 0) {
    if (auto fault =
            check_number("retry.backoff.factor", wire.factor(), 1, limits::kBackoffFactorMax)) {
      return fault;
    }
    retry->factor = wire.factor();
  }
  if (!wire.has_cap()) {
    retry->cap_ms = std::max(retry->cap_ms, retry->first_ms);
    return std::nullopt;
  }
  const auto ms = duration_ms("retry.backoff.cap", wire.cap(), 0, limits::kBackoffMsMax);
  if (!ms) return ms.error();
  if (*ms < retry->first_ms) {
    return base::invalid_field("retry.backoff.cap", base::format_duration(*ms) +
                                                        " is less than the first pause, " +
                                                        base::format_duration(retry->first_ms));
  }
  retry->cap_ms = *ms;
  return std::nullopt;
}

}  // namespace

Result<model::RetryPolicy> retry_from_wire(const v1::RetryPolicy& wire) {
  model::RetryPolicy retry;
  if (wire.max_attempts() != 0) {
    if (auto fault = base::check_range("retry.max_attempts", wire.max_attempts(),
                                       limits::kAttemptsMin, limits::kAttemptsMax)) {
      return *fault;
    }
    retry.max_attempts = static_cast<std::uint32_t>(wire.max_attempts());
  }
  if (wire.has_backoff()) {
    if (auto fault = read_backoff(wire.backoff(), &retry)) return *fault;
  }
  if (wire.has_give_up_after()) {
    const auto ms =
        duration_ms("retry.give_up_after", wire.give_up_after(), 1, limits::kGiveUpAfterMsMax);
    if (!ms) return ms.error();
    retry.give_up_after_ms = *ms;
  }
  return retry;
}

void retry_to_wire(const model::RetryPolicy& retry, v1::RetryPolicy* wire) {
  wire->set_max_attempts(static_cast<std::int32_t>(retry.max_attempts));
  auto* backoff = wire->mutable_backoff();
  backoff->set_jitter(retry.jitter);
  if (!retry.delays_ms.empty()) {
    backoff->set_mode(v1::Backoff::MODE_LISTED);
    for (const auto ms : retry.delays_ms) put_duration(ms, backoff->add_delays());
  } else if (retry.factor == 1.0) {
    backoff->set_mode(v1::Backoff::MODE_FIXED);
    put_duration(retry.first_ms, backoff->mutable_first());
  } else {
    backoff->set_mode(v1::Backoff::MODE_EXPONENTIAL);
    put_duration(retry.first_ms, backoff->mutable_first());
    backoff->set_factor(retry.factor);
    put_duration(retry.cap_ms, backoff->mutable_cap());
  }
  if (retry.give_up_after_ms > 0) {
    put_duration(retry.give_up_after_ms, wire->mutable_give_up_after());
  }
}

Result<std::optional<std::int64_t>> attempt_timeout_from_wire(
    bool given, const google::protobuf::Duration& timeout, bool none) {
  if (given && none) {
    return base::invalid_field("no_attempt_timeout", "not together with attempt_timeout");
  }
  if (none) return std::optional<std::int64_t>(model::kNoTimeout);
  if (!given) return std::optional<std::int64_t>();
  const auto ms = duration_ms("attempt_timeout", timeout, limits::kAttemptTimeoutMsMin,
                              limits::kAttemptTimeoutMsMax);
  if (!ms) return ms.error();
  return std::optional<std::int64_t>(*ms);
}

Result<model::Labels> labels_from_wire(const WireLabels& wire) {
  model::Labels labels(wire.begin(), wire.end());
  if (auto fault = base::check_labels("labels", labels)) return *fault;
  return labels;
}

void labels_to_wire(const model::Labels& labels, WireLabels* wire) {
  for (const auto& [key, value] : labels) (*wire)[key] = value;
}

Result<std::string> content_type_from_wire(const std::string& field, const std::string& text) {
  if (text.empty()) return std::string("application/json");
  if (auto fault = base::check_content_type(field, text)) return *fault;
  return text;
}

std::optional<Error> check_payload_size(std::size_t bytes, std::int64_t limit_bytes) {
  if (static_cast<std::int64_t>(bytes) <= limit_bytes) return std::nullopt;
  auto error = base::make_error(base::Reason::kPayloadTooLarge,
                                base::format_bytes(static_cast<std::int64_t>(bytes)) + ", limit " +
                                    base::format_bytes(limit_bytes) +
                                    " (server option limits.payload_bytes); store it elsewhere and "
                                    "send a reference",
                                "payload");
  error.meta["bytes"] = std::to_string(bytes);
  error.meta["limitBytes"] = std::to_string(limit_bytes);
  return error;
}

}  // namespace rota::rpc
