// SPDX-License-Identifier: Apache-2.0
//
// A client of a round: sends jobs, reads them, cancels and redrives them.
#pragma once

#include <deque>
#include <string>

#include "blackbox/actor.h"

namespace rota::blackbox {

class Submitter : public Actor {
 public:
  // `backlog`: how far acknowledged jobs may be ahead of final ones.
  Submitter(const std::string& address, std::string name, std::uint64_t seed, Shared& shared,
            std::int64_t backlog)
      : Actor(address, std::move(name), seed, shared), backlog_(backlog) {}

  void run() override;

 private:
  Enqueue* begin(const PlannedJob& job);
  void hear(Enqueue* entry, const v1::EnqueuedJob& job);
  void enqueue();
  void bulk(std::size_t count);
  void cancel(const std::string& id);
  void redrive(const std::string& id);
  void read(const std::string& id);
  std::string any_job();
  PlannedJob next_job();

  const std::int64_t backlog_;
  int planned_ = 0;
  std::deque<std::string> recent_;  // jobs
  std::deque<std::string> dead_;    // jobs that were DEAD when last read
};

// The one who sets queues: limits, pauses. Reads counters. Others must not set them, so that the
// settings of a queue are in one order.
class Controller : public Actor {
 public:
  using Actor::Actor;

  void run() override;
  // Leaves no queue paused. After run(), when the server can be reached.
  void settle();

 private:
  void set(QueueCall::Kind kind, const std::string& queue, int limit);
  void read(const std::string& queue);

  bool paused_ = false;
};

}  // namespace rota::blackbox
