// SPDX-License-Identifier: Apache-2.0
//
// A stored row that is not what was written, or is not there. The engine cannot go on without it
// and must not guess, so whoever meets one throws; Engine catches it at its face (core/engine.h),
// where it becomes the damage of a turn or the error of load(). No exception leaves the engine.
#pragma once

#include <string>
#include <string_view>

#include "model/keyspace.h"

namespace rota::core {

struct DamagedRow {
  std::string text;  // one sentence naming the row
};

// "the row of keyspace side with key 0x00000001... (job 3x...) cannot be decoded"; the job is named
// where the key is one.
std::string damage_text(model::Keyspace keyspace, std::string_view key);
// The same of a row that another one says must be there.
std::string missing_text(model::Keyspace keyspace, std::string_view key);

[[noreturn]] void damaged_row(model::Keyspace keyspace, std::string_view key);

}  // namespace rota::core
