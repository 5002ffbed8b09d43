// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cron_expr.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/limits.h"
#include "base/utf8.h"

namespace rota::core {
namespace {

constexpr std::array<std::string_view, 12> kMonthNames = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                          "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kDayNames = {"SUN", "MON", "TUE", "WED",
                                                       "THU", "FRI", "SAT"};

struct FieldRule {
  std::string_view name;
  int low;
  int high;
  std::span<const std::string_view> names;  // the first one is value `low`
  bool is_day;                              // of month or of week
  std::string_view allowed;

  int size() const { return high == 7 ? 7 : high - low + 1; }  // Sunday has two numbers
};

constexpr std::array<FieldRule, 6> kFields = {{
    {"second", 0, 59, {}, false, "0-59, *, lists, ranges and steps"},
    {"minute", 0, 59, {}, false, "0-59, *, lists, ranges and steps"},
    {"hour", 0, 23, {}, false, "0-23, *, lists, ranges and steps"},
    {"day of month", 1, 31, {}, true, "1-31, *, ?, lists, ranges and steps"},
    {"month", 1, 12, kMonthNames, false, "1-12 or JAN-DEC, *, lists, ranges and steps"},
    {"day of week", 0, 7, kDayNames, true,
     "0-7 or SUN-SAT (0 and 7 are Sunday), *, ?, lists, ranges and steps"},
}};
constexpr std::size_t kDayOfMonthField = 3;

struct Macro {
  std::string_view name;
  std::string_view meaning;
};
constexpr std::array<Macro, 7> kMacros = {{
    {"@YEARLY", "0 0 1 1 *"},
    {"@ANNUALLY", "0 0 1 1 *"},
    {"@MONTHLY", "0 0 1 * *"},
    {"@WEEKLY", "0 0 * * 0"},
    {"@DAILY", "0 0 * * *"},
    {"@MIDNIGHT", "0 0 * * *"},
    {"@HOURLY", "0 * * * *"},
}};
constexpr std::string_view kMacroList =
    "@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly";
constexpr std::string_view kFieldList =
    "5 fields (minute hour day-of-month month day-of-week), 6 with seconds first, or one of "
    "@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly";

// A piece of the text that knows where it stands.
struct Piece {
  std::string_view text;
  std::size_t position;

  Piece part(std::size_t from, std::size_t size = std::string_view::npos) const {
    return {text.substr(from, size), position + from};
  }
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }
using base::is_digit;
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool equals_any_case(std::string_view text, std::string_view upper_text) {
  if (text.size() != upper_text.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (upper(text[i]) != upper_text[i]) return false;
  }
  return true;
}

// Reads one field of the text; the first fault ends the reading.
class FieldReader {
 public:
  FieldReader(const FieldRule& rule, Piece field) : rule_(rule), field_(field) {}

  // The allowed values as bits, or nullopt with fault() set.
  std::optional<std::uint64_t> read() {
    if (rule_.is_day && field_.text == "?") return range_bits(rule_.low, rule_.high, 1);
    std::uint64_t bits = 0;
    for (std::size_t begin = 0; begin <= field_.text.size();) {
      std::size_t comma = field_.text.find(',', begin);
      if (comma == std::string_view::npos) comma = field_.text.size();
      const auto item = read_item(field_.part(begin, comma - begin));
      if (!item) return std::nullopt;
      bits |= *item;
      begin = comma + 1;
    }
    return bits;
  }

  CronFault fault() && { return std::move(fault_); }

 private:
  std::nullopt_t refuse(Piece where, std::string fault, std::string_view allowed = {}) {
    fault_ = {where.position, std::string(rule_.name), std::move(fault),
              std::string(allowed.empty() ? rule_.allowed : allowed)};
    return std::nullopt;
  }

  static std::uint64_t range_bits(int from, int to, int step) {
    std::uint64_t bits = 0;
    for (int value = from; value <= to; value += step) bits |= std::uint64_t{1} << value;
    return bits;
  }

