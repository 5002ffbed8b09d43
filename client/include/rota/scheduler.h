// SPDX-License-Identifier: Apache-2.0
// Schedulers and queues as a service declares them: each node may declare the same thing at every
// start, and the server keeps one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rota/job.h"

namespace rota {

// One of `cron` and `every` is set.
struct SchedulerSpec {
  std::string id{};                // stable: the same id from every node is the same scheduler
  std::string cron{};              // 5 or 6 fields (seconds first), or @daily and its kin
  std::string time_zone{"UTC"};    // IANA name
  std::optional<Millis> every{};   // at least 1 s, aligned to the epoch
  std::string overlap{"SKIP"};     // "SKIP", "WAIT_ONE" or "ALLOW"
  std::string catch_up{"LATEST"};  // "NONE", "LATEST" or "ALL"
  int business_day_offset = 0;     // days from the local date of the tick to its business date
  JobSpec job{};                   // a business key must hold {{nominal_time}} or {{business_date}}
  std::string owner{};             // who declares it, for people
  std::int64_t revision = 0;       // a lower revision never replaces a higher one
  std::optional<Time> start{}, end{};  // no tick before start, none at or after end
};

struct Declared {
  enum What { kCreated, kUnchanged, kChanged, kOlderRevision };
  What what = kUnchanged;
  std::vector<std::string> changed{};  // the fields that changed
  std::vector<Time> next{};            // the next ticks
};

// Fields that are unset are left as they are, or as the server's defaults say for a new queue, so
// that a declaration does not undo what an operator set.
struct QueueSpec {
  std::string name{};
  std::optional<int> concurrency{};  // most jobs running at once over all workers, at least 1
  std::optional<Retry> retry{};
  std::optional<Millis> attempt_timeout{};
};

}  // namespace rota
