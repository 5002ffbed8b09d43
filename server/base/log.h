// SPDX-License-Identifier: Apache-2.0
//
// Structured log lines on standard error: a level, the words of an event, and named values.
//
//   log::info("listening", {{"address", address}, {"epoch", epoch}});
//
//   text  2026-11-29T17:30:00.123Z info  listening address=127.0.0.1:7500 epoch=4
//   json  {"time":"2026-11-29T17:30:00.123Z","level":"info","event":"listening","address":...}
//
// Event words are constant text, never built from input, so that a line can be searched for. An
// error line means a fault of the program or the machine, never something a caller did. All
// functions are thread-safe; a line is written whole, and never throws.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace rota::base::log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarn, kError };
enum class Format : std::uint8_t { kText, kJson };

std::optional<Level> parse_level(std::string_view text);    // "debug", "info", "warn", "error"
std::optional<Format> parse_format(std::string_view text);  // "text", "json"

// A named value. Holds views: build it only as an argument of a log call.
struct Field {
  using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

  Field(std::string_view name_text, std::string_view text) : name(name_text), value(text) {}
  Field(std::string_view name_text, const std::string& text)
      : name(name_text), value(std::string_view(text)) {}
  Field(std::string_view name_text, const char* text)
      : name(name_text), value(std::string_view(text)) {}
  Field(std::string_view name_text, bool flag) : name(name_text), value(flag) {}
  Field(std::string_view name_text, double number) : name(name_text), value(number) {}
  template <std::signed_integral T>
  Field(std::string_view name_text, T number)
      : name(name_text), value(static_cast<std::int64_t>(number)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Field(std::string_view name_text, T number)
      : name(name_text), value(static_cast<std::uint64_t>(number)) {}

  std::string_view name;
  Value value;
};
using Fields = std::initializer_list<Field>;

// Sets format and least level of the whole process; text and info before the first call.
void configure(Format format, Level least);

void write(Level level, std::string_view event, Fields fields);

inline void debug(std::string_view event, Fields fields = {}) {
  write(Level::kDebug, event, fields);
}
inline void info(std::string_view event, Fields fields = {}) { write(Level::kInfo, event, fields); }
inline void warn(std::string_view event, Fields fields = {}) { write(Level::kWarn, event, fields); }
inline void error(std::string_view event, Fields fields = {}) {
  write(Level::kError, event, fields);
}

// One line without its line break, as write() prints it. For tests.
std::string format_line(Format format, Level level, std::int64_t wall_ms, std::string_view event,
                        Fields fields);

}  // namespace rota::base::log
