// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cmath>
#include <memory>

#include "base/clock.h"
#include "base/time_format.h"
#include "base/utf8.h"

namespace rota::base::log {
namespace {

constexpr std::string_view kLevelNames[] = {"debug", "info", "warn", "error"};

std::atomic<Level> least_level{Level::kInfo};
std::atomic<Format> line_format{Format::kText};

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Never destroyed: threads may log while the process ends.
spdlog::logger& logger() {
  static auto* const instance = [] {
    auto* fresh = new spdlog::logger("rota", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    fresh->set_pattern("%v");
    fresh->set_level(spdlog::level::debug);
    fresh->flush_on(spdlog::level::debug);
    return fresh;
  }();
  return *instance;
}

std::string timestamp(std::int64_t wall_ms) {
  std::string text = format_time(wall_ms);
  if (wall_ms % 1'000 == 0) text.insert(text.size() - 1, ".000");  // columns stay aligned
  return text;
}

void append_json_text(std::string& out, std::string_view text) {
  out.push_back('"');
  const bool valid = is_utf8(text);
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (byte < 0x20 || byte == 0x7f || (!valid && byte >= 0x80)) {
      // Bytes that are no UTF-8 are shown as the Latin-1 characters of the same number.
      out.append(fmt::format("\\u{:04x}", byte));
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void append_text(std::string& out, std::string_view text) {
  const bool plain = !text.empty() && is_utf8(text) && !has_control(text) &&
                     text.find_first_of(" \"=") == std::string_view::npos;
  if (plain) {
    out.append(text);
  } else {
    out.append(quoted(text, 4'096));
  }
}

std::string number_text(const Field::Value& value, bool json) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  const double number = std::get<double>(value);
  if (json && !std::isfinite(number)) return "null";
  return fmt::format("{}", number);
}

std::string json_line(Level level, std::int64_t wall_ms, std::string_view event, Fields fields) {
  std::string line = "{\"time\":\"" + timestamp(wall_ms) + "\",\"level\":\"";
  line.append(kLevelNames[static_cast<std::size_t>(level)]).append("\",\"event\":");
  append_json_text(line, event);
  for (const Field& field : fields) {
    line.push_back(',');
    append_json_text(line, field.name);
    line.push_back(':');
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      append_json_text(line, *text);
    } else {
      line.append(number_text(field.value, true));
    }
  }
  return line + "}";
}

std::string text_line(Level level, std::int64_t wall_ms, std::string_view event, Fields fields) {
  std::string line = fmt::format("{} {:<5} {}", timestamp(wall_ms),
                                 kLevelNames[static_cast<std::size_t>(level)], event);
  for (const Field& field : fields) {
    line.append(" ").append(field.name).push_back('=');
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      append_text(line, *text);
    } else {
      line.append(number_text(field.value, false));
    }
  }
  return line;
}

}  // namespace

std::optional<Level> parse_level(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kLevelNames); ++i) {
    if (kLevelNames[i] == text) return static_cast<Level>(i);
  }
  return std::nullopt;
}

std::optional<Format> parse_format(std::string_view text) {
  if (text == "text") return Format::kText;
  if (text == "json") return Format::kJson;
  return std::nullopt;
}

void configure(Format format, Level least) {
  line_format = format;
  least_level = least;
}

void write(Level level, std::string_view event, Fields fields) {
  if (level < least_level.load(std::memory_order_relaxed)) return;
  const std::string line = format_line(line_format.load(std::memory_order_relaxed), level,
                                       SystemClock().wall_ms(), event, fields);
  logger().log(spdlog_level(level), "{}", line);
}

std::string format_line(Format format, Level level, std::int64_t wall_ms, std::string_view event,
                        Fields fields) {
  return format == Format::kJson ? json_line(level, wall_ms, event, fields)
                                 : text_line(level, wall_ms, event, fields);
}

}  // namespace rota::base::log
