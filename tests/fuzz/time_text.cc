// SPDX-License-Identifier: Apache-2.0
//
// Instants, dates, durations and offsets as text: what is read is written so that it is read
// again as the same. Input: a text; its bytes are also taken as a number.
#include "core/schedule/time_text.h"
#include "base/duration.h"
#include "base/time_format.h"
#include "core/schedule/time_zone.h"
#include "fuzz/fuzz.h"

namespace {

using namespace rota;

template <class Value>
void check_refusal(const base::Result<Value>& read) {
  FUZZ_CHECK(read.error().reason == base::Reason::kInvalidField, "another reason");
  FUZZ_CHECK(!read.error().message.empty(), "refused without words");
}

void check_text(std::string_view text) {
  if (const auto ms = base::parse_time(text)) {
    FUZZ_CHECK(*ms >= base::kTimeMsMin && *ms <= base::kTimeMsMax, "outside the years 1 to 9999");
    FUZZ_CHECK(*base::parse_time(base::format_time(*ms)) == *ms, base::format_time(*ms));
  } else {
    check_refusal(ms);
  }
  if (const auto ms = base::parse_duration(text)) {
    FUZZ_CHECK(*ms >= 0, "a negative duration");
    FUZZ_CHECK(*base::parse_duration(base::format_duration(*ms)) == *ms,
               base::format_duration(*ms));
  } else {
    check_refusal(ms);
  }
  if (const auto date = base::parse_date(text)) {
    FUZZ_CHECK(base::format_date(*date) == text, "two texts for one date");
    FUZZ_CHECK(base::civil_from_days(base::days_from_civil(*date)) == *date, "not a date");
  } else {
    check_refusal(date);
  }
  if (const auto offset_s = core::parse_fixed_offset(text)) {
    FUZZ_CHECK(core::offset_text(*offset_s) == text || *offset_s == 0, "two texts for one offset");
  }
}

void check_number(std::int64_t v) {
  const auto back = base::parse_time(base::format_time(v));
  FUZZ_CHECK(back && *back == std::clamp(v, base::kTimeMsMin, base::kTimeMsMax),
             base::format_time(v));
  const std::string span = base::format_duration(v);
  if (v >= 0) FUZZ_CHECK(*base::parse_duration(span) == v, span);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_text(fuzz::Input(data, size).rest());
  check_number(fuzz::Input(data, size).i64());
  return 0;
}
