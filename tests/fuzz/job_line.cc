// SPDX-License-Identifier: Apache-2.0
//
// A line of `rota job enqueue -`, judged beside another reader of JSON. Input: the line.
#include "rota/job_line.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "fuzz/fuzz.h"

namespace {

using namespace rota;

constexpr std::ptrdiff_t kBracketsMax = 256;  // deeper ones are refused, by this reader only

bool is_deep(std::string_view line) {
  return std::count_if(line.begin(), line.end(), [](char c) { return c == '[' || c == '{'; }) >=
         kBracketsMax;
}

// A number that no double can hold is JSON, but not to the other reader.
bool has_huge_number(std::string_view line) {
  std::size_t digits = 0;
  bool exponent = false;
  for (const char c : line) {
    if (c >= '0' && c <= '9') {
      if (++digits > (exponent ? 2U : 200U)) return true;
    } else if (c != '+' && c != '-' && c != '.') {
      digits = 0;
      exponent = c == 'e' || c == 'E';
    }
  }
  return false;
}

// What the other reader takes though no JSON may hold it: it ends at a zero byte, and passes over a
// byte order mark.
bool is_lax_there(std::string_view line) {
  return line.find('\0') != std::string_view::npos || line.starts_with("\xef\xbb\xbf");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line = fuzz::Input(data, size).rest();
  v1::JobSpec job;
  Error error;
  const bool read = cli::parse_job_line(line, &job, &error);
  const bool is_object =
      nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false).is_object();
  if (read) {
    FUZZ_CHECK(is_object || has_huge_number(line), "taken, though it is no JSON object");
    FUZZ_CHECK(job.ByteSizeLong() == job.SerializeAsString().size(), "a job that cannot be sent");
    return 0;
  }
  FUZZ_CHECK(!error.message.empty(), "refused without words");
  if (error.reason == "INVALID_JSON") {
    FUZZ_CHECK(!is_object || is_deep(line) || is_lax_there(line),
               "refused as no JSON, though it is: " + error.message);
  } else {
    FUZZ_CHECK(error.reason == "INVALID_FIELD" || error.reason == "PAYLOAD_TOO_LARGE",
               "another reason: " + error.reason);
    FUZZ_CHECK(!error.field.empty(), "refused without a field: " + error.message);
  }
  return 0;
}
