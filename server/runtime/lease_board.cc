// SPDX-License-Identifier: Apache-2.0
#include "runtime/lease_board.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "model/keys.h"
#include "model/records.h"

namespace rota::runtime {

using base::Reason;
using core::JobEvent;
using model::JobKey;
using model::Keyspace;

namespace {

// Entries of one grant whose attempts have not ended, by the rows of their jobs.
base::Result<std::vector<model::GrantEntry>> live_entries(const core::ShardStore& store,
                                                          const model::Grant& grant) {
  core::ReadSpec spec;
  for (const model::GrantEntry& entry : grant.entries) {
    spec.gets.push_back({Keyspace::kJob, model::keys::job(entry.job)});
    spec.gets.push_back({Keyspace::kSide, model::keys::job(entry.job)});
  }
  core::ReadResult read;
  std::string detail;
  if (store.snapshot_read(spec, &read, &detail) != core::ReadError::kNone) {
    return base::make_error(Reason::kStoreFailed, "rows of a grant cannot be read: " + detail);
  }
  std::vector<model::GrantEntry> live;
  for (std::size_t i = 0; i < grant.entries.size(); ++i) {
    const std::optional<std::string>& body = read.values[2 * i];
    const std::optional<std::string>& side_row = read.values[2 * i + 1];
    if (!body) continue;
    if (side_row) {
      model::Side side;
      if (!model::decode(*side_row, &side)) {
        return base::make_error(Reason::kStoreFailed,
                                "the side record of a running job is damaged");
      }
      if (side.last_token >= grant.entries[i].token) continue;
    }
    live.push_back(grant.entries[i]);
  }
  return live;
}

}  // namespace

base::Status LeaseBoard::load(const core::ShardStore& store) {
  std::vector<model::Grant> grants;
  std::string detail;
  bool damaged = false;
  const core::ReadError error = store.load(
      Keyspace::kGrant,
      [&](std::string_view, std::string_view value) {
        damaged = !model::decode(value, &grants.emplace_back());
        return !damaged;
      },
      &detail);
  if (error != core::ReadError::kNone) {
    return base::make_error(Reason::kStoreFailed, "grant records cannot be read: " + detail);
  }
  if (damaged) return base::make_error(Reason::kStoreFailed, "a grant record is damaged");

  std::unique_lock lock(mutex_);
  for (const model::Grant& grant : grants) {
    base::Result<std::vector<model::GrantEntry>> live = live_entries(store, grant);
    if (!live) return std::move(live).error();
    const auto holder = std::make_shared<const core::LeaseHolder>(
        core::LeaseHolder{.worker_id = grant.worker_id, .session_id = grant.session_id});
    for (const model::GrantEntry& entry : *live) {
      insert({.key = entry.job,
              .token = entry.token,
              .attempt = entry.attempt,
              .holder = holder,
              .granted_ms = grant.granted_ms,
              .granted_seq = grant.granted_seq});
    }
  }
  seq_ = store.last_committed();
  return {};
}

void LeaseBoard::publish(const std::vector<JobEvent>& events) {
  std::unique_lock lock(mutex_);
  for (const JobEvent& event : events) {
    seq_ = std::max(seq_, event.seq);
    switch (event.kind) {
      case JobEvent::Kind::kGranted:
        insert({.key = event.key,
                .token = event.token,
                .attempt = event.attempt,
                .holder = event.holder,
                .granted_ms = event.at_ms,
                .granted_seq = event.seq});
        break;
      case JobEvent::Kind::kAttemptEnded:
        erase(event.key, event.token);
        break;
      case JobEvent::Kind::kFinal:
      case JobEvent::Kind::kRemoved:
        erase(event.key, UINT64_MAX);
        break;
      case JobEvent::Kind::kChanged:
        break;
    }
  }
}

void LeaseBoard::insert(RunningAttempt attempt) {
  const JobKey key = attempt.key;
  auto [place, fresh] = running_.try_emplace(key);
  if (!fresh) leave_session(place->second);
  sessions_[attempt.holder->session_id].insert(key);
  place->second = std::move(attempt);
}

// Of this token or an older one.
void LeaseBoard::erase(const JobKey& key, std::uint64_t token) {
  const auto it = running_.find(key);
  if (it == running_.end() || it->second.token > token) return;
  leave_session(it->second);
  running_.erase(it);
}

void LeaseBoard::leave_session(const RunningAttempt& attempt) {
  const auto session = sessions_.find(attempt.holder->session_id);
  if (session == sessions_.end()) return;
  session->second.erase(attempt.key);
  if (session->second.empty()) sessions_.erase(session);
}

std::optional<RunningAttempt> LeaseBoard::find(const JobKey& key) const {
  std::shared_lock lock(mutex_);
  const auto it = running_.find(key);
  if (it == running_.end()) return std::nullopt;
  return it->second;
}

std::vector<RunningAttempt> LeaseBoard::page(std::uint32_t queue, const JobKey& after,
                                             std::size_t max) const {
  std::shared_lock lock(mutex_);
  std::vector<RunningAttempt> page;
  // Higher priorities sort first: this is before every key of the queue.
  const JobKey first{.queue = queue, .priority = UINT8_MAX, .seq = 0};
  auto it = after.valid() ? running_.upper_bound(after) : running_.lower_bound(first);
  for (; it != running_.end() && it->first.queue == queue && page.size() < max; ++it) {
    page.push_back(it->second);
  }
  return page;
}

SessionLeases LeaseBoard::of_session(std::string_view session_id, std::size_t max_listed) const {
  std::shared_lock lock(mutex_);
  SessionLeases leases;
  const auto session = sessions_.find(session_id);
  if (session == sessions_.end()) return leases;
  leases.count = session->second.size();
  for (const JobKey& key : session->second) {
    if (leases.first.size() >= max_listed) break;
    leases.first.emplace_back(key, running_.at(key).token);
  }
  return leases;
}

std::size_t LeaseBoard::size() const {
  std::shared_lock lock(mutex_);
  return running_.size();
}

core::CommitSeq LeaseBoard::seq() const {
  std::shared_lock lock(mutex_);
  return seq_;
}

}  // namespace rota::runtime
