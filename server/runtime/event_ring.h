// SPDX-License-Identifier: Apache-2.0
//
// The newest job events in commit order, in bounded memory: the seam of the change feed. A reader
// remembers the commit it has seen and asks for what came after; one that fell behind the ring is
// told so and reads the listings again.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "core/effect.h"

namespace rota::runtime {

class EventRing {
 public:
  explicit EventRing(std::size_t capacity = 65'536) : capacity_(capacity) {}

  // In commit order; all events of one commit in one call.
  void publish(const std::vector<core::JobEvent>& events);

  struct Page {
    std::vector<core::JobEvent> events;  // whole commits only, all after the one asked for
    core::CommitSeq last = 0;            // go on from here
    bool gap = false;  // events after the commit asked for have left the ring: start over
  };
  // At least one whole commit when there is any; then up to `max` events.
  Page after(core::CommitSeq seen, std::size_t max) const;

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<core::JobEvent> events_;
  core::CommitSeq forgotten_ = 0;  // the newest commit of which an event has left the ring
};

}  // namespace rota::runtime
