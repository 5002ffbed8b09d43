// SPDX-License-Identifier: Apache-2.0
// From the text of options to the fields of messages. Each error names the option.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rota/error.h"
#include "rota/v1/common.pb.h"
#include "rota/v1/job.pb.h"

namespace rota::cli {

// The parts between the separators; one part when there is none.
std::vector<std::string> split(const std::string& text, char separator);

// "30s", "1h30m" in milliseconds.
Result<std::int64_t> read_span(std::string_view option, const std::string& text);

// RFC 3339 with an offset, or "2026-11-30" for the begin of that day in `time_zone` (an IANA name,
// UTC or an offset as "+02:00"), in milliseconds since 1970.
Result<std::int64_t> read_instant(std::string_view option, const std::string& text,
                                  const std::string& time_zone = "UTC");

// "key=value", each.
template <class LabelMap>
Result<Ok> read_labels(const std::vector<std::string>& pairs, LabelMap* out);
Result<std::pair<std::string, std::string>> read_label(const std::string& pair);
Error label_twice(const std::string& key);

// TEXT, @FILE, or - for standard input; PAYLOAD_TOO_LARGE above what any server allows (4 MiB).
Result<std::string> read_payload(const std::string& argument);

// "ready" -> JOB_STATE_READY.
Result<v1::JobState> read_state(const std::string& text);

// The options of a retry policy.
struct RetryFlags {
  std::optional<int> max_attempts{};
  std::optional<double> factor{}, jitter{};
  std::string fixed{}, first{}, cap{}, delays{}, give_up_after{};

  void add_to(CLI::App& app);
  bool any() const;
  // Changes what was given and leaves the rest as it stands in `policy`.
  Result<Ok> apply(v1::RetryPolicy* policy) const;
};

// The options of a job that `job enqueue` and `scheduler upsert` share. `Message` is JobSpec or
// JobTemplate.
struct JobFlags {
  std::optional<std::string> payload{};
  std::string content_type{}, attempt_timeout{}, business_key{}, business_key_scope{};
  std::optional<int> priority{};
  std::vector<std::string> labels{};
  RetryFlags retry{};

  void add_to(CLI::App& app);
  template <class Message>
  Result<Ok> apply(Message* job) const;
};

template <class LabelMap>
Result<Ok> read_labels(const std::vector<std::string>& pairs, LabelMap* out) {
  for (const std::string& pair : pairs) {
    auto label = read_label(pair);
    if (!label) return std::move(label).error();
    if (out->contains(label->first)) return label_twice(label->first);
    (*out)[label->first] = label->second;
  }
  return Ok{};
}

// An option that may be repeated and takes one value each time.
CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                          const std::string& description);

}  // namespace rota::cli
