// SPDX-License-Identifier: Apache-2.0
//
// Start: what must be in memory is read back and checked, nothing else; waiting jobs stay on disk.
#include <algorithm>

#include "base/limits.h"
#include "base/mutation.h"
#include "core/damage.h"
#include "core/engine_impl.h"
#include "model/bytes.h"
#include "model/job_id.h"

namespace rota::core {

namespace keys = model::keys;

namespace {

Error damaged(const std::string& what) {
  return base::make_error(Reason::kStoreFailed,
                          "the stored records contradict each other: " + what);
}

Error undecodable(Keyspace keyspace, std::string_view key) {
  return base::make_error(Reason::kStoreFailed, damage_text(keyspace, key));
}

// A lease held for so many times its ttl, and longer than its attempt may last, is overdue.
constexpr std::int64_t kOverdueTtls = 10;

// Up to 20 % of the ttl, so that leases of many workers do not end together.
std::int64_t restart_jitter_ms(std::uint64_t token, std::int64_t ttl_ms) {
  std::uint64_t h = token * 0x9e3779b97f4a7c15ULL;
  h ^= h >> 32U;
  return static_cast<std::int64_t>(
      h % static_cast<std::uint64_t>(std::max<std::int64_t>(1, ttl_ms / 5)));
}

}  // namespace

base::Result<bool> EngineImpl::load(const ShardStore& store, Now now) {
  std::optional<Error> fault;
  std::string detail;
  const auto each = [&](Keyspace keyspace, const auto& row) {
    if (fault) return;
    const ReadError error = store.load(
        keyspace,
        [&](std::string_view key, std::string_view value) {
          row(key, value);
          return !fault.has_value();
        },
        &detail);
    if (error != ReadError::kNone && !fault) fault = damaged(detail);
  };

  last_seq_ = store.last_committed();
  durable_seq_ = last_seq_;
  std::map<std::uint64_t, std::int64_t> overdue_ends;  // of grants
  each(Keyspace::kMeta, [&](std::string_view key, std::string_view value) {
    if (key == keys::engine_meta()) {
      if (!model::decode(value, &meta_)) fault = undecodable(Keyspace::kMeta, key);
    } else if (!key.empty() && key.front() == 'o') {
      model::Operation operation;
      if (!model::decode(value, &operation)) {
        fault = undecodable(Keyspace::kMeta, key);
        return;
      }
      operations_[operation.number] = std::move(operation);
    } else if (!key.empty() && key.front() == 'g') {
      model::OverdueGrant overdue;
      if (key.size() != 9 || !model::decode(value, &overdue)) {
        fault = undecodable(Keyspace::kMeta, key);
        return;
      }
      overdue_ends.emplace(model::Reader(key.substr(1)).u64(), overdue.ends_ms);
    }
  });
  if (meta_.index_exact_from_seq == model::kIndexNeverExact) {
    meta_.index_exact_from_seq = last_seq_ + 1;
  }
  now_.wall_ms = meta_.now_ms;
  const std::int64_t gap_ms = now.wall_ms - meta_.now_ms;
  now_.mono_ms = now.mono_ms;
  advance_time(now);
  wall_seen_ms_ = now.wall_ms;
  if (meta_.now_ms != 0 && gap_ms > base::limits::kStartGapMs) {
    hold_deletions(now_.wall_ms, base::limits::kDeletionHoldMs);
  } else if (meta_.deletions_held_ms != 0) {  // by a former process, which did not wait to its end
    const std::int64_t left_ms =
        meta_.deletions_held_ms + base::limits::kDeletionHoldMs - now_.wall_ms;
    if (left_ms > 0) {
      hold_deletions(meta_.deletions_held_ms, std::min(left_ms, base::limits::kDeletionHoldMs));
    }
  }

  std::map<std::uint32_t, model::QueueCounters> counters;
  each(Keyspace::kQueueState, [&](std::string_view key, std::string_view value) {
    const char tag = key.empty() ? '\0' : key.front();
    if (tag == 'q') {
      auto q = std::make_unique<QueueState>(&window_bytes_);
      if (!model::decode(value, &q->queue)) {
        fault = undecodable(Keyspace::kQueueState, key);
        return;
      }
      queue_numbers_[{q->queue.name_space, q->queue.name}] = q->queue.number;
      const std::uint32_t number = q->queue.number;
      queues_[number] = std::move(q);
    } else if (keys::is_queue_counters(key)) {
      model::QueueCounters c;
      if (!model::decode(value, &c)) {
        fault = undecodable(Keyspace::kQueueState, key);
        return;
      }
      counters[model::Reader(key.substr(1)).u32()] = std::move(c);
    } else if (tag == 'd' && key.size() == 5) {
      dropped_.insert(model::Reader(key.substr(1)).u32());
    }
  });
  if (fault) return *fault;
  std::int64_t look_ms = now_.wall_ms;
  for (auto& [number, q] : queues_) {
    auto it = counters.find(number);
    if (it == counters.end()) return damaged("queue \"" + q->queue.name + "\" has no counters");
    q->counters = std::move(it->second);
    if (planted(base::Mistake::kForgetLimitAtRestart)) q->queue.settings.concurrency_limit.reset();
    if (!q->counters.conserved()) {
      return damaged("counters of queue \"" + q->queue.name + "\" do not add up");
    }
    if (q->counters.of(JobState::kReady) > 0) q->window.cover_none();
    // How old its ended jobs are is not known here: each group is looked at once, one after the
    // other, so that many queues do not all read at the start.
    for (const JobState group : model::kFinalStates) {
      if (q->counters.of(group) > 0) final_plan_.plan({number, group}, look_ms += 10);
    }
  }
  for (auto& [number, operation] : operations_) {
    auto it = queues_.find(operation.queue);
    if (operation.done || it == queues_.end()) continue;
    open_operations_.insert(number);
    it->second->purges.push_back(number);
    it->second->purge_barrier = std::max(it->second->purge_barrier, operation.barrier);
  }
  timers_.cover_none();

  if (auto spent = load_spent(store); !spent) return spent.error();
  if (auto grants = load_grants(store, overdue_ends); !grants) return grants.error();

  each(Keyspace::kScheduler, [&](std::string_view key, std::string_view value) {
    if (!book_.load(key, value)) fault = undecodable(Keyspace::kScheduler, key);
  });
  if (fault) return *fault;
  book_.start();
  return true;
}

// When a grant that is overdue now ends (R5). Nobody was promised more: no heartbeat is answered
// before the row is gone. A jump of the clock is no time that a worker had.
std::int64_t EngineImpl::overdue_end_mono_ms(GrantState& grant) {
  const std::int64_t full_ms = grant.ttl_ms + grant.ttl_ms / 5;
  if (grant.overdue_ends_ms == 0 || deletions_held()) {
    grant.overdue_ends_ms = now_.wall_ms + full_ms;
    batch().put(Keyspace::kMeta, keys::overdue_grant(grant.number),
                model::encode(model::OverdueGrant{grant.overdue_ends_ms}));
  }
  const std::int64_t left_ms = grant.overdue_ends_ms - now_.wall_ms;
  return now_.mono_ms + std::clamp<std::int64_t>(left_ms, 0, full_ms);
}

// R1: every recorded lease that has not ended is live again with its full ttl from now, unless it
// is overdue (R5). It counts for limits from this moment (R2).
base::Result<bool> EngineImpl::load_grants(
    const ShardStore& store, const std::map<std::uint64_t, std::int64_t>& overdue_ends) {
  std::map<std::uint64_t, model::Grant> rows;
  std::string detail;
  std::optional<Error> fault;
  const ReadError error = store.load(
      Keyspace::kGrant,
      [&](std::string_view key, std::string_view value) {
        model::Grant grant;
        if (key.size() != 8 || !model::decode(value, &grant)) {
          fault = undecodable(Keyspace::kGrant, key);
          return false;
        }
        rows.emplace(model::Reader(key).u64(), std::move(grant));
        return true;
      },
      &detail);
  if (fault) return *fault;
  if (error != ReadError::kNone) return damaged(detail);

  std::map<std::uint32_t, std::uint64_t> running;
  for (auto& [number, grant] : rows) {
    auto state = std::make_shared<GrantState>();
    state->number = number;
    state->holder = std::make_shared<const LeaseHolder>(
        LeaseHolder{.worker_id = grant.worker_id, .session_id = grant.session_id});
    state->principal = grant.principal;
    state->request_hash = grant.request_hash;
    state->ttl_ms = grant.ttl_ms;
    state->granted_ms = grant.granted_ms;
    state->granted_seq = grant.granted_seq;
    if (auto it = overdue_ends.find(number); it != overdue_ends.end()) {
      state->overdue_ends_ms = it->second;
    }
    ReadSpec spec;
    for (const model::GrantEntry& entry : grant.entries) {
      spec.gets.push_back({Keyspace::kJob, keys::job(entry.job)});
      spec.gets.push_back({Keyspace::kSide, keys::job(entry.job)});
    }
    ReadResult result;
    if (store.snapshot_read(spec, &result, &detail) != ReadError::kNone) return damaged(detail);
    for (std::size_t i = 0; i < grant.entries.size(); ++i) {
      const model::GrantEntry& entry = grant.entries[i];
      const auto& body_row = result.values[2 * i];
      const auto& side_row = result.values[2 * i + 1];
      auto q = queues_.find(entry.job.queue);
      if (!body_row || q == queues_.end()) continue;  // the job has ended
      auto body = std::make_shared<model::JobBody>();
      if (!model::decode(*body_row, body.get())) {
        return undecodable(Keyspace::kJob, keys::job(entry.job));
      }
      std::shared_ptr<model::Side> side;
      if (side_row) {
        side = std::make_shared<model::Side>();
        if (!model::decode(*side_row, side.get())) {
          return undecodable(Keyspace::kSide, keys::job(entry.job));
        }
        if (entry.token <= side->last_token) continue;  // this attempt has ended
      }
      Lease lease;
      lease.key = entry.job;
      lease.priority = side && side->priority_changed ? side->priority : entry.job.priority;
      lease.attempt = entry.attempt;
      lease.token = entry.token;
      lease.permits = entry.permits;
      lease.grant = state;
      // As it was at the grant. Format 1 does not say: the job's own, or the queue's of today.
      const std::int64_t timeout_ms = entry.attempt_timeout_ms.value_or(
          body->attempt_timeout_ms.value_or(q->second->queue.settings.attempt_timeout_ms));
      const std::int64_t full =
          now_.mono_ms + grant.ttl_ms + restart_jitter_ms(entry.token, grant.ttl_ms);
      if (timeout_ms != model::kNoTimeout) {
        // What is left of the attempt, but never less than one ttl: nobody knows when the last
        // heartbeat came.
        const std::int64_t left = grant.granted_ms + timeout_ms - now_.wall_ms;
        lease.cap_mono_ms = std::max(now_.mono_ms + left, full);
      }
      lease.deadline_mono_ms = full;
      const std::int64_t most_ms =
          std::max(kOverdueTtls * grant.ttl_ms, timeout_ms == model::kNoTimeout ? 0 : timeout_ms);
      if (now_.wall_ms - grant.granted_ms > most_ms) {
        lease.deadline_mono_ms = std::min(full, overdue_end_mono_ms(*state));
      }
      lease.body = std::move(body);
      lease.side = std::move(side);
      watch(lease);
      if (lease.side && lease.side->cancel_requested) {
        cancels_by_session_[state->holder->session_id].insert(lease.token);
        cancels_untold_.insert(state->holder->session_id);
      }
      state->live.insert(lease.key);
      q->second->running.insert(lease.key);
      ++running[entry.job.queue];
      const JobKey key = lease.key;
      if (!leases_.emplace(key, std::move(lease)).second) {
        return damaged("job " + model::job_id(key) + " has two live leases");
      }
    }
    if (state->live.empty()) {
      batch().del(Keyspace::kGrant, keys::grant(number));
      forget_overdue(*state);
      if (!state->request_hash.empty()) spend_request(state->request_hash);
      continue;
    }
    grants_[number] = state;
    if (!state->request_hash.empty()) grant_by_request_[state->request_hash] = number;
  }
  for (const auto& [number, q] : queues_) {
    if (q->counters.of(JobState::kRunning) != running[number]) {
      return damaged("queue \"" + q->queue.name + "\" counts " +
                     std::to_string(q->counters.of(JobState::kRunning)) + " running jobs, " +
                     std::to_string(running[number]) + " have a live lease");
    }
  }
  return true;
}

// The request ids of lease calls whose attempts have all ended, the newest first and no more than
// are remembered while the server runs.
base::Result<bool> EngineImpl::load_spent(const ShardStore& store) {
  std::vector<std::string> newest_first;
  // While a jump of the clock holds deletions back, none is over by age.
  const std::int64_t since_ms =
      deletions_held() ? INT64_MIN : now_.wall_ms - options_.request_retention_ms;
  ReadSpec spec;
  spec.scans.push_back({.keyspace = Keyspace::kRequest,
                        .begin = keys::spent_begin(),
                        .end = keys::spent_end(since_ms)});
  for (bool more = true; more && newest_first.size() < kSpentRequestsKept;) {
    ReadResult result;
    std::string detail;
    if (store.snapshot_read(spec, &result, &detail) != ReadError::kNone) return damaged(detail);
    for (const auto& [key, value] : result.pages[0].rows) {
      model::RequestRecord record;
      std::vector<std::string> hashes;
      if (!model::decode(value, &record) || !model::decode_strings(record.answer, &hashes)) {
        return undecodable(Keyspace::kRequest, key);
      }
      newest_first.insert(newest_first.end(), hashes.rbegin(), hashes.rend());
    }
    more = result.pages[0].more;
    spec.scans[0].begin = result.pages[0].next;
  }
  if (newest_first.size() > kSpentRequestsKept) newest_first.resize(kSpentRequestsKept);
  for (auto it = newest_first.rbegin(); it != newest_first.rend(); ++it) spend_request(*it);
  spent_now_.clear();  // they are stored
  return true;
}

}  // namespace rota::core
