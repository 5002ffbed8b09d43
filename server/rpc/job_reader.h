// SPDX-License-Identifier: Apache-2.0
//
// Reads jobs beside the engine loop: rows from the store, running attempts from the lease board.
//
// The board is always asked before the store is read (runtime/lease_board.h), so an attempt that
// the rows show as ended is never reported as running. Blocking reads: for reader threads only.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/store.h"
#include "rota/v1/job.pb.h"
#include "rota/v1/job_service.pb.h"
#include "rpc/convert_job.h"
#include "rpc/queue_directory.h"
#include "runtime/lease_board.h"

namespace rota::rpc {

struct JobRead {
  JobRows rows;
  core::CommitSeq at = 0;
};

class JobReader {
 public:
  JobReader(const core::ShardStore& store, const runtime::LeaseBoard& leases,
            QueueDirectory& queues)
      : store_(store), leases_(leases), queues_(queues) {}

  // JOB_NOT_FOUND when nothing of it is left or it lives in another namespace.
  base::Result<JobRead> get(const std::string& name_space, const model::JobKey& key,
                            bool with_payload) const;

  // Several jobs of one queue at one read point; those of which nothing is left are missing. All
  // are held whole: ask for few, a job takes up to 1 MiB with the results and texts of its
  // attempts.
  base::Result<std::vector<JobRead>> get_many(const model::Queue& queue,
                                              const std::vector<model::JobKey>& keys) const;

  // One page of a queue's jobs; see job_list.cc for its order. `position` is what the page before
  // returned; empty at the start, and set to empty at the end. Each job is handed to `take` as soon
  // as it is read; false means that it was not taken, and the next page begins with it.
  struct Page {
    std::string position;
    core::CommitSeq at = 0;
  };
  using Take = std::function<bool(const JobRead& job)>;
  base::Result<Page> list(const std::string& name_space, const v1::JobFilter& filter,
                          const std::string& position, int page_size, const Take& take) const;

 private:
  friend class JobLister;
  const core::ShardStore& store_;
  const runtime::LeaseBoard& leases_;
  QueueDirectory& queues_;
};

}  // namespace rota::rpc