  std::optional<std::uint64_t> read_item(Piece item) {
    if (item.text.empty()) return refuse(item, "an item of the list is empty");
    if (is_extension(item.text)) {
      return refuse(item, base::quoted(item.text) + " uses L, W or #, which are not supported yet");
    }
    Piece values = item;
    std::optional<int> step;
    if (const std::size_t slash = item.text.find('/'); slash != std::string_view::npos) {
      values = item.part(0, slash);
      step = read_step(item.part(slash + 1));
      if (!step) return std::nullopt;
    }
    int from = rule_.low;
    int to = rule_.high;
    if (values.text != "*" && !read_range(values, step.has_value(), from, to)) return std::nullopt;
    // "Every 90 minutes" is nothing that a field of minutes can say: it would run every hour.
    const bool range = values.text.find('-') != std::string_view::npos;
    const int size = range ? to - from + 1 : rule_.size();
    if (step && *step > size) {
      return refuse(item.part(item.text.find('/') + 1),
                    "step " + std::to_string(*step) + " is larger than the " +
                        std::to_string(size) + " values that it steps through",
                    "a step from 1 to " + std::to_string(size));
    }
    return range_bits(from, to, step.value_or(1));
  }

  // N-M, or N alone: only N, and with a step everything from N on.
  bool read_range(Piece values, bool has_step, int& from, int& to) {
    const std::size_t dash = values.text.find('-');
    const auto first = read_value(values.part(0, dash));
    if (!first) return false;
    from = *first;
    if (dash == std::string_view::npos) {
      if (!has_step) to = from;
      return true;
    }
    auto last = read_value(values.part(dash + 1));
    if (!last) return false;
    // Sunday ends a week as well as it begins one: SAT-SUN is 6-7.
    if (is_sunday_name(values.text.substr(dash + 1)) && from > 0) last = 7;
    to = *last;
    if (from <= to) return true;
    refuse(values, "range " + base::quoted(values.text) + " is reversed",
           "ranges from the lower to the higher value; write the two parts as a list");
    return false;
  }

  std::optional<int> read_value(Piece value) {
    for (std::size_t i = 0; i < rule_.names.size(); ++i) {
      if (equals_any_case(value.text, rule_.names[i])) return rule_.low + static_cast<int>(i);
    }
    if (value.text.empty()) return refuse(value, "a value is missing");
    const auto number = read_number(value.text);
    if (!number) return refuse(value, base::quoted(value.text) + " is not a value");
    if (*number < rule_.low || *number > rule_.high) {
      return refuse(value, std::string(value.text) + " is out of range");
    }
    return number;
  }

  std::optional<int> read_step(Piece step) {
    const std::string steps = "a step from 1 to " + std::to_string(rule_.size());
    const auto number = read_number(step.text);
    if (!number) {
      const bool long_number =
          step.text.size() > 2 && std::all_of(step.text.begin(), step.text.end(), is_digit);
      return refuse(step,
                    "step " + base::quoted(step.text) +
                        (long_number ? " has more than two digits" : " is not a number"),
                    steps);
    }
    if (*number == 0) return refuse(step, "step 0 would never move on", steps);
    return number;
  }

  static std::optional<int> read_number(std::string_view text) {
    if (text.empty() || text.size() > 2) return std::nullopt;
    int number = 0;
    for (char c : text) {
      if (!is_digit(c)) return std::nullopt;
      number = number * 10 + (c - '0');
    }
    return number;
  }

  bool is_sunday_name(std::string_view text) const {
    return rule_.high == 7 && equals_any_case(text, kDayNames[0]);
  }

  // Forms of other cron dialects, told apart from plain misspellings: L, LW, L-3, 15W, 5L, FRI#2.
  bool is_extension(std::string_view item) const {
    if (!rule_.is_day) return false;
    if (item.find('#') != std::string_view::npos) return true;
    if (upper(item.front()) == 'L') {
      const std::string_view rest = item.substr(1);
      return rest.empty() || rest.front() == '-' || equals_any_case(rest, "W");
    }
    std::size_t head = 0;
    while (head < item.size() && (is_digit(item[head]) || item[head] == '-')) ++head;
    if (head == 0 && item.size() == 4) head = 3;  // a day name
    if (head + 1 != item.size() || head == 0) return false;
    return upper(item.back()) == 'L' || upper(item.back()) == 'W';
  }

