// SPDX-License-Identifier: Apache-2.0
#include "rota/fields.h"

#include <absl/time/time.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/duration.h"
#include "base/limits.h"
#include "base/names.h"
#include "base/suggest.h"
#include "base/time_format.h"
#include "base/utf8.h"
#include "rota/output.h"
#include "rota/text.h"
#include "rota/v1/scheduler.pb.h"

namespace rota::cli {
namespace {

namespace limits = base::limits;

// No limit of the server is longer, and sums of it and a time stay in their range.
constexpr std::int64_t kSpanMsMax = 36'525 * base::kDayMs;

// "+02:00" in seconds.
std::optional<int> offset_of(const std::string& zone) {
  int hours = 0, minutes = 0, used = 0;
  if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
  if (std::sscanf(zone.c_str() + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5) {
    return std::nullopt;
  }
  const int seconds = (hours * 60 + minutes) * 60;
  return zone[0] == '-' ? -seconds : seconds;
}

Result<std::int64_t> begin_of_day(std::string_view option, base::CivilDate date,
                                  const std::string& zone_name) {
  if (zone_name.empty() || zone_name == "UTC") return base::days_from_civil(date) * base::kDayMs;
  if (const auto offset = offset_of(zone_name)) {
    return base::days_from_civil(date) * base::kDayMs - std::int64_t{*offset} * 1000;
  }
  absl::TimeZone zone;
  if (!absl::LoadTimeZone(zone_name, &zone)) {
    return usage_error(std::string(option),
                       fmt::format("this machine does not know the time zone {}: give a time with "
                                   "its offset",
                                   base::quoted(zone_name)));
  }
  return absl::ToUnixMillis(absl::FromCivil(absl::CivilDay(date.year, date.month, date.day), zone));
}

Result<std::string> read_all(std::FILE* file, const std::string& name) {
  constexpr auto kMost = static_cast<std::size_t>(limits::kPayloadBytesMax);
  std::string bytes;
  std::array<char, 64 * 1024> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file)) {
    bytes.append(piece.data(), got);
    if (bytes.size() > kMost) {
      Error error = usage_error(
          "--payload", fmt::format("more than {}, the most that a server can be set to take; "
                                   "store it elsewhere and send a reference",
                                   base::format_bytes(limits::kPayloadBytesMax)));
      error.reason = "PAYLOAD_TOO_LARGE";
      return error;
    }
  }
  if (std::ferror(file) != 0) {
    return usage_error("--payload", fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  }
  return bytes;
}

template <class Number, class Least, class Most>
Error out_of_range(const char* option, Number value, Least least, Most most) {
  return usage_error(option, fmt::format("{}, must be from {} to {}", value, least, most));
}

Result<Ok> put_span_option(std::string_view option, const std::string& text,
                           google::protobuf::Duration* out) {
  auto ms = read_span(option, text);
  if (!ms) return std::move(ms).error();
  put_span(*ms, out);
  return Ok{};
}

bool looks_like_date(std::string_view text) {
  return text.size() == 10 && text[4] == '-' && text[7] == '-';
}

constexpr std::array<std::pair<std::string_view, v1::JobState>, 8> kStates = {{
    {"scheduled", v1::JOB_STATE_SCHEDULED},
    {"blocked", v1::JOB_STATE_BLOCKED},
    {"ready", v1::JOB_STATE_READY},
    {"running", v1::JOB_STATE_RUNNING},
    {"succeeded", v1::JOB_STATE_SUCCEEDED},
    {"dead", v1::JOB_STATE_DEAD},
    {"cancelled", v1::JOB_STATE_CANCELLED},
    {"expired", v1::JOB_STATE_EXPIRED},
}};

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

Result<std::int64_t> read_span(std::string_view option, const std::string& text) {
  auto span = base::parse_duration(text);
  if (!span) return usage_error(std::string(option), span.error().message);
  if (*span > kSpanMsMax) {
    return usage_error(std::string(option), base::quoted(text) + " is more than 100 years");
  }
  return *span;
}

Result<std::int64_t> read_instant(std::string_view option, const std::string& text,
                                  const std::string& time_zone) {
  if (looks_like_date(text)) {  // no time is as short
    auto date = base::parse_date(text);
    if (!date) return usage_error(std::string(option), date.error().message);
    return begin_of_day(option, *date, time_zone);
  }
  auto instant = base::parse_time(text);
  if (instant) return *instant;
  return usage_error(std::string(option),
                     instant.error().message + ", or 2026-11-30 for the begin of that day");
}

Result<std::pair<std::string, std::string>> read_label(const std::string& pair) {
  const std::size_t sign = pair.find('=');
  if (sign == std::string::npos || sign == 0) {
    return usage_error("--label", base::quoted(pair) + " is not KEY=VALUE");
  }
  return std::make_pair(pair.substr(0, sign), pair.substr(sign + 1));
}

Error label_twice(const std::string& key) {
  return usage_error("--label", fmt::format("the key {} is given twice", base::quoted(key)));
}

Result<std::string> read_payload(const std::string& argument) {
  if (argument == "-") return read_all(stdin, "standard input");
  if (argument.empty() || argument[0] != '@') return argument;
  const std::string path = argument.substr(1);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return usage_error("--payload", fmt::format("cannot open {}: {}", base::quoted(path, 200),
                                                std::strerror(errno)));
  }
  auto bytes = read_all(file, base::quoted(path, 200));
  std::fclose(file);
  return bytes;
}

Result<v1::JobState> read_state(const std::string& text) {
  std::string word = text;
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  std::vector<std::string_view> names;
  for (const auto& [name, state] : kStates) {
    if (name == word) return state;
    names.push_back(name);
  }
  std::string message = base::quoted(text) + " is no state";
  const std::string_view near = base::closest(word, names);
  if (!near.empty()) message += fmt::format("; did you mean {}?", near);
  return usage_error("--state", message);
}

CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                          const std::string& description) {
  return app.add_option(name, values, description)->take_all()->allow_extra_args(false);
}

