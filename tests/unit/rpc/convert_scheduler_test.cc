// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_scheduler.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "rpc/convert_time.h"

namespace rota::rpc {
namespace {

// Knows one zone besides UTC.
class OneZone final : public core::TimeZoneSource {
 public:
  core::TimeZonePtr find(std::string_view name) const override {
    return name == "Test/Fixed" ? zone_ : nullptr;
  }

 private:
  core::TimeZonePtr zone_ = std::make_shared<core::FixedZone>("Test/Fixed", 7200);
};

v1::SchedulerDeclaration good() {
  v1::SchedulerDeclaration wire;
  wire.set_id("invoices/daily");
  wire.mutable_spec()->add_parts()->set_cron("0 0 * * *");
  wire.mutable_spec()->set_time_zone("Test/Fixed");
  wire.mutable_overlap()->set_mode(v1::OverlapPolicy::MODE_ALLOW);
  wire.mutable_catch_up()->set_mode(v1::CatchUpPolicy::MODE_ALL);
  wire.set_business_day_offset(-1);
  wire.mutable_job()->set_queue("invoices");
  wire.mutable_job()->set_kind("daily-invoice");
  wire.mutable_job()->set_business_key("run/{{business_date}}");
  wire.set_owner("billing");
  wire.set_revision(412);
  return wire;
}

base::Result<core::UpsertScheduler> convert(const v1::SchedulerDeclaration& wire) {
  return declaration_from_wire(wire, OneZone(), 256 * 1024);
}

model::Scheduler stored(const core::UpsertScheduler& upsert) {
  model::Scheduler scheduler;
  scheduler.id = upsert.id;
  scheduler.revision = upsert.revision;
  scheduler.settings = upsert.settings;
  return scheduler;
}

TEST(Declaration, WhatIsShownDeclaresTheSame) {
  auto interval = good();
  interval.mutable_spec()->clear_parts();
  auto* part = interval.mutable_spec()->add_parts()->mutable_interval();
  put_duration(60'000, part->mutable_every());
  put_duration(5'000, part->mutable_phase());
  put_time(1'795'000'000'000, interval.mutable_spec()->mutable_start_time());
  put_duration(30'000, interval.mutable_job()->mutable_start_deadline_after());
  interval.mutable_job()->set_no_attempt_timeout(true);
  (*interval.mutable_job()->mutable_labels())["team"] = "billing";
  for (const auto& wire : {good(), interval}) {
    const auto first = convert(wire);
    ASSERT_TRUE(first) << base::to_string(first.error());
    v1::SchedulerDeclaration shown;
    declaration_to_wire(stored(*first), &shown);
    const auto second = convert(shown);
    ASSERT_TRUE(second) << base::to_string(second.error());
    EXPECT_EQ(second->settings, first->settings);
    EXPECT_EQ(second->revision, 412);
  }
}

struct BadCase {
  const char* name;
  base::Reason reason;
  const char* field;
  std::function<void(v1::SchedulerDeclaration*)> spoil;
};
void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.name; }
class BadDeclaration : public testing::TestWithParam<BadCase> {};

TEST_P(BadDeclaration, IsRefusedWithItsField) {
  auto wire = good();
  GetParam().spoil(&wire);
  const auto upsert = convert(wire);
  ASSERT_FALSE(upsert);
  EXPECT_EQ(upsert.error().reason, GetParam().reason);
  EXPECT_EQ(upsert.error().field, GetParam().field);
}

using Wire = v1::SchedulerDeclaration;
using base::Reason;
void set_cron(Wire* wire, const char* text) {
  wire->mutable_spec()->mutable_parts(0)->set_cron(text);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadDeclaration,
    testing::Values(
        BadCase{"Id", Reason::kInvalidField, "id", [](Wire* w) { w->set_id("a b"); }},
        BadCase{"Revision", Reason::kInvalidField, "revision",
                [](Wire* w) { w->set_revision(-1); }},
        BadCase{"NoPart", Reason::kInvalidField, "spec.parts",
                [](Wire* w) { w->mutable_spec()->clear_parts(); }},
        BadCase{"EmptyPart", Reason::kMissingField, "spec.parts",
                [](Wire* w) { w->mutable_spec()->mutable_parts(0)->clear_cron(); }},
        BadCase{"Cron", Reason::kBadCron, "cron", [](Wire* w) { set_cron(w, "*/0 * * * *"); }},
        BadCase{"NoSuchDate", Reason::kBadCron, "cron", [](Wire* w) { set_cron(w, "0 0 31 4 *"); }},
        BadCase{"Zone", Reason::kUnknownTimeZone, "time_zone",
                [](Wire* w) { w->mutable_spec()->set_time_zone("Nowhere/Else"); }},
        BadCase{"Interval", Reason::kInvalidField, "every",
                [](Wire* w) {
                  put_duration(
                      999,
                      w->mutable_spec()->mutable_parts(0)->mutable_interval()->mutable_every());
                }},
        BadCase{"Overlap", Reason::kInvalidField, "overlap.mode",
                [](Wire* w) {
                  w->mutable_overlap()->set_mode(static_cast<v1::OverlapPolicy::Mode>(99));
                }},
        BadCase{"CatchUpRuns", Reason::kInvalidField, "catch_up.max_runs",
                [](Wire* w) { w->mutable_catch_up()->set_max_runs(100'001); }},
        BadCase{"BusinessDay", Reason::kInvalidField, "business_day_offset",
                [](Wire* w) { w->set_business_day_offset(367); }},
        BadCase{"Queue", Reason::kMissingField, "job.queue",
                [](Wire* w) { w->mutable_job()->clear_queue(); }},
        BadCase{"Priority", Reason::kInvalidField, "job.priority",
                [](Wire* w) { w->mutable_job()->set_priority(300); }},
        BadCase{"KeyWithoutTime", Reason::kBusinessKeyNeedsTime, "job.business_key",
                [](Wire* w) { w->mutable_job()->set_business_key("always/the/same"); }},
        BadCase{"Owner", Reason::kInvalidField, "owner",
                [](Wire* w) { w->set_owner(std::string(257, 'o')); }}),
    [](const auto& bad) { return bad.param.name; });

TEST(MergeDeclaration, OnlyTheNamedFieldsAreTakenOver) {
  auto onto = good();
  auto from = good();
  from.set_owner("ops");
  from.set_revision(500);
  from.mutable_overlap()->set_mode(v1::OverlapPolicy::MODE_SKIP);
  google::protobuf::FieldMask mask;
  mask.add_paths("owner");
  mask.add_paths("overlap");
  ASSERT_TRUE(merge_declaration(mask, from, &onto));
  EXPECT_EQ(onto.owner(), "ops");
  EXPECT_EQ(onto.overlap().mode(), v1::OverlapPolicy::MODE_SKIP);
  EXPECT_EQ(onto.revision(), 412);
  mask.add_paths("id");
  const auto refused = merge_declaration(mask, from, &onto);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "update_mask");
}

}  // namespace
}  // namespace rota::rpc
