// SPDX-License-Identifier: Apache-2.0
// Jobs as a service describes and reads them. Values only; every member has an initialiser, so that
// {.queue = "q", .kind = "k"} compiles without warnings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rota/error.h"
#include "rota/export.h"

namespace rota {

// At most 32 pairs and 4 KiB in all.
using Labels = std::map<std::string, std::string, std::less<>>;

// Exponential back-off: attempt n + 1 waits first * factor^(n - 1), at most cap, give or take
// jitter.
struct Retry {
  int max_attempts = 5;  // 1 to 1,000; 1 means no retry
  Millis first{1'000}, cap{3'600'000};
  double factor = 2, jitter = 0.2;  // jitter is a share of the delay
  // Horizon from the first attempt: a retry that would start later ends the job instead.
  std::optional<Millis> give_up_after{};
};

enum class JobState {
  kUnknown,    // a state that this version of the library does not know
  kScheduled,  // waits for its run time or its retry time
  kBlocked,    // waits for something named
  kReady,
  kRunning,
  kSucceeded,  // this and the following are final
  kDead,       // attempts used up or failed for good; `rota job redrive` brings it back
  kCancelled,
  kExpired,  // its start deadline passed
};

// The API's name of a state, e.g. "SUCCEEDED".
ROTA_EXPORT const char* to_string(JobState state);
ROTA_EXPORT bool is_final(JobState state);

struct JobSpec {
  std::string queue{}, kind{};  // names: [A-Za-z0-9._:-]+ joined by '/', 1 to 128 bytes
  std::string payload{}, content_type{"application/json"};  // payload: 256 KiB by default
  int priority = 100;                                       // 0 to 255, higher first
  std::optional<Time> run_at{}, start_deadline{};           // up to 10 years ahead
  std::optional<Millis> attempt_timeout{};                  // 1 s to 30 days; unset: the queue's
  std::optional<Retry> retry{};                             // unset: the queue's policy
  // The user's name of one business effect: 1 to 256 bytes of UTF-8 without control characters. The
  // same key in the same queue, with the same kind and payload, is the same job. Empty: none.
  std::string business_key{};
  Labels labels{};
  // Empty: the client makes one and keeps it over its retries. Set: the job is sent in a call of
  // its own, never coalesced; refused in enqueue_bulk. 1 to 64 printable ASCII characters, kept for
  // 1 h.
  std::string request_id{};
};

struct JobRef {
  std::string id{};      // opaque
  bool existed = false;  // the business key had a job already: this is that job
  JobState state = JobState::kUnknown;
  std::optional<std::string> result{};  // of a job that succeeded, while the server keeps it
  // There is a result, and it was left out: those of one enqueue_bulk (or of what was coalesced) are
  // too large together. get() has it, or enqueue() of the same job alone.
  bool result_omitted = false;
};

// One grant of a job to one worker.
struct Attempt {
  int number = 0;
  // granted_seq and ended_seq order grants and ends as the server committed them.
  std::uint64_t fencing_token = 0, granted_seq = 0, ended_seq = 0;
  std::string worker{}, outcome{}, error{}, log_tail{};  // outcome: "SUCCEEDED", "LOST", ...
  Time start{};
  std::optional<Time> end{};
};

struct JobInfo {
  JobRef ref{};
  JobSpec spec{};
  std::vector<Attempt> attempts{};  // the last 20
  std::string why_waiting{};        // why a job that could run is not running; empty otherwise
};

}  // namespace rota
