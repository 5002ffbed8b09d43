// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker_board.h"

#include <algorithm>
#include <utility>

namespace rota::runtime {

void WorkerBoard::lease_call_began(WorkerSeen seen, std::int64_t wall_ms, std::int64_t mono_ms) {
  std::lock_guard lock(mutex_);
  auto it = sessions_.find(seen.session_id);
  if (it == sessions_.end()) {
    if (sessions_.size() >= max_) make_room();
    seen.first_seen_wall_ms = wall_ms;
    seen.parked = 0;
    std::string session = seen.session_id;
    it = sessions_.emplace(std::move(session), std::move(seen)).first;
  } else {
    seen.first_seen_wall_ms = it->second.first_seen_wall_ms;
    seen.parked = it->second.parked;
    it->second = std::move(seen);
  }
  ++it->second.parked;
  it->second.last_seen_wall_ms = wall_ms;
  it->second.last_seen_mono_ms = mono_ms;
}

void WorkerBoard::lease_call_ended(std::string_view session_id) {
  std::lock_guard lock(mutex_);
  const auto it = sessions_.find(session_id);
  if (it != sessions_.end() && it->second.parked > 0) --it->second.parked;
}

void WorkerBoard::heard(std::string_view session_id, std::int64_t wall_ms, std::int64_t mono_ms) {
  std::lock_guard lock(mutex_);
  const auto it = sessions_.find(session_id);
  if (it == sessions_.end()) return;
  it->second.last_seen_wall_ms = wall_ms;
  it->second.last_seen_mono_ms = mono_ms;
}

std::vector<WorkerSeen> WorkerBoard::page(std::string_view name_space, std::string_view queue,
                                          std::string_view after, std::size_t max,
                                          std::int64_t mono_ms) const {
  std::lock_guard lock(mutex_);
  std::vector<WorkerSeen> page;
  for (auto it = sessions_.upper_bound(after); it != sessions_.end() && page.size() < max; ++it) {
    const WorkerSeen& seen = it->second;
    if (seen.name_space != name_space || mono_ms - seen.last_seen_mono_ms > keep_ms_) continue;
    if (!queue.empty() &&
        std::find(seen.queues.begin(), seen.queues.end(), queue) == seen.queues.end()) {
      continue;
    }
    page.push_back(seen);
  }
  return page;
}

std::size_t WorkerBoard::size(std::int64_t mono_ms) const {
  std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      sessions_.begin(), sessions_.end(),
      [&](const auto& entry) { return mono_ms - entry.second.last_seen_mono_ms <= keep_ms_; }));
}

void WorkerBoard::forget_old(std::int64_t mono_ms) {
  std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [&](const auto& entry) {
    return entry.second.parked == 0 && mono_ms - entry.second.last_seen_mono_ms > keep_ms_;
  });
}

void WorkerBoard::make_room() {
  const auto quietest =
      std::min_element(sessions_.begin(), sessions_.end(), [](const auto& a, const auto& b) {
        return a.second.last_seen_mono_ms < b.second.last_seen_mono_ms;
      });
  if (quietest != sessions_.end()) sessions_.erase(quietest);
}

}  // namespace rota::runtime
