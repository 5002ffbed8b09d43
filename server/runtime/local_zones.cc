// SPDX-License-Identifier: Apache-2.0
#include "runtime/local_zones.h"

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace rota::runtime {
namespace {

using core::kDistantFuture;
using core::kDistantPast;
using core::ZoneSpan;

// Transitions are asked of the library once, so that a search costs a binary search each. After the
// last one that is kept the library is asked again (rules that repeat for ever).
constexpr std::int64_t kTableEndS = 4'102'444'800;  // 2100-01-01

class LocalZone final : public core::TimeZone {
 public:
  LocalZone(std::string name, absl::TimeZone zone) : name_(std::move(name)), zone_(zone) {
    ZoneSpan span = ask(kDistantPast);
    while (span.begin_s < kTableEndS) {
      table_.push_back(span);
      if (span.end_s == kDistantFuture) return;
      span = ask(span.end_s);
    }
  }

  const std::string& name() const override { return name_; }

  ZoneSpan span_at(std::int64_t instant_s) const override {
    if (instant_s >= table_.back().end_s) return ask(instant_s);
    const auto after = std::upper_bound(
        table_.begin(), table_.end(), instant_s,
        [](std::int64_t at, const ZoneSpan& span) { return at < span.begin_s; });
    return after == table_.begin() ? table_.front() : *std::prev(after);
  }

  std::string abbreviation_at(std::int64_t instant_s) const override {
    return zone_.At(absl::FromUnixSeconds(instant_s)).zone_abbr;
  }

 private:
  std::int32_t offset_at(std::int64_t instant_s) const {
    return zone_.At(absl::FromUnixSeconds(instant_s)).offset;
  }

  // Transitions that change only the abbreviation or the daylight flag count too; a span may be a
  // part of a longest one.
  ZoneSpan ask(std::int64_t instant_s) const {
    ZoneSpan span;
    span.offset_s = span.offset_before_s = offset_at(instant_s);
    absl::TimeZone::CivilTransition transition;
    const absl::Time at = absl::FromUnixSeconds(instant_s);
    // The opening transition lies at or before the instant, so it is the previous one of the next
    // nanosecond.
    if (zone_.PrevTransition(at + absl::Nanoseconds(1), &transition)) {
      span.begin_s = absl::ToUnixSeconds(absl::FromCivil(transition.to, zone_));
      span.begin_s = begin_of(transition, span.begin_s);
      span.offset_before_s = offset_at(span.begin_s - 1);
    }
    if (zone_.NextTransition(at, &transition)) {
      span.end_s = begin_of(transition, absl::ToUnixSeconds(absl::FromCivil(transition.to, zone_)));
    }
    return span;
  }

  // FromCivil of a repeated local time is its first pass, and the transition happens at the start of
  // the second.
  std::int64_t begin_of(const absl::TimeZone::CivilTransition& transition, std::int64_t s) const {
    const absl::TimeZone::TimeInfo info = zone_.At(transition.to);
    switch (info.kind) {
      case absl::TimeZone::TimeInfo::REPEATED:
      case absl::TimeZone::TimeInfo::SKIPPED:
        return absl::ToUnixSeconds(info.trans);
      case absl::TimeZone::TimeInfo::UNIQUE:
        break;
    }
    return s;
  }

  std::string name_;
  absl::TimeZone zone_;
  std::vector<ZoneSpan> table_;
};

}  // namespace

core::TimeZonePtr LocalZones::find(std::string_view name) const {
  if (!core::is_clean_zone_name(name)) return nullptr;
  {
    std::lock_guard lock(mutex_);
    if (const auto it = known_.find(name); it != known_.end()) return it->second;
  }
  absl::TimeZone zone;
  if (!absl::LoadTimeZone(absl::string_view(name.data(), name.size()), &zone)) return nullptr;
  auto made = std::make_shared<const LocalZone>(std::string(name), zone);
  std::lock_guard lock(mutex_);
  return known_.emplace(std::string(name), std::move(made)).first->second;
}

std::string LocalZones::data_version() {
  for (const char* path : {"/usr/share/zoneinfo/tzdata.zi", "/usr/share/zoneinfo/+VERSION"}) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) continue;
    constexpr std::string_view kPrefix = "# version ";
    return line.starts_with(kPrefix) ? line.substr(kPrefix.size()) : line;
  }
  return "unknown";
}

}  // namespace rota::runtime
