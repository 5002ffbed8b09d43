// SPDX-License-Identifier: Apache-2.0
//
// What must hold after a round, whatever was killed meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rota/v1/job.pb.h"
#include "rota/v1/queue.pb.h"
#include "soak/submitter.h"
#include "support/contradictions.h"

namespace rota::soak {

using support::Contradictions;

// What was done to a round. A round without its faults shows nothing.
struct Conduct {
  int planned_worker_kills = 0, planned_server_kills = 0;
  int worker_kills = 0, server_kills = 0;  // that ended a running process
  std::int64_t unknown = 0;                // calls whose answer never came
  std::int64_t repeated = 0;               // of them, answered when sent again
};

inline constexpr int kLeastWorkerKills = 5, kLeastServerKills = 3;

struct Figures {
  std::int64_t jobs = 0, succeeded = 0, dead = 0, attempts = 0, lost = 0;
  int most_live = 0;  // leases at once, in commit order
};

// `acknowledged` is what all clients were told, `jobs` what the server lists, `counters` what it
// counts, after the last job ended.
Figures judge(const std::vector<Acknowledged>& acknowledged, const std::vector<v1::Job>& jobs,
              const v1::QueueCounters& counters, Contradictions* contradictions);

// Whether the round was one: the limit was reached, every planned kill struck, answers were lost
// and asked for again.
void judge_conduct(const Conduct& conduct, const Figures& figures, Contradictions* contradictions);

}  // namespace rota::soak
