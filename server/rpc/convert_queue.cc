// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_queue.h"

#include <charconv>
#include <set>

#include "base/duration.h"
#include "base/limits.h"
#include "base/names.h"
#include "base/utf8.h"
#include "rpc/convert_policy.h"
#include "rpc/convert_time.h"

namespace rota::rpc {
namespace {

namespace limits = base::limits;
using core::QueuePatch;
using model::JobState;

std::optional<Error> read_age(const char* field, bool given, const google::protobuf::Duration& wire,
                              std::int64_t* out) {
  if (!given) return std::nullopt;
  const std::string path = std::string("retention.") + field;
  const auto ms = duration_ms(path, wire, 0, limits::kRetentionAgeMsMax);
  if (!ms) return ms.error();
  if (*ms != 0) {
    if (auto fault = base::check_duration(path, *ms, limits::kRetentionAgeMsMin,
                                          limits::kRetentionAgeMsMax)) {
      fault->message += ", or 0s to keep nothing";
      return fault;
    }
  }
  *out = *ms;
  return std::nullopt;
}

Result<model::Retention> retention_from_wire(const v1::RetentionPolicy& wire) {
  model::Retention retention;
  if (auto fault = read_age("succeeded_age", wire.has_succeeded_age(), wire.succeeded_age(),
                            &retention.succeeded_ms)) {
    return *fault;
  }
  if (wire.has_succeeded_count()) {
    if (wire.succeeded_count() < 0) {
      return base::invalid_field("retention.succeeded_count", "negative; 0 keeps none");
    }
    retention.succeeded_count = static_cast<std::uint64_t>(wire.succeeded_count());
  }
  if (auto fault = read_age("cancelled_age", wire.has_cancelled_age(), wire.cancelled_age(),
                            &retention.cancelled_ms)) {
    return *fault;
  }
  if (auto fault = read_age("dead_age", wire.has_dead_age(), wire.dead_age(), &retention.dead_ms)) {
    return *fault;
  }
  if (wire.ledger_forever() && wire.has_ledger_age()) {
    return base::invalid_field("retention.ledger_forever", "not together with ledger_age");
  }
  if (auto fault =
          read_age("ledger_age", wire.has_ledger_age(), wire.ledger_age(), &retention.ledger_ms)) {
    return *fault;
  }
  if (wire.ledger_forever()) retention.ledger_ms = model::kForever;
  return retention;
}

std::optional<Error> patch_limit(const v1::QueueSettings& wire, QueuePatch* patch) {
  std::optional<std::uint32_t> limit;
  if (wire.has_concurrency_limit()) {
    if (wire.concurrency_limit() == 0) {
      return base::invalid_field("concurrency_limit",
                                 "0 is no limit; pause the queue to let nothing run");
    }
    if (auto fault = base::check_range("concurrency_limit", wire.concurrency_limit(),
                                       limits::kConcurrencyMin, limits::kConcurrencyMax)) {
      return fault;
    }
    limit = static_cast<std::uint32_t>(wire.concurrency_limit());
  }
  patch->concurrency_limit = limit;
  return std::nullopt;
}

std::optional<Error> patch_max_waiting(const v1::QueueSettings& wire, QueuePatch* patch) {
  std::optional<std::uint64_t> most;
  if (wire.has_max_waiting()) {
    if (auto fault = base::check_range("max_waiting", wire.max_waiting(), 1, INT64_MAX)) {
      return fault;
    }
    most = static_cast<std::uint64_t>(wire.max_waiting());
  }
  patch->max_waiting = most;
  return std::nullopt;
}

std::optional<Error> patch_timeout(const v1::QueueSettings& wire, QueuePatch* patch) {
  const auto timeout = attempt_timeout_from_wire(wire.has_attempt_timeout(), wire.attempt_timeout(),
                                                 wire.no_attempt_timeout());
  if (!timeout) return timeout.error();
  patch->attempt_timeout_ms = timeout->value_or(limits::kAttemptTimeoutMsDefault);
  return std::nullopt;
}

std::optional<Error> patch_field(const std::string& path, const v1::QueueSettings& wire,
                                 QueuePatch* patch) {
  if (path == "concurrency_limit") return patch_limit(wire, patch);
  if (path == "max_waiting") return patch_max_waiting(wire, patch);
  if (path == "attempt_timeout" || path == "no_attempt_timeout") return patch_timeout(wire, patch);
  if (path == "retry") {
    auto retry = retry_from_wire(wire.retry());
    if (!retry) return retry.error();
    patch->retry = *std::move(retry);
    return std::nullopt;
  }
  if (path == "retention") {
    auto retention = retention_from_wire(wire.retention());
    if (!retention) return retention.error();
    patch->retention = *std::move(retention);
    return std::nullopt;
  }
  return base::invalid_field("update_mask",
                             "unknown path " + base::quoted(path) +
                                 "; there are concurrency_limit, max_waiting, attempt_timeout, "
                                 "no_attempt_timeout, retry, retention");
}

std::set<std::string> paths_of(const v1::SetQueueRequest& wire) {
  std::set<std::string> paths(wire.update_mask().paths().begin(), wire.update_mask().paths().end());
  const auto& settings = wire.settings();
  if (paths.empty()) {
    if (settings.has_concurrency_limit()) paths.insert("concurrency_limit");
    if (settings.has_max_waiting()) paths.insert("max_waiting");
    if (settings.has_attempt_timeout() || settings.no_attempt_timeout()) {
      paths.insert("attempt_timeout");
    }
    if (settings.has_retry()) paths.insert("retry");
    if (settings.has_retention()) paths.insert("retention");
  }
  if (paths == std::set<std::string>{"*"}) {
    paths = {"concurrency_limit", "max_waiting", "attempt_timeout", "retry", "retention"};
  }
  return paths;
}

void settings_to_wire(const model::QueueSettings& settings, v1::QueueSettings* wire) {
  if (settings.concurrency_limit) {
    wire->set_concurrency_limit(static_cast<std::int32_t>(*settings.concurrency_limit));
  }
  if (settings.max_waiting) {
    wire->set_max_waiting(static_cast<std::int64_t>(*settings.max_waiting));
  }
  retry_to_wire(settings.retry, wire->mutable_retry());
  if (settings.attempt_timeout_ms == model::kNoTimeout) {
    wire->set_no_attempt_timeout(true);
  } else {
    put_duration(settings.attempt_timeout_ms, wire->mutable_attempt_timeout());
  }
  const auto& kept = settings.retention;
  auto* retention = wire->mutable_retention();
  put_duration(kept.succeeded_ms, retention->mutable_succeeded_age());
  retention->set_succeeded_count(static_cast<std::int64_t>(kept.succeeded_count));
  put_duration(kept.cancelled_ms, retention->mutable_cancelled_age());
  put_duration(kept.dead_ms, retention->mutable_dead_age());
  if (kept.ledger_ms == model::kForever) {
    retention->set_ledger_forever(true);
  } else {
    put_duration(kept.ledger_ms, retention->mutable_ledger_age());
  }
}

std::int64_t count_of(const model::QueueCounters& counters, JobState state) {
  return static_cast<std::int64_t>(counters.of(state));
}

template <class T>
std::string number_text(const std::optional<T>& value) {
  return value ? std::to_string(*value) : std::string();
}
std::string timeout_text(std::int64_t ms) {
  return ms == model::kNoTimeout ? "none" : base::format_duration(ms);
}
std::string retry_text(const model::RetryPolicy& retry) {
  std::string text = std::to_string(retry.max_attempts) + " attempts, ";
  if (!retry.delays_ms.empty()) {
    text += std::to_string(retry.delays_ms.size()) + " listed delays";
  } else {
    text += "first after " + base::format_duration(retry.first_ms);
    if (retry.factor != 1.0) {
      text +=
          ", factor " + short_number(retry.factor) + ", cap " + base::format_duration(retry.cap_ms);
    }
  }
  text += ", jitter " + short_number(retry.jitter);
  if (retry.give_up_after_ms > 0) {
    text += ", given up after " + base::format_duration(retry.give_up_after_ms);
  }
  return text;
}
std::string retention_text(const model::Retention& kept) {
  return "succeeded " + base::format_duration(kept.succeeded_ms) + " and " +
         std::to_string(kept.succeeded_count) + ", cancelled " +
         base::format_duration(kept.cancelled_ms) + ", dead " +
         base::format_duration(kept.dead_ms) + ", ledger " +
         (kept.ledger_ms == model::kForever ? "for ever" : base::format_duration(kept.ledger_ms));
}

}  // namespace

base::Result<core::QueuePatch> queue_patch_from_wire(const v1::SetQueueRequest& wire) {
  QueuePatch patch;
  for (const auto& path : paths_of(wire)) {
    if (auto fault = patch_field(path, wire.settings(), &patch)) return *fault;
  }
  return patch;
}

std::string etag_of(std::uint64_t version) { return std::to_string(version); }

void queue_to_wire(const model::Queue& queue, const model::QueueCounters& counters,
                   v1::Queue* wire) {
  wire->set_name(queue.name);
  settings_to_wire(queue.settings, wire->mutable_settings());
  if (queue.paused) {
    auto* pause = wire->mutable_pause();
    pause->set_note(queue.pause_note);
    pause->set_principal(queue.paused_by);
    put_time(queue.paused_ms, pause->mutable_pause_time());
  }
  auto* out = wire->mutable_counters();
  out->set_created(static_cast<std::int64_t>(counters.created));
  out->set_scheduled(count_of(counters, JobState::kScheduled));
  out->set_blocked(count_of(counters, JobState::kBlocked));
  out->set_ready(count_of(counters, JobState::kReady));
  out->set_running(count_of(counters, JobState::kRunning));
  out->set_succeeded(count_of(counters, JobState::kSucceeded));
  out->set_dead(count_of(counters, JobState::kDead));
  out->set_cancelled(count_of(counters, JobState::kCancelled));
  out->set_expired(count_of(counters, JobState::kExpired));
  out->set_removed(static_cast<std::int64_t>(counters.removed));
  put_time(queue.created_ms, wire->mutable_create_time());
  put_time(queue.updated_ms, wire->mutable_update_time());
  wire->set_etag(etag_of(queue.version));
}

void queue_changes_to_wire(const model::QueueSettings& before, const model::QueueSettings& after,
                           google::protobuf::RepeatedPtrField<v1::FieldChange>* wire) {
  const auto add = [wire](const char* field, std::string old_text, std::string new_text) {
    auto* change = wire->Add();
    change->set_field(field);
    change->set_before(std::move(old_text));
    change->set_after(std::move(new_text));
  };
  if (before.concurrency_limit != after.concurrency_limit) {
    add("concurrency_limit", number_text(before.concurrency_limit),
        number_text(after.concurrency_limit));
  }
  if (before.max_waiting != after.max_waiting) {
    add("max_waiting", number_text(before.max_waiting), number_text(after.max_waiting));
  }
  if (before.attempt_timeout_ms != after.attempt_timeout_ms) {
    add("attempt_timeout", timeout_text(before.attempt_timeout_ms),
        timeout_text(after.attempt_timeout_ms));
  }
  if (before.retry != after.retry) {
    add("retry", retry_text(before.retry), retry_text(after.retry));
  }
  if (before.retention != after.retention) {
    add("retention", retention_text(before.retention), retention_text(after.retention));
  }
}

std::string operation_id(std::uint64_t number) { return "op" + std::to_string(number); }

base::Error operation_not_found(const std::string& id) {
  auto error = base::make_error(base::Reason::kOperationNotFound,
                                "no operation " + base::quoted(id) + ", or it ended long ago",
                                "operation_id");
  error.meta["operationId"] = id;
  return error;
}

base::Result<std::uint64_t> operation_from_wire(const std::string& id) {
  if (id.empty()) return base::make_error(base::Reason::kMissingField, "empty", "operation_id");
  std::uint64_t number = 0;
  if (id.size() < 3 || id.compare(0, 2, "op") != 0) return operation_not_found(id);
  const auto* end = id.data() + id.size();
  const auto [stop, fault] = std::from_chars(id.data() + 2, end, number);
  if (fault != std::errc() || stop != end || operation_id(number) != id) {
    return operation_not_found(id);
  }
  return number;
}

void operation_to_wire(const model::Operation& operation, v1::Operation* wire) {
  wire->set_id(operation_id(operation.number));
  wire->set_type(v1::Operation::TYPE_PURGE_QUEUE);
  if (!operation.done) {
    wire->set_state(v1::Operation::STATE_RUNNING);
  } else {
    wire->set_state(operation.cancelled ? v1::Operation::STATE_CANCELLED
                                        : v1::Operation::STATE_SUCCEEDED);
  }
  wire->set_queue(operation.queue_name);
  wire->set_removed_count(static_cast<std::int64_t>(operation.removed));
  put_time(operation.created_ms, wire->mutable_create_time());
  if (operation.ended_ms != 0) put_time(operation.ended_ms, wire->mutable_finish_time());
  wire->set_principal(operation.principal);
}

}  // namespace rota::rpc
