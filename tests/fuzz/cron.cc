// SPDX-License-Identifier: Apache-2.0
//
// Cron text and the ticks it names. Input: the text, a time zone and an instant in milliseconds,
// one line each.
#include <variant>

#include "base/time_format.h"
#include "core/schedule/cron_expr.h"
#include "core/schedule/schedule.h"
#include "fuzz/fuzz.h"
#include "runtime/local_zones.h"

namespace {

using namespace rota;

// Fifty years of a zone with four changes a year, each looked at a few times.
constexpr int kSpansOfOneSearch = 2'000;

int spans_asked = 0;

// Counts how often a search looks at the time line.
class CountedZone final : public core::TimeZone {
 public:
  explicit CountedZone(core::TimeZonePtr zone) : zone_(std::move(zone)) {}
  const std::string& name() const override { return zone_->name(); }
  core::ZoneSpan span_at(std::int64_t instant_s) const override {
    ++spans_asked;
    return zone_->span_at(instant_s);
  }
  std::string abbreviation_at(std::int64_t instant_s) const override {
    return zone_->abbreviation_at(instant_s);
  }

 private:
  core::TimeZonePtr zone_;
};

class CountedZones final : public core::TimeZoneSource {
 public:
  core::TimeZonePtr find(std::string_view name) const override {
    FUZZ_CHECK(core::is_clean_zone_name(name) && name.find('.') == std::string_view::npos,
               "a path may be read: " + std::string(name));
    static const auto& local = *new runtime::LocalZones;
    core::TimeZonePtr zone = local.find(name);
    return zone ? std::make_shared<CountedZone>(std::move(zone)) : nullptr;
  }
};

void check_fault(const core::CronFault& fault, std::string_view text) {
  FUZZ_CHECK(fault.position <= text.size(), "a fault behind the end of the text");
  FUZZ_CHECK(!fault.fault.empty(), "a fault without words");
  const auto again = core::parse_cron(text);
  const auto* same = std::get_if<core::CronFault>(&again);
  FUZZ_CHECK(same != nullptr && same->message() == fault.message(), "refused in two ways");
}

void check_refusal(const base::Error& error, std::string_view text) {
  FUZZ_CHECK(!error.field.empty() && !error.message.empty(), base::to_string(error));
  auto parsed = core::parse_cron(text);
  const auto* fault = std::get_if<core::CronFault>(&parsed);
  FUZZ_CHECK((error.reason == base::Reason::kBadCron) == (!text.empty() && fault != nullptr),
             base::to_string(error));
  if (fault != nullptr) check_fault(*fault, text);
}

void check_tick(const core::Schedule& schedule, std::int64_t after_ms, std::int64_t tick_ms) {
  const std::string words = base::format_time(after_ms) + " -> " + base::format_time(tick_ms);
  FUZZ_CHECK(tick_ms > after_ms, "not later: " + words);
  FUZZ_CHECK(tick_ms >= 0 && tick_ms <= base::kTimeMsMax, "outside the years: " + words);
  FUZZ_CHECK(tick_ms % 1'000 == 0, "no whole second: " + words);
  FUZZ_CHECK(schedule.latest_in(after_ms, tick_ms) == tick_ms, "not the latest: " + words);
  FUZZ_CHECK(schedule.count_in(after_ms, tick_ms).count == 1, "not one tick: " + words);
  FUZZ_CHECK(schedule.nth_latest_in(after_ms, tick_ms, 1) == tick_ms, "not the last: " + words);
  FUZZ_CHECK(!schedule.latest_in(after_ms, tick_ms - 1), "a tick was passed over: " + words);
  const core::TickDescription shown = schedule.describe(tick_ms);
  const auto utc = base::parse_time(shown.utc);
  FUZZ_CHECK(utc && *utc == tick_ms, "shown as " + shown.utc + ": " + words);
  FUZZ_CHECK(base::parse_date(shown.business_date).has_value(), "date " + shown.business_date);
  FUZZ_CHECK((shown.note == core::TickNote::kNone) == shown.note_text.empty(),
             "a note without words, or words without one: " + words);
}

void check_ticks(const core::Schedule& schedule, std::int64_t after_ms) {
  spans_asked = 0;
  const auto next = schedule.next_after(after_ms);
  FUZZ_CHECK(spans_asked <= kSpansOfOneSearch,
             "the search asked for " + std::to_string(spans_asked) + " spans");
  if (!next) return;
  check_tick(schedule, after_ms, *next);
  const auto later = schedule.next_times(after_ms, 4);
  FUZZ_CHECK(!later.empty() && later.front() == *next, "two answers to one question");
  for (std::size_t i = 1; i < later.size(); ++i) check_tick(schedule, later[i - 1], later[i]);
  FUZZ_CHECK(schedule.count_in(after_ms, later.back()).count == later.size(), "counted otherwise");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  model::ScheduleSpec spec;
  spec.cron = input.line();
  spec.time_zone = input.line();
  const std::int64_t after_ms = fuzz::number_in(input.line());
  const auto schedule = core::Schedule::compile(spec, CountedZones());
  if (schedule) {
    check_ticks(*schedule, after_ms);
  } else {
    check_refusal(schedule.error(), spec.cron);
  }
  return 0;
}
