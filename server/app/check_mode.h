// SPDX-License-Identifier: Apache-2.0
//
// `rota-server --check DIR`: opens a data directory that no server uses, changes nothing, recounts
// everything, and reports.
#pragma once

#include <string>

#include "base/options.h"

namespace rota::app {

struct CheckResult {
  int exit_code = 0;    // 0 = consistent, 65 = contradictions; else why it could not be checked
  std::string report;   // lines of text: what was counted, and the contradictions
  std::string error{};  // instead of a report: why it could not be checked
};

// Blocking. Memory grows with the number of jobs, not with their payloads.
CheckResult check_directory(const std::string& directory, const base::ServerOptions& options);

}  // namespace rota::app
