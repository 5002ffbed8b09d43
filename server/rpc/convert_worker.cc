// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_worker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/duration.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/names.h"
#include "base/utf8.h"
#include "model/job_id.h"
#include "rpc/convert_job.h"
#include "rpc/convert_policy.h"
#include "rpc/convert_time.h"
#include "rpc/status_map.h"

namespace rota::rpc {
namespace {

namespace limits = base::limits;
using core::WorkerOutcome;

constexpr std::size_t kIdempotencyKeyBytes = 16;  // 32 hexadecimal digits

std::optional<Error> check_protocol(std::int32_t asked) {
  const std::int32_t protocol = asked == 0 ? kProtocolMin : asked;
  if (protocol >= kProtocolMin && protocol <= kProtocolMax) return std::nullopt;
  return base::make_error(base::Reason::kUnsupportedProtocol,
                          std::to_string(protocol) + ", this server speaks " +
                              std::to_string(kProtocolMin) + " to " + std::to_string(kProtocolMax),
                          "protocol");
}

std::optional<Error> check_queues(const v1::LeaseJobsRequest& wire) {
  if (auto fault = base::check_range("queues", wire.queues_size(), 1, limits::kLeaseQueuesMax)) {
    return fault;
  }
  std::set<std::string> seen;
  for (const auto& queue : wire.queues()) {
    if (auto fault = base::check_name("queues", queue)) return fault;
    if (!seen.insert(queue).second) {
      return base::invalid_field("queues", base::quoted(queue) + " stands there twice");
    }
  }
  return std::nullopt;
}

Result<std::int64_t> wait_from_wire(const v1::LeaseJobsRequest& wire) {
  if (!wire.has_wait_duration()) return limits::kPollWaitMsDefault;
  return duration_ms("wait_duration", wire.wait_duration(), 0, limits::kPollWaitMsMax);
}

// Stable over attempts, redrives, and (with a business key) over jobs of the same key.
std::string idempotency_key(const core::GrantedJob& job, std::string_view store_id,
                            std::string_view name_space, const std::string& id) {
  const auto digest =
      job.body->business_key.empty()
          ? base::hash_parts({"job", store_id, name_space, id})
          : base::hash_parts({"key", name_space, job.body->key_scope, job.body->business_key});
  return base::to_hex(base::as_bytes(digest).substr(0, kIdempotencyKeyBytes));
}

void granted_to_wire(const core::GrantedJob& job, std::string_view store_id,
                     std::string_view name_space, v1::LeasedJob* wire) {
  const auto& body = *job.body;
  wire->set_job_id(model::job_id(job.key));
  wire->set_queue(job.queue);
  wire->set_kind(body.kind);
  wire->mutable_payload()->set_data(body.payload);
  wire->mutable_payload()->set_content_type(body.content_type);
  wire->set_attempt(static_cast<std::int32_t>(job.attempt));
  wire->set_max_attempts(static_cast<std::int32_t>(job.max_attempts));
  wire->set_fencing_token(static_cast<std::int64_t>(job.token));
  if (job.time_left_ms != model::kNoTimeout) {
    put_duration(job.time_left_ms, wire->mutable_attempt_time_left());
  }
  labels_to_wire(body.labels, wire->mutable_labels());
  wire->set_business_key(body.business_key);
  wire->set_idempotency_key(idempotency_key(job, store_id, name_space, wire->job_id()));
  wire->set_scheduler_id(body.scheduler_id);
  wire->set_scheduler_generation(static_cast<std::int64_t>(body.generation));
  for (const auto ms : body.nominal_ms) put_time(ms, wire->add_nominal_times());
  wire->set_business_date(body.business_date);
  wire->set_priority(job.priority);
  wire->set_cancel_requested(job.cancel_requested);
}

Result<core::LeaseRef> lease_ref_from_wire(const v1::LeaseRef& wire) {
  const auto key = job_key_from_wire(wire.job_id(), "lease.job_id");
  if (!key) return key.error();
  if (wire.fencing_token() <= 0) {
    return base::invalid_field("lease.fencing_token", "not positive");
  }
  return core::LeaseRef{*key, static_cast<std::uint64_t>(wire.fencing_token())};
}

std::optional<Error> check_result_size(std::size_t bytes) {
  if (static_cast<std::int64_t>(bytes) <= limits::kResultBytesMax) return std::nullopt;
  return base::make_error(base::Reason::kResultTooLarge,
                          base::format_bytes(static_cast<std::int64_t>(bytes)) + ", limit " +
                              base::format_bytes(limits::kResultBytesMax) +
                              "; the lease stays, report a smaller one or a failure",
                          "outcome.success.result");
}

std::optional<Error> check_size(const char* field, const std::string& text, std::int64_t most) {
  if (static_cast<std::int64_t>(text.size()) <= most) return std::nullopt;
  return base::invalid_field(field, base::format_bytes(static_cast<std::int64_t>(text.size())) +
                                        ", limit " + base::format_bytes(most));
}

std::optional<Error> read_failure(const v1::FailureOutcome& wire, WorkerOutcome* outcome) {
  const auto& failure = wire.failure();
  if (auto fault =
          check_size("outcome.failure.type", failure.type(), limits::kFailureTypeBytesMax)) {
    return fault;
  }
  if (auto fault = check_size("outcome.failure.message", failure.message(),
                              limits::kFailureMessageBytesMax)) {
    return fault;
  }
  if (auto fault =
          check_size("outcome.failure.detail", failure.detail(), limits::kFailureDetailBytesMax)) {
    return fault;
  }
  outcome->kind = WorkerOutcome::Kind::kFailed;
  outcome->failure = {failure.type(), failure.message(), failure.detail()};
  outcome->retryable = !wire.not_retryable();
  if (wire.has_retry_after()) {
    const auto ms =
        duration_ms("outcome.failure.retry_after", wire.retry_after(), 0, limits::kBackoffMsMax);
    if (!ms) return ms.error();
    outcome->retry_after_ms = *ms;
  }
  return std::nullopt;
}

std::optional<Error> read_snooze(const v1::SnoozeOutcome& wire, WorkerOutcome* outcome) {
  outcome->kind = WorkerOutcome::Kind::kSnoozed;
  if (!wire.has_delay()) return std::nullopt;
  const auto ms = duration_ms("outcome.snooze.delay", wire.delay(), 0, limits::kBackoffMsMax);
  if (!ms) return ms.error();
  outcome->retry_after_ms = *ms;
  return std::nullopt;
}

void read_release(const v1::ReleaseOutcome& wire, WorkerOutcome* outcome) {
  outcome->kind = WorkerOutcome::Kind::kReleased;
  switch (wire.reason()) {
    case v1::ReleaseOutcome::REASON_NO_HANDLER:
      outcome->release_reason = "NO_HANDLER";
      break;
    case v1::ReleaseOutcome::REASON_STILL_RUNNING_HERE:
      outcome->release_reason = "STILL_RUNNING_HERE";
      break;
    case v1::ReleaseOutcome::REASON_SHUTDOWN:
      outcome->release_reason = "SHUTDOWN";
      break;
    default:
      break;
  }
}

std::optional<Error> read_outcome(v1::FinishItem* wire, WorkerOutcome* outcome) {
  if (auto fault = check_size("log_tail", wire->log_tail(), limits::kLogTailBytesMax)) return fault;
  if (!wire->log_tail().empty()) outcome->log_tail = std::move(*wire->mutable_log_tail());
  switch (wire->outcome().kind_case()) {
    case v1::Outcome::kSuccess: {
      auto* success = wire->mutable_outcome()->mutable_success();
      if (auto fault = check_result_size(success->result().data().size())) return fault;
      outcome->kind = WorkerOutcome::Kind::kSucceeded;
      if (success->has_result()) {
        outcome->result = std::move(*success->mutable_result()->mutable_data());
      }
      outcome->result_truncated = success->result_truncated();
      return std::nullopt;
    }
    case v1::Outcome::kFailure:
      return read_failure(wire->outcome().failure(), outcome);
    case v1::Outcome::kRelease:
      read_release(wire->outcome().release(), outcome);
      return std::nullopt;
    case v1::Outcome::kSnooze:
      return read_snooze(wire->outcome().snooze(), outcome);
    case v1::Outcome::KIND_NOT_SET:
      break;
  }
  return base::make_error(base::Reason::kMissingField,
                          "one of success, failure, release, snooze must be set", "outcome");
}

// `field` is where the request has them; `call_bytes` is the size of the whole request.
base::Result<core::FinishJobs> outcomes_from_wire(
    const std::string& session_id, google::protobuf::RepeatedPtrField<v1::FinishItem>* items,
    const char* field, std::size_t call_bytes) {
  if (auto fault = base::check_session_id("session_id", session_id)) return *fault;
  if (items->empty()) {
    return base::make_error(base::Reason::kMissingField, "at least one", field);
  }
  if (items->size() > limits::kCallItemsMax) {
    return base::make_error(base::Reason::kTooManyItems,
                            std::to_string(items->size()) + " outcomes, limit " +
                                std::to_string(limits::kCallItemsMax) + " a call; split it",
                            field);
  }
  if (const auto bytes = static_cast<std::int64_t>(call_bytes); bytes > limits::kCallBytesMax) {
    return base::make_error(base::Reason::kTooManyItems,
                            base::format_bytes(bytes) + ", limit " +
                                base::format_bytes(limits::kCallBytesMax) + " a call; split it",
                            field);
  }
  core::FinishJobs finish;
  finish.session_id = session_id;
  finish.items.reserve(static_cast<std::size_t>(items->size()));
  for (auto& wire_item : *items) {
    core::FinishItem item;
    if (auto ref = lease_ref_from_wire(wire_item.lease())) {
      item.lease = *ref;
    } else {
      item.invalid = ref.error();
    }
    if (!item.invalid) item.invalid = read_outcome(&wire_item, &item.outcome);
    finish.items.push_back(std::move(item));
  }
  return finish;
}

// What the jobs of the reply may take next to the answers to the outcomes that came with the call.
std::size_t reply_bytes_from_wire(const v1::LeaseJobsRequest& wire) {
  const std::int64_t asked =
      wire.max_bytes() != 0 ? wire.max_bytes() : limits::kLeaseReplyBytesDefault;
  const std::int64_t answers =
      limits::kFinishResultBytesMax * std::min(wire.outcomes_size(), limits::kCallItemsMax);
  return static_cast<std::size_t>(std::max(asked - answers, limits::kLeaseReplyBytesMin));
}

}  // namespace

base::Result<core::LeaseJobs> lease_from_wire(const v1::LeaseJobsRequest& wire,
                                              const Caller& caller, std::int64_t now_mono_ms) {
  if (auto fault = check_protocol(wire.protocol())) return *fault;
  if (auto fault = base::check_session_id("session_id", wire.session_id())) return *fault;
  if (auto fault = base::check_name("worker.worker_id", wire.worker().worker_id())) return *fault;
  if (auto fault = check_queues(wire)) return *fault;
  if (auto fault = base::check_range("max_jobs", wire.max_jobs(), 1, limits::kLeaseJobsMax)) {
    return *fault;
  }
  if (wire.max_bytes() != 0) {
    if (auto fault = base::check_range("max_bytes", wire.max_bytes(), limits::kLeaseReplyBytesMin,
                                       limits::kCallBytesMax)) {
      return *fault;
    }
  }
  if (!wire.request_id().empty()) {
    if (auto fault = base::check_request_id("request_id", wire.request_id())) return *fault;
  }
  const auto wait = wait_from_wire(wire);
  if (!wait) return wait.error();
  core::LeaseJobs lease;
  if (wire.has_lease_ttl()) {
    const auto ttl =
        duration_ms("lease_ttl", wire.lease_ttl(), limits::kLeaseTtlMsMin, limits::kLeaseTtlMsMax);
    if (!ttl) return ttl.error();
    lease.lease_ttl_ms = *ttl;
  } else {
    lease.lease_ttl_ms = limits::kLeaseTtlMsDefault;
  }
  lease.queues.assign(wire.queues().begin(), wire.queues().end());
  lease.session_id = wire.session_id();
  lease.worker_id = wire.worker().worker_id();
  lease.max_jobs = static_cast<std::uint32_t>(wire.max_jobs());
  lease.max_bytes = reply_bytes_from_wire(wire);
  // Answered empty before the caller's deadline, so that it never passes unanswered.
  lease.wait_ms = *wait;
  const std::int64_t left = caller.time_left_ms(now_mono_ms);
  if (left != INT64_MAX) {
    lease.wait_ms = std::clamp<std::int64_t>(left - limits::kPollDeadlineMarginMsMin, 0, *wait);
  }
  if (wire.outcomes_size() > 0) {
    lease.wait_ms = std::min(lease.wait_ms, limits::kPollWithOutcomesWaitMsMax);
  }
  lease.request_id = wire.request_id();
  lease.received_mono_ms = caller.received_mono_ms;
  lease.caller_deadline_mono_ms = caller.deadline_mono_ms;
  return lease;
}

base::Result<runtime::WorkerSeen> worker_from_wire(const v1::LeaseJobsRequest& wire,
                                                   const Caller& caller) {
  const auto& info = wire.worker();
  if (auto fault = base::check_text("worker.host", info.host(), limits::kHostBytesMax)) {
    return *fault;
  }
  if (auto fault = base::check_text("worker.version", info.version(), limits::kHostBytesMax)) {
    return *fault;
  }
  if (auto fault = base::check_text("worker.library", info.library(), limits::kHostBytesMax)) {
    return *fault;
  }
  auto labels = labels_from_wire(info.labels());
  if (!labels) return base::in_field("worker", labels.error());
  runtime::WorkerSeen seen;
  seen.info = {.worker_id = info.worker_id(),
               .host = info.host(),
               .version = info.version(),
               .labels = *std::move(labels),
               .library = info.library(),
               .concurrency = info.concurrency(),
               .process_id = info.process_id()};
  seen.name_space = caller.name_space;
  seen.session_id = wire.session_id();
  seen.principal = caller.principal;
  seen.queues.assign(wire.queues().begin(), wire.queues().end());
  return seen;
}

void lease_to_wire(core::LeaseReply& reply, std::string_view store_id, std::string_view name_space,
                   v1::LeaseJobsResponse* wire) {
  wire->mutable_jobs()->Reserve(static_cast<int>(reply.jobs.size()));
  for (const auto& job : reply.jobs) granted_to_wire(job, store_id, name_space, wire->add_jobs());
  put_duration(reply.lease_ttl_ms, wire->mutable_lease_ttl());
  put_duration(reply.granted_after_ms, wire->mutable_granted_after());
  wire->set_request_spent(reply.request_spent);
  for (const auto token : reply.cancel_tokens) {
    wire->add_cancelled_tokens(static_cast<std::int64_t>(token));
  }
}

base::Result<core::Heartbeat> heartbeat_from_wire(const v1::HeartbeatRequest& wire) {
  if (auto fault = base::check_session_id("session_id", wire.session_id())) return *fault;
  if (wire.leases_size() > limits::kHeartbeatLeasesMax) {
    return base::make_error(base::Reason::kTooManyItems,
                            std::to_string(wire.leases_size()) + " leases, limit " +
                                std::to_string(limits::kHeartbeatLeasesMax) + " a call; split it",
                            "leases");
  }
  core::Heartbeat beat;
  beat.session_id = wire.session_id();
  beat.leases.reserve(static_cast<std::size_t>(wire.leases_size()));
  for (const auto& lease : wire.leases()) {
    auto ref = lease_ref_from_wire(lease);
    // What cannot be a lease is answered like one that is lost; token 0 names none.
    beat.leases.push_back(ref ? *ref : core::LeaseRef{});
  }
  return beat;
}

void heartbeat_to_wire(const core::HeartbeatReply& reply, v1::HeartbeatResponse* wire) {
  wire->mutable_results()->Reserve(static_cast<int>(reply.items.size()));
  for (const core::HeartbeatReply::Item& item : reply.items) {
    auto* result = wire->add_results();
    if (item.beat == core::Beat::kLost) {
      result->set_status(v1::HeartbeatResult::STATUS_LOST);
      continue;
    }
    result->set_status(v1::HeartbeatResult::STATUS_RENEWED);
    result->set_cancel_requested(item.beat == core::Beat::kCancelRequested);
    put_duration(item.renewed_for_ms, result->mutable_renewed_for());
  }
}

base::Result<core::FinishJobs> finish_from_wire(v1::FinishJobsRequest* wire) {
  return outcomes_from_wire(wire->session_id(), wire->mutable_items(), "items",
                            wire->ByteSizeLong());
}

base::Result<core::FinishJobs> finish_from_wire(v1::LeaseJobsRequest* wire) {
  return outcomes_from_wire(wire->session_id(), wire->mutable_outcomes(), "outcomes",
                            wire->ByteSizeLong());
}

void finish_to_wire(const core::FinishReply& reply,
                    google::protobuf::RepeatedPtrField<v1::FinishResult>* wire) {
  wire->Reserve(static_cast<int>(reply.items.size()));
  for (const auto& item : reply.items) {
    auto* result = wire->Add();
    if (const auto* error = std::get_if<base::Error>(&item)) {
      put_item_error(*error, result->mutable_error());
      continue;
    }
    const auto& finished = std::get<core::FinishedJob>(item);
    auto* job = result->mutable_job();
    job->set_state(state_to_wire(finished.state));
    job->set_already_ended(finished.already_ended);
    job->set_outcome(outcome_to_wire(finished.recorded));
  }
}

void worker_to_wire(const runtime::WorkerSeen& seen, v1::Worker* wire) {
  auto* info = wire->mutable_info();
  info->set_worker_id(seen.info.worker_id);
  info->set_host(seen.info.host);
  info->set_version(seen.info.version);
  labels_to_wire(seen.info.labels, info->mutable_labels());
  info->set_library(seen.info.library);
  info->set_concurrency(seen.info.concurrency);
  info->set_process_id(seen.info.process_id);
  wire->set_session_id(seen.session_id);
  wire->set_principal(seen.principal);
  for (const auto& queue : seen.queues) wire->add_queues(queue);
  wire->set_parked_count(static_cast<std::int32_t>(seen.parked));
  put_time(seen.first_seen_wall_ms, wire->mutable_first_seen_time());
  put_time(seen.last_seen_wall_ms, wire->mutable_last_seen_time());
}

}  // namespace rota::rpc
