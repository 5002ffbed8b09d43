// SPDX-License-Identifier: Apache-2.0
//
// The values of a job and their record formats.
//
// A job's record is split by how often it changes: the body holds what was given at enqueue and is
// written once; the side record holds what changed since and exists only for a job that is or was
// anything but plain READY; the final record is what retention keeps of an ended job.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"

namespace rota::model {

using Labels = std::map<std::string, std::string, std::less<>>;

// Where a job's body lies, for its whole life. Sorted: queue, then higher priority first, then
// sequence. 13 bytes as a key. The public job id is its text form (model/job_id.h).
struct JobKey {
  std::uint32_t queue = 0;    // queue number, never reused in a shard
  std::uint8_t priority = 0;  // the first priority, the one given at enqueue
  std::uint64_t seq = 0;      // dense per queue, from 1
  friend bool operator==(const JobKey&, const JobKey&) = default;
  friend std::strong_ordering operator<=>(const JobKey& a, const JobKey& b) {
    if (auto c = a.queue <=> b.queue; c != 0) return c;        // NOLINT(modernize-use-nullptr)
    if (auto c = b.priority <=> a.priority; c != 0) return c;  // NOLINT(modernize-use-nullptr)
    return a.seq <=> b.seq;
  }
  bool valid() const { return queue != 0; }
};

enum class JobState : std::uint8_t {
  kUnknown = 0,
  kScheduled = 1,  // run time or retry time not reached
  kBlocked = 2,    // waits for something named
  kReady = 3,
  kRunning = 4,
  kSucceeded = 5,
  kDead = 6,  // attempts used up, or failed as not retryable; can be redriven
  kCancelled = 7,
  kExpired = 8,  // its start deadline passed before the first grant
};
constexpr int kJobStateCount = 9;
bool is_final(JobState state);
// Each of them has a retention of its own; DEAD is left by redrive only.
inline constexpr JobState kFinalStates[] = {JobState::kSucceeded, JobState::kDead,
                                            JobState::kCancelled, JobState::kExpired};
std::string_view name_of(JobState state);
// The whole life of a job: the transitions that exist. docs/ARCHITECTURE.md draws it; a test
// compares the two. kUnknown stands for "not there": before enqueue and after removal.
bool transition_allowed(JobState from, JobState to);

enum class AttemptOutcome : std::uint8_t {
  kRunning = 0,
  kSucceeded = 1,
  kFailed = 2,
  kTimedOut = 3,  // reached the attempt timeout
  kLost = 4,      // heartbeats stopped
  kReleased = 5,  // given back by the worker; uses no attempt
  kSnoozed = 6,   // put off by the handler; uses no attempt
  kCancelled = 7,
};
std::string_view name_of(AttemptOutcome outcome);

struct RetryPolicy {
  std::uint32_t max_attempts = base::limits::kAttemptsDefault;
  std::int64_t first_ms = base::limits::kBackoffFirstMsDefault;
  double factor = base::limits::kBackoffFactorDefault;  // 1 = fixed
  std::int64_t cap_ms = base::limits::kBackoffCapMsDefault;
  double jitter = base::limits::kBackoffJitterDefault;  // share of the delay added at most, 0..1
  std::vector<std::int64_t> delays_ms;  // when not empty: used instead; the last one repeats
  std::int64_t give_up_after_ms = 0;    // 0 = no horizon; counted from the first grant
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

// "No timeout" is a named value, not 0 or -1.
inline constexpr std::int64_t kNoTimeout = INT64_MAX;

struct JobBody {
  std::string kind;
  std::string content_type;
  std::string payload;              // empty when it lies in a payload row of its own
  std::uint64_t payload_bytes = 0;  // its size wherever it lies
  bool payload_apart = false;
  Labels labels;
  std::string key_scope;  // ledger scope; meaningful with business_key only
  std::string business_key;
  std::string payload_hash;                        // SHA-256; with business_key only
  std::optional<std::int64_t> attempt_timeout_ms;  // unset: the queue's
  std::optional<RetryPolicy> retry;                // unset: the queue's
  std::int64_t run_at_ms = 0;                      // 0 = at once
  std::int64_t start_deadline_ms = 0;              // 0 = none
  std::string scheduler_id;
  std::uint64_t generation = 0;
  std::vector<std::int64_t> nominal_ms;
  std::string business_date;  // yyyy-mm-dd, local to the scheduler's zone
  std::int64_t created_ms = 0;
  std::uint64_t created_seq = 0;  // the commit that enqueued it
  std::string principal;
  std::size_t memory_bytes() const;
};

struct Failure {
  std::string type;
  std::string message;
  std::string detail;
  friend bool operator==(const Failure&, const Failure&) = default;
};

struct Attempt {
  std::uint32_t number = 0;
  std::uint64_t token = 0;
  std::string worker_id;
  std::string session_id;
  std::int64_t granted_ms = 0;
  std::uint64_t granted_seq = 0;
  std::int64_t ended_ms = 0;
  std::uint64_t ended_seq = 0;
  AttemptOutcome outcome = AttemptOutcome::kRunning;
  bool by_finish = false;  // ended by a worker's finish, so a repeat is answered already_ended
  Failure failure;
  std::string release_reason;
  std::string log_tail;
  bool result_truncated = false;
};

enum class Claim : std::uint8_t {
  kNone = 0,       // READY (or running): the side record only carries counts
  kScheduled = 1,  // due_ms says until when
  kBlocked = 2,    // blocker says for what
  kDead = 3,
  kMoved = 4,  // READY, at the pointer row of its changed priority
};

struct Blocker {
  std::uint8_t kind = 0;  // 1 = an unfinished run of a scheduler
  std::string id;
  friend bool operator==(const Blocker&, const Blocker&) = default;
};

struct Side {
  Claim claim = Claim::kNone;
  std::int64_t due_ms = 0;        // kScheduled
  bool retry_wait = false;        // kScheduled because an attempt ended, not by run_at
  Blocker blocker;                // kBlocked
  std::uint64_t waiting_seq = 0;  // the commit since which it waits (purge barrier)
  std::uint8_t priority = 0;      // current one; equals the key's unless changed
  bool priority_changed = false;
  std::optional<std::int64_t> run_at_ms;          // changed by UpdateJob
  std::optional<std::int64_t> start_deadline_ms;  // changed by UpdateJob; 0 = none
  std::uint32_t attempts = 0;                     // ordinal of the last grant; never goes back
  std::uint32_t attempts_used = 0;                // what counts against max_attempts
  std::uint32_t releases = 0;     // grants that did not count, since the last redrive
  std::uint32_t handlerless = 0;  // releases in a row for want of a handler
  std::uint32_t redrives = 0;
  std::uint64_t last_token = 0;  // the last ended one
  std::int64_t first_granted_ms = 0;
  std::int64_t ended_ms = 0;  // kDead: since when
  std::string dead_reason;
  bool cancel_requested = false;
  std::string cancel_reason;
  std::vector<Attempt> history;  // the last kAttemptHistoryMax, oldest first
  // Adds the last one. When the texts of all take more than kAttemptHistoryBytesMax, the oldest
  // lose failure.detail and log_tail first, then failure.message; the last one loses nothing.
  void remember(Attempt attempt);
  std::size_t memory_bytes() const;
};

// What retention keeps of a job that ended SUCCEEDED, CANCELLED or EXPIRED.
struct FinalRecord {
  JobState state = JobState::kUnknown;
  std::string kind;
  std::string content_type;
  Labels labels;
  std::string key_scope;
  std::string business_key;
  std::uint8_t priority = 0;
  std::string scheduler_id;
  std::uint64_t generation = 0;
  std::vector<std::int64_t> nominal_ms;
  std::string business_date;
  std::int64_t created_ms = 0;
  std::int64_t ended_ms = 0;
  std::uint64_t ended_seq = 0;
  std::uint32_t attempts = 0;
  std::uint32_t attempts_used = 0;
  std::uint32_t redrives = 0;
  bool cancel_requested = false;
  std::string reason;  // why cancelled or expired
  std::string result;
  std::string principal;
  std::vector<Attempt> history;
};

// decode(): false for damage, as for all records; what the target then holds is worth nothing.
std::string encode(const JobBody& body);
bool decode(std::string_view bytes, JobBody* body);
std::string encode(const Side& side);
bool decode(std::string_view bytes, Side* side);
// How a job ended; the rest of its final record is what its body and its side record say.
struct JobEnd {
  JobState state = JobState::kUnknown;
  std::uint8_t priority = 0;
  std::int64_t ended_ms = 0;
  std::uint64_t ended_seq = 0;
  std::string_view reason;
  std::string_view result;
};
std::string encode_final(const JobBody& body, const Side& side, const JobEnd& end);
bool decode(std::string_view bytes, FinalRecord* record);

// A row of the job keyspace is a body or a pointer; the format byte tells which. The pointer of a
// job whose priority was changed stands at its new ready key and repeats body and side record, so
// that a refill of the ready window reads one range and nothing else.
struct Pointer {
  std::uint8_t first_priority = 0;  // where the body lies
  std::string side;                 // encoded
  std::string body;                 // encoded
};
std::string encode(const Pointer& pointer);
bool decode(std::string_view bytes, Pointer* pointer);
bool is_pointer(std::string_view row);

}  // namespace rota::model
