// SPDX-License-Identifier: Apache-2.0
//
// What may be asked of the engine, and what it answers.
//
// Commands are values: complete, validated field by field at the border (names, sizes, ranges; see
// base/names.h and base/limits.h), with names not yet resolved. What needs state (does the queue
// exist, is the key taken, is the token live) the engine decides. A refused command changes
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "core/store.h"
#include "model/job.h"
#include "model/queue.h"
#include "model/records.h"
#include "model/scheduler.h"

namespace rota::core {

using base::Error;
using base::Reason;
using model::JobKey;
using model::JobState;

// Wall time for what is stored and shown; monotonic time for leases and waits. The engine makes
// wall time never go back.
struct Now {
  std::int64_t wall_ms = 0;
  std::int64_t mono_ms = 0;
};

// Names one call for its reply; never 0, never reused in a process.
using CallId = std::uint64_t;

// ---- jobs -----------------------------------------------------------------------------------

enum class OnDead : std::uint8_t { kReturn = 1, kRedrive = 2 };

struct JobRequest {
  std::string queue;
  std::string kind;
  std::string content_type;
  std::string payload;
  std::uint8_t priority = base::limits::kPriorityDefault;
  std::int64_t run_at_ms = 0;
  std::int64_t start_deadline_ms = 0;
  std::optional<std::int64_t> attempt_timeout_ms;  // model::kNoTimeout = none
  std::optional<model::RetryPolicy> retry;
  std::string key_scope;  // empty: the queue's name
  std::string business_key;
  std::string payload_hash;  // SHA-256 of the payload; set when there is a business key
  model::Labels labels;
  OnDead on_dead = OnDead::kReturn;
  // A field that was refused at the border; this item is answered with it and changes nothing.
  std::optional<Error> invalid;
};

// Remembered for an hour: the same id with the same body gets the first answer again, with another
// body it is refused. Empty id: nothing is remembered.
struct RequestTag {
  std::string id;
  std::string body_hash;
};

// A single enqueue is a bulk of one.
struct EnqueueJobs {
  std::vector<JobRequest> jobs;
  RequestTag request;
  bool bulk = false;
};
struct EnqueuedJob {
  JobKey key;
  bool created = false;  // false: the business key's job, or a repeated request
  JobState state = JobState::kUnknown;
  std::optional<std::string> result;  // of a business effect that is done
  bool result_omitted = false;        // there is one; the call's results were too large together
};
using EnqueueItem = std::variant<EnqueuedJob, Error>;
// Of the results in one reply together: with what else belongs to a thousand jobs, it passes the
// receive limit of 4 MiB that gRPC sets unless told otherwise. A job alone always has its result.
inline constexpr std::size_t kEnqueueResultsBytesMax = 3U << 20;
static_assert(base::limits::kResultBytesMax <= kEnqueueResultsBytesMax);
struct EnqueueReply {
  std::vector<EnqueueItem> items;  // one for each job, in order
};

// Priority, run time and start deadline of a job that waits.
struct UpdateJob {
  JobKey key;
  std::optional<std::uint8_t> priority;
  std::optional<std::int64_t> run_at_ms;          // 0 = at once
  std::optional<std::int64_t> start_deadline_ms;  // 0 = none
};
struct CancelJob {
  JobKey key;
  std::string reason;
};
struct RedriveJob {
  JobKey key;
  RequestTag request{};
};
// A final job and all that is kept of it. A DEAD job gives its business key back; the ledger entry
// of an effect that is done stays.
struct DeleteJob {
  JobKey key;
};
struct JobReply {
  JobKey key;
  JobState state = JobState::kUnknown;  // kUnknown after a delete
  bool cancel_requested = false;        // still running; it ends CANCELLED unless it succeeds
};

// Why is this job not running? Changes nothing.
struct ExplainJob {
  JobKey key;
  std::uint32_t max_holders = 10;
};
enum class WhyReason : std::uint8_t {
  kFinal = 1,  // nothing more will happen
  kRunning = 2,
  kPaused = 3,          // the queue is paused
  kLimit = 4,           // the queue's concurrency limit is used up by `holders`
  kRunTime = 5,         // SCHEDULED until `until_ms`
  kRetryWait = 6,       // SCHEDULED until `until_ms` after an attempt
  kBlocked = 7,         // waits for `blocker`
  kNobodyAsks = 8,      // no worker has asked for this queue lately
  kAheadInLine = 9,     // others come first
  kStartDeadline = 10,  // its start deadline has passed: it is about to expire
  kPurging = 11,        // a purge is about to remove it
};
struct Holder {
  JobKey key;
  std::uint32_t attempt = 0;
  std::uint64_t token = 0;
  std::string worker_id;
  std::int64_t lease_left_ms = 0;
};
struct ExplainReply {
  JobKey key;
  JobState state = JobState::kUnknown;
  std::vector<WhyReason> reasons;  // the first is the one to look at
  std::string queue;
  std::int64_t until_ms = 0;
  std::int64_t start_deadline_ms = 0;
  std::string pause_note;
  std::string paused_by;
  std::uint32_t limit = 0;
  std::uint64_t running = 0;
  std::vector<Holder> holders;         // at most max_holders; for kRunning the job itself
  std::uint64_t ready = 0;             // READY jobs of the queue
  std::optional<std::uint64_t> ahead;  // how many come first, when it is known without a scan
  model::Blocker blocker;
  std::int64_t last_asked_ms_ago = -1;  // since a worker asked for the queue; -1 = never
  bool cancel_requested = false;
};

// ---- workers --------------------------------------------------------------------------------

struct LeaseJobs {
  std::vector<std::string> queues;
  std::string session_id;  // what leases belong to: random for each process
  std::string worker_id;   // a name to show
  std::uint32_t max_jobs = 1;
  std::size_t max_bytes = 8U << 20;
  std::int64_t wait_ms = 0;  // 0 = answer at once
  std::int64_t lease_ttl_ms = 30'000;
  std::string request_id;
  std::int64_t received_mono_ms = 0;  // when the call arrived
  std::int64_t caller_deadline_mono_ms = INT64_MAX;
};
struct GrantedJob {
  JobKey key;
  std::string queue;
  std::shared_ptr<const model::JobBody> body;  // its payload may lie apart: payload_apart
  std::uint32_t attempt = 0;
  std::uint32_t max_attempts = 0;
  std::uint64_t token = 0;
  std::int64_t time_left_ms = 0;  // until the attempt timeout; model::kNoTimeout = none
  std::uint8_t priority = 0;
  bool cancel_requested = false;
};
struct LeaseReply {
  std::vector<GrantedJob> jobs;  // empty is not an error: nothing to do before the wait ended
  std::int64_t lease_ttl_ms = 0;
  std::int64_t granted_after_ms = 0;  // monotonic, from receiving the call to the grant
  bool request_spent = false;  // this request id granted jobs that have all ended: use a new one
  std::vector<std::uint64_t> cancel_tokens;  // leases of this session whose cancel was requested
};

struct LeaseRef {
  JobKey key;
  std::uint64_t token = 0;
};
struct Heartbeat {
  std::string session_id;
  std::vector<LeaseRef> leases;
};
enum class Beat : std::uint8_t { kRenewed = 1, kCancelRequested = 2, kLost = 3 };
struct HeartbeatReply {
  struct Item {
    Beat beat = Beat::kLost;
    std::int64_t renewed_for_ms = 0;  // from receiving this call
  };
  std::vector<Item> items;  // one for each lease, in order
};

// What a worker says of an attempt.
struct WorkerOutcome {
  enum class Kind : std::uint8_t { kSucceeded = 1, kFailed = 2, kSnoozed = 3, kReleased = 4 };
  Kind kind = Kind::kSucceeded;
  std::string result;
  bool result_truncated = false;
  model::Failure failure;
  bool retryable = true;
  std::optional<std::int64_t> retry_after_ms;  // failed, snoozed: instead of the back-off
  std::string release_reason;  // NO_HANDLER, STILL_RUNNING_HERE: put off; else at once
  std::string log_tail;
};
struct FinishItem {
  LeaseRef lease;
  WorkerOutcome outcome;
  std::optional<Error> invalid;
};
struct FinishJobs {
  std::string session_id;  // who reports; the token authorises, whichever session holds the lease
  std::vector<FinishItem> items;
};
struct FinishedJob {
  JobState state = JobState::kUnknown;  // what the job is now
  bool already_ended = false;           // a repeat; nothing changed
  model::AttemptOutcome recorded = model::AttemptOutcome::kRunning;
};
struct FinishReply {
  std::vector<std::variant<FinishedJob, Error>> items;
};

// The caller of a lease call is gone before its answer was handed to the transport: what it was
// granted goes back without using an attempt. No reply.
struct AbandonGrant {
  std::string session_id;
  std::vector<LeaseRef> leases;
};

// ---- queues ---------------------------------------------------------------------------------

// Unset fields keep what is (a new queue: the default).
struct QueuePatch {
  std::optional<std::optional<std::uint32_t>> concurrency_limit;
  std::optional<std::optional<std::uint64_t>> max_waiting;
  std::optional<model::RetryPolicy> retry;
  std::optional<std::int64_t> attempt_timeout_ms;
  std::optional<model::Retention> retention;
};
struct SetQueue {
  std::string queue;
  QueuePatch patch;
  std::string etag;  // empty: whatever it is now
  RequestTag request;
};
struct PauseQueue {
  std::string queue;
  std::string note;
};
struct ResumeQueue {
  std::string queue;
};
struct DeleteQueue {
  std::string queue;
};
struct QueueReply {
  model::Queue queue;
  model::QueueCounters counters;
  bool created = false;
  bool changed = false;
  std::optional<model::Queue> before;  // when changed
};
// Removes what waits now; jobs enqueued meanwhile survive. Answered with the operation that does
// it.
struct PurgeQueue {
  std::string queue;
  RequestTag request;
};
struct CancelOperation {
  std::uint64_t number = 0;
};
struct GetOperation {
  std::uint64_t number = 0;
};
struct OperationReply {
  model::Operation operation;
};

// ---- schedulers -----------------------------------------------------------------------------

struct UpsertScheduler {
  std::string id;
  std::int64_t revision = 0;
  model::SchedulerSettings settings;
  std::string etag;
  RequestTag request;
  std::uint32_t next_count = 3;  // how many next times to answer with
};
struct PauseScheduler {
  std::string id;
  std::string note;
};
struct ResumeScheduler {
  std::string id;
};
struct DeleteScheduler {
  std::string id;
};
enum class Declared : std::uint8_t {
  kCreated = 1,
  kUnchanged = 2,
  kChanged = 3,
  kOlderRevision = 4,
};
struct SchedulerReply {
  model::Scheduler scheduler;
  model::SchedulerState state;
  Declared declared = Declared::kUnchanged;
  std::vector<std::string> changed;   // field names
  std::vector<std::int64_t> next_ms;  // the next ticks, strictly after now
};

// ---------------------------------------------------------------------------------------------

using CommandBody =
    std::variant<EnqueueJobs, UpdateJob, CancelJob, RedriveJob, DeleteJob, ExplainJob, LeaseJobs,
                 Heartbeat, FinishJobs, AbandonGrant, SetQueue, PauseQueue, ResumeQueue,
                 DeleteQueue, PurgeQueue, CancelOperation, GetOperation, UpsertScheduler,
                 PauseScheduler, ResumeScheduler, DeleteScheduler>;

struct Command {
  CallId call = 0;
  std::string principal = "local";
  std::string name_space = "default";  // exists: checked at the border
  CommandBody body;
  std::size_t bytes = 0;  // about what it holds in memory; counts while it waits for rows
};

using ReplyBody =
    std::variant<Error, EnqueueReply, JobReply, ExplainReply, LeaseReply, HeartbeatReply,
                 FinishReply, QueueReply, OperationReply, SchedulerReply>;

// True for what lets work end (finish, heartbeat, release, cancel): refused last.
bool is_closing(const CommandBody& body);

}  // namespace rota::core
