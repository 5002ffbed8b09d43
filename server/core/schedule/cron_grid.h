// SPDX-License-Identifier: Apache-2.0
//
// The local times that a cron expression names, on an ideal clock without time zone: a regular grid
// of (matching day) x (matching time of day). Searching and counting walk months, not seconds: a
// month's days are one bit mask, so a year costs twelve steps however dense the expression is.
//
// All ranges are half open, [from, to), in local seconds (civil.h).
#pragma once

#include <cstdint>
#include <optional>

#include "core/schedule/cron_expr.h"

namespace rota::core {

// The least and the greatest local time of the expression in the range; nullopt when it holds none.
std::optional<std::int64_t> first_local(const CronExpr& expr, std::int64_t from, std::int64_t to);
std::optional<std::int64_t> last_local(const CronExpr& expr, std::int64_t from, std::int64_t to);

// How many local times of the expression the range holds.
std::int64_t count_local(const CronExpr& expr, std::int64_t from, std::int64_t to);

bool matches_local(const CronExpr& expr, std::int64_t local_s);

}  // namespace rota::core
