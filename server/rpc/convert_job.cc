// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_job.h"

#include <utility>

#include "base/hash.h"
#include "base/limits.h"
#include "base/names.h"
#include "base/utf8.h"
#include "model/blocker.h"
#include "model/job_id.h"
#include "rpc/convert_policy.h"
#include "rpc/convert_time.h"

namespace rota::rpc {
namespace {

namespace limits = base::limits;
using model::JobState;

Result<std::uint8_t> priority_from_wire(std::int32_t priority) {
  if (auto fault =
          base::check_range("priority", priority, limits::kPriorityMin, limits::kPriorityMax)) {
    return *fault;
  }
  return static_cast<std::uint8_t>(priority);
}

// A time of the future: at most ten years ahead; one of the past means "at once".
Result<std::int64_t> run_at_from_wire(const google::protobuf::Timestamp& time,
                                      std::int64_t now_wall_ms) {
  const auto ms = time_ms("run_at", time);
  if (!ms) return ms.error();
  if (*ms > now_wall_ms + limits::kAheadMsMax) {
    return base::invalid_field("run_at", "more than 10 years ahead");
  }
  return *ms <= now_wall_ms ? 0 : *ms;
}

Result<std::int64_t> start_deadline_from_wire(const google::protobuf::Timestamp& time,
                                              std::int64_t run_at_ms, std::int64_t now_wall_ms) {
  const auto ms = time_ms("start_deadline", time);
  if (!ms) return ms.error();
  if (*ms <= now_wall_ms) return base::invalid_field("start_deadline", "it has passed already");
  if (*ms < run_at_ms) return base::invalid_field("start_deadline", "before run_at");
  if (*ms > now_wall_ms + limits::kAheadMsMax) {
    return base::invalid_field("start_deadline", "more than 10 years ahead");
  }
  return *ms;
}

std::optional<Error> read_times(const v1::JobSpec& wire, std::int64_t now_wall_ms,
                                core::JobRequest* job) {
  if (wire.has_run_at() && wire.has_delay()) {
    return base::invalid_field("delay", "not together with run_at");
  }
  if (wire.has_run_at()) {
    const auto ms = run_at_from_wire(wire.run_at(), now_wall_ms);
    if (!ms) return ms.error();
    job->run_at_ms = *ms;
  }
  if (wire.has_delay()) {
    const auto ms = duration_ms("delay", wire.delay(), 0, limits::kAheadMsMax);
    if (!ms) return ms.error();
    job->run_at_ms = *ms == 0 ? 0 : now_wall_ms + *ms;
  }
  if (wire.has_start_deadline()) {
    const auto ms = start_deadline_from_wire(wire.start_deadline(), job->run_at_ms, now_wall_ms);
    if (!ms) return ms.error();
    job->start_deadline_ms = *ms;
  }
  return std::nullopt;
}

std::optional<Error> read_policies(const v1::JobSpec& wire, core::JobRequest* job) {
  auto timeout = attempt_timeout_from_wire(wire.has_attempt_timeout(), wire.attempt_timeout(),
                                           wire.no_attempt_timeout());
  if (!timeout) return timeout.error();
  job->attempt_timeout_ms = *timeout;
  if (wire.has_retry()) {
    auto retry = retry_from_wire(wire.retry());
    if (!retry) return retry.error();
    job->retry = *std::move(retry);
  }
  if (wire.labels_size() > 0) {
    auto labels = labels_from_wire(wire.labels());
    if (!labels) return labels.error();
    job->labels = *std::move(labels);
  }
  switch (wire.dedup().on_dead()) {
    case v1::DedupPolicy::ON_DEAD_UNSPECIFIED:
    case v1::DedupPolicy::ON_DEAD_RETURN:
      job->on_dead = core::OnDead::kReturn;
      break;
    case v1::DedupPolicy::ON_DEAD_REDRIVE:
      job->on_dead = core::OnDead::kRedrive;
      break;
    default:
      return base::invalid_field("dedup.on_dead",
                                 "unknown choice " + std::to_string(wire.dedup().on_dead()));
  }
  return std::nullopt;
}

std::optional<Error> read_business_key(const v1::JobSpec& wire, core::JobRequest* job) {
  if (wire.business_key().empty()) {
    if (!wire.business_key_scope().empty()) {
      return base::invalid_field("business_key_scope", "only together with business_key");
    }
    if (job->on_dead == core::OnDead::kRedrive) {
      return base::invalid_field("dedup.on_dead", "only together with business_key");
    }
    return std::nullopt;
  }
  if (auto fault = base::check_text_key("business_key", wire.business_key())) return fault;
  if (!wire.business_key_scope().empty()) {
    if (auto fault = base::check_name("business_key_scope", wire.business_key_scope())) {
      return fault;
    }
  }
  job->business_key = wire.business_key();
  job->key_scope = wire.business_key_scope();
  return std::nullopt;
}

void payload_to_wire(const std::string& data, const std::string& content_type, v1::Payload* wire) {
  wire->set_data(data);
  wire->set_content_type(content_type);
}

void attempt_to_wire(const model::Attempt& attempt, v1::Attempt* wire) {
  wire->set_number(static_cast<std::int32_t>(attempt.number));
  wire->set_fencing_token(static_cast<std::int64_t>(attempt.token));
  wire->set_worker_id(attempt.worker_id);
  wire->set_session_id(attempt.session_id);
  wire->set_granted_seq(static_cast<std::int64_t>(attempt.granted_seq));
  wire->set_ended_seq(static_cast<std::int64_t>(attempt.ended_seq));
  put_time(attempt.granted_ms, wire->mutable_start_time());
  if (attempt.ended_ms != 0) put_time(attempt.ended_ms, wire->mutable_end_time());
  wire->set_outcome(outcome_to_wire(attempt.outcome));
  if (attempt.failure != model::Failure{}) {
    failure_to_wire(attempt.failure, wire->mutable_failure());
  } else if (!attempt.release_reason.empty()) {
    wire->mutable_failure()->set_type(attempt.release_reason);
  }
  wire->set_log_tail(attempt.log_tail);
  wire->set_result_truncated(attempt.result_truncated);
}

void running_to_wire(const runtime::RunningAttempt& running, v1::Attempt* wire) {
  wire->set_number(static_cast<std::int32_t>(running.attempt));
  wire->set_fencing_token(static_cast<std::int64_t>(running.token));
  wire->set_worker_id(running.holder->worker_id);
  wire->set_session_id(running.holder->session_id);
  wire->set_granted_seq(static_cast<std::int64_t>(running.granted_seq));
  put_time(running.granted_ms, wire->mutable_start_time());
}

// The last failure among the attempts kept.
void last_failure_to_wire(const std::vector<model::Attempt>& history, v1::Job* wire) {
  for (auto attempt = history.rbegin(); attempt != history.rend(); ++attempt) {
    if (attempt->failure == model::Failure{}) continue;
    failure_to_wire(attempt->failure, wire->mutable_failure());
    return;
  }
}

template <class Record>
void scheduled_part_to_wire(const Record& record, v1::Job* wire) {
  wire->set_kind(record.kind);
  wire->set_business_key(record.business_key);
  if (!record.business_key.empty()) wire->set_business_key_scope(record.key_scope);
  labels_to_wire(record.labels, wire->mutable_labels());
  wire->set_scheduler_id(record.scheduler_id);
  wire->set_scheduler_generation(static_cast<std::int64_t>(record.generation));
  for (const auto ms : record.nominal_ms) put_time(ms, wire->add_nominal_times());
  wire->set_business_date(record.business_date);
  wire->set_principal(record.principal);
  put_time(record.created_ms, wire->mutable_create_time());
}

void body_to_wire(const JobRows& rows, bool with_payload, v1::Job* wire) {
  const auto& body = *rows.body;
  scheduled_part_to_wire(body, wire);
  wire->set_payload_size_bytes(static_cast<std::int64_t>(body.payload_bytes));
  if (with_payload) payload_to_wire(body.payload, body.content_type, wire->mutable_payload());
  std::int64_t run_at_ms = body.run_at_ms;
  std::int64_t start_deadline_ms = body.start_deadline_ms;
  if (rows.side) {
    run_at_ms = rows.side->run_at_ms.value_or(run_at_ms);
    start_deadline_ms = rows.side->start_deadline_ms.value_or(start_deadline_ms);
  }
  if (run_at_ms != 0) put_time(run_at_ms, wire->mutable_run_at());
  if (start_deadline_ms != 0) put_time(start_deadline_ms, wire->mutable_start_deadline());
  if (body.attempt_timeout_ms == model::kNoTimeout) {
    wire->set_no_attempt_timeout(true);
  } else if (body.attempt_timeout_ms) {
    put_duration(*body.attempt_timeout_ms, wire->mutable_attempt_timeout());
  }
  if (body.retry) retry_to_wire(*body.retry, wire->mutable_retry());
}

void side_to_wire(const model::Side& side, v1::Job* wire) {
  if (side.priority_changed) wire->set_priority(side.priority);
  wire->set_attempt_count(static_cast<std::int32_t>(side.attempts));
  wire->set_attempts_used(static_cast<std::int32_t>(side.attempts_used));
  wire->set_uncounted_attempts(static_cast<std::int32_t>(side.releases));
  wire->set_redrive_count(static_cast<std::int32_t>(side.redrives));
  for (const auto& attempt : side.history) attempt_to_wire(attempt, wire->add_attempts());
  if (side.claim == model::Claim::kScheduled) put_time(side.due_ms, wire->mutable_due_time());
  if (side.claim == model::Claim::kBlocked) wire->set_blocked_by(blocker_text(side.blocker));
  if (side.claim == model::Claim::kDead) {
    wire->set_final_reason(side.dead_reason);
    if (side.ended_ms != 0) put_time(side.ended_ms, wire->mutable_finish_time());
  }
  wire->set_cancel_requested(side.cancel_requested);
  wire->set_cancel_reason(side.cancel_reason);
  if (side.claim == model::Claim::kDead || side.retry_wait)
    last_failure_to_wire(side.history, wire);
}

void final_to_wire(const model::FinalRecord& record, v1::Job* wire) {
  scheduled_part_to_wire(record, wire);
  wire->set_priority(record.priority);
  wire->set_attempt_count(static_cast<std::int32_t>(record.attempts));
  wire->set_attempts_used(static_cast<std::int32_t>(record.attempts_used));
  wire->set_redrive_count(static_cast<std::int32_t>(record.redrives));
  for (const auto& attempt : record.history) attempt_to_wire(attempt, wire->add_attempts());
  wire->set_cancel_requested(record.cancel_requested);
  put_time(record.ended_ms, wire->mutable_finish_time());
  wire->set_final_reason(record.reason);
  if (record.state == JobState::kCancelled && record.cancel_requested) {
    wire->set_cancel_reason(record.reason);
  }
  if (record.state == JobState::kSucceeded && !record.result.empty()) {
    wire->mutable_result()->set_data(record.result);
  }
}

}  // namespace

base::Error job_not_found(const std::string& id) {
  auto error = base::make_error(
      base::Reason::kJobNotFound,
      "no job " + base::quoted(id) + "; it never existed, or its record was retired or deleted",
      "job_id");
  error.meta["jobId"] = id;
  return error;
}

base::Result<model::JobKey> job_key_from_wire(const std::string& text, const std::string& field) {
  if (text.empty()) return base::make_error(base::Reason::kMissingField, "empty", field);
  if (!model::is_job_id_form(text)) {
    return base::make_error(base::Reason::kBadJobId,
                            base::quoted(text) + " is no job id: 1-32 of a-z and 0-9", field);
  }
  const auto key = model::parse_job_id(text);
  if (!key) return job_not_found(text);
  return *key;
}

base::Result<core::JobRequest> job_from_wire(v1::JobSpec* wire, std::int64_t now_wall_ms,
                                             std::int64_t payload_limit_bytes) {
  core::JobRequest job;
  if (auto fault = base::check_name("queue", wire->queue())) return *fault;
  if (auto fault = base::check_name("kind", wire->kind())) return *fault;
  job.queue = wire->queue();
  job.kind = wire->kind();
  const auto& data = wire->payload().data();
  if (auto fault = check_payload_size(data.size(), payload_limit_bytes)) return *fault;
  auto content_type =
      content_type_from_wire("payload.content_type", wire->payload().content_type());
  if (!content_type) return content_type.error();
  job.content_type = *std::move(content_type);
  if (wire->has_priority()) {
    const auto priority = priority_from_wire(wire->priority());
    if (!priority) return priority.error();
    job.priority = *priority;
  }
  if (auto fault = read_times(*wire, now_wall_ms, &job)) return *fault;
  if (auto fault = read_policies(*wire, &job)) return *fault;
  if (auto fault = read_business_key(*wire, &job)) return *fault;
  if (!job.business_key.empty()) {
    job.payload_hash = std::string(base::as_bytes(base::hash_parts({data})));
  }
  if (wire->has_payload()) job.payload = std::move(*wire->mutable_payload()->mutable_data());
  return job;
}

base::Result<core::UpdateJob> update_from_wire(const v1::UpdateJobRequest& wire,
                                               std::int64_t now_wall_ms) {
  core::UpdateJob update;
  const auto key = job_key_from_wire(wire.job_id());
  if (!key) return key.error();
  update.key = *key;
  if (wire.update_mask().paths_size() == 0) {
    return base::make_error(base::Reason::kMissingField,
                            "name at least one of priority, run_at, start_deadline", "update_mask");
  }
  const auto& changes = wire.changes();
  for (const auto& path : wire.update_mask().paths()) {
    if (path == "priority") {
      const auto priority = priority_from_wire(changes.priority());
      if (!priority) return priority.error();
      update.priority = *priority;
    } else if (path == "run_at") {
      update.run_at_ms = 0;
      if (!changes.has_run_at()) continue;
      const auto ms = run_at_from_wire(changes.run_at(), now_wall_ms);
      if (!ms) return ms.error();
      update.run_at_ms = *ms;
    } else if (path == "start_deadline") {
      update.start_deadline_ms = 0;
      if (!changes.has_start_deadline()) continue;
      const auto ms = start_deadline_from_wire(changes.start_deadline(), 0, now_wall_ms);
      if (!ms) return ms.error();
      update.start_deadline_ms = *ms;
    } else {
      return base::invalid_field("update_mask",
                                 "unknown path " + base::quoted(path) +
                                     "; only priority, run_at, start_deadline can be changed");
    }
  }
  return update;
}

void enqueued_to_wire(const core::EnqueuedJob& job, bool with_result, v1::EnqueuedJob* wire) {
  wire->set_id(model::job_id(job.key));
  wire->set_created(job.created);
  wire->set_state(state_to_wire(job.state));
  if (job.result && with_result) wire->mutable_result()->set_data(*job.result);
  wire->set_result_omitted(job.result_omitted || (job.result && !with_result));
}

v1::JobState state_to_wire(model::JobState state) { return static_cast<v1::JobState>(state); }

model::JobState state_from_wire(int state) {
  if (state <= 0 || state >= model::kJobStateCount) return JobState::kUnknown;
  return static_cast<JobState>(state);
}

// The numbers are the same on the wire and in records.
static_assert(static_cast<int>(JobState::kScheduled) == v1::JOB_STATE_SCHEDULED);
static_assert(static_cast<int>(JobState::kBlocked) == v1::JOB_STATE_BLOCKED);
static_assert(static_cast<int>(JobState::kReady) == v1::JOB_STATE_READY);
static_assert(static_cast<int>(JobState::kRunning) == v1::JOB_STATE_RUNNING);
static_assert(static_cast<int>(JobState::kSucceeded) == v1::JOB_STATE_SUCCEEDED);
static_assert(static_cast<int>(JobState::kDead) == v1::JOB_STATE_DEAD);
static_assert(static_cast<int>(JobState::kCancelled) == v1::JOB_STATE_CANCELLED);
static_assert(static_cast<int>(JobState::kExpired) == v1::JOB_STATE_EXPIRED);
static_assert(model::kJobStateCount == v1::JobState_ARRAYSIZE);

v1::AttemptOutcome outcome_to_wire(model::AttemptOutcome outcome) {
  using model::AttemptOutcome;
  switch (outcome) {
    case AttemptOutcome::kRunning:
      return v1::ATTEMPT_OUTCOME_UNSPECIFIED;
    case AttemptOutcome::kSucceeded:
      return v1::ATTEMPT_OUTCOME_SUCCEEDED;
    case AttemptOutcome::kFailed:
      return v1::ATTEMPT_OUTCOME_FAILED;
    case AttemptOutcome::kTimedOut:
      return v1::ATTEMPT_OUTCOME_TIMED_OUT;
    case AttemptOutcome::kLost:
      return v1::ATTEMPT_OUTCOME_LOST;
    case AttemptOutcome::kReleased:
      return v1::ATTEMPT_OUTCOME_RELEASED;
    case AttemptOutcome::kSnoozed:
      return v1::ATTEMPT_OUTCOME_SNOOZED;
    case AttemptOutcome::kCancelled:
      return v1::ATTEMPT_OUTCOME_CANCELLED;
  }
  return v1::ATTEMPT_OUTCOME_UNSPECIFIED;
}

void failure_to_wire(const model::Failure& failure, v1::Failure* wire) {
  wire->set_type(failure.type);
  wire->set_message(failure.message);
  wire->set_detail(failure.detail);
}

model::JobState state_of(const JobRows& rows) {
  if (rows.final_record) return rows.final_record->state;
  if (!rows.body) return JobState::kUnknown;
  if (rows.running) return JobState::kRunning;
  if (!rows.side) return JobState::kReady;
  switch (rows.side->claim) {
    case model::Claim::kScheduled:
      return JobState::kScheduled;
    case model::Claim::kBlocked:
      return JobState::kBlocked;
    case model::Claim::kDead:
      return JobState::kDead;
    case model::Claim::kNone:
    case model::Claim::kMoved:
      return JobState::kReady;
  }
  return JobState::kReady;
}

void job_to_wire(const JobRows& rows, bool with_payload, v1::Job* wire) {
  wire->set_id(model::job_id(rows.key));
  wire->set_queue(rows.queue);
  wire->set_state(state_to_wire(state_of(rows)));
  wire->set_priority(rows.key.priority);
  if (rows.final_record) {
    final_to_wire(*rows.final_record, wire);
    return;
  }
  if (rows.body) body_to_wire(rows, with_payload, wire);
  if (rows.side) side_to_wire(*rows.side, wire);
  if (rows.running) {
    wire->set_attempt_count(static_cast<std::int32_t>(rows.running->attempt));
    running_to_wire(*rows.running, wire->add_attempts());
  }
}

std::string blocker_text(const model::Blocker& blocker) {
  const auto scheduler = model::blocking_scheduler(blocker);
  return scheduler ? "scheduler " + *scheduler : std::string();
}

}  // namespace rota::rpc
