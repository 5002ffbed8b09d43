// SPDX-License-Identifier: Apache-2.0
// What `rota scheduler upsert` takes back without being told to: a declaration is a whole one, so
// an option that is left out puts its field back to the default.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rota/v1/scheduler.pb.h"
#include "rota/v1/scheduler_service.pb.h"

namespace rota::cli {

// "--time-zone Europe/Helsinki -> UTC" for each option of the command that was not given and whose
// field `response` changed, in the order of the help text. `before`: the declaration as it stood;
// `given`: whether an option (with its dashes) is on the command line. A pure function.
//
// An option that no longer means anything is no loss and is left out: the phase of what is a cron
// expression now, the window of catch-up none, the first pause of a back-off that is fixed now.
std::vector<std::string> reset_options(const v1::SchedulerDeclaration& before,
                                       const v1::UpsertSchedulerResponse& response,
                                       const std::function<bool(std::string_view option)>& given);

}  // namespace rota::cli
