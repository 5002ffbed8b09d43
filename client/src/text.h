// SPDX-License-Identifier: Apache-2.0
// Text that goes into a message must be UTF-8: the server cannot decode a call with anything else.
#pragma once

#include <string>
#include <string_view>

namespace rota::internal {

bool is_utf8(std::string_view text);

// The text with each byte that is not UTF-8 replaced by '?', cut at a character to at most `bytes`
// from its begin or its end.
std::string head_of(std::string_view text, std::size_t bytes);
std::string tail_of(std::string_view text, std::size_t bytes);

}  // namespace rota::internal