void RetryFlags::add_to(CLI::App& app) {
  app.add_option("--max-attempts", max_attempts, "Attempts in all, 1-1000 (default 5)");
  app.add_option("--backoff-first", first, "Pause after the first failed attempt (default 1s)");
  app.add_option("--backoff-factor", factor, "Each pause is so many times the last (default 2)");
  app.add_option("--backoff-cap", cap, "The longest pause (default 1h)");
  app.add_option("--backoff-jitter", jitter, "Share of the pause added at most, 0-1 (default 0.2)");
  app.add_option("--backoff-fixed", fixed,
                 "Instead: always this pause, exactly unless --backoff-jitter is given");
  app.add_option("--backoff-delays", delays, "Instead: these pauses, as 10s,1m,10m");
  app.add_option("--give-up-after", give_up_after,
                 "No retry starts later than this after the first attempt, or none (default)");
}

bool RetryFlags::any() const {
  return max_attempts || factor || jitter || !fixed.empty() || !first.empty() || !cap.empty() ||
         !delays.empty() || !give_up_after.empty();
}

Result<Ok> RetryFlags::apply(v1::RetryPolicy* policy) const {
  const bool exponential = factor || !first.empty() || !cap.empty();
  const int kinds = (exponential ? 1 : 0) + (fixed.empty() ? 0 : 1) + (delays.empty() ? 0 : 1);
  if (kinds > 1) {
    return usage_error("--backoff-fixed",
                       "only one of --backoff-first/-factor/-cap, --backoff-fixed and "
                       "--backoff-delays");
  }
  // 0 means "the default" in the messages, not what somebody who writes 0 expects.
  if (max_attempts &&
      (*max_attempts < limits::kAttemptsMin || *max_attempts > limits::kAttemptsMax)) {
    return out_of_range("--max-attempts", *max_attempts, limits::kAttemptsMin,
                        limits::kAttemptsMax);
  }
  if (factor && !(*factor >= 1 && *factor <= limits::kBackoffFactorMax)) {
    return out_of_range("--backoff-factor", *factor, 1, limits::kBackoffFactorMax);
  }
  if (jitter && !(*jitter >= 0 && *jitter <= 1)) {
    return out_of_range("--backoff-jitter", *jitter, 0, 1);
  }
  if (max_attempts) policy->set_max_attempts(*max_attempts);
  if (give_up_after == "none") {
    policy->clear_give_up_after();
  } else if (!give_up_after.empty()) {
    auto ok = put_span_option("--give-up-after", give_up_after, policy->mutable_give_up_after());
    if (!ok) return ok;
  }
  v1::Backoff next = policy->backoff();
  const auto restart = [&](v1::Backoff::Mode mode) {
    const bool same = next.mode() == mode;
    if (same && mode == v1::Backoff::MODE_EXPONENTIAL) return;  // its other numbers stay
    v1::Backoff fresh;
    fresh.set_mode(mode);
    if (next.has_jitter()) fresh.set_jitter(next.jitter());
    next = fresh;
  };
  if (exponential) {
    restart(v1::Backoff::MODE_EXPONENTIAL);
    if (factor) next.set_factor(*factor);
    if (!first.empty()) {
      if (auto ok = put_span_option("--backoff-first", first, next.mutable_first()); !ok) return ok;
    }
    if (!cap.empty()) {
      if (auto ok = put_span_option("--backoff-cap", cap, next.mutable_cap()); !ok) return ok;
    }
  } else if (!fixed.empty()) {
    restart(v1::Backoff::MODE_FIXED);
    next.set_jitter(0);
    if (auto ok = put_span_option("--backoff-fixed", fixed, next.mutable_first()); !ok) return ok;
  } else if (!delays.empty()) {
    restart(v1::Backoff::MODE_LISTED);
    for (const std::string& delay : split(delays, ',')) {
      if (auto ok = put_span_option("--backoff-delays", delay, next.add_delays()); !ok) return ok;
    }
  }
  if (jitter) next.set_jitter(*jitter);
  if (kinds > 0 || jitter) *policy->mutable_backoff() = next;
  return Ok{};
}

