// SPDX-License-Identifier: Apache-2.0
#include "runtime/local_zones.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

namespace rota::runtime {
namespace {

constexpr const char* kDefaultDirectory = "/usr/share/zoneinfo";
constexpr std::string_view kZoneFileMagic = "TZif";

// The Gregorian calendar, and with it every rule of summer time, repeats after 400 years.
constexpr std::int64_t kCycle_s = 146097LL * 86400;
// A table whose last transition lies beyond this year was extended from a rule that goes on.
constexpr std::int64_t kRuleGoesOnAfter_s = 4'102'444'800;  // 2100-01-01

std::int64_t linear(absl::CivilSecond civil) { return civil - absl::CivilSecond(); }

class AbslZone final : public core::TimeZone {
 public:
  AbslZone(std::string name, absl::TimeZone zone) : name_(std::move(name)), zone_(zone) {
    absl::TimeZone::CivilTransition last;
    if (!zone_.PrevTransition(absl::InfiniteFuture(), &last)) return;
    last_transition_s_ = absl::ToUnixSeconds(zone_.At(last.to).trans);
  }

  const std::string& name() const override { return name_; }

  core::ZoneSpan span_at(std::int64_t instant_s) const override {
    // Abseil lists the transitions of the next 400 years only. Later ones are those of the table's
    // last cycle, moved by whole cycles.
    if (!last_transition_s_ || *last_transition_s_ < kRuleGoesOnAfter_s ||
        instant_s < *last_transition_s_) {
      return table_span_at(instant_s);
    }
    const std::int64_t shift = ((instant_s - *last_transition_s_) / kCycle_s + 1) * kCycle_s;
    core::ZoneSpan span = table_span_at(instant_s - shift);
    span.begin_s += shift;
    span.end_s += shift;
    return span;
  }

  std::string abbreviation_at(std::int64_t instant_s) const override {
    return zone_.At(absl::FromUnixSeconds(instant_s)).zone_abbr;
  }

 private:
  core::ZoneSpan table_span_at(std::int64_t instant_s) const {
    const absl::Time at = absl::FromUnixSeconds(instant_s);
    core::ZoneSpan span;
    span.offset_s = zone_.At(at).offset;
    span.offset_before_s = span.offset_s;
    absl::TimeZone::CivilTransition transition;
    if (zone_.NextTransition(at, &transition)) {
      span.end_s = linear(transition.from) - span.offset_s;
    }
    if (zone_.PrevTransition(at + absl::Seconds(1), &transition)) {
      span.begin_s = linear(transition.to) - span.offset_s;
      span.offset_before_s = static_cast<std::int32_t>(linear(transition.from) - span.begin_s);
    }
    return span;
  }

  std::string name_;
  absl::TimeZone zone_;
  std::optional<std::int64_t> last_transition_s_;
};

std::filesystem::path data_directory() {
  const char* set = std::getenv("TZDIR");  // NOLINT(concurrency-mt-unsafe): nothing here sets it
  return set != nullptr && *set != '\0' ? set : kDefaultDirectory;
}

bool has_zone_file(std::string_view name) {
  const std::filesystem::path path = data_directory() / name;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, kZoneFileMagic.size()> head{};
  file.read(head.data(), head.size());
  return file && std::string_view(head.data(), head.size()) == kZoneFileMagic;
}

}  // namespace

core::TimeZonePtr LocalZones::find(std::string_view name) const {
  if (!core::is_clean_zone_name(name)) return nullptr;
  const std::lock_guard lock(mutex_);
  if (auto found = zones_.find(name); found != zones_.end()) return found->second;
  // Asked before Abseil is: it would remember every wrong name for ever, and knows names of its own
  // that are no files.
  if (!has_zone_file(name)) return nullptr;
  absl::TimeZone zone;
  std::string text(name);
  if (!absl::LoadTimeZone(text, &zone)) return nullptr;
  auto loaded = std::make_shared<AbslZone>(text, zone);
  zones_.emplace(std::move(text), loaded);
  return loaded;
}

std::string LocalZones::data_version() {
  constexpr std::string_view kPrefix = "# version ";
  std::string line;
  // Debian's compact source of the data begins with its version; other systems have a file for it.
  std::ifstream source(data_directory() / "tzdata.zi");
  if (std::getline(source, line) && line.starts_with(kPrefix)) return line.substr(kPrefix.size());
  std::ifstream version(data_directory() / "+VERSION");
  return std::getline(version, line) ? line : "unknown";
}

}  // namespace rota::runtime
