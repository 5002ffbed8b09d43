// SPDX-License-Identifier: Apache-2.0
//
// Refill of a queue's ready window: bounded pages of bodies and side records at one read point,
// one priority level at a time, never from the hollow head of a range.
#include <algorithm>
#include <memory>

#include "base/limits.h"
#include "base/mutation.h"
#include "core/engine_impl.h"
#include "core/job_page.h"

namespace rota::core {

namespace keys = model::keys;

namespace {

// What a page may take in memory: its rows, and the objects they become.
constexpr std::size_t kPageMemoryBytes =
    2 * static_cast<std::size_t>(base::limits::kScanPageBytesMax);

// The first ready key of the next level down.
JobKey below_level(std::uint32_t queue, std::uint8_t priority) {
  if (priority == 0) return JobKey{queue + 1, 255, 0};
  return JobKey{queue, static_cast<std::uint8_t>(priority - 1), 0};
}

}  // namespace

void EngineImpl::refill(QueueState& q) {
  Window<JobKey, ReadyJob>& w = q.window;
  if (w.refill_open() || w.covers_all()) return;
  const std::uint64_t ready = q.counters.of(JobState::kReady);
  if (ready == w.size()) {  // all READY jobs are inside: nothing beyond the limit
    w.cover_all();
    return;
  }
  // Without a poll nobody needs the head, but where it lies is looked up all the same behind many
  // deletions, a few pages at a time, so that the first lease after them finds it at once.
  const bool hollow = q.hollowed >= options_.head_advance_rows;
  if ((q.polls.empty() && !hollow) || w.size() * 2 >= options_.window_rows) return;
  // A page that there is no room for would be dropped on arrival and asked for again: then only a
  // head that is missing is brought in.
  if (!w.empty() && window_bytes_ + kPageMemoryBytes > options_.window_bytes) return;

  // Where the next READY key can be: on in the limit's own level, else at a lower level's head.
  const std::uint32_t number = q.queue.number;
  const JobKey from = w.covers_none() ? JobKey{number, 255, 0} : w.limit();
  const auto level = q.counters.levels.lower_bound(from.queue == number ? from.priority : 0);
  if (from.queue != number || level == q.counters.levels.end()) {
    w.cover_all();
    return;
  }
  JobKey begin{number, level->first, level->second.head};
  begin = std::max(begin, from);
  ScanSpec scan;
  scan.keyspace = Keyspace::kJob;
  scan.begin = keys::job(begin);
  scan.end = keys::level_end(number, level->first);
  scan.max_rows = std::min(options_.page_rows, options_.window_rows);
  scan.max_bytes = static_cast<std::size_t>(base::limits::kScanPageBytesMax);
  ReadSpec spec;
  spec.scans.push_back(scan);
  scan.keyspace = Keyspace::kSide;
  spec.scans.push_back(scan);
  w.begin_refill();
  const bool from_none = w.covers_none();
  issue_read(std::move(spec), [this, number, scan, from, from_none](ReadResult& r, CommitSeq) {
    take_page(number, scan.begin, scan.end, from, from_none, r);
  });
}

void EngineImpl::take_page(std::uint32_t number, const std::string& begin, const std::string& end,
                           const JobKey& from, bool from_none, ReadResult& result) {
  auto it = queues_.find(number);
  if (it == queues_.end()) return;
  QueueState& q = *it->second;
  Window<JobKey, ReadyJob>& w = q.window;
  want_match(q);
  const bool moved =
      !w.accept_page() || w.covers_none() != from_none || (!from_none && w.limit() != from);
  if (moved && !planted(base::Mistake::kKeepStalePage)) {
    w.abandon_refill();
    return;
  }
  const JobKey level_end = below_level(number, keys::parse_job(begin)->priority);
  JobPage page = take_job_page(overlay_, result, begin, end);
  const JobKey limit = page.upto == end ? level_end : first_job_key(page.upto);
  for (PagedJob& job : page.jobs) {
    // Held back by a claim, at its pointer, or running.
    if (job.state != JobState::kReady || job.at != job.ready_key()) continue;
    if (leases_.contains(job.key)) continue;
    ReadyJob entry{job.key, std::move(job.body), std::move(job.side)};
    const std::size_t bytes = entry.memory_bytes();
    w.offer_page(job.at, std::move(entry), bytes);
  }
  const bool last_level =
      q.counters.levels.lower_bound(limit.queue == number ? limit.priority : 0) ==
          q.counters.levels.end() ||
      limit.queue != number;
  w.finish_refill(last_level ? nullptr : &limit);
  if (q.hollowed >= options_.head_advance_rows) {
    touch(q);  // the head found is worth keeping
    if (!w.empty() || last_level) q.hollowed = 0;
  }
  touched_.insert(number);  // seal looks again whether a further page is needed
  window_changed(q);
}

// No live READY key of a level lies below its head. What the window knows moves heads for free.
void EngineImpl::advance_heads(QueueState& q) {
  const Window<JobKey, ReadyJob>& w = q.window;
  if (w.covers_none() || w.refill_open()) return;
  for (auto& [priority, level] : q.counters.levels) {
    const JobKey begin{q.queue.number, priority, 0};
    if (!w.covers(begin)) break;  // levels run from high to low, as keys do
    auto first = w.items().lower_bound(begin);
    if (first != w.items().end() && first->first.priority == priority) {
      level.head = std::max(level.head, first->first.seq);
    } else if (!w.covers_all() && w.limit().priority == priority &&
               w.limit().queue == q.queue.number) {
      level.head = std::max(level.head, w.limit().seq);
    }
  }
}

}  // namespace rota::core
