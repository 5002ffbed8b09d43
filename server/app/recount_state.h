// SPDX-License-Identifier: Apache-2.0
//
// The inside of the recount: what one pass learns and a later one compares.
//
//   recount.cc          order of the passes, report
//   recount_jobs.cc     queues, side records, grants, bodies and pointers
//   recount_indexes.cc  payloads, timers, blocked rows, final records, ledger, requests, schedulers
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "app/recount.h"
#include "model/job.h"
#include "model/keys.h"
#include "model/queue.h"
#include "model/records.h"
#include "model/scheduler.h"

namespace rota::app {

class Recount {
 public:
  explicit Recount(const core::ShardStore& store) : store_(store) {}
  base::Result<RecountReport> run();

 private:
  using JobKey = model::JobKey;
  using JobState = model::JobState;
  using Keyspace = model::Keyspace;

  struct QueueRows {
    model::Queue queue;
    std::optional<model::QueueCounters> counters;
    std::array<std::uint64_t, model::kJobStateCount> counted{};
    std::map<std::uint8_t, std::uint64_t> ready_levels;
  };
  struct SideRow {
    model::Claim claim = model::Claim::kNone;
    std::int64_t due_ms = 0;
    std::optional<std::int64_t> start_deadline_ms;
    std::string blocked_key;  // of its blocked row
    std::uint8_t priority = 0;
    bool priority_changed = false;
    std::uint32_t attempts = 0;
    std::uint64_t last_token = 0;
    std::int64_t ended_ms = 0;
    std::size_t hash = 0;  // of the row
    bool has_body = false;
  };
  struct GrantRow {
    std::uint64_t token = 0;
    std::uint64_t other_token = 0;  // of a second grant; 0: there is none
    bool has_body = false;
  };
  struct PointerRow {
    std::uint8_t priority = 0;
    std::size_t body_hash = 0;
    std::size_t side_hash = 0;
    bool has_body = false;
  };
  struct SchedulerRows {
    bool declared = false;
    std::optional<model::SchedulerState> state;
    std::uint64_t unfinished = 0;
    std::uint64_t runs = 0;
  };

  using RowFn = std::function<void(std::string_view key, std::string_view value)>;
  void each(Keyspace keyspace, const RowFn& row);
  void contradiction(std::string text);
  std::string name_of_job(const JobKey& key) const;
  std::string name_of_queue(std::uint32_t number) const;
  bool dropped(std::uint32_t queue) const { return dropped_.contains(queue); }

  // recount_jobs.cc, in this order
  void read_meta();
  void read_queues();
  void read_sides();
  void read_grants();
  void read_pointers();
  void read_bodies();
  void body(const JobKey& key, std::string_view row);
  JobState state_of(const JobKey& key, SideRow* side, GrantRow* grant);
  void expect_rows_of(const JobKey& key, JobState state, const model::JobBody& body,
                      const SideRow* side);
  void ready(const JobKey& key, std::uint8_t priority);
  void leftovers();

  // recount_indexes.cc
  void read_payloads();
  void read_timers();
  void read_blocked();
  void read_final();
  void read_schedulers();
  void read_runs();
  void read_ledger();
  void read_requests();
  void compare_counters();

  const core::ShardStore& store_;
  std::string fault_;
  RecountReport report_;
  model::EngineMeta meta_;
  core::CommitSeq last_seq_ = 0;

  std::map<std::uint32_t, QueueRows> queues_;
  std::map<std::uint32_t, std::string> dropped_;  // queue number, namespace
  std::map<JobKey, SideRow> sides_;
  std::map<JobKey, GrantRow> grants_;
  std::set<std::uint64_t> overdue_grants_;  // whose own rows were not met yet
  std::map<JobKey, PointerRow> pointers_;   // by the body's key

  std::map<JobKey, std::uint64_t> payloads_;  // expected, with their sizes
  std::set<model::keys::TimerKey> timers_;    // expected
  std::set<model::keys::TimerKey> timers_allowed_;
  std::unordered_set<std::string> blocked_;                       // expected keys
  std::unordered_map<std::string, JobKey> held_keys_;             // ledger key -> owner
  std::map<JobKey, std::int64_t> dead_;                           // must be listed for retention
  std::map<std::string, SchedulerRows, std::less<>> schedulers_;  // by namespace and id, as in keys
  std::set<JobKey> blocked_jobs_;
};

}  // namespace rota::app
