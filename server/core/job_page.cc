// SPDX-License-Identifier: Apache-2.0
#include "core/job_page.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

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

void set_side(PagedJob* job, std::string_view row, Keyspace keyspace, const std::string& key) {
  auto side = std::make_shared<model::Side>();
  if (!model::decode(row, side.get())) damaged_row(keyspace, key);
  job->state = state_of(*side);
  if (side->priority_changed) job->priority = side->priority;
  job->side = std::move(side);
}

void set_body(PagedJob* job, std::string_view row, const std::string& key) {
  auto body = std::make_shared<model::JobBody>();
  if (!model::decode(row, body.get())) damaged_row(Keyspace::kJob, key);
  job->body = std::move(body);
}

}  // namespace

JobPage take_job_page(const Overlay& overlay, ReadResult& result, const std::string& begin,
                      const std::string& end) {
  JobPage page;
  page.upto = end;
  for (const ScanPage& scanned : result.pages) {
    if (scanned.more) page.upto = std::min(page.upto, scanned.next);
  }
  std::map<std::string, std::string> bodies;
  std::map<std::string, std::string> sides;
  for (Row& row : result.pages[0].rows) bodies.insert(std::move(row));
  for (Row& row : result.pages[1].rows) sides.insert(std::move(row));
  overlay.overlay(Keyspace::kJob, begin, page.upto, &bodies);
  overlay.overlay(Keyspace::kSide, begin, page.upto, &sides);

  for (const auto& [key, row] : bodies) {
    if (key >= page.upto) break;
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
      if (auto s = sides.find(key); s != sides.end()) {
        set_side(&job, s->second, Keyspace::kSide, key);
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
