// SPDX-License-Identifier: Apache-2.0
#include "app/clock_check.h"

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "base/duration.h"
#include "base/limits.h"
#include "base/time_format.h"
#include "model/keys.h"
#include "model/queue.h"
#include "model/records.h"

namespace rota::app {

using base::Reason;
using core::Keyspace;

namespace {

constexpr std::int64_t kRefuseBehindMs = base::kDayMs;

base::Error failed(std::string text) {
  return base::make_error(Reason::kStoreFailed, std::move(text));
}

base::Result<model::EngineMeta> read_meta(const core::ShardStore& store) {
  core::ReadSpec spec;
  spec.gets.push_back({Keyspace::kMeta, model::keys::engine_meta()});
  core::ReadResult read;
  std::string detail;
  if (store.snapshot_read(spec, &read, &detail) != core::ReadError::kNone) {
    return failed("the engine's counters cannot be read: " + detail);
  }
  model::EngineMeta meta;
  if (read.values[0] && !model::decode(*read.values[0], &meta)) {
    return failed("the record of the engine's counters is damaged");
  }
  return meta;
}

// Retention of ended jobs goes on from a time in each queue's counters.
base::Status lower_sweeps(const core::ShardStore& store, std::int64_t wall_ms, core::Batch* batch) {
  std::string detail;
  bool damaged = false;
  const core::ReadError error = store.load(
      Keyspace::kQueueState,
      [&](std::string_view key, std::string_view value) {
        if (key.empty() || key.front() != 'c') return true;
        model::QueueCounters counters;
        if (!model::decode(value, &counters)) {
          damaged = true;
          return false;
        }
        bool changed = false;
        for (std::int64_t& swept_ms : counters.swept_ms) {
          changed = changed || swept_ms > wall_ms;
          swept_ms = std::min(swept_ms, wall_ms);
        }
        if (changed) {
          batch->put(Keyspace::kQueueState, std::string(key), model::encode(counters));
        }
        return true;
      },
      &detail);
  if (damaged) return failed("a record of a queue's counters is damaged");
  if (error != core::ReadError::kNone) return failed("queue counters cannot be read: " + detail);
  return {};
}

// An attempt lasts for its timeout from the grant, and a grant is overdue some time after it:
// neither is to wait for a time that was never true. What is running began at the latest now.
base::Status lower_grants(const core::ShardStore& store, std::int64_t wall_ms, core::Batch* batch) {
  std::string detail;
  bool damaged = false;
  const core::ReadError error = store.load(
      Keyspace::kGrant,
      [&](std::string_view key, std::string_view value) {
        model::Grant grant;
        if (!model::decode(value, &grant) || grant.entries.empty()) {
          damaged = true;
          return false;
        }
        if (grant.granted_ms <= wall_ms) return true;
        grant.granted_ms = wall_ms;
        batch->put(Keyspace::kGrant, std::string(key), model::encode(grant));
        batch->del(Keyspace::kMeta, model::keys::overdue_grant(grant.entries.front().token));
        return true;
      },
      &detail);
  if (damaged) return failed("a record of a grant is damaged");
  if (error != core::ReadError::kNone) return failed("grants cannot be read: " + detail);
  return {};
}

}  // namespace

ClockVerdict judge_clock(std::int64_t stored_ms, std::int64_t wall_ms) {
  if (stored_ms == 0) return ClockVerdict::kFine;
  const std::int64_t ahead_ms = wall_ms - stored_ms;
  if (ahead_ms < -kRefuseBehindMs) return ClockVerdict::kRefuse;
  if (ahead_ms < -base::limits::kBackwardStepMs) return ClockVerdict::kBehind;
  if (ahead_ms > base::limits::kStartGapMs) return ClockVerdict::kAhead;
  return ClockVerdict::kFine;
}

std::string clock_sentence(ClockVerdict verdict, std::int64_t stored_ms, std::int64_t wall_ms) {
  const std::string both = "the wall clock says " + base::format_time(wall_ms) +
                           ", the newest stored change is of " + base::format_time(stored_ms);
  switch (verdict) {
    case ClockVerdict::kFine:
      return {};
    case ClockVerdict::kBehind:
      return both + ": time stands still here until the clock has caught up";
    case ClockVerdict::kRefuse:
      return both + ": correct the clock, or start with --trust-clock if the clock is right";
    case ClockVerdict::kAhead:
      return both +
             ": deletion by age waits for an hour; --trust-clock if the clock is right and it "
             "should not";
  }
  return {};
}

base::Result<std::int64_t> stored_time_ms(const core::ShardStore& store) {
  const auto meta = read_meta(store);
  if (!meta) return meta.error();
  return meta->now_ms;
}

base::Result<bool> stored_hold(const core::ShardStore& store) {
  const auto meta = read_meta(store);
  if (!meta) return meta.error();
  return meta->deletions_held_ms != 0;
}

base::Status set_stored_time(core::ShardStore& store, std::int64_t wall_ms) {
  auto meta = read_meta(store);
  if (!meta) return meta.error();
  auto batch = std::make_shared<core::Batch>();
  meta->now_ms = wall_ms;
  meta->deletions_held_ms = 0;
  meta->timers_swept_ms = std::min(meta->timers_swept_ms, wall_ms);
  meta->ledger_swept_ms = std::min(meta->ledger_swept_ms, wall_ms);
  meta->requests_swept_ms = std::min(meta->requests_swept_ms, wall_ms);
  batch->put(Keyspace::kMeta, model::keys::engine_meta(), model::encode(*meta));
  if (auto lowered = lower_sweeps(store, wall_ms, batch.get()); !lowered) return lowered;
  if (auto lowered = lower_grants(store, wall_ms, batch.get()); !lowered) return lowered;

  std::promise<base::Status> done;
  store.commit(std::move(batch), store.last_committed() + 1,
               [&done](core::CommitSeq, core::Outcome outcome, const std::string& detail) {
                 done.set_value(outcome == core::Outcome::kCommitted
                                    ? base::Status()
                                    : failed("the new time could not be stored: " + detail));
               });
  return done.get_future().get();
}

}  // namespace rota::app
