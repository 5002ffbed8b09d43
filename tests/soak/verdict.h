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

namespace rota::soak {

// One sentence for each promise that does not hold.
class Contradictions {
 public:
  void add(std::string text);
  bool none() const { return count_ == 0; }
  std::uint64_t count() const { return count_; }
  const std::vector<std::string>& shown() const { return shown_; }  // the first ones

 private:
  std::uint64_t count_ = 0;
  std::vector<std::string> shown_;
};

struct Figures {
  std::int64_t jobs = 0, succeeded = 0, dead = 0, attempts = 0, lost = 0;
  int most_live = 0;  // leases at once, in commit order
};

// `acknowledged` is what all clients were told, `jobs` what the server lists, `counters` what it
// counts, after the last job ended.
Figures judge(const std::vector<Acknowledged>& acknowledged, const std::vector<v1::Job>& jobs,
              const v1::QueueCounters& counters, Contradictions* contradictions);

}  // namespace rota::soak
