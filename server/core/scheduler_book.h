// SPDX-License-Identifier: Apache-2.0
//
// The schedulers of a shard: declarations, their next ticks, what a due tick becomes.
//
// All declared schedulers are held in memory with their next tick; a tick's cursor, run record and
// job are one batch, so at most one job exists for (scheduler id, generation, nominal time),
// whatever crashes. One that was deleted stays until its jobs have ended; then it rests: only its
// rows are left, which are read again when its id is declared, or one of its jobs redriven. Its run
// records are found by a walk over these rows.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/command.h"
#include "core/overlay.h"
#include "core/schedule/catch_up.h"
#include "core/schedule/schedule.h"
#include "core/schedule/time_zone.h"
#include "core/store.h"
#include "core/sweep_plan.h"
#include "model/scheduler.h"

namespace rota::core {

class EngineImpl;

class SchedulerBook {
 public:
  SchedulerBook(EngineImpl& engine, const TimeZoneSource& zones);

  // The commands. As every verb of the engine: false = rows are missing, nothing has changed.
  bool upsert(const UpsertScheduler& c, const Command& cmd, Lookup& look);
  bool pause(const PauseScheduler& c, const Command& cmd, Lookup& look);
  bool resume(const ResumeScheduler& c, const Command& cmd, Lookup& look);
  bool remove(const DeleteScheduler& c, const Command& cmd, Lookup& look);

  // Rows of the scheduler keyspace at start; false when one is damaged.
  bool load(std::string_view key, std::string_view value);
  // After all rows are loaded.
  void start();

  // Due ticks, bounded, those of one scheduler once in a turn; true when some are left for the next
  // turn.
  bool run_due();
  // Engine wall time of the next tick; INT64_MAX when there is none or all are held back.
  std::int64_t next_due_ms() const;
  // Begins to remove run records beyond age and count, a slice of one scheduler, or to look for
  // those of schedulers that rest; false when nothing is due.
  bool sweep_runs();
  // Engine wall time of the next sweep that is due; INT64_MAX when there is none.
  std::int64_t next_sweep_ms() const { return std::min(runs_plan_.next_ms(), next_walk_ms_); }

  // What is kept of a scheduler that rests is asked for; false: it is missing. Before
  // job_reopened().
  bool recall(const std::string& name_space, const std::string& id, Lookup& look) const;
  // A job of the scheduler `id` has ended for good, or was redriven. Called by end_job and redrive.
  void job_ended(const std::string& name_space, const std::string& id, const JobKey& key);
  void job_reopened(const std::string& name_space, const std::string& id, const JobKey& key,
                    Lookup& look);

  // A queue that a scheduler names is not deleted: the first such scheduler's id, or empty.
  std::string scheduler_of_queue(const std::string& name_space, const std::string& queue) const;
  // Declared ones; those that were deleted and have jobs or runs left do not count.
  std::uint64_t size() const { return declared_; }
  // In memory, with those that were deleted and do not rest yet.
  std::uint64_t entries() const { return entries_.size(); }
  // Writes what changed in this turn.
  void write_touched();

 private:
  using Name = std::pair<std::string, std::string>;  // namespace, id
  // A place in the line of those that tick. What is due already when it is planned stands behind
  // all that were due before, or a long catch-up would keep the others from their turn: its ticks
  // are the oldest until it is through.
  struct Due {
    std::int64_t at_ms = 0;   // its next tick, or when it was planned, if that is later
    std::uint64_t round = 0;  // after how many turns it was planned
    Name name;
    friend auto operator<=>(const Due&, const Due&) = default;
  };
  struct Entry {
    model::Scheduler scheduler;
    bool declared = false;  // false: deleted, but jobs or runs of it are left
    model::SchedulerState state;
    std::optional<Schedule> schedule;  // none: its zone is gone from the zone data; it never ticks
    std::optional<Due> due;            // its place in the line
    bool busy = false;                 // due ticks wait for rows
    bool touched = false;              // state to be written with this turn
    bool sweep_due = false;            // it is in memory for its run records
    std::optional<model::RunRecord> open_run;  // ticks that did not run, and may be continued
  };
  struct Planned {
    TickPlan plan;
    std::vector<std::string> ledger_keys;  // one for each action; empty without a business key
    std::uint64_t generation = 0;
    std::uint64_t version = 0;
    std::int64_t cursor_ms = 0;
  };

  static std::optional<Name> parse_state_key(std::string_view key);
  Entry* find(const Name& name);
  Entry& enter(const Name& name, Lookup& look);  // after recall()
  static bool may_rest(const Entry& entry);
  void rest(std::map<Name, Entry>::iterator at);
  std::int64_t walk_every_ms() const;
  Error not_found(const std::string& id) const;
  SchedulerReply answer(const Entry& entry, std::uint32_t next_count) const;
  base::Result<Schedule> validate(const UpsertScheduler& c, const Command& cmd) const;
  void declare(const UpsertScheduler& c, const Command& cmd, Schedule schedule, Lookup& look,
               SchedulerReply* r);
  void put_scheduler(const Entry& entry);
  void touch(Entry& entry);
  void plan_next(const Name& name, Entry& entry);
  void unplan(Entry& entry);
  std::uint32_t process(const Name& name, Entry& entry);  // the number of actions planned
  bool apply_plan(const Name& name, const Planned& planned, Lookup& look);
  void fire(Entry& entry, const FireTick& tick, const model::LedgerEntry* holder,
            std::set<std::string>* keys, const std::string& ledger_key);
  void record(Entry& entry, model::RunRecord run);
  void record_missed(Entry& entry, const MissedRange& range);
  void unblock(const Name& name);
  bool held() const;
  void plan_sweep(Entry& entry, std::int64_t oldest_ms);
  void sweep_runs_page(const Name& name, const ScanPage& page);
  void swept(std::map<Name, Entry>::iterator at);
  bool walk();
  void walk_page(const ScanPage& page);

  EngineImpl& engine_;
  const TimeZoneSource& zones_;
  std::map<Name, Entry> entries_;
  std::set<Due> due_;
  std::uint64_t round_ = 0;  // turns that looked for due ticks
  std::set<Name> touched_;
  SweepPlan<Name> runs_plan_;
  std::string walk_from_;                  // where the walk goes on; empty: at the begin
  std::int64_t next_walk_ms_ = INT64_MAX;  // none rests that is known of
  bool walk_found_ = false;                // one that rests, since the begin
  std::uint64_t declared_ = 0;
};

}  // namespace rota::core
