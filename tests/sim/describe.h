// SPDX-License-Identifier: Apache-2.0
//
// Commands, answers and events in one line each, for the trace of a replay.
#pragma once

#include <string>

#include "core/command.h"
#include "core/effect.h"

namespace rota::sim {

std::string describe(const core::JobKey& key);
std::string describe(const core::CommandBody& command);
std::string describe(const core::ReplyBody& answer);
std::string describe(const core::JobEvent& event);

}  // namespace rota::sim
