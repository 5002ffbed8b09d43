// SPDX-License-Identifier: Apache-2.0
#include "core/job_page.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/damage.h"
#include "model/keys.h"

namespace rota::core {

namespace keys = model::keys;
using model::Claim;

namespace {

JobState state_of(const model::Side& side) {
  switch (side.claim) {
    case Claim::kScheduled:
      return JobState::kScheduled;
    case Claim::kBlocked:
      return JobState::kBlocked;
    case Claim::kDead:
      return JobState::kDead;
    case Claim::kNone:
    case Claim::kMoved:
      break;
  }
  return JobState::kReady;
}

void set_side(PagedJob* job, std::string_view row, Keyspace keyspace, std::string_view key) {
  auto side = std::make_shared<model::Side>();
  if (!model::decode(row, side.get())) damaged_row(keyspace, std::string(key));
  job->state = state_of(*side);
  if (side->priority_changed) job->priority = side->priority;
  job->side = std::move(side);
}

void set_body(PagedJob* job, std::string_view row, std::string_view key) {
  auto body = std::make_shared<model::JobBody>();
  if (!model::decode(row, body.get())) damaged_row(Keyspace::kJob, std::string(key));
  job->body = std::move(body);
}

// What a page read of a keyspace shows below `end`, with the newer changes: both ascend.
using Shown = std::vector<std::pair<std::string_view, std::string_view>>;
Shown shown(const Overlay& overlay, Keyspace keyspace, const std::vector<Row>& rows,
            const std::string& begin, const std::string& end) {
  const Overlay::Changes changes = overlay.changes(keyspace, begin, end);
  Shown out;
  out.reserve(rows.size() + changes.size());
  auto change = changes.begin();
  const auto changes_before = [&](std::string_view key) {
    for (; change != changes.end() && change->first < key; ++change) {
      if (*change->second) out.emplace_back(change->first, **change->second);
    }
  };
  for (const auto& [key, value] : rows) {
    if (key >= end) break;
    changes_before(key);
    if (change != changes.end() && change->first == key) continue;  // its turn comes
    out.emplace_back(key, value);
  }
  changes_before(end);
  return out;
}

}  // namespace

JobPage take_job_page(const Overlay& overlay, ReadResult& result, const std::string& begin,
                      const std::string& end) {
  JobPage page;
  page.upto = end;
  for (const ScanPage& scanned : result.pages) {
    if (scanned.more) page.upto = std::min(page.upto, scanned.next);
  }
  const Shown bodies = shown(overlay, Keyspace::kJob, result.pages[0].rows, begin, page.upto);
  const Shown sides = shown(overlay, Keyspace::kSide, result.pages[1].rows, begin, page.upto);
  page.jobs.reserve(bodies.size());
  auto side = sides.begin();
  for (const auto& [key, row] : bodies) {
    const auto at = keys::parse_job(key);
    if (!at) damaged_row(Keyspace::kJob, key);
    PagedJob job;
    job.at = *at;
    if (model::is_pointer(row)) {
      model::Pointer pointer;
      if (!model::decode(row, &pointer)) damaged_row(Keyspace::kJob, key);
      job.key = {at->queue, pointer.first_priority, at->seq};
      job.priority = at->priority;
      set_body(&job, pointer.body, key);
      set_side(&job, pointer.side, Keyspace::kJob, key);
    } else {
      job.key = *at;
      job.priority = at->priority;
      set_body(&job, row, key);
      while (side != sides.end() && side->first < key) ++side;
      if (side != sides.end() && side->first == key) {
        set_side(&job, side->second, Keyspace::kSide, key);
      }
    }
    page.jobs.push_back(std::move(job));
  }
  return page;
}

JobKey first_job_key(const std::string& bound) {
  constexpr std::size_t kKeyBytes = 13;
  std::string whole = bound.substr(0, kKeyBytes);
  whole.resize(kKeyBytes, '\0');
  JobKey key = *keys::parse_job(whole);
  if (bound.size() > kKeyBytes) ++key.seq;
  return key;
}

}  // namespace rota::core