  const FieldRule& rule_;
  Piece field_;
  CronFault fault_;
};

std::vector<Piece> split_fields(std::string_view text) {
  std::vector<Piece> fields;
  for (std::size_t i = 0; i < text.size();) {
    if (is_blank(text[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && !is_blank(text[i])) ++i;
    fields.push_back({text.substr(begin, i - begin), begin});
  }
  return fields;
}

// No month of the expression has one of its days. Only a rule of months alone can be unreachable:
// any day of a month falls on every weekday in some year, 29 February too.
bool never_occurs(const CronExpr& expr) {
  if (expr.either_day) return false;
  constexpr std::array<int, 12> kLongest = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (int month = 1; month <= 12; ++month) {
    if ((expr.months >> month & 1) == 0) continue;
    if (std::countr_zero(expr.days_of_month) <= kLongest[static_cast<std::size_t>(month - 1)]) {
      return false;
    }
  }
  return true;
}

CronFault whole_text_fault(std::size_t position, std::string fault, std::string_view allowed) {
  return {position, "", std::move(fault), std::string(allowed)};
}

std::optional<CronFault> check_bytes(std::string_view text) {
  if (text.size() > base::limits::kCronBytesMax) {
    return whole_text_fault(base::limits::kCronBytesMax,
                            "the text has " + std::to_string(text.size()) + " bytes",
                            "at most " + std::to_string(base::limits::kCronBytesMax) + " bytes");
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && !is_blank(text[i])) || byte >= 0x7f) {
      return whole_text_fault(i, "a character that is not printable ASCII",
                              "one line of printable ASCII with blanks or tabs between fields");
    }
  }
  return std::nullopt;
}

std::variant<CronExpr, CronFault> parse_macro(const std::vector<Piece>& fields) {
  const Piece macro = fields.front();
  if (fields.size() == 1) {
    for (const Macro& known : kMacros) {
      if (equals_any_case(macro.text, known.name)) return parse_cron(known.meaning);
    }
  }
  return whole_text_fault(macro.position, base::quoted(macro.text) + " is not a known short form",
                          std::string(kMacroList) + ", standing alone");
}

}  // namespace

std::string CronFault::message() const {
  std::string out;
  if (!field.empty()) out += "field \"" + field + "\", ";
  out += "position " + std::to_string(position + 1) + ": " + fault;
  if (!allowed.empty()) out += "; allowed: " + allowed;
  return out;
}

std::variant<CronExpr, CronFault> parse_cron(std::string_view text) {
  if (auto fault = check_bytes(text)) return *std::move(fault);
  const std::vector<Piece> fields = split_fields(text);
  if (fields.empty()) return whole_text_fault(0, "the text is empty", kFieldList);
  if (fields.front().text.front() == '@') return parse_macro(fields);
  if (const std::string_view first = fields.front().text;
      first.starts_with("TZ=") || first.starts_with("CRON_TZ=")) {
    return whole_text_fault(fields.front().position, "a time zone inside the text",
                            "the zone in the time zone field of the schedule");
  }
  if (fields.size() != 5 && fields.size() != 6) {
    const std::size_t at = fields.size() > 6 ? fields[6].position : text.size();
    return whole_text_fault(at,
                            "the text has " + std::to_string(fields.size()) +
                                (fields.size() == 1 ? " field" : " fields"),
                            kFieldList);
  }

  std::array<std::uint64_t, kFields.size()> bits = {1, 0, 0, 0, 0, 0};
  std::array<bool, kFields.size()> starred = {};
  const std::size_t first = kFields.size() - fields.size();
  for (std::size_t i = first; i < kFields.size(); ++i) {
    FieldReader reader(kFields[i], fields[i - first]);
    const auto read = reader.read();
    if (!read) return std::move(reader).fault();
    bits[i] = *read;
    const char begin = fields[i - first].text.front();
    starred[i] = begin == '*' || begin == '?';
  }

  CronExpr expr;
  expr.seconds = bits[0];
  expr.minutes = bits[1];
  expr.hours = static_cast<std::uint32_t>(bits[2]);
  expr.days_of_month = static_cast<std::uint32_t>(bits[3]);
  expr.months = static_cast<std::uint16_t>(bits[4]);
  expr.days_of_week = static_cast<std::uint8_t>((bits[5] | bits[5] >> 7) & 0x7f);
  expr.either_day = !starred[3] && !starred[5];
  expr.wildcard = starred[1] || starred[2];
  if (never_occurs(expr)) {
    return CronFault{fields[kDayOfMonthField - first].position,
                     std::string(kFields[kDayOfMonthField].name),
                     "none of the months named has such a day, so the date never occurs",
                     "a day that at least one of the months has (29 February counts)"};
  }
  return expr;
}

}  // namespace rota::core
