// SPDX-License-Identifier: Apache-2.0
// The table of commands, and the way from the words of a command line to one of them.
#pragma once

#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rota/context.h"

namespace CLI {
class App;
}

namespace rota::cli {

// Runs a command whose options were read; returns the exit code.
using Action = std::function<int()>;

// `rota NOUN VERB`.
struct Verb {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;  // lines, each with its line feed
  // Adds the verb's own options to `app`; what it returns runs after they were parsed.
  Action (*define)(CLI::App& app, Context& context);
};

struct Noun {
  std::string_view name;
  std::string_view summary;
  std::span<const Verb> verbs;
};

// One file each: cmd_job.cc and so on.
std::span<const Verb> job_verbs();
std::span<const Verb> queue_verbs();
std::span<const Verb> scheduler_verbs();
std::span<const Verb> worker_verbs();
std::span<const Verb> server_verbs();

std::span<const Noun> nouns();

// The long options of a verb, global ones included, sorted; for tests of the completion script.
std::vector<std::string> long_options(const Noun& noun, const Verb& verb);

// Runs the words behind the program's name. Data goes to `out`, all else to `err`; returns the exit
// code.
int run_command_line(const std::vector<std::string>& words, std::FILE* out, std::FILE* err);

}  // namespace rota::cli
