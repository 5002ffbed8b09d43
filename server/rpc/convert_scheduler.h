// SPDX-License-Identifier: Apache-2.0
//
// Schedulers, ticks and run records between wire and server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <google/protobuf/field_mask.pb.h>

#include "base/error.h"
#include "core/command.h"
#include "core/schedule/schedule.h"
#include "core/schedule/time_zone.h"
#include "model/scheduler.h"
#include "rota/v1/scheduler.pb.h"

namespace rota::rpc {

// A specification and what belongs to it outside of it. Compile it to know that it is right.
base::Result<model::ScheduleSpec> spec_from_wire(const v1::SchedulerSpec& wire,
                                                 std::int32_t business_day_offset);

// Everything that a declaration can get wrong without a look at the state: names, cron, zone,
// template, policies.
base::Result<core::UpsertScheduler> declaration_from_wire(const v1::SchedulerDeclaration& wire,
                                                          const core::TimeZoneSource& zones,
                                                          std::int64_t payload_limit_bytes);
void declaration_to_wire(const model::Scheduler& scheduler, v1::SchedulerDeclaration* wire);

// Copies the fields that the mask names from `from` to `onto`. INVALID_FIELD for an unknown path.
base::Status merge_declaration(const google::protobuf::FieldMask& mask,
                               const v1::SchedulerDeclaration& from,
                               v1::SchedulerDeclaration* onto);

void scheduler_to_wire(const model::Scheduler& scheduler, const model::SchedulerState& state,
                       const std::vector<std::int64_t>& next_ms, v1::Scheduler* wire);

void tick_to_wire(const core::TickDescription& tick, v1::Tick* wire);

v1::Run::Outcome run_outcome_to_wire(model::RunOutcome outcome);
void run_to_wire(const std::string& scheduler_id, const model::RunRecord& run, v1::Run* wire);

}  // namespace rota::rpc
