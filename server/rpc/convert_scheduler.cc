// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_scheduler.h"

#include <utility>

#include "base/limits.h"
#include "base/names.h"
#include "base/utf8.h"
#include "core/schedule/catch_up.h"
#include "core/schedule/template.h"
#include "model/job_id.h"
#include "rpc/convert_policy.h"
#include "rpc/convert_queue.h"
#include "rpc/convert_time.h"

namespace rota::rpc {
namespace {

namespace limits = base::limits;

constexpr std::int64_t kIntervalMsMax = 10 * base::kYearMs;

Error unknown_choice(const char* field, int value) {
  return base::invalid_field(field, "unknown choice " + std::to_string(value));
}

Result<model::Overlap> overlap_from_wire(const v1::OverlapPolicy& wire) {
  switch (wire.mode()) {
    case v1::OverlapPolicy::MODE_UNSPECIFIED:
    case v1::OverlapPolicy::MODE_SKIP:
      return model::Overlap::kSkip;
    case v1::OverlapPolicy::MODE_WAIT_ONE:
      return model::Overlap::kWaitOne;
    case v1::OverlapPolicy::MODE_ALLOW:
      return model::Overlap::kAllow;
    default:
      return unknown_choice("overlap.mode", wire.mode());
  }
}

v1::OverlapPolicy::Mode overlap_to_wire(model::Overlap overlap) {
  switch (overlap) {
    case model::Overlap::kSkip:
      return v1::OverlapPolicy::MODE_SKIP;
    case model::Overlap::kWaitOne:
      return v1::OverlapPolicy::MODE_WAIT_ONE;
    case model::Overlap::kAllow:
      return v1::OverlapPolicy::MODE_ALLOW;
  }
  return v1::OverlapPolicy::MODE_UNSPECIFIED;
}

Result<model::CatchUpPolicy> catch_up_from_wire(const v1::CatchUpPolicy& wire) {
  model::CatchUpPolicy policy;
  switch (wire.mode()) {
    case v1::CatchUpPolicy::MODE_UNSPECIFIED:
    case v1::CatchUpPolicy::MODE_LATEST:
      policy.mode = model::CatchUp::kLatest;
      break;
    case v1::CatchUpPolicy::MODE_NONE:
      policy.mode = model::CatchUp::kNone;
      break;
    case v1::CatchUpPolicy::MODE_ALL:
      policy.mode = model::CatchUp::kAll;
      break;
    default:
      return unknown_choice("catch_up.mode", wire.mode());
  }
  if (wire.has_window()) {
    const auto ms =
        duration_ms("catch_up.window", wire.window(), base::kSecondMs, limits::kCatchUpWindowMsMax);
    if (!ms) return ms.error();
    policy.window_ms = *ms;
  }
  if (wire.max_runs() != 0) {
    if (auto fault =
            base::check_range("catch_up.max_runs", wire.max_runs(), 1, limits::kCatchUpRunsMax)) {
      return *fault;
    }
    policy.max_runs = static_cast<std::uint32_t>(wire.max_runs());
  }
  if (auto checked = core::check_catch_up(policy); !checked) return checked.error();
  return policy;
}

v1::CatchUpPolicy::Mode catch_up_to_wire(model::CatchUp mode) {
  switch (mode) {
    case model::CatchUp::kNone:
      return v1::CatchUpPolicy::MODE_NONE;
    case model::CatchUp::kLatest:
      return v1::CatchUpPolicy::MODE_LATEST;
    case model::CatchUp::kAll:
      return v1::CatchUpPolicy::MODE_ALL;
  }
  return v1::CatchUpPolicy::MODE_UNSPECIFIED;
}

std::optional<Error> read_interval(const v1::IntervalSpec& wire, model::ScheduleSpec* spec) {
  const auto every = duration_ms("every", wire.every(), limits::kIntervalMsMin, kIntervalMsMax);
  if (!every) return every.error();
  spec->every_ms = *every;
  if (!wire.has_phase()) return std::nullopt;
  const auto phase = duration_ms("phase", wire.phase(), 0, *every - 1);
  if (!phase) return phase.error();
  spec->phase_ms = *phase;
  return std::nullopt;
}

std::optional<Error> read_bounds(const v1::SchedulerSpec& wire, model::ScheduleSpec* spec) {
  if (wire.has_start_time()) {
    const auto ms = time_ms("start_time", wire.start_time());
    if (!ms) return ms.error();
    spec->start_ms = *ms;
  }
  if (wire.has_end_time()) {
    const auto ms = time_ms("end_time", wire.end_time());
    if (!ms) return ms.error();
    spec->end_ms = *ms;
  }
  switch (wire.dst().gap()) {
    case v1::DstPolicy::GAP_UNSPECIFIED:
    case v1::DstPolicy::GAP_END_OF_GAP:
      break;
    default:
      return unknown_choice("dst.gap", wire.dst().gap());
  }
  switch (wire.dst().fold()) {
    case v1::DstPolicy::FOLD_UNSPECIFIED:
    case v1::DstPolicy::FOLD_FIRST:
      break;
    default:
      return unknown_choice("dst.fold", wire.dst().fold());
  }
  return std::nullopt;
}

std::optional<Error> read_template_key(const v1::JobTemplate& wire, model::JobTemplate* job) {
  if (wire.business_key().empty()) {
    if (wire.business_key_scope().empty()) return std::nullopt;
    return base::invalid_field("business_key_scope", "only together with business_key");
  }
  if (auto fault = base::check_text_key("business_key", wire.business_key())) return fault;
  if (auto checked = core::check_key_template(wire.business_key(), "business_key"); !checked) {
    return checked.error();
  }
  if (!wire.business_key_scope().empty()) {
    if (auto fault = base::check_name("business_key_scope", wire.business_key_scope())) {
      return fault;
    }
  }
  job->business_key = wire.business_key();
  job->key_scope = wire.business_key_scope();
  return std::nullopt;
}

std::optional<Error> read_template_policies(const v1::JobTemplate& wire, model::JobTemplate* job) {
  if (wire.has_priority()) {
    if (auto fault = base::check_range("priority", wire.priority(), limits::kPriorityMin,
                                       limits::kPriorityMax)) {
      return fault;
    }
    job->priority = static_cast<std::uint8_t>(wire.priority());
  }
  if (wire.has_start_deadline_after()) {
    const auto ms = duration_ms("start_deadline_after", wire.start_deadline_after(),
                                base::kSecondMs, limits::kAheadMsMax);
    if (!ms) return ms.error();
    job->start_within_ms = *ms;
  }
  const auto timeout = attempt_timeout_from_wire(wire.has_attempt_timeout(), wire.attempt_timeout(),
                                                 wire.no_attempt_timeout());
  if (!timeout) return timeout.error();
  job->attempt_timeout_ms = *timeout;
  if (wire.has_retry()) {
    auto retry = retry_from_wire(wire.retry());
    if (!retry) return retry.error();
    job->retry = *std::move(retry);
  }
  auto labels = labels_from_wire(wire.labels());
  if (!labels) return labels.error();
  job->labels = *std::move(labels);
  return std::nullopt;
}

Result<model::JobTemplate> template_from_wire(const v1::JobTemplate& wire,
                                              std::int64_t payload_limit_bytes) {
  model::JobTemplate job;
  if (auto fault = base::check_name("queue", wire.queue())) return *fault;
  if (auto fault = base::check_name("kind", wire.kind())) return *fault;
  job.queue = wire.queue();
  job.kind = wire.kind();
  const auto& data = wire.payload().data();
  if (auto fault = check_payload_size(core::longest_rendering(data), payload_limit_bytes)) {
    return *fault;
  }
  job.payload = data;
  auto type = content_type_from_wire("payload.content_type", wire.payload().content_type());
  if (!type) return type.error();
  job.content_type = *std::move(type);
  if (auto fault = read_template_policies(wire, &job)) return *fault;
  if (auto fault = read_template_key(wire, &job)) return *fault;
  return job;
}

void template_to_wire(const model::JobTemplate& job, v1::JobTemplate* wire) {
  wire->set_queue(job.queue);
  wire->set_kind(job.kind);
  wire->mutable_payload()->set_data(job.payload);
  wire->mutable_payload()->set_content_type(job.content_type);
  wire->set_priority(job.priority);
  if (job.start_within_ms != 0) {
    put_duration(job.start_within_ms, wire->mutable_start_deadline_after());
  }
  if (job.attempt_timeout_ms == model::kNoTimeout) {
    wire->set_no_attempt_timeout(true);
  } else if (job.attempt_timeout_ms) {
    put_duration(*job.attempt_timeout_ms, wire->mutable_attempt_timeout());
  }
  if (job.retry) retry_to_wire(*job.retry, wire->mutable_retry());
  wire->set_business_key(job.business_key);
  wire->set_business_key_scope(job.key_scope);
  labels_to_wire(job.labels, wire->mutable_labels());
}

void spec_to_wire(const model::ScheduleSpec& spec, v1::SchedulerSpec* wire) {
  auto* part = wire->add_parts();
  if (!spec.cron.empty()) {
    part->set_cron(spec.cron);
  } else {
    put_duration(spec.every_ms, part->mutable_interval()->mutable_every());
    put_duration(spec.phase_ms, part->mutable_interval()->mutable_phase());
  }
  wire->set_time_zone(spec.time_zone);
  if (spec.start_ms) put_time(*spec.start_ms, wire->mutable_start_time());
  if (spec.end_ms) put_time(*spec.end_ms, wire->mutable_end_time());
  wire->mutable_dst()->set_gap(v1::DstPolicy::GAP_END_OF_GAP);
  wire->mutable_dst()->set_fold(v1::DstPolicy::FOLD_FIRST);
}

}  // namespace

base::Result<model::ScheduleSpec> spec_from_wire(const v1::SchedulerSpec& wire,
                                                 std::int32_t business_day_offset) {
  model::ScheduleSpec spec;
  if (wire.parts_size() != 1) {
    return base::invalid_field("spec.parts",
                               std::to_string(wire.parts_size()) + " parts, exactly 1 is needed");
  }
  const auto& part = wire.parts(0);
  switch (part.kind_case()) {
    case v1::SchedulerSpecPart::kCron:
      if (part.cron().empty()) {
        return base::make_error(base::Reason::kMissingField, "empty", "cron");
      }
      if (part.cron().size() > limits::kCronBytesMax) {
        return base::invalid_field("cron", std::to_string(part.cron().size()) + " bytes, limit " +
                                               std::to_string(limits::kCronBytesMax));
      }
      spec.cron = part.cron();
      break;
    case v1::SchedulerSpecPart::kInterval:
      if (auto fault = read_interval(part.interval(), &spec)) return *fault;
      break;
    case v1::SchedulerSpecPart::KIND_NOT_SET:
      return base::make_error(base::Reason::kMissingField, "one of cron, interval must be set",
                              "spec.parts");
  }
  if (!wire.time_zone().empty()) spec.time_zone = wire.time_zone();
  if (auto fault = read_bounds(wire, &spec)) return *fault;
  spec.business_day_offset = business_day_offset;
  return spec;
}

base::Result<core::UpsertScheduler> declaration_from_wire(const v1::SchedulerDeclaration& wire,
                                                          const core::TimeZoneSource& zones,
                                                          std::int64_t payload_limit_bytes) {
  core::UpsertScheduler upsert;
  if (auto fault = base::check_name("id", wire.id())) return *fault;
  upsert.id = wire.id();
  if (wire.revision() < 0) return base::invalid_field("revision", "negative; 0 is the least");
  upsert.revision = wire.revision();
  auto spec = spec_from_wire(wire.spec(), wire.business_day_offset());
  if (!spec) return spec.error();
  upsert.settings.spec = *std::move(spec);
  if (auto schedule = core::Schedule::compile(upsert.settings.spec, zones); !schedule) {
    return schedule.error();
  }
  const auto overlap = overlap_from_wire(wire.overlap());
  if (!overlap) return overlap.error();
  upsert.settings.overlap = *overlap;
  const auto catch_up = catch_up_from_wire(wire.catch_up());
  if (!catch_up) return catch_up.error();
  upsert.settings.catch_up = *catch_up;
  auto job = template_from_wire(wire.job(), payload_limit_bytes);
  if (!job) return base::in_field("job", job.error());
  upsert.settings.job = *std::move(job);
  if (!wire.owner().empty()) {
    if (auto fault = base::check_text_key("owner", wire.owner())) return *fault;
  }
  upsert.settings.owner = wire.owner();
  return upsert;
}

void declaration_to_wire(const model::Scheduler& scheduler, v1::SchedulerDeclaration* wire) {
  const auto& settings = scheduler.settings;
  wire->set_id(scheduler.id);
  spec_to_wire(settings.spec, wire->mutable_spec());
  wire->mutable_overlap()->set_mode(overlap_to_wire(settings.overlap));
  auto* catch_up = wire->mutable_catch_up();
  catch_up->set_mode(catch_up_to_wire(settings.catch_up.mode));
  put_duration(settings.catch_up.window_ms, catch_up->mutable_window());
  catch_up->set_max_runs(static_cast<std::int32_t>(settings.catch_up.max_runs));
  wire->set_business_day_offset(settings.spec.business_day_offset);
  template_to_wire(settings.job, wire->mutable_job());
  wire->set_owner(settings.owner);
  wire->set_revision(scheduler.revision);
}

base::Status merge_declaration(const google::protobuf::FieldMask& mask,
                               const v1::SchedulerDeclaration& from,
                               v1::SchedulerDeclaration* onto) {
  for (const auto& path : mask.paths()) {
    if (path == "spec") {
      *onto->mutable_spec() = from.spec();
    } else if (path == "overlap") {
      *onto->mutable_overlap() = from.overlap();
    } else if (path == "catch_up") {
      *onto->mutable_catch_up() = from.catch_up();
    } else if (path == "business_day_offset") {
      onto->set_business_day_offset(from.business_day_offset());
    } else if (path == "job") {
      *onto->mutable_job() = from.job();
    } else if (path == "owner") {
      onto->set_owner(from.owner());
    } else if (path == "revision") {
      onto->set_revision(from.revision());
    } else {
      return base::invalid_field("update_mask",
                                 "unknown path " + base::quoted(path) +
                                     "; there are spec, overlap, catch_up, business_day_offset, "
                                     "job, owner, revision");
    }
  }
  return {};
}

void scheduler_to_wire(const model::Scheduler& scheduler, const model::SchedulerState& state,
                       const std::vector<std::int64_t>& next_ms, v1::Scheduler* wire) {
  declaration_to_wire(scheduler, wire->mutable_declaration());
  wire->set_generation(static_cast<std::int64_t>(scheduler.generation));
  if (scheduler.paused) {
    auto* pause = wire->mutable_pause();
    pause->set_note(scheduler.pause_note);
    pause->set_principal(scheduler.paused_by);
    put_time(scheduler.paused_ms, pause->mutable_pause_time());
  }
  if (state.last_nominal_ms != 0) {
    put_time(state.last_nominal_ms, wire->mutable_last_nominal_time());
  }
  for (const auto ms : next_ms) put_time(ms, wire->add_next_times());
  wire->set_unfinished_count(static_cast<std::int32_t>(state.unfinished));
  put_time(scheduler.created_ms, wire->mutable_create_time());
  put_time(scheduler.updated_ms, wire->mutable_update_time());
  wire->set_etag(etag_of(scheduler.version));
}

void tick_to_wire(const core::TickDescription& tick, v1::Tick* wire) {
  put_time(tick.nominal_ms, wire->mutable_nominal_time());
  wire->set_local_time(tick.local);
  wire->set_business_date(tick.business_date);
  switch (tick.note) {
    case core::TickNote::kNone:
      break;
    case core::TickNote::kEndOfGap:
      wire->set_mark(v1::Tick::MARK_GAP);
      break;
    case core::TickNote::kFirstPass:
    case core::TickNote::kSecondPass:
      wire->set_mark(v1::Tick::MARK_FOLD);
      break;
  }
  wire->set_note(tick.note_text);
}

v1::Run::Outcome run_outcome_to_wire(model::RunOutcome outcome) {
  switch (outcome) {
    case model::RunOutcome::kFired:
      return v1::Run::OUTCOME_FIRED;
    case model::RunOutcome::kMerged:
      return v1::Run::OUTCOME_UNSPECIFIED;  // not made yet
    case model::RunOutcome::kSkipped:
      return v1::Run::OUTCOME_SKIPPED;
    case model::RunOutcome::kMissed:
      return v1::Run::OUTCOME_MISSED;
  }
  return v1::Run::OUTCOME_UNSPECIFIED;
}

void run_to_wire(const std::string& scheduler_id, const model::RunRecord& run, v1::Run* wire) {
  wire->set_scheduler_id(scheduler_id);
  wire->set_generation(static_cast<std::int64_t>(run.generation));
  put_time(run.first_nominal_ms, wire->mutable_nominal_time());
  put_time(run.last_nominal_ms, wire->mutable_last_nominal_time());
  wire->set_tick_count(static_cast<std::int64_t>(run.count));
  wire->set_tick_count_exact(!run.count_is_lower_bound);
  wire->set_business_date(run.business_date);
  wire->set_outcome(run_outcome_to_wire(run.outcome));
  wire->set_reason(run.reason);
  if (run.job.valid()) wire->set_job_id(model::job_id(run.job));
  put_time(run.processed_ms, wire->mutable_decide_time());
  put_duration(run.processed_ms - run.first_nominal_ms, wire->mutable_lateness());
  wire->set_principal(run.principal);
}

}  // namespace rota::rpc
