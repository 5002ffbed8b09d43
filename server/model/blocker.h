// SPDX-License-Identifier: Apache-2.0
//
// What a BLOCKED job waits for, as a value: made by who blocks, read by who tells people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/job.h"

namespace rota::model {

// An unfinished run of a scheduler.
Blocker scheduler_blocker(std::string_view name_space, std::string_view scheduler_id);
// Id of the scheduler in whose way the blocker stands; nullopt for any other kind, or damage.
std::optional<std::string> blocking_scheduler(const Blocker& blocker);

}  // namespace rota::model
