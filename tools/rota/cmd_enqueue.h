// SPDX-License-Identifier: Apache-2.0
// `rota job enqueue`, for one job and for JSON lines.
#pragma once

#include "rota/command_line.h"

namespace rota::cli {

Action define_enqueue(CLI::App& app, Context& context);

}  // namespace rota::cli
