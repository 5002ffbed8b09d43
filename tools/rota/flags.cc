// SPDX-License-Identifier: Apache-2.0
#include "rota/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "rota/output.h"

namespace rota::cli {
namespace {

// Where the option is not named as the last part of the field. The first that the command has.
struct Alias {
  std::string_view field;
  std::string_view flag;
};
constexpr std::array<Alias, 27> kAliases = {{
    {"backoff.first", "--backoff-first"},
    {"backoff.factor", "--backoff-factor"},
    {"backoff.cap", "--backoff-cap"},
    {"backoff.jitter", "--backoff-jitter"},
    {"backoff.delays", "--backoff-delays"},
    {"catch_up.window", "--catch-up-window"},
    {"catch_up.max_runs", "--catch-up-max-runs"},
    {"concurrency_limit", "--concurrency"},
    {"data", "--payload"},
    {"end_time", "--end"},
    {"from_time", "--from"},
    {"id", "JOB"},
    {"id", "SCHEDULER"},
    {"id_prefix", "--prefix"},
    {"job_id", "JOB"},
    {"labels", "--label"},
    {"name_prefix", "--prefix"},
    {"no_attempt_timeout", "--attempt-timeout"},
    {"outcomes", "--outcome"},
    {"page_size", "--limit"},
    {"queue", "QUEUE"},
    {"kind", "KIND"},
    {"scheduler_id", "SCHEDULER"},
    {"scheduler_id", "--scheduler"},
    {"start_time", "--start"},
    {"states", "--state"},
    {"to_time", "--to"},
}};

constexpr std::array<std::string_view, 6> kMayBeEmpty = {"payload", "note",   "reason",
                                                         "owner",   "prefix", "page-token"};
constexpr std::array<std::string_view, 1> kBytes = {"payload"};
constexpr std::string_view kGlobalGroup = "Options of every command";

bool has(const CLI::App& app, const std::string& flag) {
  return app.get_option_no_throw(flag) != nullptr;
}

bool ends_with_part(std::string_view field, std::string_view part) {
  if (field.size() < part.size() || field.substr(field.size() - part.size()) != part) return false;
  return field.size() == part.size() || field[field.size() - part.size() - 1] == '.';
}

// "spec.parts[0].cron" -> "spec.parts.cron".
std::string without_indexes(std::string_view field) {
  std::string out;
  bool inside = false;
  for (const char c : field) {
    if (c == '[') inside = true;
    if (!inside) out += c;
    if (c == ']') inside = false;
  }
  return out;
}

// 010 is eight to some and ten to others, 0x10 is neither to most.
bool is_decimal(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '0') return false;
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string shown_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name(true) : "--" + option.get_lnames().front();
}

template <class Names>
bool is_one_of(const CLI::Option& option, const Names& names) {
  const auto& own = option.get_lnames();
  return std::any_of(own.begin(), own.end(), [&](const std::string& name) {
    return std::find(names.begin(), names.end(), std::string_view(name)) != names.end();
  });
}

}  // namespace

std::string flag_of(const CLI::App& app, std::string_view field) {
  if (field.empty() || field.front() == '-') return std::string(field);
  const std::string path = without_indexes(field);
  for (const Alias& alias : kAliases) {
    if (ends_with_part(path, alias.field) && has(app, std::string(alias.flag))) {
      return std::string(alias.flag);
    }
  }
  std::string flag = "--" + path.substr(path.rfind('.') + 1);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return has(app, flag) ? flag : std::string(field);
}

Error explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::string what = error.what();
  // "Could not convert: --priority = x", "--output: At Most 1 required but received 2",
  // "--note: 1 required TEXT missing", "QUEUE is required".
  constexpr std::string_view kConvert = "Could not convert: ";
  if (error.get_name() == "ConversionError" && what.rfind(kConvert, 0) == 0) {
    const std::size_t sign = what.find(" = ");
    const std::string flag = what.substr(kConvert.size(), sign - kConvert.size());
    const std::string value = sign == std::string::npos ? "" : what.substr(sign + 3);
    const CLI::Option* option = app.get_option_no_throw(flag);
    const bool whole = option != nullptr && option->get_type_name() == "INT";
    if (whole && is_decimal(value)) return usage_error(flag, value + " is too large");
    return usage_error(
        flag, base::quoted(value) + (whole ? " is not a whole number" : " is not a number"));
  }
  if (error.get_name() == "ArgumentMismatch") {
    const std::string flag = what.substr(0, what.find(':'));
    if (what.find("At Most 1") != std::string::npos) return usage_error(flag, "is given twice");
    return usage_error(flag, "a value is missing");
  }
  if (error.get_name() == "RequiredError") {
    return usage_error(what.substr(0, what.find(' ')), "is missing");
  }
  return usage_error("", what);
}

Result<Ok> check_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_expected_max() == 0) continue;  // a flag
    const bool bytes = is_one_of(*option, kBytes);
    const bool may_be_empty = is_one_of(*option, kMayBeEmpty);
    for (const std::string& value : option->results()) {
      if (value.empty() && !may_be_empty) {
        return usage_error(shown_name(*option), "must not be empty");
      }
      if (!bytes && !base::is_utf8(value)) {
        return usage_error(shown_name(*option), base::quoted(value) + " is not UTF-8");
      }
      if (option->get_type_name() == "INT" && !is_decimal(value)) {
        return usage_error(shown_name(*option),
                           base::quoted(value) + " is not a whole number in decimal digits");
      }
      // The parser takes what has more digits than a number of 64 bits for the largest one.
      if (option->get_type_name() == "INT" && value.size() > 19) {
        return usage_error(shown_name(*option), value + " is too large");
      }
    }
  }
  return Ok{};
}

Result<Ok> refuse_others(const CLI::App& app, std::initializer_list<std::string_view> allowed,
                         std::string_view why) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    if (option->get_group() == kGlobalGroup || is_one_of(*option, allowed)) continue;
    return usage_error(shown_name(*option), std::string(why));
  }
  return Ok{};
}

}  // namespace rota::cli
