// SPDX-License-Identifier: Apache-2.0
// Workers as people read them. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "rota/text.h"
#include "rota/v1/worker.pb.h"

namespace rota::cli {

std::vector<std::string> worker_header();
std::vector<std::string> worker_cells(const v1::Worker& worker, const View& view);

// "asking" while a lease call of it waits, "working" while it holds jobs and has not asked for
// more, "gone" when it does neither and is silent: it was stopped, killed, or is cut off. The
// server lists it for an hour all the same.
std::string worker_state_text(const v1::Worker& worker, const View& view);

}  // namespace rota::cli
