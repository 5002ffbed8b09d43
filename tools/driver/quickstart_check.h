// SPDX-License-Identifier: Apache-2.0
//
// Judges a story by its run records, the attempts and the invoice database, and prints both.
#pragma once

#include <string>

#include "driver/quickstart_story.h"

namespace rota::driver {

// Prints the table of runs and the table of promises. True when every promise of Rota holds;
// without the guard the doubled invoices are shown and are no failure of Rota's.
bool print_and_check(const StoryOptions& options, const Story& story);

}  // namespace rota::driver
