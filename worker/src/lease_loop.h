// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "internal/access.h"
#include "internal/clock.h"
#include "internal/worker_port.h"
#include "src/carried.h"

namespace rota::internal {

// Asks for jobs: while slots are free one long poll is with the server, so that it is already
// parked when a job or a queue's slot comes up. A poll that is about to leave takes outcomes along,
// which saves a call and a commit; it then hardly waits. A poll whose answer is missing is repeated
// with its request id, also when the server refuses a repeat for now; what such a repeat brings a
// second time is taken once. Thread-safe.
class LeaseLoop {
 public:
  struct Options {
    std::vector<std::string> queues{};
    int concurrency = 0;
    Millis ttl{0}, wait{20'000};
  };
  struct Hooks {
    // Grants that are new to this process; their slots are taken until freed().
    std::function<void(LeaseReply reply, BootTime sent)> granted{};
    std::function<void()> wake{};
    std::function<void()> ended{};  // after stop(): no poll is open any more, or an error ended it
    std::function<Carried(BootTime now)> carry{};  // asked for each call that may carry outcomes
  };

  LeaseLoop(WorkerPort& port, Options options, Hooks hooks, LogFunction log);

  // Handlers returned, or grants were given back.
  void freed(int slots);

  // A step of the pump.
  BootTime step(BootTime now);

  // No new poll. An open one is asked to end by a repeat that does not wait: a poll that is merely
  // dropped could leave behind grants that nobody knows of.
  void stop();

  // After stop(), or after an error.
  bool has_ended() const;
  // Set when the server refuses this worker for good.
  std::optional<Error> error() const;

 private:
  // One request id with all its repeats.
  struct Poll {
    std::string request_id{};
    int slots = 0;
    int out = 0;           // calls without answer
    int last_sent = 0;     // number of the newest of them
    bool hurried = false;  // the repeat that does not wait was sent
    int hurries = 0;       // such repeats so far
    int failures = 0;
    bool unknown = false;  // one of its calls was sent, and may have been carried out
    bool alone = false;    // carries nothing: with outcomes it was refused
    std::unordered_set<std::uint64_t> seen{};  // tokens that were taken
  };

  // With the lock held; `send` then runs without it.
  std::optional<LeaseCall> next_call(BootTime now, BootTime& again);
  void send(LeaseCall call, int number, BootTime now, Carried carried);
  void on_answer(int number, BootTime sent, bool carried, Result<LeaseReply> answer);
  LeaseReply only_new(LeaseReply reply);
  void on_error(int number, bool carried, const Error& error);
  void on_refusal();
  void on_empty(BootTime sent);
  void close_poll();
  bool ended_locked() const {
    return delivering_ == 0 && (stopping_ ? !poll_ : error_.has_value());
  }

  WorkerPort& port_;
  const Options options_;
  const Hooks hooks_;
  const LogFunction log_;
  mutable std::mutex mutex_;
  std::optional<Poll> poll_{};
  int active_ = 0;      // slots taken by handlers
  int delivering_ = 0;  // answers on their way to `granted`
  int sends_ = 0, failures_ = 0, quick_empties_ = 0;
  bool stopping_ = false;
  std::string missing_queue_{};  // said once
  std::optional<Error> error_{};
  BootTime not_before_{BootTime::min()};
};

}  // namespace rota::internal
