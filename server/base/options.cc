// SPDX-License-Identifier: Apache-2.0
#include "base/options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <variant>

#include "base/duration.h"
#include "base/names.h"
#include "base/utf8.h"

namespace rota::base {
namespace {

using Member = std::variant<std::string ServerOptions::*, bool ServerOptions::*,
                            std::int64_t ServerOptions::*>;

struct Line {
  OptionInfo info;
  Member member;
};

const std::vector<Line>& lines() {
  static const std::vector<Line> table = {
#define ROTA_OPTION_TEXT(member, key, standard, sentence) \
  {{key, OptionType::kText, "", 0, 0, sentence}, &ServerOptions::member},
#define ROTA_OPTION_CHOICE(member, key, standard, choices, sentence) \
  {{key, OptionType::kChoice, choices, 0, 0, sentence}, &ServerOptions::member},
#define ROTA_OPTION_FLAG(member, key, standard, sentence) \
  {{key, OptionType::kFlag, "", 0, 0, sentence}, &ServerOptions::member},
#define ROTA_OPTION_COUNT(member, key, standard, least, most, sentence) \
  {{key, OptionType::kCount, "", least, most, sentence}, &ServerOptions::member},
#define ROTA_OPTION_BYTES(member, key, standard, least, most, sentence) \
  {{key, OptionType::kBytes, "", least, most, sentence}, &ServerOptions::member},
#define ROTA_OPTION_DURATION(member, key, standard, least, most, sentence) \
  {{key, OptionType::kDuration, "", least, most, sentence}, &ServerOptions::member},
#include "base/options.inc"
  };
  return table;
}

const Member& member_of(const OptionInfo& info) {
  for (const Line& line : lines()) {
    if (line.info.key == info.key) return line.member;
  }
  std::abort();  // not a line of the table
}

Error bad_value(const OptionInfo& info, std::string message) {
  return invalid_field(std::string(info.key), std::move(message));
}

Result<std::int64_t> parse_count(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != end) {
    return invalid_field({}, quoted(text) + " is not a whole number");
  }
  return number;
}

// Bytes in the largest unit that divides them, so that the text can be read back exactly.
std::string exact_bytes(std::int64_t bytes) {
  const std::pair<std::int64_t, std::string_view> units[] = {
      {1024 * kMiB, "GiB"}, {kMiB, "MiB"}, {kKiB, "KiB"}};
  for (const auto& [unit, name] : units) {
    if (bytes > 0 && bytes % unit == 0) return std::to_string(bytes / unit) + std::string(name);
  }
  return std::to_string(bytes);
}

std::string number_text(OptionType type, std::int64_t number) {
  if (type == OptionType::kBytes) return exact_bytes(number);
  if (type == OptionType::kDuration) return format_duration(number);
  return std::to_string(number);
}

Result<bool> parse_flag(std::string_view text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return invalid_field({}, quoted(text) + " is neither true nor false");
}

bool is_choice(std::string_view choices, std::string_view text) {
  while (!choices.empty()) {
    const std::size_t bar = choices.find('|');
    if (choices.substr(0, bar) == text) return true;
    choices = bar == std::string_view::npos ? std::string_view{} : choices.substr(bar + 1);
  }
  return false;
}

Status set_number(std::int64_t& place, const OptionInfo& info, std::string_view text) {
  auto number = info.type == OptionType::kBytes      ? parse_bytes(text)
                : info.type == OptionType::kDuration ? parse_duration(text)
                                                     : parse_count(text);
  if (!number) return bad_value(info, number.error().message);
  if (*number < info.least || *number > info.most) {
    return bad_value(info, number_text(info.type, *number) + ", limit " +
                               number_text(info.type, info.least) + " to " +
                               number_text(info.type, info.most));
  }
  place = *number;
  return {};
}

}  // namespace

std::string OptionInfo::flag() const {
  std::string text = "--";
  for (char c : key) text.push_back(c == '.' || c == '_' ? '-' : c);
  return text;
}

std::string OptionInfo::environment() const {
  std::string text = "ROTA_";
  for (char c : key) {
    const bool lower = c >= 'a' && c <= 'z';
    text.push_back(c == '.' ? '_' : lower ? static_cast<char>(c - 'a' + 'A') : c);
  }
  return text;
}

const std::vector<OptionInfo>& option_table() {
  static const std::vector<OptionInfo> table = [] {
    std::vector<OptionInfo> infos;
    for (const Line& line : lines()) infos.push_back(line.info);
    return infos;
  }();
  return table;
}

const OptionInfo* find_option(std::string_view key) {
  for (const OptionInfo& info : option_table()) {
    if (info.key == key) return &info;
  }
  return nullptr;
}

Status set_option(ServerOptions& options, const OptionInfo& info, std::string_view text) {
  const Member& member = member_of(info);
  if (const auto* number = std::get_if<std::int64_t ServerOptions::*>(&member)) {
    return set_number(options.**number, info, text);
  }
  if (const auto* flag = std::get_if<bool ServerOptions::*>(&member)) {
    auto parsed = parse_flag(text);
    if (!parsed) return bad_value(info, parsed.error().message);
    options.** flag = *parsed;
    return {};
  }
  if (info.type == OptionType::kChoice && !is_choice(info.choices, text)) {
    return bad_value(info, quoted(text) + " is none of " + std::string(info.choices));
  }
  // What a configuration file cannot hold would be printed so that it is not read back; a zero byte
  // would cut a path short.
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (!is_utf8(text) || std::any_of(text.begin(), text.end(), is_control)) {
    return bad_value(info, quoted(text) + " is not UTF-8 without control characters");
  }
  options.*std::get<std::string ServerOptions::*>(member) = text;
  return {};
}

std::string option_text(const ServerOptions& options, const OptionInfo& info) {
  const Member& member = member_of(info);
  if (const auto* number = std::get_if<std::int64_t ServerOptions::*>(&member)) {
    return number_text(info.type, options.**number);
  }
  if (const auto* flag = std::get_if<bool ServerOptions::*>(&member)) {
    return options.**flag ? "true" : "false";
  }
  return options.*std::get<std::string ServerOptions::*>(member);
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  const std::pair<std::string_view, std::int64_t> units[] = {
      {"KiB", kKiB}, {"MiB", kMiB}, {"GiB", 1024 * kMiB}, {"B", 1}};
  std::string_view digits = text;
  std::int64_t unit = 1;
  for (const auto& [name, size] : units) {
    if (digits.ends_with(name)) {
      digits.remove_suffix(name.size());
      unit = size;
      break;
    }
  }
  const auto number = parse_count(digits);
  std::int64_t bytes = 0;
  if (!number || *number < 0 || __builtin_mul_overflow(*number, unit, &bytes)) {
    return invalid_field({}, quoted(text) + " is not a size; write 4096, 256KiB, 64MiB or 1GiB");
  }
  return bytes;
}

}  // namespace rota::base
