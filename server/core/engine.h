// SPDX-License-Identifier: Apache-2.0
//
// The engine: the rules of queues, jobs, leases and schedulers, pure and deterministic. State,
// command and `now` go in; a batch of changes, replies and reads come out. No threads, clocks,
// randomness, files or wire types: the same inputs give the same outputs, bit for bit.
//
// One turn:
//   apply(...)  for each command, read result or cancelled call that has arrived
//   seal(now)   timers, ticks, matching; closes the batch
// then the caller submits the batch, issues the reads behind it, and releases replies and events
// when the batch is durable (`immediate` ones at once). While a batch is being made durable the
// next turn may already be applied; at most one batch is in flight.
//
// A command that needs rows from the store is parked inside until its read comes back; it changes
// nothing before. What is read is overlaid with every batch newer than the read point.
//
// A row that cannot be decoded ends the engine: the turn being built is lost, seal() returns its
// name in Turn::damage from then on, and everything else does nothing. The process has to stop.
//
// Not thread-safe: one thread (the engine loop) calls everything.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "core/command.h"
#include "core/effect.h"
#include "core/schedule/time_zone.h"
#include "core/store.h"

namespace rota::core {

struct EngineOptions {
  // Windows over the store: how many head jobs of a queue, and near timers, are held in memory,
  // and how many rows one refill reads. Tests and the simulator make them tiny.
  std::uint32_t window_rows = base::limits::kWindowRowsDefault;
  std::uint32_t timer_window_rows = 4096;
  std::uint32_t page_rows = base::limits::kScanPageRowsMax;
  std::size_t window_bytes = base::limits::kWindowBytesDefault;  // over all queues
  // So many bodies deleted in a queue, and its head is looked for although nobody asks for jobs.
  std::uint32_t head_advance_rows = base::limits::kHeadAdvanceDeletes;

  std::int64_t late_tolerance_ms =
      base::limits::kLateToleranceMsDefault;  // a tick no later than this is not a missed one
  std::int64_t request_retention_ms = base::limits::kRequestIdKeptMs;
  std::uint64_t max_queues = base::limits::kQueuesDefault;
  std::uint64_t max_schedulers = base::limits::kSchedulersDefault;
  std::uint64_t max_polls = 20'000;
  std::uint64_t max_scheduler_runs = base::limits::kRunsKeptCountDefault;
  std::int64_t run_retention_ms = base::limits::kRunsKeptMsDefault;
  // Limits of one batch.
  std::uint32_t max_grants_per_turn = 4096;
  std::uint32_t max_timers_per_turn = base::limits::kPromotionsPerBatchMax;
  std::uint32_t max_ticks_per_turn = 1000;
  std::uint32_t max_ticks_per_scheduler = base::limits::kTicksPerSchedulerBatchMax;
  std::uint32_t max_expiries_per_turn = base::limits::kExpiriesPerBatchMax;
  // Commands that wait for rows, and batches kept readable for reads that are open: from any of
  // these on the engine is full.
  std::size_t max_waiting_commands = 4096;
  std::size_t max_waiting_bytes = 32U << 20;
  std::size_t max_kept_bytes = 64U << 20;
  // Purges under way, of one queue and in all; and those that read at once.
  std::size_t max_operations_per_queue = 16;
  std::size_t max_operations = 1000;
  std::size_t max_operation_reads = 16;
};

// Numbers for server info and tests; copied out by stats().
struct EngineStats {
  std::uint64_t queues = 0;
  std::uint64_t schedulers = 0;         // declared
  std::uint64_t scheduler_entries = 0;  // in memory, deleted ones with unfinished jobs included
  std::uint64_t live_leases = 0;
  std::uint64_t parked_polls = 0;
  std::uint64_t parked_commands = 0;  // waiting for a read, the engine's own duties included
  std::uint64_t window_rows = 0;
  std::uint64_t window_bytes = 0;
  std::uint64_t timer_rows = 0;
  std::uint64_t kept_batches = 0;  // kept readable for open reads
  std::int64_t now_ms = 0;         // engine time
  std::int64_t behind_ms = 0;      // how far the wall clock is behind engine time; 0 = not at all
  std::uint64_t open_operations = 0;
  std::uint64_t sweeps = 0;      // reads of retention since start
  bool schedulers_held = false;  // after a forward step of the clock
  bool ticks_held = false;       // on a nearly full disk
  bool deletions_held = false;
};

// What stood still while time went on.
enum class Stall : std::uint8_t {
  kLoop = 1,  // the process or its loop: stopped, suspended
  kCommit,    // the disk only
};

class EngineImpl;

class Engine {
 public:
  Engine(EngineOptions options, const TimeZoneSource& zones);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Loads what must be in memory (queues, counters, grants, schedulers) from a store just opened.
  // Every recorded lease that has not ended is live again with a full ttl from now plus jitter.
  // Blocking reads; nothing is written. An error names the row that is damaged or contradicts
  // another: refuse to serve.
  base::Result<bool> load(const ShardStore& store, Now now);

  // Takes a command. Its reply is in this turn or a later one.
  void apply(Command command, Now now);
  // The result of a read issued by an earlier turn.
  void apply(ReadDone read, Now now);
  // The caller of a parked call is gone: a parked poll is forgotten. If its grant is already made,
  // the runtime finds that at release and sends AbandonGrant. No reply.
  void drop_call(CallId call);
  // The batch `seq` became durable at `now`: leases granted in it count from here.
  void committed(CommitSeq seq, Now now);
  // The loop itself stood still for `gap_ms` (process stopped, slow commit): no lease ends because
  // of that; all deadlines move by the whole of it. A lease whose earlier stalls since its last
  // heartbeat add up to a ttl moves no further until the next one. Slow commits move an attempt
  // timeout by no more than one ttl in all, or it would never come on a slow disk.
  void stalled(std::int64_t gap_ms, Stall what = Stall::kLoop);
  // While held, no scheduler ticks: nothing new is made on a disk that is nearly full. What came
  // due meanwhile is late then, and the catch-up policies decide.
  void hold_ticks(bool hold);
  // From now on nothing is granted and parked polls are answered empty; commands are still taken
  // (the runtime refuses the opening ones). The engine's own work ends, wherever it is: timers,
  // ticks, purges, sweeps and refills go on after the next start. So it comes to rest as soon as
  // the commands and reads under way are done.
  void drain();

  // Replies that need not wait for any batch; may be called at any time between turns, so that
  // heartbeats are answered while a commit is slow.
  std::vector<Reply> take_immediate();
  // The open batch has reached its limit, or too much waits for rows: seal, and deliver
  // reads, before applying more. A heartbeat can always be applied.
  bool full() const;

  Turn seal(Now now);

  EngineStats stats() const;
  // Compares memory with what the store holds; for tests and the simulator. Empty = consistent.
  std::vector<std::string> check(const ShardStore& store) const;

 private:
  template <class Work>
  void guard(const Work& work);

  std::unique_ptr<EngineImpl> impl_;
  std::string damage_;  // the row that ended it; empty: none
};

}  // namespace rota::core
