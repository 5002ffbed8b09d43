// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/time_zone.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "core/schedule/civil.h"
#include "core/schedule/time_text.h"

namespace rota::core {
namespace {

constexpr std::size_t kMaxZoneNameBytes = 64;
constexpr std::int32_t kMaxFixedOffset_s = 18 * 3600;
// No two instants with one local time, and no gap, are further apart than this.
constexpr std::int64_t kLookupReach_s = 2 * kSecondsPerDay;

using base::is_digit;
using base::is_letter;

}  // namespace

FixedZone::FixedZone(std::string name, std::int32_t offset_s)
    : name_(std::move(name)), offset_s_(offset_s) {}

ZoneSpan FixedZone::span_at(std::int64_t) const {
  return {kDistantPast, kDistantFuture, offset_s_, offset_s_};
}

std::string FixedZone::abbreviation_at(std::int64_t) const {
  return offset_s_ == 0 ? "UTC" : offset_text(offset_s_);
}

const TimeZonePtr& utc_zone() {
  static const TimeZonePtr zone = std::make_shared<FixedZone>("UTC", 0);
  return zone;
}

bool is_clean_zone_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxZoneNameBytes || !is_letter(name.front())) return false;
  char previous = '/';
  for (char c : name) {
    const bool plain = is_letter(c) || is_digit(c) || c == '_' || c == '+' || c == '-';
    if (!plain && (c != '/' || previous == '/')) return false;
    previous = c;
  }
  if (previous == '/') return false;
  constexpr std::array<std::string_view, 3> kHostNames = {"localtime", "posixrules", "Factory"};
  if (std::find(kHostNames.begin(), kHostNames.end(), name) != kHostNames.end()) return false;
  return !name.starts_with("posix/") && !name.starts_with("right/");
}

std::optional<std::int32_t> parse_fixed_offset(std::string_view text) {
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  for (std::size_t i : {1u, 2u, 4u, 5u}) {
    if (!is_digit(text[i])) return std::nullopt;
  }
  const std::int32_t hours = (text[1] - '0') * 10 + (text[2] - '0');
  const std::int32_t minutes = (text[4] - '0') * 10 + (text[5] - '0');
  const std::int32_t seconds = hours * 3600 + minutes * 60;
  if (minutes > 59 || seconds > kMaxFixedOffset_s) return std::nullopt;
  return text[0] == '-' ? -seconds : seconds;
}

TimeZonePtr resolve_zone(std::string_view name, const TimeZoneSource& source) {
  if (name.empty() || name == "UTC") return utc_zone();
  if (auto offset = parse_fixed_offset(name)) {
    return std::make_shared<FixedZone>(std::string(name), *offset);
  }
  return is_clean_zone_name(name) ? source.find(name) : nullptr;
}

std::string zone_fault(std::string_view name) {
  constexpr std::string_view kAllowed =
      "; allowed: an IANA name in its exact case such as Europe/Berlin, UTC, or a fixed offset "
      "from -18:00 to +18:00 such as +05:30";
  const char first = name.empty() ? ' ' : name.front();
  std::string fault = "time zone " + base::quoted(name);
  if (first == '+' || first == '-') {
    fault += " is not an offset";
  } else if (!is_clean_zone_name(name)) {
    fault += " is not a name of the IANA time zone data";
  } else {
    fault += " is not in the server's IANA time zone data (names are case sensitive)";
  }
  return fault.append(kAllowed);
}

LocalLookup lookup_local(const TimeZone& zone, std::int64_t local_s) {
  LocalLookup found;
  bool any = false;
  for (std::int64_t at = local_s - kLookupReach_s; at <= local_s + kLookupReach_s;) {
    const ZoneSpan span = zone.span_at(at);
    if (local_s >= span.local_reached_s() && local_s < span.local_begin_s()) {
      return {LocalLookup::Kind::kSkipped, span.begin_s, span.begin_s};
    }
    const std::int64_t instant_s = local_s - span.offset_s;
    if (instant_s >= span.begin_s && instant_s < span.end_s) {
      if (!any) found.first_s = instant_s;
      // A zone may give one piece of the time line in parts; only a second instant is a repeat.
      if (any && instant_s != found.first_s) found.kind = LocalLookup::Kind::kRepeated;
      found.last_s = instant_s;
      any = true;
    }
    at = span.end_s;
  }
  return found;
}

}  // namespace rota::core
