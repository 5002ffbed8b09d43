// SPDX-License-Identifier: Apache-2.0
// Schedulers, their ticks and runs as people read them. Pure functions; each text is complete with
// its line feeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rota/text.h"
#include "rota/v1/scheduler.pb.h"
#include "rota/v1/scheduler_service.pb.h"

namespace rota::cli {

// What the declaration did and what it decided. `queue_limit`: of the template's queue; 0 when it
// has none, nothing when it is not known. `reset`: what scheduler_reset.h found.
std::string upsert_text(const v1::UpsertSchedulerResponse& response,
                        std::optional<std::int64_t> queue_limit, const View& view,
                        const std::vector<std::string>& reset = {});

std::string scheduler_text(const v1::Scheduler& scheduler, const View& view);

std::vector<std::string> scheduler_header();
std::vector<std::string> scheduler_cells(const v1::Scheduler& scheduler, const View& view);

std::vector<std::string> run_header();
std::vector<std::string> run_cells(const v1::Run& run, const View& view);

// One line a tick, with what a change of the clocks did to it; its business date where that is not
// simply its local date.
std::string preview_text(const v1::PreviewSchedulerResponse& response, bool with_business_date);

// {"times": [...]}: RFC 3339 UTC.
std::string preview_json(const v1::PreviewSchedulerResponse& response);

// "cron 0 0 * * * Europe/Helsinki", "every 5 min".
std::string spec_text(const v1::SchedulerSpec& spec);

// "all, at most 1000, not older than 366 d".
std::string catch_up_text(const v1::CatchUpPolicy& policy);

// "skip", "wait_one", "allow".
std::string overlap_text(const v1::OverlapPolicy& policy);

}  // namespace rota::cli