void JobFlags::add_to(CLI::App& app) {
  app.add_option("--payload", payload, "TEXT, @FILE, or - for standard input; 256 KiB at most");
  app.add_option("--content-type", content_type, "Of the payload (default application/json)");
  app.add_option("--priority", priority, "0-255, higher first (default 100)");
  app.add_option("--attempt-timeout", attempt_timeout,
                 "Limit of one attempt, 1s-30d, or none (default: the queue's)");
  app.add_option("--business-key", business_key,
                 "Name of the one effect: the same key again finds this job");
  app.add_option("--business-key-scope", business_key_scope,
                 "Within which the key is unique (default: the queue's name)");
  add_repeated(app, "--label", labels, "KEY=VALUE; may be repeated");
  retry.add_to(app);
}

template <class Message>
Result<Ok> JobFlags::apply(Message* job) const {
  if (payload) {
    auto bytes = read_payload(*payload);
    if (!bytes) return std::move(bytes).error();
    job->mutable_payload()->set_data(*std::move(bytes));
  }
  if (!content_type.empty()) job->mutable_payload()->set_content_type(content_type);
  if (priority) job->set_priority(*priority);
  if (attempt_timeout == "none") {
    job->set_no_attempt_timeout(true);
  } else if (!attempt_timeout.empty()) {
    auto ok = put_span_option("--attempt-timeout", attempt_timeout, job->mutable_attempt_timeout());
    if (!ok) return ok;
  }
  if (business_key.empty() && !business_key_scope.empty()) {
    return usage_error("--business-key-scope", "goes with --business-key only");
  }
  job->set_business_key(business_key);
  job->set_business_key_scope(business_key_scope);
  if (auto ok = read_labels(labels, job->mutable_labels()); !ok) return ok;
  if (retry.any()) return retry.apply(job->mutable_retry());
  return Ok{};
}

template Result<Ok> JobFlags::apply(v1::JobSpec*) const;
template Result<Ok> JobFlags::apply(v1::JobTemplate*) const;

}  // namespace rota::cli
