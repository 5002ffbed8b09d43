// SPDX-License-Identifier: Apache-2.0
//
// Durations as people write them: "30s", "5m", "1h30m", "250ms", "7d". Units, largest first, each
// at most once: d, h, m, s, ms. The unit is required, so that nobody must guess what "30" means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace rota::base {

// The duration in milliseconds, never negative. INVALID_FIELD (without field) with the fault for
// anything else, among it a missing unit, a fraction, and more than 64 bits of milliseconds.
Result<std::int64_t> parse_duration(std::string_view text);

// The shortest text that parse_duration() reads back: "1h30m", "0s". Negative values get a "-".
std::string format_duration(std::int64_t ms);

}  // namespace rota::base
