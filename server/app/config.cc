// SPDX-License-Identifier: Apache-2.0
#include "app/config.h"

#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "base/names.h"
#include "base/suggest.h"
#include "base/utf8.h"

namespace rota::app {
namespace {

using base::Error;
using base::OptionInfo;
using base::OptionType;
using base::Result;
using base::Status;

constexpr std::string_view kConfigVariable = "ROTA_CONFIG";

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::string_view nearest = base::closest(word, views);
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

std::string_view value_name(OptionType type) {
  switch (type) {
    case OptionType::kText:
      return "TEXT";
    case OptionType::kChoice:
      return "CHOICE";
    case OptionType::kFlag:
      return "";
    case OptionType::kCount:
      return "N";
    case OptionType::kBytes:
      return "BYTES";
    case OptionType::kDuration:
      return "DURATION";
  }
  return "";
}

std::string description(const OptionInfo& info) {
  std::string text(info.sentence);
  if (info.type == OptionType::kChoice) text.append(" ").append(info.choices).append(".");
  const std::string standard = option_text(base::ServerOptions{}, info);
  if (!standard.empty() && info.type != OptionType::kFlag) {
    text.append(" Default ").append(standard).append(".");
  }
  return text;
}

// The command line: one CLI11 option per line of the table, and the modes.
class CommandLine {
 public:
  CommandLine() {
    app_.name("rota-server");
    app_.set_help_flag();  // --help is a mode here; CLI11's own would throw
    app_.allow_extras();   // judged by unknown(), which can suggest
    app_.footer(
        "Each option may also stand in the environment (ROTA_LIMITS_PAYLOAD_BYTES) and in "
        "the file\n(limits.payload_bytes); a flag wins over the environment, that over the "
        "file. Sizes: 4096,\n256KiB, 64MiB. Durations: 30s, 5m, 1h30m.");
    for (const OptionInfo& info : base::option_table()) add(info);
    app_.add_option("--config", config_, "Read options from this TOML file.")
        ->type_name("FILE")
        ->group("Modes and files");
    app_.add_flag("--print-config", print_, "Print every option with its origin, and exit.")
        ->group("Modes and files");
    app_.add_option("--check", check_, "Recount everything in a data directory offline, and exit.")
        ->type_name("DIR")
        ->group("Modes and files");
    app_.add_option("--check-disk", check_disk_,
                    "Measure for 2 s what a sync costs in a directory, and exit.")
        ->type_name("DIR")
        ->group("Modes and files");
    app_.add_flag("--version", version_, "Print the version, and exit.")->group("Modes and files");
    app_.add_flag("-h,--help", help_, "Print this text, and exit.")->group("Modes and files");
  }

  Status parse(const std::vector<std::string>& args) {
    try {
      std::vector<std::string> reversed(args.rbegin(), args.rend());
      app_.parse(reversed);
    } catch (const CLI::ParseError& error) {
      return base::invalid_field("command line", error.what());
    }
    return unknown();
  }

  std::string help() const { return app_.help(); }

  // The text given for this option; nothing when it was not given.
  std::optional<std::string> given(const OptionInfo& info) const {
    const CLI::Option* option = app_.get_option(info.flag());
    return option->count() == 0 ? std::nullopt : std::optional(values_.at(std::string(info.key)));
  }

  const std::string& config_file() const { return config_; }

  Status set_mode(Config& config) const {
    int modes = 0;
    const auto choose = [&](bool chosen, Mode mode) {
      if (!chosen) return;
      config.mode = mode;
      ++modes;
    };
    choose(print_, Mode::kPrintConfig);
    choose(!check_.empty(), Mode::kCheck);
    choose(!check_disk_.empty(), Mode::kCheckDisk);
    choose(version_, Mode::kVersion);
    choose(help_, Mode::kHelp);
    if (modes > 1) {
      return base::invalid_field("command line",
                                 "give only one of --print-config, --check, --check-disk, "
                                 "--version and --help");
    }
    if (config.mode == Mode::kCheck) config.directory = check_;
    if (config.mode == Mode::kCheckDisk) config.directory = check_disk_;
    return {};
  }

