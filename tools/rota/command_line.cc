// SPDX-License-Identifier: Apache-2.0
#include "rota/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/suggest.h"
#include "base/utf8.h"
#include "rota/flags.h"
#include "rota/version.h"

namespace rota::cli {
namespace {

const std::array<Noun, 5>& table() {
  static const std::array<Noun, 5> kNouns = {{
      {"job", "Submit jobs, look at them, change and end them", job_verbs()},
      {"queue", "Make, set, pause, empty and remove queues", queue_verbs()},
      {"scheduler", "Declare what creates jobs at ticks, and see what became of them",
       scheduler_verbs()},
      {"worker", "See who works", worker_verbs()},
      {"server", "See how the server fares", server_verbs()},
  }};
  return kNouns;
}

constexpr std::string_view kExamples = R"(Examples:
  rota queue set mail --concurrency 4
  rota job enqueue mail welcome --payload '{"user":42}'
  rota job wait 0g7m2
  rota job enqueue - < jobs.jsonl
  rota job list mail --state dead -o name | rota job redrive -
  rota scheduler upsert reports/daily --cron '0 6 * * *' --time-zone Europe/Helsinki \
       --queue reports --kind daily --revision 1
  rota scheduler preview --cron '30 3 * * *' --time-zone Europe/Helsinki --count 5
)";

constexpr std::string_view kAfterword = R"(
Options of every command:
  --server HOST:PORT    Server to ask (default: ROTA_ADDRESS, else 127.0.0.1:7500)
  --namespace NAME      Namespace (default: default)
  -o, --output FORM     table (default), json, jsonl or name
  --timeout D           Limit of one call, all its repeats included (default 10s)
  --wait-for-server D   Wait so long for a server that is away (default: not at all)
  --color WHEN          auto (default; NO_COLOR and TERM=dumb switch it off), always, never
  -h, --help            Help for a noun or a verb, too
  --version             Version of this program

Durations need a unit: 30s, 5m, 1h30m. Times are RFC 3339, or a date for the begin of that day:
in the scheduler's zone for rota scheduler, in UTC for rota job.

Exit codes: 0 ok, 1 other failure, 2 usage or a wrong argument, 3 not found, 4 exists already or its
state forbids it, 5 not allowed, 6 unavailable, timed out or a limit reached, 7 the job ended
otherwise than SUCCEEDED (job wait), 130 and 143 signals. For several items: the code of the first
that was refused.
)";

void add_globals(CLI::App& app, GlobalOptions& globals) {
  const char* group = "Options of every command";
  app.add_option("--server", globals.server,
                 "HOST:PORT (default: ROTA_ADDRESS, else 127.0.0.1:7500)")
      ->group(group);
  app.add_option("--namespace", globals.name_space, "Namespace (default: default)")->group(group);
  app.add_option("-o,--output", globals.output, "table (default), json, jsonl or name")
      ->group(group);
  app.add_option("--timeout", globals.timeout,
                 "Limit of one call, all its repeats included (default 10s)")
      ->group(group);
  app.add_option("--wait-for-server", globals.wait_for_server,
                 "Wait so long for a server that is away (default: not at all)")
      ->group(group);
  app.add_option("--color", globals.color, "auto (default), always or never")->group(group);
}

// Global options may stand before the noun too; each but the flags takes a value.
bool takes_value(std::string_view word) {
  for (std::string_view name :
       {"--server", "--namespace", "-o", "--output", "--timeout", "--wait-for-server", "--color"}) {
    if (word == name) return true;
  }
  return false;
}

bool is_help(std::string_view word) { return word == "-h" || word == "--help"; }

template <class Items>
auto find(const Items& items, std::string_view name) -> decltype(&*items.begin()) {
  for (const auto& item : items) {
    if (item.name == name) return &item;
  }
  return nullptr;
}

