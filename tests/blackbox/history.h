// SPDX-License-Identifier: Apache-2.0
//
// What a run of the black box did and saw: every invocation with its answer, every execution of a
// handler, and what the server lists when all is over. Append-only; each actor writes its own part
// and the parts are joined at the end. An invocation without an answer stays open.
//
// All times are CLOCK_MONOTONIC in nanoseconds, which is one clock for all processes of the
// machine. A `seq` is a commit_seq of the server.
#pragma once

#include <climits>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rota/v1/job.pb.h"
#include "rota/v1/queue.pb.h"
#include "rota/v1/scheduler.pb.h"

namespace rota::blackbox {

using Seq = std::int64_t;
using Ns = std::int64_t;

inline constexpr Ns kNever = INT64_MAX;
Ns mono_ns();
std::int64_t ms_of(const google::protobuf::Timestamp& time);

// One invocation. Tries with one request id are one invocation; tries without are several.
struct Call {
  enum class Answer { kOpen, kDone, kRefused };
  Ns invoked = 0;
  Ns replied = kNever;  // while open
  int tries = 0;
  Answer answer = Answer::kOpen;
  Seq seq = 0;           // of an answer that is no refusal
  std::string reason{};  // of a refusal

  bool done() const { return answer == Answer::kDone; }
  bool refused() const { return answer == Answer::kRefused; }
  bool open() const { return answer == Answer::kOpen; }
};

// The reason of a call that was never carried out, since the server was away or full.
inline constexpr char kNotNow[] = "NOT_NOW";
// Of a call about a job that is there no more. An update may have been carried out before: its
// answer shows the job as it is afterwards.
inline constexpr char kGone[] = "JOB_NOT_FOUND";

// One job of an enqueue call.
struct Enqueue {
  Call call{};
  std::string op{};  // unique; stands in the job's labels, and so tells whose a listed job is
  std::string queue{}, kind{}, key{}, payload{};
  int priority = 100, max_attempts = 1;
  bool delayed = false;
  std::int64_t run_at_ms = 0, deadline_ms = 0;  // in the server's time; 0: none
  bool too_late = false;                        // its deadline had passed when it was refused
  std::string job{};                            // as answered
  bool created = false;
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
};

struct JobCall {
  enum class Kind { kCancel, kRedrive, kUpdate, kDelete };
  Call call{};
  Kind kind = Kind::kCancel;
  std::string job{};
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;  // as answered to a cancel or a redrive
  // What an update sets, times in the server's time; 0: none.
  std::optional<int> priority{};
  std::optional<std::int64_t> run_at_ms{}, deadline_ms{};
};

struct JobRead {
  Call call{};
  std::string job{};
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  int redrives = 0;
};

struct QueueCall {
  enum class Kind { kPause, kResume, kLimit, kPurge };
  Call call{};
  Kind kind = Kind::kPause;
  std::string queue{};
  int limit = 0;            // kLimit; 0: none
  std::string operation{};  // kPurge, as answered
};

// An operation as the server shows it in the end.
struct OperationRecord {
  v1::Operation::State state = v1::Operation::STATE_UNSPECIFIED;
  std::int64_t removed = 0;
};

// A queue whose jobs leave without having been read as final: no record of them is left.
struct Leaving {
  bool purged = false;               // it is, now and then
  std::int64_t keeps_succeeded = 0;  // so many SUCCEEDED jobs, no CANCELLED or EXPIRED; 0: all
};

struct QueueRead {
  Call call{};
  std::string queue{};
  v1::QueueCounters counters{};
};

struct Granted {
  std::string job{}, queue{};
  std::int64_t token = 0;
  int attempt = 0;
};

// One answer to a lease call; tries with one request id are several of these.
struct Lease {
  Call call{};
  std::string session{}, request{};
  int max_jobs = 0;
  std::int64_t epoch = 0;
  bool repeat = false;  // an earlier try with this request id went unanswered or was answered
  bool spent = false;
  std::vector<Granted> granted{};
};

// One item of a finish. Tries are several of these.
struct Finish {
  Call call{};
  std::string session{}, job{}, queue{}, result{};
  std::int64_t token = 0, epoch = 0;
  v1::AttemptOutcome outcome = v1::ATTEMPT_OUTCOME_UNSPECIFIED;   // as reported
  v1::AttemptOutcome recorded = v1::ATTEMPT_OUTCOME_UNSPECIFIED;  // as answered
  bool already_ended = false;
};

struct Beat {
  Call call{};
  std::int64_t token = 0, epoch = 0;
  bool renewed = false;
};

// One run of a handler in a worker of the library.
struct Execution {
  std::string worker{}, job{};
  std::int64_t token = 0;
  int attempt = 0;
  Ns began = 0;
  Ns told = kNever;      // asked to stop
  Ns ended = kNever;     // returned, or its process was alive for the last time
  std::string result{};  // of a success; else empty
  bool returned = false;
};

// A worker process that did not run, because it was stopped or the machine had no time for it.
struct Standstill {
  std::string worker{};
  Ns from = 0, to = kNever;
};

struct AttemptRecord {
  int number = 0;
  std::int64_t token = 0;
  std::string worker{}, session{};
  Seq granted = 0, ended = 0;
  v1::AttemptOutcome outcome = v1::ATTEMPT_OUTCOME_UNSPECIFIED;
  std::int64_t start_ms = 0;
};

// A job as the server lists it in the end.
struct JobRecord {
  std::string id{}, op{}, queue{}, kind{}, key{}, result{}, scheduler{};
  int priority = 0, max_attempts = 0;
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  int attempt_count = 0, attempts_used = 0, redrives = 0;
  bool cancel_requested = false;
  // The server's own times; 0: none. What a final job was to keep is shown of DEAD ones only.
  std::int64_t run_at_ms = 0, deadline_ms = 0, nominal_ms = 0, finish_ms = 0;
  std::int64_t generation = 0;            // of its scheduler
  std::vector<AttemptRecord> attempts{};  // the last 20, in order