 private:
  void add(const OptionInfo& info) {
    std::string& value = values_[std::string(info.key)];
    const std::size_t dot = info.key.find('.');
    const std::string group = dot == std::string_view::npos
                                  ? "Options"
                                  : "Options " + std::string(info.key.substr(0, dot));
    if (info.type == OptionType::kFlag) {
      app_.add_flag(info.flag(), value, description(info))->group(group);
    } else {
      app_.add_option(info.flag(), value, description(info))
          ->type_name(std::string(value_name(info.type)))
          ->group(group);
    }
  }

  Status unknown() const {
    const std::vector<std::string> extras = app_.remaining();
    if (extras.empty()) return {};
    const std::string word = extras.front().substr(0, extras.front().find('='));
    if (!word.starts_with("-")) {
      return base::invalid_field("command line", "unexpected argument " + base::quoted(word));
    }
    std::vector<std::string> flags = {"--config",     "--print-config", "--check",
                                      "--check-disk", "--version",      "--help"};
    for (const OptionInfo& info : base::option_table()) flags.push_back(info.flag());
    return base::invalid_field(word, "unknown flag" + did_you_mean(word, flags));
  }

  CLI::App app_{"Durable job queue and scheduler server."};
  std::map<std::string, std::string> values_;
  std::string config_;
  std::string check_;
  std::string check_disk_;
  bool print_ = false;
  bool version_ = false;
  bool help_ = false;
};

// Sets one option and its origin; an error then names the origin, since that is where to change it.
Status apply(Config& config, const OptionInfo& info, std::string_view text, std::string origin,
             std::string place) {
  auto status = set_option(config.options, info, text);
  if (!status) {
    Error error = status.error();
    error.message = std::string(info.key) + ": " + error.message;
    error.field = std::move(place);
    return error;
  }
  config.origins[std::string(info.key)] = std::move(origin);
  return {};
}

std::string place_in_file(const std::string& path, const toml::source_region& source) {
  return path + ":" + std::to_string(source.begin.line);
}

// The value as set_option() reads it; nothing if its TOML type does not fit the option.
std::optional<std::string> toml_text(const toml::node& node, OptionType type) {
  if (const auto* text = node.as_string()) return text->get();
  const bool number =
      type == OptionType::kCount || type == OptionType::kBytes || type == OptionType::kDuration;
  if (const auto* value = node.as_integer(); value != nullptr && number) {
    return std::to_string(value->get());
  }
  if (const auto* value = node.as_boolean(); value != nullptr && type == OptionType::kFlag) {
    return value->get() ? "true" : "false";
  }
  return std::nullopt;
}

Status apply_table(Config& config, const std::string& path, const toml::table& table,
                   const std::string& prefix) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    const std::string place = place_in_file(path, node.source());
    if (const toml::table* inner = node.as_table()) {
      if (auto status = apply_table(config, path, *inner, key + "."); !status) return status;
      continue;
    }
    const OptionInfo* info = base::find_option(key);
    if (info == nullptr) {
      std::vector<std::string> keys;
      for (const OptionInfo& known : base::option_table()) keys.emplace_back(known.key);
      return base::invalid_field(place,
                                 "unknown key " + base::quoted(key) + did_you_mean(key, keys));
    }
    const auto text = toml_text(node, info->type);
    if (!text) {
      return base::invalid_field(place,
                                 key + ": a value of this type does not fit; give it as text");
    }
    if (auto status = apply(config, *info, *text, "file " + place, place); !status) return status;
  }
  return {};
}

// Far above what all options with comments need; bounds what a wrong path can make us read.
constexpr std::size_t kFileBytesMax = 1024 * 1024;

