// SPDX-License-Identifier: Apache-2.0
//
// What this project needs to know about UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace rota::base {

// True if `text` is well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

// True if `text` holds a C0 control, DEL, or a C1 control (U+0080 to U+009F, as UTF-8).
bool has_control(std::string_view text);

// The longest prefix of `text` of at most `max_bytes` bytes that cuts no character in two.
std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes);

// `text` as a quoted literal that is safe on one line of a log or message: controls and bytes that
// are no UTF-8 become \xNN, and what is beyond `max_bytes` is replaced by "...".
std::string quoted(std::string_view text, std::size_t max_bytes = 60);

}  // namespace rota::base
