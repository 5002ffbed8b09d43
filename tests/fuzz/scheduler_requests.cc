// SPDX-License-Identifier: Apache-2.0
//
// Schedulers from the wire: what was declared is shown so that declaring it again is no change.
// Input: the paths of an update mask with their length, then an UpsertSchedulerRequest.
#include "core/schedule/catch_up.h"
#include "fuzz/requests.h"
#include "rota/v1/scheduler_service.pb.h"
#include "rpc/convert_scheduler.h"
#include "runtime/local_zones.h"

namespace {

using namespace rota;
namespace limits = base::limits;

const core::TimeZoneSource& zones() {
  static const auto& local = *new runtime::LocalZones;
  return local;
}

base::Result<core::UpsertScheduler> declared(const v1::SchedulerDeclaration& wire) {
  return rpc::declaration_from_wire(wire, zones(), limits::kPayloadBytesDefault);
}

void check_settings(const model::SchedulerSettings& settings) {
  const auto schedule = core::Schedule::compile(settings.spec, zones());
  FUZZ_CHECK(schedule, base::to_string(schedule.error()));
  FUZZ_CHECK(core::check_catch_up(settings.catch_up), "a policy over its limits");
  fuzz::check_named("queue", settings.job.queue);
  fuzz::check_named("kind", settings.job.kind);
  FUZZ_CHECK(core::longest_rendering(settings.job.payload) <=
                 static_cast<std::size_t>(limits::kPayloadBytesDefault),
             "a tick's payload over the limit");
  fuzz::check_timeout(settings.job.attempt_timeout_ms);
  if (settings.job.retry) fuzz::check_retry(*settings.job.retry);
  FUZZ_CHECK(!base::check_labels("labels", settings.job.labels), "labels over their limits");
}

// As the next deployment would declare it after reading it.
void check_shown(const core::UpsertScheduler& upsert) {
  model::Scheduler scheduler;
  scheduler.id = upsert.id;
  scheduler.revision = upsert.revision;
  scheduler.settings = upsert.settings;
  v1::SchedulerDeclaration shown;
  rpc::declaration_to_wire(scheduler, &shown);
  const auto again = declared(shown);
  FUZZ_CHECK(again, "shown so that it is refused: " + base::to_string(again.error()) + "\n" +
                        shown.ShortDebugString());
  FUZZ_CHECK(again->settings == upsert.settings && again->revision == upsert.revision,
             "shown as something else:\n" + shown.ShortDebugString());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  google::protobuf::FieldMask mask;
  fuzz::Input paths(data + std::min<std::size_t>(1, size), input.text().size());
  while (!paths.empty()) {
    const std::string path(paths.line());
    if (base::is_utf8(path)) mask.add_paths(path);
  }
  v1::UpsertSchedulerRequest wire;
  if (!fuzz::read(input.rest(), &wire)) return 0;
  const auto upsert = declared(wire.scheduler());
  if (!upsert) {
    fuzz::check_refusal(upsert.error());
  } else {
    check_settings(upsert->settings);
    check_shown(*upsert);
  }
  v1::SchedulerDeclaration onto;
  const auto merged = rpc::merge_declaration(mask, wire.scheduler(), &onto);
  if (!merged) fuzz::check_refusal(merged.error());
  return 0;
}
