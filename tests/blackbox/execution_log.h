// SPDX-License-Identifier: Apache-2.0
//
// Reads what a blackbox_worker noted of its handlers (worker_main.cc).
#pragma once

#include <string>

#include "blackbox/history.h"

namespace rota::blackbox {

// Adds executions and standstills. `died`: when the process that was found dead was seen alive for
// the last time, or kNever when it ended in good order; what had not returned by then never did. A
// last line without its end is passed over. False with *why for a log that cannot be understood.
bool read_execution_log(const std::string& text, const std::string& worker, Ns died,
                        History* history, std::string* why);

}  // namespace rota::blackbox
