// SPDX-License-Identifier: Apache-2.0
// Character classes of ASCII, whatever the locale: <cctype> asks it, and is undefined for bytes
// above 127 in a signed char.
#pragma once

namespace rota::base {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

}  // namespace rota::base
