// SPDX-License-Identifier: Apache-2.0
//
// Judges a story by its run records, the attempts and the invoice database, and prints both.
#pragma once

#include <string>
#include <vector>

#include "driver/quickstart_story.h"

namespace rota::driver {

struct Promise {
  std::string name;
  std::string seen;
  bool holds = false;
  // False only without the guard, for what the guard alone keeps: shown, and no failure of Rota's.
  bool counts = true;
};

// Every promise of the main job, each judged by itself, in the order in which they are printed.
// Reads `folder`/invoices.db; a database that cannot be read breaks the promises that rest on it.
std::vector<Promise> judge(const StoryOptions& options, const Story& story);

// Prints the table of runs and the table of promises. True when every promise that counts holds.
bool print_and_check(const StoryOptions& options, const Story& story);

}  // namespace rota::driver
