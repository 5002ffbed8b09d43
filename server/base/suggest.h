// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean ...?" for words that a person mistyped.
#pragma once

#include <string_view>
#include <vector>

namespace rota::base {

// The candidate nearest to `word` by single-character edits (a swap of neighbours is one); empty
// when none is within a third of the word's length, and at least one edit.
std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace rota::base