  // Of one that is listed no more, and was read as final before: at which commit.
  Seq read_at = 0;
  bool left = false;
  bool stale = false;  // it may have gone on since
};

struct RunRecord {
  std::string scheduler{}, job{}, reason{};
  std::int64_t generation = 0;
  std::int64_t first_ms = 0, last_ms = 0;  // nominal times
  std::int64_t ticks = 0;
  v1::Run::Outcome outcome = v1::Run::OUTCOME_UNSPECIFIED;
};

// What was declared of a scheduler that ticks at an interval.
struct Ticking {
  std::string scheduler{};
  std::int64_t every_ms = 0;
  bool may_overlap = false;  // overlap policy ALLOW, else SKIP or WAIT_ONE
  bool catches_all = false;  // catch-up policy ALL, else LATEST
  // Between these it had to tick; the server's own times.
  std::int64_t created_ms = 0, paused_ms = 0;
};

// What several nodes make of one scheduler.
struct SchedulerCall {
  enum class Kind { kDeclare, kPause, kResume, kDelete, kRead };
  enum class Result { kNone, kCreated, kUnchanged, kChanged, kOlder };
  Call call{};
  Kind kind = Kind::kDeclare;
  std::string scheduler{};
  std::int64_t revision = 0, every_ms = 0;  // as sent; of a read, as answered
  Result result = Result::kNone;
  // As answered; of a call that was sent once only, since a repeat shows what is now. 0: not known.
  std::int64_t generation = 0;
  std::int64_t at_ms = 0;  // when it came into force; of a creation and of a pause, too
  bool paused = false;     // as read
};

struct History {
  std::deque<Enqueue> enqueues{};  // deques: what was begun stays in place until it is answered
  std::deque<JobCall> job_calls{};
  std::deque<JobRead> job_reads{};
  std::deque<QueueCall> queue_calls{};
  std::deque<QueueRead> queue_reads{};
  std::deque<SchedulerCall> scheduler_calls{};
  std::deque<JobRecord> seen{};  // jobs as they were read, when they were final
  std::deque<Lease> leases{};
  std::deque<Finish> finishes{};
  std::deque<Beat> beats{};
  std::deque<Execution> executions{};
  std::deque<Standstill> standstills{};

  // After the end.
  std::vector<JobRecord> jobs{};
  std::map<std::string, v1::QueueCounters> totals{};  // by queue
  std::map<std::string, Leaving> leaving{};           // by queue
  std::map<std::string, OperationRecord> operations{};
  std::vector<Ticking> schedulers{};
  std::vector<RunRecord> runs{};
  std::set<std::string> edited{};  // schedulers, by scheduler_calls
  bool clock_steps = false;        // then the server may hold back what goes by age, for an hour

  // Takes all of `part`.
  void join(History&& part);
  // When all is listed: adds to `jobs` those of `seen` that are listed no more, as last read.
  void add_left();
};

JobRecord record_of(const v1::Job& job);
RunRecord record_of(const v1::Run& run);

// The label under which an Enqueue::op stands in its job.
inline constexpr char kOpLabel[] = "op";

}  // namespace rota::blackbox
