// SPDX-License-Identifier: Apache-2.0
#include "rota/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/time_format.h"
#include "base/utf8.h"

namespace rota::cli {
namespace {

struct Unit {
  std::int64_t ms;
  std::string_view name;
};
constexpr std::array<Unit, 4> kUnits = {
    {{base::kDayMs, "d"}, {base::kHourMs, "h"}, {base::kMinuteMs, "min"}, {base::kSecondMs, "s"}}};

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string without_prefix(const std::string& name, std::string_view prefix) {
  return name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0
             ? name.substr(prefix.size())
             : name;
}

// Columns that a cell takes on a terminal: characters, without the codes of colours.
std::size_t width(std::string_view cell) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == '\x1b') {
      while (i < cell.size() && cell[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(cell[i]) & 0xC0) != 0x80) {
      ++columns;
    }
  }
  return columns;
}

}  // namespace

std::string paint(const View& view, Paint style, std::string_view text) {
  if (!view.color || style == Paint::kPlain || text.empty()) return std::string(text);
  int code = 0;
  switch (style) {
    case Paint::kGood:
      code = 32;
      break;
    case Paint::kBad:
      code = 31;
      break;
    case Paint::kBusy:
      code = 36;
      break;
    case Paint::kFaint:
      code = 2;
      break;
    case Paint::kBold:
      code = 1;
      break;
    case Paint::kPlain:
      break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::int64_t to_ms(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1000 + time.nanos() / 1'000'000;
}

std::int64_t to_ms(const google::protobuf::Duration& span) {
  return span.seconds() * 1000 + span.nanos() / 1'000'000;
}

void put_time(std::int64_t ms, google::protobuf::Timestamp* out) {
  std::int64_t seconds = ms / 1000;
  std::int64_t rest = ms % 1000;
  if (rest < 0) {
    rest += 1000;
    --seconds;
  }
  out->set_seconds(seconds);
  out->set_nanos(static_cast<std::int32_t>(rest * 1'000'000));
}

void put_span(std::int64_t ms, google::protobuf::Duration* out) {
  out->set_seconds(ms / 1000);
  out->set_nanos(static_cast<std::int32_t>(ms % 1000 * 1'000'000));
}

std::string span_text(std::int64_t ms) {
  if (ms < 0) return "-" + span_text(-ms);
  if (ms < base::kSecondMs) return fmt::format("{} ms", ms);
  if (ms < 10 * base::kSecondMs) {
    const std::int64_t tenths = ms % 1000 / 100;
    return tenths == 0 ? fmt::format("{} s", ms / 1000) : fmt::format("{}.{} s", ms / 1000, tenths);
  }
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (ms < kUnits[i].ms) continue;
    std::string text = fmt::format("{} {}", ms / kUnits[i].ms, kUnits[i].name);
    const std::int64_t rest = ms % kUnits[i].ms;
    if (i + 1 < kUnits.size() && rest >= kUnits[i + 1].ms && ms < 100 * base::kDayMs) {
      text += fmt::format(" {} {}", rest / kUnits[i + 1].ms, kUnits[i + 1].name);
    }
    return text;
  }
  return "0 s";
}

std::string relative_text(std::int64_t ms, std::int64_t now_ms) {
  const std::int64_t ahead = ms - now_ms;
  if (ahead > -base::kSecondMs && ahead < base::kSecondMs) return "now";
  // Whole seconds: a tenth says nothing about something that is seconds away.
  const std::int64_t span = (ahead < 0 ? -ahead : ahead) / 1000 * 1000;
  return ahead > 0 ? "in " + span_text(span) : span_text(span) + " ago";
}

std::string time_text(const google::protobuf::Timestamp& time) {
  return base::format_time(to_ms(time));
}

std::string local_text(std::string_view rfc3339) {
  if (rfc3339.size() < 20 || rfc3339[10] != 'T') return printable(rfc3339);
  const std::string_view zone = rfc3339.substr(19);
  std::string text(rfc3339.substr(0, 10));
  text += ' ';
  text += rfc3339.substr(11, rfc3339.substr(17, 2) == "00" ? 5 : 8);
  text += ' ';
  text += zone == "Z" ? std::string_view("+00:00") : zone;
  return text;
}

std::string state_name(v1::JobState state) {
  return without_prefix(v1::JobState_Name(state), "JOB_STATE_");
}

std::string state_text(const View& view, v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_SUCCEEDED:
      return paint(view, Paint::kGood, state_name(state));
    case v1::JOB_STATE_RUNNING:
      return paint(view, Paint::kBusy, state_name(state));
    case v1::JOB_STATE_DEAD:
    case v1::JOB_STATE_EXPIRED:
      return paint(view, Paint::kBad, state_name(state));
    default:
      return state_name(state);
  }
}

std::string outcome_text(v1::AttemptOutcome outcome) {
  if (outcome == v1::ATTEMPT_OUTCOME_UNSPECIFIED) return "running";
  return lower(without_prefix(v1::AttemptOutcome_Name(outcome), "ATTEMPT_OUTCOME_"));
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  if (!base::is_utf8(text) || base::has_control(text)) return base::quoted(text, max_bytes);
  if (text.size() <= max_bytes) return std::string(text);
  return std::string(base::utf8_prefix(text, max_bytes)) + "...";
}

std::string ordinal(std::int64_t number) {
  if (number == 1) return "first";
  if (number == 2) return "second";
  if (number == 3) return "third";
  const std::int64_t tens = number % 100, ones = number % 10;
  const bool teen = tens >= 11 && tens <= 13;
  const char* ending = "th";
  if (!teen && ones == 1) ending = "st";
  if (!teen && ones == 2) ending = "nd";
  if (!teen && ones == 3) ending = "rd";
  return fmt::format("{}{}", number, ending);
}

std::string count_of(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

void add_named(std::string* out, std::string_view name, const std::string& value, int width) {
  if (!value.empty()) *out += fmt::format("  {:<{}} {}\n", name, width, value);
}

std::string pause_text(const v1::Pause& pause, const View& view) {
  std::string text = "paused";
  if (!pause.principal().empty()) text += " by " + printable(pause.principal());
  if (pause.has_pause_time()) {
    text += ", since " + relative_text(to_ms(pause.pause_time()), view.now_ms);
  }
  if (!pause.note().empty()) text += ": " + printable(pause.note());
  return paint(view, Paint::kBad, text);
}

std::string Table::text(bool with_header) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (std::size_t r = with_header ? 0 : 1; r < rows_.size(); ++r) {
    const auto& row = rows_[r];
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - width(row[i]) + 2, ' ');
    }
    out += '\n';
  }
  return out;
}

}  // namespace rota::cli
