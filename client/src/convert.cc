// SPDX-License-Identifier: Apache-2.0
#include "src/convert.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/limits.h"
#include "base/time_format.h"
#include "src/status.h"
#include "src/text.h"

namespace rota::internal {
namespace {

struct Text {
  const char* field;
  const std::string& value;
};

// In milliseconds; nothing for what is a second or more, which no message may hold.
std::int64_t part_of_second(std::int32_t nanos) {
  return nanos > -1'000'000'000 && nanos < 1'000'000'000 ? nanos / 1'000'000 : 0;
}

Result<Ok> check_utf8(std::initializer_list<Text> texts) {
  for (const Text& text : texts) {
    if (!is_utf8(text.value)) return invalid(text.field, "is not UTF-8");
  }
  return Ok{};
}

Result<Ok> check_labels(const Labels& labels) {
  for (const auto& [key, value] : labels) {
    if (!is_utf8(key) || !is_utf8(value)) return invalid("labels", "a label is not UTF-8");
  }
  return Ok{};
}

void set_retry(const Retry& retry, v1::RetryPolicy& message) {
  message.set_max_attempts(retry.max_attempts);
  auto& backoff = *message.mutable_backoff();
  backoff.set_mode(v1::Backoff::MODE_EXPONENTIAL);
  set_duration(*backoff.mutable_first(), retry.first);
  set_duration(*backoff.mutable_cap(), retry.cap);
  backoff.set_factor(retry.factor);
  backoff.set_jitter(retry.jitter);
  if (retry.give_up_after) set_duration(*message.mutable_give_up_after(), *retry.give_up_after);
}

Result<Ok> check_retry(const std::optional<Retry>& retry) {
  // 0 means "the default" in the messages, not what a caller who wrote 0 would expect.
  if (retry && retry->max_attempts < 1) {
    return invalid("retry.max_attempts",
                   std::to_string(retry->max_attempts) + ", must be at least 1");
  }
  if (retry && !(retry->factor >= 1)) {
    return invalid("retry.factor", std::to_string(retry->factor) + ", must be at least 1");
  }
  return Ok{};
}

Retry to_retry(const v1::RetryPolicy& message) {
  Retry retry;
  if (message.max_attempts() > 0) retry.max_attempts = message.max_attempts();
  const auto& backoff = message.backoff();
  if (backoff.has_first()) retry.first = to_millis(backoff.first());
  if (backoff.has_cap()) retry.cap = to_millis(backoff.cap());
  if (backoff.factor() > 0) retry.factor = backoff.factor();
  if (backoff.mode() == v1::Backoff::MODE_FIXED) retry.factor = 1;
  if (backoff.has_jitter()) retry.jitter = backoff.jitter();
  if (message.has_give_up_after()) retry.give_up_after = to_millis(message.give_up_after());
  return retry;
}

// What a job and a scheduler's template have in common.
template <class Message>
void set_common(JobSpec& spec, Message& message) {
  message.set_queue(std::move(spec.queue));
  message.set_kind(std::move(spec.kind));
  message.mutable_payload()->set_data(std::move(spec.payload));
  message.mutable_payload()->set_content_type(std::move(spec.content_type));
  if (spec.priority != base::limits::kPriorityDefault) message.set_priority(spec.priority);
  if (spec.attempt_timeout) set_duration(*message.mutable_attempt_timeout(), *spec.attempt_timeout);
  if (spec.retry) set_retry(*spec.retry, *message.mutable_retry());
  message.set_business_key(std::move(spec.business_key));
  for (auto& [key, value] : spec.labels) (*message.mutable_labels())[key] = std::move(value);
}

Result<Ok> check_job(const JobSpec& spec) {
  if (auto texts = check_utf8({{"queue", spec.queue},
                               {"kind", spec.kind},
                               {"content_type", spec.content_type},
                               {"business_key", spec.business_key},
                               {"request_id", spec.request_id}});
      !texts) {
    return texts;
  }
  if (auto labels = check_labels(spec.labels); !labels) return labels;
  return check_retry(spec.retry);
}

}  // namespace

void set_duration(google::protobuf::Duration& message, Millis value) {
  message.set_seconds(value.count() / 1'000);
  message.set_nanos(static_cast<std::int32_t>(value.count() % 1'000) * 1'000'000);
}

void set_time(google::protobuf::Timestamp& message, Time value) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(value);
  message.set_seconds(seconds.time_since_epoch().count());
  message.set_nanos(static_cast<std::int32_t>((value - seconds).count()) * 1'000'000);
}

Millis to_millis(const google::protobuf::Duration& message) {
  // Nothing the server means is longer. A clock that counts nanoseconds can be moved by this much.
  constexpr std::int64_t kMostSeconds = base::limits::kRetentionAgeMsMax / 1'000;
  if (message.seconds() >= kMostSeconds) return Millis(kMostSeconds * 1'000);
  if (message.seconds() <= -kMostSeconds) return Millis(-kMostSeconds * 1'000);
  return Millis(message.seconds() * 1'000 + part_of_second(message.nanos()));
}

Time to_time(const google::protobuf::Timestamp& message) {
  const std::int64_t seconds =
      std::clamp(message.seconds(), base::kTimeMsMin / 1'000, base::kTimeMsMax / 1'000);
  return Time(Millis(seconds * 1'000 + part_of_second(message.nanos())));
}

JobState to_state(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_SCHEDULED:
      return JobState::kScheduled;
    case v1::JOB_STATE_BLOCKED:
      return JobState::kBlocked;
    case v1::JOB_STATE_READY:
      return JobState::kReady;
    case v1::JOB_STATE_RUNNING:
      return JobState::kRunning;
    case v1::JOB_STATE_SUCCEEDED:
      return JobState::kSucceeded;
    case v1::JOB_STATE_DEAD:
      return JobState::kDead;
    case v1::JOB_STATE_CANCELLED:
      return JobState::kCancelled;
    case v1::JOB_STATE_EXPIRED:
      return JobState::kExpired;
    default:
      return JobState::kUnknown;
  }
}

const char* outcome_name(v1::AttemptOutcome outcome) {
  switch (outcome) {
    case v1::ATTEMPT_OUTCOME_SUCCEEDED:
      return "SUCCEEDED";
    case v1::ATTEMPT_OUTCOME_FAILED:
      return "FAILED";
    case v1::ATTEMPT_OUTCOME_TIMED_OUT:
      return "TIMED_OUT";
    case v1::ATTEMPT_OUTCOME_LOST:
      return "LOST";
    case v1::ATTEMPT_OUTCOME_RELEASED:
      return "RELEASED";
    case v1::ATTEMPT_OUTCOME_SNOOZED:
      return "SNOOZED";
    case v1::ATTEMPT_OUTCOME_CANCELLED:
      return "CANCELLED";
    case v1::ATTEMPT_OUTCOME_UNSPECIFIED:
      return "";
    default:
      return "UNKNOWN";
  }
}

Result<Ok> to_message(JobSpec&& spec, v1::JobSpec& message) {
  if (auto checked = check_job(spec); !checked) return checked;
  if (spec.run_at) set_time(*message.mutable_run_at(), *spec.run_at);
  if (spec.start_deadline) set_time(*message.mutable_start_deadline(), *spec.start_deadline);
  set_common(spec, message);
  return Ok{};
}

Result<Ok> to_message(SchedulerSpec&& spec, v1::SchedulerDeclaration& message) {
  if (auto texts = check_utf8({{"id", spec.id},
                               {"cron", spec.cron},
                               {"time_zone", spec.time_zone},
                               {"owner", spec.owner}});
      !texts) {
    return texts;
  }
  if (auto job = check_job(spec.job); !job) {
    auto error = std::move(job).error();
    error.field = "job." + error.field;
    return error;
  }
  if (spec.cron.empty() == !spec.every.has_value()) {
    return invalid("cron", "set exactly one of cron and every");
  }
  if (spec.job.run_at || spec.job.start_deadline) {
    return invalid(spec.job.run_at ? "job.run_at" : "job.start_deadline",
                   "a scheduler's ticks say when its jobs run");
  }
  if (!spec.job.request_id.empty()) {
    return invalid("job.request_id", "a scheduler is declared, its jobs are not requested");
  }
  message.set_id(std::move(spec.id));
  auto& rule = *message.mutable_spec();
  auto& part = *rule.add_parts();
  if (spec.every) {
    set_duration(*part.mutable_interval()->mutable_every(), *spec.every);
  } else {
    part.set_cron(std::move(spec.cron));
  }
  rule.set_time_zone(std::move(spec.time_zone));
  if (spec.start) set_time(*rule.mutable_start_time(), *spec.start);
  if (spec.end) set_time(*rule.mutable_end_time(), *spec.end);

  v1::OverlapPolicy::Mode overlap = v1::OverlapPolicy::MODE_UNSPECIFIED;
  if (!v1::OverlapPolicy::Mode_Parse("MODE_" + spec.overlap, &overlap)) {
    return invalid("overlap", "'" + spec.overlap + "' is none of SKIP, WAIT_ONE, ALLOW");
  }
  message.mutable_overlap()->set_mode(overlap);
  v1::CatchUpPolicy::Mode catch_up = v1::CatchUpPolicy::MODE_UNSPECIFIED;
  if (!v1::CatchUpPolicy::Mode_Parse("MODE_" + spec.catch_up, &catch_up)) {
    return invalid("catch_up", "'" + spec.catch_up + "' is none of NONE, LATEST, ALL");
  }
  message.mutable_catch_up()->set_mode(catch_up);
  message.set_business_day_offset(spec.business_day_offset);
  set_common(spec.job, *message.mutable_job());
  message.set_owner(std::move(spec.owner));
  message.set_revision(spec.revision);
  return Ok{};
}

Result<Ok> to_message(QueueSpec&& spec, v1::SetQueueRequest& message) {
  if (auto texts = check_utf8({{"name", spec.name}}); !texts) return texts;
  if (auto retry = check_retry(spec.retry); !retry) return retry;
  message.set_queue(std::move(spec.name));
  auto& settings = *message.mutable_settings();
  if (spec.concurrency) settings.set_concurrency_limit(*spec.concurrency);
  if (spec.retry) set_retry(*spec.retry, *settings.mutable_retry());
  if (spec.attempt_timeout) {
    set_duration(*settings.mutable_attempt_timeout(), *spec.attempt_timeout);
  }
  return Ok{};
}

JobRef to_ref(v1::EnqueuedJob&& message) {
  JobRef ref;
  ref.id = std::move(*message.mutable_id());
  ref.existed = !message.created();
  ref.state = to_state(message.state());
  if (message.has_result()) ref.result = std::move(*message.mutable_result()->mutable_data());
  ref.result_omitted = message.result_omitted();
  return ref;
}

JobInfo to_info(v1::Job&& message) {
  JobInfo info;
  info.ref.id = std::move(*message.mutable_id());
  info.ref.existed = true;
  info.ref.state = to_state(message.state());
  if (message.has_result()) info.ref.result = std::move(*message.mutable_result()->mutable_data());
  info.spec.queue = std::move(*message.mutable_queue());
  info.spec.kind = std::move(*message.mutable_kind());
  if (message.has_payload()) {
    info.spec.payload = std::move(*message.mutable_payload()->mutable_data());
    info.spec.content_type = std::move(*message.mutable_payload()->mutable_content_type());
  }
  info.spec.priority = message.priority();
  if (message.has_run_at()) info.spec.run_at = to_time(message.run_at());
  if (message.has_start_deadline()) info.spec.start_deadline = to_time(message.start_deadline());
  if (message.has_attempt_timeout()) {
    info.spec.attempt_timeout = to_millis(message.attempt_timeout());
  }
  if (message.has_retry()) info.spec.retry = to_retry(message.retry());
  info.spec.business_key = std::move(*message.mutable_business_key());
  for (auto& [key, value] : message.labels()) info.spec.labels.emplace(key, value);
  for (auto& attempt : *message.mutable_attempts()) {
    Attempt& out = info.attempts.emplace_back();
    out.number = attempt.number();
    out.fencing_token = static_cast<std::uint64_t>(attempt.fencing_token());
    out.granted_seq = static_cast<std::uint64_t>(attempt.granted_seq());
    out.ended_seq = static_cast<std::uint64_t>(attempt.ended_seq());
    out.worker = std::move(*attempt.mutable_worker_id());
    out.outcome = outcome_name(attempt.outcome());
    if (attempt.has_failure()) out.error = std::move(*attempt.mutable_failure()->mutable_message());
    out.log_tail = std::move(*attempt.mutable_log_tail());
    out.start = to_time(attempt.start_time());
    if (attempt.has_end_time()) out.end = to_time(attempt.end_time());
  }
  return info;
}

Result<Declared> to_declared(v1::UpsertSchedulerResponse&& message) {
  Declared declared;
  switch (message.result()) {
    case v1::UpsertSchedulerResponse::RESULT_CREATED:
      declared.what = Declared::kCreated;
      break;
    case v1::UpsertSchedulerResponse::RESULT_UNCHANGED:
      declared.what = Declared::kUnchanged;
      break;
    case v1::UpsertSchedulerResponse::RESULT_CHANGED:
      declared.what = Declared::kChanged;
      break;
    case v1::UpsertSchedulerResponse::RESULT_OLDER_REVISION:
      declared.what = Declared::kOlderRevision;
      break;
    default: {
      Error error;
      error.reason = "UNKNOWN_ANSWER";
      error.message = "the server gave an answer that this version of the library does not know";
      return error;
    }
  }
  for (auto& field : *message.mutable_changed_fields()) {
    declared.changed.push_back(std::move(field));
  }
  for (const auto& tick : message.next_ticks()) {
    declared.next.push_back(to_time(tick.nominal_time()));
  }
  return declared;
}

}  // namespace rota::internal
