// SPDX-License-Identifier: Apache-2.0
//
// What an entry of the command log is made of: the fields of each struct in it, in the order of
// their declaration, and the numbers of each kind. Private to command_log.cc and its test.
//
// Nothing can be left out by mistake. A struct with a new field no longer fits its line here; a new
// kind of command or input has no number; a new enum has no last value: none of them compiles.
//
// An entry of another shape is another format: raise kLogFormat. Numbers are never reused.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <variant>

#include "core/command_log.h"

namespace rota::core {

inline constexpr std::uint8_t kLogFormat = 2;

template <class T, class Struct>
concept ConstOrNot = std::same_as<std::remove_const_t<T>, Struct>;

// fields(x): a tuple of references to all fields of x. One list of names both takes the struct
// apart, which fails when it is not complete, and makes the tuple.
#define ROTA_FIELDS(Struct, ...)      \
  template <ConstOrNot<Struct> Whole> \
  auto fields(Whole& whole) {         \
    auto& [__VA_ARGS__] = whole;      \
    return std::tie(__VA_ARGS__);     \
  }

// ---- values
ROTA_FIELDS(Now, wall_ms, mono_ms)
ROTA_FIELDS(Error, reason, field, message, meta, retry_after_ms)
ROTA_FIELDS(JobKey, queue, priority, seq)
ROTA_FIELDS(model::RetryPolicy, max_attempts, first_ms, factor, cap_ms, jitter, delays_ms,
            give_up_after_ms)
ROTA_FIELDS(model::Failure, type, message, detail)
ROTA_FIELDS(model::Retention, succeeded_ms, succeeded_count, cancelled_ms, dead_ms, ledger_ms)
ROTA_FIELDS(model::CatchUpPolicy, mode, window_ms, max_runs)
ROTA_FIELDS(model::ScheduleSpec, cron, every_ms, phase_ms, time_zone, start_ms, end_ms,
            business_day_offset)
ROTA_FIELDS(model::JobTemplate, queue, kind, content_type, payload, priority, start_within_ms,
            attempt_timeout_ms, retry, key_scope, business_key, labels)
ROTA_FIELDS(model::SchedulerSettings, spec, overlap, catch_up, job, owner)
ROTA_FIELDS(RequestTag, id, body_hash)
ROTA_FIELDS(LeaseRef, key, token)
ROTA_FIELDS(JobRequest, queue, kind, content_type, payload, priority, run_at_ms, start_deadline_ms,
            attempt_timeout_ms, retry, key_scope, business_key, payload_hash, labels, on_dead,
            invalid)
ROTA_FIELDS(WorkerOutcome, kind, result, result_truncated, failure, retryable, retry_after_ms,
            release_reason, log_tail)
ROTA_FIELDS(FinishItem, lease, outcome, invalid)
ROTA_FIELDS(QueuePatch, concurrency_limit, max_waiting, retry, attempt_timeout_ms, retention)

// ---- commands
ROTA_FIELDS(EnqueueJobs, jobs, request, bulk)
ROTA_FIELDS(UpdateJob, key, priority, run_at_ms, start_deadline_ms)
ROTA_FIELDS(CancelJob, key, reason)
ROTA_FIELDS(RedriveJob, key, request)
ROTA_FIELDS(DeleteJob, key)
ROTA_FIELDS(ExplainJob, key, max_holders)
ROTA_FIELDS(LeaseJobs, queues, session_id, worker_id, max_jobs, max_bytes, wait_ms, lease_ttl_ms,
            request_id, received_mono_ms, caller_deadline_mono_ms)
ROTA_FIELDS(Heartbeat, session_id, leases)
ROTA_FIELDS(FinishJobs, session_id, items)
ROTA_FIELDS(AbandonGrant, session_id, leases)
ROTA_FIELDS(SetQueue, queue, patch, etag, request)
ROTA_FIELDS(PauseQueue, queue, note)
ROTA_FIELDS(ResumeQueue, queue)
ROTA_FIELDS(DeleteQueue, queue)
ROTA_FIELDS(PurgeQueue, queue, request)
ROTA_FIELDS(CancelOperation, number)
ROTA_FIELDS(GetOperation, number)
ROTA_FIELDS(UpsertScheduler, id, revision, settings, etag, request, next_count)
ROTA_FIELDS(PauseScheduler, id, note)
ROTA_FIELDS(ResumeScheduler, id)
ROTA_FIELDS(DeleteScheduler, id)
ROTA_FIELDS(Command, call, principal, name_space, body, bytes)

// ---- what reads deliver
ROTA_FIELDS(Row, key, value)
ROTA_FIELDS(ScanPage, rows, more, next)
ROTA_FIELDS(ReadResult, at, values, pages)
ROTA_FIELDS(ReadDone, id, result)

// ---- entries; Drain has no fields
ROTA_FIELDS(input::Load, now)
ROTA_FIELDS(input::Apply, command, now)
ROTA_FIELDS(input::Read, read, now)
ROTA_FIELDS(input::DropCall, call)
ROTA_FIELDS(input::Committed, seq, now)
ROTA_FIELDS(input::Stalled, gap_ms, what)
ROTA_FIELDS(input::HoldTicks, hold)
ROTA_FIELDS(input::Seal, now)
ROTA_FIELDS(LogEntry, what)

#undef ROTA_FIELDS

template <class T>
concept HasFields = requires(T& t) {
  fields(t);
};

// ---- numbers
template <class Kind>
struct NumberOf;
#define ROTA_NUMBER(Kind, number) \
  template <>                     \
  struct NumberOf<Kind> : std::integral_constant<std::uint8_t, number> {};

ROTA_NUMBER(EnqueueJobs, 1)
ROTA_NUMBER(UpdateJob, 2)
ROTA_NUMBER(CancelJob, 3)
ROTA_NUMBER(RedriveJob, 4)
ROTA_NUMBER(DeleteJob, 5)
ROTA_NUMBER(ExplainJob, 6)
ROTA_NUMBER(LeaseJobs, 7)
ROTA_NUMBER(Heartbeat, 8)
ROTA_NUMBER(FinishJobs, 9)
ROTA_NUMBER(AbandonGrant, 10)
ROTA_NUMBER(SetQueue, 11)
ROTA_NUMBER(PauseQueue, 12)
ROTA_NUMBER(ResumeQueue, 13)
ROTA_NUMBER(DeleteQueue, 14)
ROTA_NUMBER(PurgeQueue, 15)
ROTA_NUMBER(CancelOperation, 16)
ROTA_NUMBER(GetOperation, 17)
ROTA_NUMBER(UpsertScheduler, 18)
ROTA_NUMBER(PauseScheduler, 19)
ROTA_NUMBER(ResumeScheduler, 20)
ROTA_NUMBER(DeleteScheduler, 21)

ROTA_NUMBER(input::Load, 1)
ROTA_NUMBER(input::Apply, 2)
ROTA_NUMBER(input::Read, 3)
ROTA_NUMBER(input::DropCall, 4)
ROTA_NUMBER(input::Committed, 5)
ROTA_NUMBER(input::Stalled, 6)
ROTA_NUMBER(input::HoldTicks, 7)
ROTA_NUMBER(input::Drain, 8)
ROTA_NUMBER(input::Seal, 9)

#undef ROTA_NUMBER

template <class Variant>
inline constexpr bool kNumbersDiffer = false;
template <class... Kinds>
inline constexpr bool kNumbersDiffer<std::variant<Kinds...>> = [] {
  bool taken[256] = {};
  bool differ = true;
  for (const std::uint8_t number : {NumberOf<Kinds>::value...}) {
    differ = differ && number != 0 && !taken[number];
    taken[number] = true;
  }
  return differ;
}();
static_assert(kNumbersDiffer<CommandBody>);
static_assert(kNumbersDiffer<EngineInput>);

// The last value of an enum whose values are 1 to last. Reasons, which may move in their table, are
// written by name.
template <class Enum>
struct LastOf;
template <>
struct LastOf<OnDead> : std::integral_constant<OnDead, OnDead::kRedrive> {};
template <>
struct LastOf<Stall> : std::integral_constant<Stall, Stall::kCommit> {};
template <>
struct LastOf<WorkerOutcome::Kind>
    : std::integral_constant<WorkerOutcome::Kind, WorkerOutcome::Kind::kReleased> {};
template <>
struct LastOf<model::Overlap> : std::integral_constant<model::Overlap, model::Overlap::kAllow> {};
template <>
struct LastOf<model::CatchUp> : std::integral_constant<model::CatchUp, model::CatchUp::kAll> {};

}  // namespace rota::core
