// SPDX-License-Identifier: Apache-2.0
//
// Counts everything a store holds and compares: counters with rows, claims with their timers and
// blocked rows, grants with running jobs, business keys with their owners, schedulers with their
// jobs and runs, indexes with what they list. An independent second opinion: it knows the record
// formats and the rules, and uses nothing of the engine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/store.h"
#include "model/job.h"

namespace rota::app {

struct QueueCount {
  std::string name_space;
  std::string name;
  std::uint64_t created = 0;
  std::uint64_t removed = 0;
  std::array<std::uint64_t, model::kJobStateCount> in_state{};  // counted from rows
};

struct RecountReport {
  std::vector<QueueCount> queues;
  std::uint64_t rows = 0;
  std::uint64_t schedulers = 0;
  std::uint64_t run_records = 0;
  std::uint64_t ledger_entries = 0;
  std::uint64_t remembered_requests = 0;
  std::uint64_t live_leases = 0;
  // Each one sentence that names the row; at most kContradictionsShown of them.
  std::vector<std::string> contradictions;
  std::uint64_t contradiction_count = 0;
};
inline constexpr std::size_t kContradictionsShown = 200;

// Blocking, over a store that nobody writes. Memory grows with the number of jobs that are anything
// but plain READY, and with business keys; not with payloads. STORE_FAILED when rows cannot be
// read.
base::Result<RecountReport> recount(const core::ShardStore& store);

std::string to_text(const RecountReport& report);

}  // namespace rota::app