template <class Items>
std::vector<std::string_view> names_of(const Items& items) {
  std::vector<std::string_view> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

int refuse_word(Output& out, std::string_view what, std::string_view word,
                const std::vector<std::string_view>& known) {
  std::string text = fmt::format("error: unknown {} {}", what, base::quoted(word));
  const std::string_view near = base::closest(word, known);
  if (!near.empty()) {
    text += fmt::format("; did you mean {}?", near);
  } else {
    text += fmt::format("; there are {}", fmt::join(known, ", "));
  }
  out.note(text);
  return kExitUsage;
}

std::string program_help() {
  std::string text = "Rota: durable job queue and scheduler.\n\n";
  text += kExamples;
  text += "\nUsage: rota NOUN VERB [ARGUMENTS] [OPTIONS]\n\n";
  for (const Noun& noun : table()) {
    text += fmt::format("  {:<10} {}\n  {:<10}   {}\n", noun.name, noun.summary, "",
                        fmt::join(names_of(noun.verbs), " "));
  }
  text += kAfterword;
  return text;
}

// The first command of the examples, with the lines that it goes on over.
std::string_view first_example(std::string_view examples) {
  std::size_t end = examples.find('\n');
  while (end != std::string_view::npos && end > 0 && examples[end - 1] == '\\') {
    end = examples.find('\n', end + 1);
  }
  return end == std::string_view::npos ? examples : examples.substr(0, end + 1);
}

std::string noun_help(const Noun& noun) {
  std::string text = fmt::format("{}.\n\nExamples:\n", noun.summary);
  for (const Verb& verb : noun.verbs) text += first_example(verb.examples);
  text += fmt::format("\nUsage: rota {} VERB [ARGUMENTS] [OPTIONS]\n\n", noun.name);
  for (const Verb& verb : noun.verbs) text += fmt::format("  {:<10} {}\n", verb.name, verb.summary);
  text += fmt::format(
      "\nrota {} VERB --help shows the options; rota --help those of every command "
      "and the exit codes.\n",
      noun.name);
  return text;
}

std::unique_ptr<CLI::App> make_app(const Noun& noun, const Verb& verb, GlobalOptions& globals) {
  auto app =
      std::make_unique<CLI::App>(fmt::format("{}.\n\nExamples:\n{}", verb.summary, verb.examples),
                                 fmt::format("rota {} {}", noun.name, verb.name));
  app->set_help_flag("-h,--help", "This text");
  // Kept, so that a suggestion can be made for what is unknown.
  app->allow_extras();
  add_globals(*app, globals);
  return app;
}

// What CLI11 did not understand: an option that does not exist, or a word too many.
int refuse_extras(Output& out, CLI::App& app, const std::vector<std::string>& extras) {
  const std::string& word = extras.front();
  if (word.size() < 2 || word[0] != '-') {
    out.note(fmt::format("error: {} is one argument too many\n  {} --help shows the usage",
                         base::quoted(word), app.get_name()));
    return kExitUsage;
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string_view near = base::closest(name, {known.begin(), known.end()});
  std::string text = fmt::format("error: unknown option {}", base::quoted(name));
  if (!near.empty()) text += fmt::format("; did you mean {}?", near);
  out.note(text + fmt::format("\n  {} --help shows the options", app.get_name()));
  return kExitUsage;
}

// "--note=" as "--note" and "": the parser would take the next word for the value.
std::vector<std::string> with_empty_values(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    const bool empty = word.rfind("--", 0) == 0 && word.find('=') == word.size() - 1;
    out.push_back(empty ? word.substr(0, word.size() - 1) : word);
    if (empty) out.emplace_back();
  }
  return out;
}

int run_verb(const Noun& noun, const Verb& verb, std::vector<std::string> words, Context& context) {
  auto app = make_app(noun, verb, context.globals);
  const Action action = verb.define(*app, context);
  words = with_empty_values(words);
  std::reverse(words.begin(), words.end());  // the order that CLI11 takes them in
  try {
    app->parse(words);
  } catch (const CLI::CallForHelp&) {
    context.out.write(app->help());
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    const int code = context.fail(explain(*app, error));
    context.out.note(fmt::format("  {} --help shows the usage", app->get_name()));
    return code;
  }
  auto extras = app->remaining();
  // The mark behind which all words are arguments is no word itself.
  if (const auto mark = std::find(extras.begin(), extras.end(), "--"); mark != extras.end()) {
    extras.erase(mark);
  }
  if (!extras.empty()) return refuse_extras(context.out, *app, extras);
  context.flag_of = [&app = *app](std::string_view field) { return flag_of(app, field); };
  if (auto ok = check_values(*app); !ok) return context.fail(ok.error());
  if (auto ready = context.prepare(); !ready) return context.fail(ready.error());
  return action();
}

// `rota help`, `rota help job`, `rota help job enqueue`.
int show_help(const std::vector<std::string>& words, Context& context) {
  if (words.empty()) {
    context.out.write(program_help());
    return kExitOk;
  }
  const Noun* noun = find(table(), words[0]);
  if (noun == nullptr) return refuse_word(context.out, "noun", words[0], names_of(table()));
  if (words.size() == 1) {
    context.out.write(noun_help(*noun));
    return kExitOk;
  }
  const Verb* verb = find(noun->verbs, words[1]);
  if (verb == nullptr) {
    return refuse_word(context.out, "verb", words[1], names_of(noun->verbs));
  }
  return run_verb(*noun, *verb, {"--help"}, context);
}

int dispatch(const std::vector<std::string>& words, Context& context) {
  std::vector<std::string> rest;  // global options that stand before noun and verb
  std::vector<std::string> path;
  std::size_t i = 0;
  for (; i < words.size() && path.size() < 2; ++i) {
    const std::string& word = words[i];
    if (word == "--version") {
      context.out.write("rota " ROTA_VERSION "\n");
      return kExitOk;
    }
    if (is_help(word)) return show_help(path, context);
    if (word == "help" && path.empty()) {
      return show_help({words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end()}, context);
    }
    if (word.size() > 1 && word[0] == '-') {
      rest.push_back(word);
      if (takes_value(word) && i + 1 < words.size()) rest.push_back(words[++i]);
    } else {
      path.push_back(word);
    }
  }
  if (path.empty()) {
    context.out.note(program_help());
    return kExitUsage;
  }
  const Noun* noun = find(table(), path[0]);
  if (noun == nullptr) return refuse_word(context.out, "noun", path[0], names_of(table()));
  if (path.size() == 1) {
    context.out.note(noun_help(*noun));
    return kExitUsage;
  }
  const Verb* verb = find(noun->verbs, path[1]);
  if (verb == nullptr) return refuse_word(context.out, "verb", path[1], names_of(noun->verbs));
  rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  return run_verb(*noun, *verb, std::move(rest), context);
}

}  // namespace

std::span<const Noun> nouns() { return table(); }

std::vector<std::string> long_options(const Noun& noun, const Verb& verb) {
  Context context(stdout, stderr);
  auto app = make_app(noun, verb, context.globals);
  verb.define(*app, context);
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

int run_command_line(const std::vector<std::string>& words, std::FILE* out, std::FILE* err) {
  Context context(out, err);
  const int code = dispatch(words, context);
  if (!context.out.finish() && code == kExitOk) {
    std::fprintf(err, "error: standard output cannot be written\n");
    return kExitOther;
  }
  return code;
}

}  // namespace rota::cli
