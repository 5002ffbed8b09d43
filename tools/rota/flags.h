// SPDX-License-Identifier: Apache-2.0
// Between the fields of the API and the options of one command.
#pragma once

#include <string>
#include <string_view>

#include "rota/error.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace rota::cli {

// The option or argument of the command that fills a field of its request: "--max-attempts" for
// "job.retry.max_attempts", "QUEUE" for "queue". The field itself where the command has none.
std::string flag_of(const CLI::App& app, std::string_view field);

// What the parser of options found wrong, in the words of this program.
Error explain(const CLI::App& app, const CLI::ParseError& error);

// Refuses what no command can mean: a value that is not UTF-8 (but for --payload), and an empty one
// unless the empty text says something (--payload, --note, --reason, --owner, --prefix,
// --page-token).
Result<Ok> check_values(const CLI::App& app);

// Refuses the first option that was given and is none of `allowed` (long names without dashes) nor
// one of every command: "--priority: <why>".
Result<Ok> refuse_others(const CLI::App& app, std::initializer_list<std::string_view> allowed,
                         std::string_view why);

}  // namespace rota::cli
