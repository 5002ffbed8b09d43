// SPDX-License-Identifier: Apache-2.0
//
// The values of a scheduler: what was declared, what the engine keeps about it, and run records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "model/job.h"

namespace rota::model {

enum class Overlap : std::uint8_t {
  kSkip = 1,
  kWaitOne = 2,
  kAllow = 3,
  // WAIT_ALL, MERGE and CANCEL_RUNNING come later; numbers are never reused
};
enum class CatchUp : std::uint8_t { kNone = 1, kLatest = 2, kAll = 3 };

std::string_view name_of(Overlap overlap);
std::string_view name_of(CatchUp catch_up);

struct CatchUpPolicy {
  CatchUp mode = CatchUp::kLatest;
  std::int64_t window_ms = base::limits::kCatchUpWindowMsDefault;
  std::uint32_t max_runs = base::limits::kCatchUpRunsDefault;
  friend bool operator==(const CatchUpPolicy&, const CatchUpPolicy&) = default;
};

// When it ticks. Exactly one of cron and every_ms is set.
struct ScheduleSpec {
  std::string cron;
  std::int64_t every_ms = 0;
  std::int64_t phase_ms = 0;
  std::string time_zone = "UTC";
  std::optional<std::int64_t> start_ms;  // inclusive
  std::optional<std::int64_t> end_ms;    // exclusive
  std::int32_t business_day_offset = 0;
  friend bool operator==(const ScheduleSpec&, const ScheduleSpec&) = default;
};

// The job a tick creates. Text may hold {{nominal_time}} and {{business_date}}.
struct JobTemplate {
  std::string queue;  // by name; a queue that a scheduler names is not deleted
  std::string kind;
  std::string content_type = "application/json";
  std::string payload;
  std::uint8_t priority = base::limits::kPriorityDefault;
  std::int64_t start_within_ms = 0;  // start deadline, counted from the nominal time; 0 = none
  std::optional<std::int64_t> attempt_timeout_ms;
  std::optional<RetryPolicy> retry;
  std::string key_scope;
  std::string business_key;
  Labels labels;
  friend bool operator==(const JobTemplate&, const JobTemplate&) = default;
};

// What a declaration sets; two declarations that compare equal change nothing.
struct SchedulerSettings {
  ScheduleSpec spec;
  Overlap overlap = Overlap::kSkip;
  CatchUpPolicy catch_up;
  JobTemplate job;
  std::string owner;
  friend bool operator==(const SchedulerSettings&, const SchedulerSettings&) = default;
};

struct Scheduler {
  std::string name_space;
  std::string id;
  std::uint64_t generation = 0;  // changes only by delete and create
  std::int64_t revision = 0;
  SchedulerSettings settings;
  bool paused = false;
  std::string pause_note;
  std::string paused_by;
  std::int64_t paused_ms = 0;
  std::int64_t created_ms = 0;
  std::int64_t updated_ms = 0;
  std::uint64_t version = 1;
};

// Kept over all generations of an id, also after a delete, until nothing of it is unfinished.
struct SchedulerState {
  std::int64_t cursor_ms = 0;    // the last processed nominal tick; the next is computed from it
  std::uint64_t unfinished = 0;  // jobs of this id that have not ended
  JobKey waiting;                // WAIT_ONE: the job that waits for the others
  JobKey last_job;               // the newest one created
  std::int64_t last_nominal_ms = 0;
  std::uint64_t runs = 0;  // run records kept
  std::int64_t runs_swept_ms = 0;
};

enum class RunOutcome : std::uint8_t { kFired = 1, kMerged = 2, kSkipped = 3, kMissed = 4 };
std::string_view name_of(RunOutcome outcome);

// Covers one tick that fired, or neighbouring ticks that did not for one reason.
struct RunRecord {
  std::uint64_t generation = 0;
  std::int64_t first_nominal_ms = 0;
  std::int64_t last_nominal_ms = 0;
  std::uint64_t count = 1;
  bool count_is_lower_bound = false;
  RunOutcome outcome = RunOutcome::kFired;
  std::string reason;
  JobKey job;  // fired: its job; skipped: the run it ran into
  std::int64_t processed_ms = 0;
  std::uint64_t seq = 0;      // the commit of this record
  std::string business_date;  // of the first tick
  std::string principal;
};

std::string encode(const Scheduler& v);
bool decode(std::string_view bytes, Scheduler* v);
std::string encode(const SchedulerState& v);
bool decode(std::string_view bytes, SchedulerState* v);
std::string encode(const RunRecord& v);
bool decode(std::string_view bytes, RunRecord* v);

}  // namespace rota::model
