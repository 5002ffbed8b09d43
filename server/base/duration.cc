// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <charconv>

#include "base/ascii.h"
#include "base/limits.h"
#include "base/utf8.h"

namespace rota::base {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr Unit kUnits[] = {
    {"d", kDayMs}, {"h", kHourMs}, {"m", kMinuteMs}, {"s", kSecondMs}, {"ms", 1}};

Error bad_duration(std::string_view text, std::string_view why) {
  return invalid_field({}, quoted(text) + " is not a duration: " + std::string(why) +
                               "; write 30s, 5m, 1h30m, 250ms or 7d");
}

}  // namespace

Result<std::int64_t> parse_duration(std::string_view text) {
  if (text.empty()) return bad_duration(text, "it is empty");
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::size_t digits = 0;
    while (digits < rest.size() && is_digit(rest[digits])) ++digits;
    if (digits == 0) return bad_duration(text, "a number is missing");
    std::int64_t number = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + digits, number);
    if (parsed.ec != std::errc{}) return bad_duration(text, "it is too long");
    rest.remove_prefix(digits);

    std::size_t letters = 0;
    while (letters < rest.size() && !is_digit(rest[letters])) ++letters;
    const std::string_view name = rest.substr(0, letters);
    if (name.empty()) return bad_duration(text, "the unit is missing");
    if (name.front() == '.') return bad_duration(text, "it has a fraction");
    std::size_t unit = 0;
    while (unit < std::size(kUnits) && kUnits[unit].name != name) ++unit;
    if (unit == std::size(kUnits)) return bad_duration(text, "unknown unit " + quoted(name));
    if (unit < next_unit) return bad_duration(text, "units go from large to small, each once");
    next_unit = unit + 1;
    rest.remove_prefix(letters);

    std::int64_t part = 0;
    if (__builtin_mul_overflow(number, kUnits[unit].ms, &part) ||
        __builtin_add_overflow(total, part, &total)) {
      return bad_duration(text, "it is too long");
    }
  }
  return total;
}

std::string format_duration(std::int64_t ms) {
  if (ms == 0) return "0s";
  std::string text = ms < 0 ? "-" : "";
  // The most negative number has no positive twin in 64 signed bits.
  std::uint64_t left =
      ms < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(ms) : static_cast<std::uint64_t>(ms);
  for (const Unit& unit : kUnits) {
    const std::uint64_t count = left / static_cast<std::uint64_t>(unit.ms);
    left %= static_cast<std::uint64_t>(unit.ms);
    if (count > 0) text.append(std::to_string(count)).append(unit.name);
  }
  return text;
}

}  // namespace rota::base