// The text of a configuration file. A pipe is one too: a shell's <(command).
Result<std::string> read_file(const std::string& path) {
  const auto refuse = [&path](const std::string& why) { return base::invalid_field(path, why); };
  const auto fault = [&] { return refuse("cannot be read: " + std::string(std::strerror(errno))); };
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return fault();
  if (S_ISDIR(info.st_mode)) return refuse("is a directory; a configuration is one file");
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
    return refuse("is neither a file nor a pipe");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (!file) return fault();
  std::string text;
  std::array<char, 16 * 1024> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get())) {
    text.append(piece.data(), got);
    if (text.size() > kFileBytesMax) {
      return refuse("has more than " + base::format_bytes(kFileBytesMax) +
                    ", which no configuration needs");
    }
  }
  if (std::ferror(file.get()) != 0) return fault();
  return text;
}

Status apply_file(Config& config, const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  try {
    return apply_table(config, path, toml::parse(*text, path), "");
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    return base::invalid_field(line == 0 ? path : place_in_file(path, error.source()),
                               std::string(error.description()));
  }
}

Status apply_environment(Config& config, const Environment& environment) {
  for (const OptionInfo& info : base::option_table()) {
    const auto found = environment.find(info.environment());
    if (found == environment.end()) continue;
    auto status = apply(config, info, found->second, "environment " + found->first, found->first);
    if (!status) return status;
  }
  return {};
}

void note_mistyped(Config& config, const Environment& environment) {
  std::vector<std::string> names = {std::string(kConfigVariable)};
  for (const OptionInfo& info : base::option_table()) names.push_back(info.environment());
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("ROTA_")) continue;
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string hint = did_you_mean(name, names);
    if (!hint.empty()) config.warnings.push_back("environment " + name + " is no option" + hint);
  }
}

Status apply_flags(Config& config, const CommandLine& line) {
  for (const OptionInfo& info : base::option_table()) {
    const auto text = line.given(info);
    if (!text) continue;
    if (auto status = apply(config, info, *text, "flag " + info.flag(), info.flag()); !status) {
      return status;
    }
  }
  return {};
}

std::string toml_value(const base::ServerOptions& options, const OptionInfo& info) {
  std::string text = option_text(options, info);
  if (info.type == OptionType::kFlag || info.type == OptionType::kCount) return text;
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

}  // namespace

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Result<Config> load_config(const std::vector<std::string>& args, const Environment& environment) {
  CommandLine line;
  if (auto status = line.parse(args); !status) return status.error();
  Config config;
  for (const OptionInfo& info : base::option_table()) {
    config.origins[std::string(info.key)] = "default";
  }
  if (auto status = line.set_mode(config); !status) return status.error();
  if (config.mode == Mode::kHelp || config.mode == Mode::kVersion) return config;

  config.config_file = line.config_file();
  if (const auto found = environment.find(std::string(kConfigVariable));
      config.config_file.empty() && found != environment.end()) {
    config.config_file = found->second;
  }
  if (!config.config_file.empty()) {
    if (auto status = apply_file(config, config.config_file); !status) return status.error();
  }
  if (auto status = apply_environment(config, environment); !status) return status.error();
  note_mistyped(config, environment);
  if (auto status = apply_flags(config, line); !status) return status.error();
  if (config.mode == Mode::kServe && config.options.data.empty()) {
    return base::make_error(base::Reason::kMissingField,
                            "no data directory; give --data DIR, ROTA_DATA, or data in the file",
                            "data");
  }
  return config;
}

std::string print_config(const Config& config) {
  std::string text;
  std::string section;
  for (const OptionInfo& info : base::option_table()) {
    const std::size_t dot = info.key.find('.');
    std::string name(info.key);
    if (dot != std::string_view::npos) {
      if (section != info.key.substr(0, dot)) {
        section = info.key.substr(0, dot);
        text.append("\n[").append(section).append("]\n");
      }
      name = info.key.substr(dot + 1);
    }
    std::string left = name + " = " + toml_value(config.options, info);
    if (left.size() < 44) left.resize(44, ' ');
    const std::string& origin = config.origins.at(std::string(info.key));
    text.append(left).append("  # ").append(origin).append("\n");
  }
  return text;
}

std::string help_text() { return CommandLine().help(); }

}  // namespace rota::app
