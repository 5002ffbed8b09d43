// SPDX-License-Identifier: Apache-2.0
//
// Reads schedulers and their runs beside the engine loop. Blocking reads: for reader threads only.
// Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/store.h"
#include "model/scheduler.h"
#include "rota/v1/scheduler_service.pb.h"

namespace rota::rpc {

struct SchedulerRead {
  model::Scheduler scheduler;
  model::SchedulerState state;
  core::CommitSeq at = 0;
};

// Which run records to list; times are nominal, bounds as in ListRunsRequest.
struct RunFilter {
  std::string scheduler_id;
  std::int64_t from_ms = INT64_MIN;
  std::int64_t to_ms = INT64_MAX;
  std::vector<int> outcomes;  // values of v1::Run::Outcome
  std::string business_date;
};

class SchedulerReader {
 public:
  explicit SchedulerReader(const core::ShardStore& store) : store_(store) {}

  // SCHEDULER_NOT_FOUND with the id.
  base::Result<SchedulerRead> get(const std::string& name_space, const std::string& id) const;

  // By id; `after` is the last id of the page before. Each one is handed to `take` as soon as it is
  // read; false means that it was not taken, and the next page begins with it.
  struct Page {
    std::string last;   // go on after this id
    bool more = false;  // there may be further ones
    core::CommitSeq at = 0;
  };
  using Take = std::function<bool(const SchedulerRead& read)>;
  base::Result<Page> list(const std::string& name_space, const std::string& prefix,
                          const std::string& after, int page_size, const Take& take) const;

  // Newest first; SCHEDULER_NOT_FOUND for one that neither is declared nor has left run records.
  // `before` is the position that the page before returned; empty at the start. Handed over as in
  // list(). See run_list.cc for what a page costs.
  struct Runs {
    std::string position;  // empty: the end
    core::CommitSeq at = 0;
  };
  using TakeRun = std::function<bool(const model::RunRecord& run)>;
  base::Result<Runs> runs(const std::string& name_space, const RunFilter& filter,
                          const std::string& before, int page_size, const TakeRun& take) const;

 private:
  // Declaration and state of one id, as stored at one moment.
  struct Rows {
    std::array<std::string, 2> keys;
    core::ReadResult read;
  };
  base::Result<Rows> rows(const std::string& name_space, const std::string& id) const;
  // Fills in their states, as stored at one moment.
  base::Status read_states(std::vector<SchedulerRead>* reads) const;

  const core::ShardStore& store_;
};

base::Error scheduler_not_found(const std::string& id);

}  // namespace rota::rpc
