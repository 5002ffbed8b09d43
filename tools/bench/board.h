// SPDX-License-Identifier: Apache-2.0
//
// Memory that rota-bench shares with its worker processes: what they are told (go, stop) and what
// they saw. A mapped file, so that a worker that was started by exec finds it.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "bench/statistics.h"

namespace rota::bench {

// What one worker process says. Times by now_ns().
struct WorkerSlot {
  std::atomic<std::int64_t> began_ns{0};  // before its first lease call
  std::atomic<std::int64_t> ended_ns{0};  // after its last outcome was answered; 0: not yet
  std::atomic<std::int64_t> cpu_us{0};    // of the process between them
};

// Thread-safe, in each of the processes. Unmapped by the destructor; the file stays its maker's.
class Board {
 public:
  static constexpr int kSlots = 64;
  static constexpr int kHistograms = 64;

  // Makes the file, for jobs numbered from 0 to jobs - 1. Throws Failed.
  Board(const std::string& path, std::uint64_t jobs);
  // Opens one that was made. Throws Failed.
  explicit Board(const std::string& path);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // --- the bench ---
  // The handler that brings finished() to this calls for wait_target(). Before go().
  void set_target(std::uint64_t jobs) { shared_->target.store(jobs); }
  void go(int processes);
  void stop(int processes);
  // False after `at_most_ms`.
  bool wait_ready(std::int64_t at_most_ms) { return wait(&shared_->ready, at_most_ms); }
  bool wait_target(std::int64_t at_most_ms) { return wait(&shared_->reached, at_most_ms); }

  // --- a worker process ---
  void say_ready() { sem_post(&shared_->ready); }
  void wait_go();
  void wait_stop();

  // Around a handler: how many run at once is part of what is verified.
  void handler_begins();
  // `job` had effect. Counted only once for each number; another time is `doubled`, and a number
  // that was never given out is `unknown`.
  void handler_succeeds(std::uint64_t job);
  void handler_ends() { shared_->running.fetch_sub(1); }
  // For jobs that carry no number of their own: 0, 1, ... over all processes.
  std::uint64_t next_number() { return shared_->numbers.fetch_add(1); }

  // --- both ---
  WorkerSlot& slot(int number) { return shared_->slots[number]; }
  // Times from enqueue to handler start, apart by what the workload wants to tell apart.
  Histogram& starts(int number) { return shared_->histograms[number]; }

  std::uint64_t finished() const { return shared_->finished.load(); }
  std::uint64_t doubled() const { return shared_->doubled.load(); }
  std::uint64_t unknown() const { return shared_->unknown.load(); }
  // Jobs that had failed attempts on purpose.
  std::atomic<std::uint64_t>& failures() { return shared_->failures; }
  // Handlers that ran at once, at most.
  std::uint64_t most_running() const { return shared_->most_running.load(); }

 private:
  struct Shared {
    std::uint64_t jobs = 0;
    sem_t ready{}, go{}, stop{}, reached{};
    std::atomic<std::uint64_t> target{0}, finished{0}, doubled{0}, unknown{0}, failures{0};
    std::atomic<std::uint64_t> numbers{0};
    std::atomic<std::uint64_t> running{0}, most_running{0};
    WorkerSlot slots[kSlots];
    Histogram histograms[kHistograms];
  };
  using Word = std::atomic<std::uint64_t>;

  static std::size_t bytes_for(std::uint64_t jobs);
  static bool wait(sem_t* what, std::int64_t at_most_ms);
  // A bit for each job, behind the rest.
  Word* marks() const { return reinterpret_cast<Word*>(shared_ + 1); }

  Shared* shared_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace rota::bench
