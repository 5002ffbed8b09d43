// SPDX-License-Identifier: Apache-2.0
//
// A page of the ready order: bodies and side records of one range at one read point, with the
// changes that the read may not have seen. The only place that knows how a row, its side record and
// a pointer make a waiting job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/overlay.h"
#include "core/state.h"

namespace rota::core {

struct PagedJob {
  JobKey at;   // where its row stands: at its body, or at the pointer of a changed priority
  JobKey key;  // its own
  JobState state = JobState::kReady;  // as its rows say; a leased one looks READY
  std::uint8_t priority = 0;          // the one it has now
  BodyPtr body;
  SidePtr side;  // null when it has no side record

  // Where it stands in the ready order. A READY job with a pointer has two rows; this is which of
  // them counts.
  JobKey ready_key() const { return {key.queue, priority, key.seq}; }
};

struct JobPage {
  std::string upto;  // everything below has been seen; the end of the range when all of it has
  std::vector<PagedJob> jobs;  // in key order
};

// `result` is that of a read with two scans of [begin, end): kJob, then kSide. Throws DamagedRow.
JobPage take_job_page(const Overlay& overlay, ReadResult& result, const std::string& begin,
                      const std::string& end);

// The first job key that is not below `bound`, which may be any string of bytes, as the place where
// a page ended early is.
JobKey first_job_key(const std::string& bound);

}  // namespace rota::core
