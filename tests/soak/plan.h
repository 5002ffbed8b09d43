// SPDX-License-Identifier: Apache-2.0
//
// What a round is made of, all of it from its seed: which jobs are sent, and when who is killed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/seeded.h"

namespace rota::soak {

inline constexpr char kQueue[] = "soak";
inline constexpr int kLimit = 7;
inline constexpr int kLeaseTtlMs = 5'000;

// Kinds of jobs, by what the worker makes of them.
inline constexpr std::string_view kOk = "ok";          // succeeds
inline constexpr std::string_view kSlow = "slow";      // succeeds after a while
inline constexpr std::string_view kFlaky = "flaky";    // fails in its first attempt
inline constexpr std::string_view kSnooze = "snooze";  // asks for a later time in its first attempt
inline constexpr std::string_view kDoomed = "doomed";  // fails always, has two attempts
inline constexpr std::string_view kBroken = "broken";  // fails for good

inline bool must_succeed(std::string_view kind) { return kind != kDoomed && kind != kBroken; }

using support::below;
using support::Random;

struct Kill {
  double at = 0;  // share of the round's progress, 0 to 1
  bool server = false;
  int delay_ms = 0;    // after that progress was seen
  int down_ms = 0;     // of the server
  bool aimed = false;  // while clients wait for answers, which may then never come
};

// Until this share of the progress clients have jobs to send, whatever the backlog.
inline constexpr double kAimedEarly = 0.4;

// At least 5 of workers and 3 of the server, in the order of progress. One of the server is aimed
// and not later than kAimedEarly, so that answers are lost in every round.
std::vector<Kill> plan_kills(std::uint64_t seed);

struct PlannedJob {
  std::string kind;
  int priority = 100;
  int delay_ms = 0;  // of its run time
  std::string key;   // business key; the same for two clients
};

// The next job of a client. `keys` counts the keys it has used: both clients use the same ones.
PlannedJob plan_job(Random& random, int* keys);

}  // namespace rota::soak
