// SPDX-License-Identifier: Apache-2.0
//
// What the schedule tests share: times as text, and a time zone made of a list of transitions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/time_format.h"
#include "core/schedule/cron_expr.h"
#include "core/schedule/schedule.h"
#include "core/schedule/time_zone.h"

namespace rota::core::testing {

inline std::int64_t ms(std::string_view text) {
  const auto parsed = base::parse_time(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.has_value() ? *parsed : 0;
}
inline std::int64_t seconds(std::string_view text) { return ms(text) / 1000; }

inline std::string text(std::int64_t at_ms) { return base::format_time(at_ms); }
inline std::vector<std::string> texts(const std::vector<std::int64_t>& times) {
  std::vector<std::string> out;
  for (std::int64_t at : times) out.push_back(text(at));
  return out;
}

// A zone with these offsets, each from its instant on; counts how often it is asked.
class ListedZone final : public TimeZone {
 public:
  ListedZone(std::string name, std::int32_t first_offset_s,
             std::vector<std::pair<std::int64_t, std::int32_t>> transitions = {})
      : name_(std::move(name)), first_offset_s_(first_offset_s) {
    for (const auto& [at, offset] : transitions) transitions_[at] = offset;
  }

  const std::string& name() const override { return name_; }
  std::string abbreviation_at(std::int64_t) const override { return "LST"; }
  ZoneSpan span_at(std::int64_t instant_s) const override {
    ++asked;
    ZoneSpan span{kDistantPast, kDistantFuture, first_offset_s_, first_offset_s_};
    for (const auto& [at, offset] : transitions_) {
      if (at > instant_s) {
        span.end_s = at;
        break;
      }
      span.begin_s = at;
      span.offset_before_s = span.offset_s;
      span.offset_s = offset;
    }
    return span;
  }

  mutable int asked = 0;

 private:
  std::string name_;
  std::int32_t first_offset_s_;
  std::map<std::int64_t, std::int32_t> transitions_;
};

// Knows the zones it is given, and no others.
class ListedZones final : public TimeZoneSource {
 public:
  ListedZones() = default;
  explicit ListedZones(TimeZonePtr zone) { zones_[zone->name()] = std::move(zone); }
  TimeZonePtr find(std::string_view name) const override {
    const auto found = zones_.find(std::string(name));
    return found == zones_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::string, TimeZonePtr> zones_;
};

inline CronExpr cron(std::string_view text) {
  auto parsed = parse_cron(text);
  if (const auto* fault = std::get_if<CronFault>(&parsed)) {
    ADD_FAILURE() << text << ": " << fault->message();
    return {};
  }
  return std::get<CronExpr>(parsed);
}

inline Schedule compiled(const model::ScheduleSpec& spec, const TimeZoneSource& zones) {
  auto schedule = Schedule::compile(spec, zones);
  if (!schedule) ADD_FAILURE() << base::to_string(schedule.error());
  return *std::move(schedule);
}
inline Schedule utc_cron(std::string expression) {
  model::ScheduleSpec spec;
  spec.cron = std::move(expression);
  return compiled(spec, ListedZones());
}
inline Schedule every(std::int64_t every_ms, std::int64_t phase_ms = 0) {
  model::ScheduleSpec spec;
  spec.every_ms = every_ms;
  spec.phase_ms = phase_ms;
  return compiled(spec, ListedZones());
}

}  // namespace rota::core::testing
