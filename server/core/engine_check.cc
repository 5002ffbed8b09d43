// SPDX-License-Identifier: Apache-2.0
//
// Memory against store: what the invariants say about windows, counters and leases. For tests and
// the simulator; reads everything.
#include <algorithm>

#include "core/engine_impl.h"
#include "model/job_id.h"

namespace rota::core {

namespace keys = model::keys;

std::vector<std::string> EngineImpl::check(const ShardStore& store) const {
  std::vector<std::string> faults;
  std::string detail;
  std::map<std::string, std::string> bodies;
  std::map<JobKey, model::Side> sides;
  store.load(
      Keyspace::kJob,
      [&](std::string_view key, std::string_view value) {
        bodies.emplace(key, value);
        return true;
      },
      &detail);
  store.load(
      Keyspace::kSide,
      [&](std::string_view key, std::string_view value) {
        model::Side side;
        if (!model::decode(value, &side)) faults.push_back("a side record is damaged");
        sides[*keys::parse_job(key)] = std::move(side);
        return true;
      },
      &detail);

  std::map<std::uint32_t, std::array<std::uint64_t, model::kJobStateCount>> counted;
  std::map<std::uint32_t, std::set<JobKey>> ready;  // ready keys
  for (const auto& [key, row] : bodies) {
    const JobKey at = *keys::parse_job(key);
    if (!queues_.contains(at.queue)) continue;
    if (model::is_pointer(row)) {
      model::Pointer pointer;
      if (!model::decode(row, &pointer)) faults.push_back("a pointer is damaged");
      const JobKey job{at.queue, pointer.first_priority, at.seq};
      const auto side = sides.find(job);
      if (side == sides.end() || side->second.claim != model::Claim::kMoved ||
          side->second.priority != at.priority || leases_.contains(job)) {
        faults.push_back("pointer of job " + model::job_id(job) + " leads nowhere");
      } else {
        ready[at.queue].insert(at);
      }
      continue;
    }
    JobState state = leases_.contains(at) ? JobState::kRunning : JobState::kReady;
    if (auto side = sides.find(at); side != sides.end() && state == JobState::kReady) {
      switch (side->second.claim) {
        case model::Claim::kScheduled:
          state = JobState::kScheduled;
          break;
        case model::Claim::kBlocked:
          state = JobState::kBlocked;
          break;
        case model::Claim::kDead:
          state = JobState::kDead;
          break;
        case model::Claim::kMoved:
          break;
        case model::Claim::kNone:
          ready[at.queue].insert(at);
          break;
      }
    } else if (state == JobState::kReady) {
      ready[at.queue].insert(at);
    }
    ++counted[at.queue][static_cast<std::size_t>(state)];
  }

  std::size_t window_bytes = 0;
  for (const auto& [number, q] : queues_) {
    const std::string name = "queue \"" + q->queue.name + "\": ";
    window_bytes += q->window.bytes();
    const bool idle = q->polls.empty();
    if ((idle ? q->window.bytes() > 0 && !q->listed_idle
              : q->window.size() > 1 && !q->listed_idle && !q->listed_asked)) {
      faults.push_back(name + "its window is on no list and cannot be made smaller");
    }
    for (const JobState s : {JobState::kScheduled, JobState::kBlocked, JobState::kReady,
                             JobState::kRunning, JobState::kDead}) {
      const std::uint64_t rows = counted[number][static_cast<std::size_t>(s)];
      if (rows != q->counters.of(s)) {
        faults.push_back(name + "counts " + std::to_string(q->counters.of(s)) + " " +
                         std::string(model::name_of(s)) + ", rows say " + std::to_string(rows));
      }
    }
    if (!q->counters.conserved()) faults.push_back(name + "counters do not add up");
    if (q->running.size() != q->counters.of(JobState::kRunning)) {
      faults.push_back(name + "running set and counter differ");
    }
    std::map<std::uint8_t, std::uint64_t> levels;
    for (const JobKey& key : ready[number]) {
      ++levels[key.priority];
      if (q->window.covers(key) && q->window.find(key) == nullptr) {
        faults.push_back(name + "a READY job below the window's limit is not in it: " +
                         std::to_string(key.priority) + "/" + std::to_string(key.seq));
      }
      auto level = q->counters.levels.find(key.priority);
      if (level != q->counters.levels.end() && level->second.head > key.seq) {
        faults.push_back(name + "a READY job lies below the head of its level");
      }
    }
    for (const auto& [key, item] : q->window.items()) {
      if (!ready[number].contains(key)) {
        faults.push_back(name + "the window holds what is not READY: " + std::to_string(key.seq));
      }
    }
    for (const auto& [priority, level] : q->counters.levels) {
      if (levels[priority] != level.ready) faults.push_back(name + "a level's count is wrong");
    }
  }
  if (window_bytes != window_bytes_) {
    faults.push_back("the windows hold " + std::to_string(window_bytes) + " bytes, counted are " +
                     std::to_string(window_bytes_));
  }
  for (const auto& [key, side] : sides) {
    if (!bodies.contains(keys::job(key))) {
      faults.push_back("side record without a body: " + model::job_id(key));
    }
  }
  const auto held = [&](const keys::TimerKey& timer) {
    return timer.kind == keys::TimerKind::kStartDeadline && timer.due_ms >= held_deadlines_from_ms_;
  };
  store.load(
      Keyspace::kTimer,
      [&](std::string_view key, std::string_view) {
        const auto timer = keys::parse_timer(key);
        if (!timer) {
          faults.push_back("a timer's key is damaged");
        } else if (timers_.covers(*timer) && timers_.find(*timer) == nullptr &&
                   !firing_.contains(*timer) && !held(*timer)) {
          faults.push_back("a timer below the horizon is not in memory: due " +
                           std::to_string(timer->due_ms) + ", kind " +
                           std::to_string(static_cast<int>(timer->kind)) + ", job " +
                           model::job_id(timer->job) + "; now " + std::to_string(now_.wall_ms) +
                           ", swept " + std::to_string(meta_.timers_swept_ms));
        } else if (timer->due_ms < meta_.timers_swept_ms && !firing_.contains(*timer)) {
          faults.push_back("a timer lies before what has been swept");
        }
        return true;
      },
      &detail);
  return faults;
}

}  // namespace rota::core
