// SPDX-License-Identifier: Apache-2.0
//
// What schedules need to know of a time zone, without any file access: the time line as spans of
// one offset each. Every question about local time is answered from spans, so a zone for a test is
// a list of transitions.
//
// Instants are seconds since the Unix epoch, local seconds are explained in civil.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rota::core {

// Bounds of a span that has no first or no last transition; far outside the years 1-9999.
inline constexpr std::int64_t kDistantPast = -1'000'000'000'000;
inline constexpr std::int64_t kDistantFuture = 1'000'000'000'000;

// [begin_s, end_s) is a longest piece of the time line, or a part of one, in which local time is
// instant + offset_s.
struct ZoneSpan {
  std::int64_t begin_s = kDistantPast;  // the transition that opened it, or kDistantPast
  std::int64_t end_s = kDistantFuture;  // the next transition, or kDistantFuture
  std::int32_t offset_s = 0;            // local minus UTC
  std::int32_t offset_before_s = 0;     // offset just before begin_s; offset_s when there is none

  std::int64_t local_begin_s() const { return begin_s + offset_s; }
  std::int64_t local_end_s() const { return end_s + offset_s; }
  // Local time the clock had reached when it was set; above local_begin_s() after a step back.
  std::int64_t local_reached_s() const { return begin_s + offset_before_s; }
  // Seconds of local time that the opening transition skipped (> 0) or repeats (< 0).
  std::int32_t step_s() const { return offset_s - offset_before_s; }
};

// Immutable; may be used from any thread.
class TimeZone {
 public:
  virtual ~TimeZone() = default;
  // As a user writes it: "Europe/Berlin", "UTC", "+05:30".
  virtual const std::string& name() const = 0;
  // The span that holds the instant. Must take well under a microsecond: searches call it once per
  // transition on their way.
  virtual ZoneSpan span_at(std::int64_t instant_s) const = 0;
  // "CEST", "UTC", "+0530"; for display only.
  virtual std::string abbreviation_at(std::int64_t instant_s) const = 0;
};

using TimeZonePtr = std::shared_ptr<const TimeZone>;

// Where the zones of the IANA data come from. Its implementation reads files, so it stands outside
// this layer and is handed in.
class TimeZoneSource {
 public:
  virtual ~TimeZoneSource() = default;
  // The zone of a name that is_clean_zone_name() accepts, in its exact case; nullptr when the data
  // has no such zone. May be called from any thread. The same name gives the same object.
  virtual TimeZonePtr find(std::string_view name) const = 0;
};

// A zone with one offset for ever.
class FixedZone final : public TimeZone {
 public:
  FixedZone(std::string name, std::int32_t offset_s);
  const std::string& name() const override { return name_; }
  ZoneSpan span_at(std::int64_t instant_s) const override;
  std::string abbreviation_at(std::int64_t instant_s) const override;

 private:
  std::string name_;
  std::int32_t offset_s_;
};

// The one UTC object.
const TimeZonePtr& utc_zone();

// Whether the text could be a name of the IANA data: segments [A-Za-z0-9_+-] joined by single `/`,
// at most 64 bytes, beginning with a letter; not `localtime` or another alias of the host's own
// settings, not the `posix/` and `right/` copies, not `Factory`.
bool is_clean_zone_name(std::string_view name);

// Seconds of "+05:30" or "-03:00" (sign, two digits, colon, two digits; at most 18:00); nullopt for
// any other text.
std::optional<std::int32_t> parse_fixed_offset(std::string_view text);

// "" and "UTC" are UTC, a fixed offset is a FixedZone, anything else is asked of the source.
// nullptr when there is no such zone; zone_fault() says why in words for a user.
TimeZonePtr resolve_zone(std::string_view name, const TimeZoneSource& source);
std::string zone_fault(std::string_view name);

// What a local time means in a zone.
struct LocalLookup {
  enum class Kind { kUnique, kSkipped, kRepeated };
  Kind kind = Kind::kUnique;
  // kUnique: the instant. kRepeated: the first pass. kSkipped: the transition that skipped it,
  // which is the first real instant after the gap.
  std::int64_t first_s = 0;
  // kRepeated: the last pass. Else as first_s.
  std::int64_t last_s = 0;
};
LocalLookup lookup_local(const TimeZone& zone, std::int64_t local_s);

inline std::int64_t local_at(const TimeZone& zone, std::int64_t instant_s) {
  return instant_s + zone.span_at(instant_s).offset_s;
}

}  // namespace rota::core
