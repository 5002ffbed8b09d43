// SPDX-License-Identifier: Apache-2.0
//
// The two values that a scheduler puts into the text of the jobs it creates:
//
//   {{nominal_time}}   the tick, RFC 3339 in UTC: 2026-11-29T22:00:00Z
//   {{business_date}}  its local date plus business_day_offset days: 2026-11-29
//
// They are replaced in the business key and in the payload, wherever these exact bytes stand, and
// nowhere else (not in labels, queue or kind). In a payload all other braces are left as they are,
// since it is the user's own text; in a business key any other {{...}} is refused as a misspelling.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace rota::core {

struct TemplateValues {
  std::string nominal_time;
  std::string business_date;
};

// What is replaced is not looked at again.
std::string render_template(std::string_view text, const TemplateValues& values);

// Whether the text holds one of the two, so that ticks give different texts.
bool template_has_time(std::string_view text);

// The largest number of bytes that render_template() can make of the text.
std::size_t longest_rendering(std::string_view text);

// Whether a scheduler's business key can be used; empty is none. BUSINESS_KEY_NEEDS_TIME without
// one of the two values, INVALID_FIELD for another {{...}} or when its longest rendering is over
// limits::kTextKeyBytesMax. The field of the error is `field`.
base::Status check_key_template(std::string_view key, std::string_view field);

}  // namespace rota::core
