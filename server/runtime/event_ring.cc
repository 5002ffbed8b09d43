// SPDX-License-Identifier: Apache-2.0
#include "runtime/event_ring.h"

#include <algorithm>

namespace rota::runtime {

void EventRing::publish(const std::vector<core::JobEvent>& events) {
  if (events.empty()) return;
  std::lock_guard lock(mutex_);
  events_.insert(events_.end(), events.begin(), events.end());
  while (events_.size() > capacity_) {
    forgotten_ = events_.front().seq;
    events_.pop_front();
  }
}

EventRing::Page EventRing::after(core::CommitSeq seen, std::size_t max) const {
  std::lock_guard lock(mutex_);
  Page page;
  page.last = seen;
  if (seen < forgotten_) {
    page.gap = true;
    page.last = events_.empty() ? forgotten_ : events_.back().seq;
    return page;
  }
  auto it = std::upper_bound(
      events_.begin(), events_.end(), seen,
      [](core::CommitSeq seq, const core::JobEvent& event) { return seq < event.seq; });
  for (; it != events_.end(); ++it) {
    if (it->seq != page.last && page.events.size() >= max) break;
    page.last = it->seq;
    page.events.push_back(*it);
  }
  return page;
}

}  // namespace rota::runtime
