// SPDX-License-Identifier: Apache-2.0
//
// A client of a round: sends jobs, reads them, changes, cancels, redrives and deletes them.
#pragma once

#include <deque>
#include <optional>
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
  static v1::JobSpec spec(const PlannedJob& job, const Enqueue& entry);
  void hear(Enqueue* entry, const v1::EnqueuedJob& job);
  void hear_refusal(Enqueue* entry) const;
  void enqueue();
  void bulk(std::size_t count);
  void cancel(const std::string& id);
  void redrive(const std::string& id);
  void update(const std::string& id);
  // A job that is final, and whose record will not be missed.
  void remove(const std::string& id);
  // As it stands; nothing when it was not shown.
  std::optional<v1::Job> read(const std::string& id);
  JobCall& begin(JobCall::Kind kind, const std::string& id);
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
  void purge(const std::string& queue);
  void read(const std::string& queue);

  bool paused_ = false;
};

// A node that declares kEdited, as others do at the same time, under revisions that rise, are the
// same or have been overtaken. One of them also pauses, resumes and deletes it, so that these are
// in one order.
class Declarer : public Actor {
 public:
  Declarer(const std::string& address, std::string name, std::uint64_t seed, Shared& shared,
           bool leads)
      : Actor(address, std::move(name), seed, shared), leads_(leads) {}

  void run() override;

 private:
  SchedulerCall& begin(SchedulerCall::Kind kind);
  void declare();
  void pause_or_resume();
  void remove();
  void read();

  const bool leads_;
  bool paused_ = false;
};

// What an answer says of when a change came into force; of a call that was sent once.
void hear(const v1::Scheduler& scheduler, SchedulerCall* entry);

}  // namespace rota::blackbox
