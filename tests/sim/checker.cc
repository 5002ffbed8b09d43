// SPDX-License-Identifier: Apache-2.0
#include "sim/checker.h"

#include <algorithm>
#include <set>

#include "model/keyspace.h"

namespace rota::sim {

// What is loaded is what was committed, row by row: nothing lost, nothing that was never promised.
void Checker::opened(const core::ShardStore& store, core::Now now, bool deletions_held) {
  if (store.last_committed() != last_seq_) {
    context_.verdict.fail(2, "the store opens at batch " + std::to_string(store.last_committed()) +
                                 ", committed was " + std::to_string(last_seq_));
    return;
  }
  compare_store(store, 2);
  model_.compare_all();
  model_.restarted(std::max(now.wall_ms, model_.now_ms()), deletions_held);
  leases_.clear();
  for (const auto& [token, live] : model_.live_leases()) {
    LeaseClock::Lease lease;
    lease.key = live.key;
    lease.session_id = live.session_id;
    lease.request_id = live.request_id;
    lease.ttl_ms = live.ttl_ms;
    lease.deadline_ms = now.mono_ms + live.ttl_ms;
    lease.slack_ms = live.ttl_ms / 5;
    if (live.timeout_ms != model::kNoTimeout) {
      const std::int64_t wall = std::max(now.wall_ms, model_.now_ms());
      const std::int64_t left = live.granted_ms + live.timeout_ms - wall;
      lease.cap_ms = now.mono_ms + std::max(left, live.ttl_ms);
    }
    leases_.restore(token, lease);
  }
}

void Checker::applied(const core::Command& command, core::Now now) {
  if (std::holds_alternative<core::AbandonGrant>(command.body)) {
    context_.coverage.answered(command.body, false);
    return;
  }
  calls_.emplace(command.call, command);
  if (const auto* beat = std::get_if<core::Heartbeat>(&command.body)) {
    for (const core::LeaseRef& ref : beat->leases) {
      leases_.beat(ref, beat->session_id, now.mono_ms);
    }
  } else if (const auto* lease = std::get_if<core::LeaseJobs>(&command.body)) {
    leases_.repeat(*lease, now.mono_ms);
  }
}

void Checker::answered_early(const core::Reply& reply, core::Now) {
  const auto call = calls_.find(reply.call);
  const auto* answer = std::get_if<core::HeartbeatReply>(&reply.body);
  if (call == calls_.end() || answer == nullptr) {
    context_.verdict.fail(3, "an answer other than a renewal left before its commit");
    return;
  }
  const auto& asked = std::get<core::Heartbeat>(call->second.body);
  context_.coverage.answered(call->second.body, false);
  model_.take_early(asked, *answer);
  for (std::size_t i = 0; i < asked.leases.size() && context_.verdict.ok(); ++i) {
    const LeaseClock::Lease* lease = leases_.find(asked.leases[i].token);
    if (lease == nullptr) continue;
    const std::int64_t left = std::max<std::int64_t>(0, lease->deadline_ms - context_.mono_ms());
    const std::int64_t told = answer->items[i].renewed_for_ms;
    if (told < left || told > left + lease->slack_ms) {
      context_.verdict.fail(12, "a heartbeat renewed for " + std::to_string(told) +
                                    " ms, the lease has " + std::to_string(left));
    }
  }
  calls_.erase(call);
}

void Checker::sealed(SealedTurn& sealed) {
  const std::int64_t mono_ms = sealed.sealed.mono_ms;
  std::uint32_t ended_alone = 0;
  for (const core::JobEvent& event : sealed.turn.events) {
    if (event.token == 0 || event.kind == core::JobEvent::Kind::kGranted) continue;
    if (const LeaseClock::Lease* lease = leases_.find(event.token)) {
      sealed.left[event.token] = {lease->deadline_ms - mono_ms, lease->deadline_ms >= lease->cap_ms,
                                  lease->slack_ms > 0};
      if (lease->deadline_ms <= mono_ms) ++ended_alone;
      leases_.end(event.token);
    }
  }
  std::set<std::uint64_t> fresh;
  for (const core::JobEvent& event : sealed.turn.events) {
    if (event.kind == core::JobEvent::Kind::kGranted) fresh.insert(event.token);
  }
  for (const core::Reply& reply : sealed.turn.replies) {
    const auto* lease = std::get_if<core::LeaseReply>(&reply.body);
    const auto call = calls_.find(reply.call);
    if (lease == nullptr || call == calls_.end()) continue;
    const auto& asked = std::get<core::LeaseJobs>(call->second.body);
    for (const core::GrantedJob& job : lease->jobs) {
      if (fresh.contains(job.token)) leases_.grant(job, asked, sealed.turn.seq, mono_ms);
    }
  }
  const std::uint64_t late = leases_.sealed(mono_ms, ended_alone, context_.profile.max_expiries);
  if (late != 0) {
    context_.verdict.fail(17, "the lease of token " + std::to_string(late) + " ended " +
                                  std::to_string(mono_ms - leases_.find(late)->deadline_ms) +
                                  " ms ago and is still live");
  }
}

void Checker::durable(core::CommitSeq seq, core::Now now) { leases_.durable(seq, now.mono_ms); }

void Checker::stalled(std::int64_t gap_ms, core::Stall what) { leases_.stalled(gap_ms, what); }

void Checker::committed(const SealedTurn& sealed) {
  const core::Turn& turn = sealed.turn;
  if (turn.seq != last_seq_ + (turn.batch ? 1U : 0U)) {
    context_.verdict.fail(
        29, "batch " + std::to_string(turn.seq) + " follows batch " + std::to_string(last_seq_));
  }
  last_seq_ = turn.seq;
  if (turn.batch) {
    context_.coverage.turn();
    ++turns_since_;
  }
  model_.take(sealed, calls_);
  for (const core::Reply& reply : turn.replies) calls_.erase(reply.call);
}

void Checker::died() {
  calls_.clear();
  leases_.clear();
}

void Checker::rested(const core::ShardStore& store, const core::Engine& engine) {
  if (turns_since_ >= context_.profile.full_check_every) full_check(store, &engine);
}

void Checker::compare_store(const core::ShardStore& store, int invariant) {
  Rows stored;
  std::string detail;
  for (int k = 0; k < model::kKeyspaceCount; ++k) {
    const auto keyspace = static_cast<core::Keyspace>(k);
    store.load(
        keyspace,
        [&](std::string_view key, std::string_view value) {
          stored.emplace(std::pair(keyspace, std::string(key)), value);
          return true;
        },
        &detail);
  }
  if (stored != model_.rows()) {
    context_.verdict.fail(invariant, "the store does not hold exactly the committed batches");
  }
}

void Checker::full_check(const core::ShardStore& store, const core::Engine* engine) {
  turns_since_ = 0;
  context_.coverage.full_check();
  compare_store(store, 1);
  if (context_.verdict.ok()) model_.compare_all();
  if (engine != nullptr) {
    for (const std::string& fault : engine->check(store)) context_.verdict.fail(14, fault);
  }
  core::EngineOptions options;
  const NoZones zones;
  core::Engine fresh(options, zones);
  if (auto loaded = fresh.load(store, context_.now()); !loaded) {
    context_.verdict.fail(4, "what is stored does not load: " + loaded.error().message);
    return;
  }
  for (const std::string& fault : fresh.check(store)) {
    context_.verdict.fail(4, "loaded anew: " + fault);
  }
}

void Checker::judge(const core::ShardStore& store, const core::Engine& engine) {
  full_check(store, &engine);
  model_.judge_due(context_.wall_ms());
  const core::EngineStats stats = engine.stats();
  if (stats.live_leases != 0 || stats.parked_commands > 0) {
    context_.verdict.fail(17, std::to_string(stats.live_leases) + " leases and " +
                                  std::to_string(stats.parked_commands) +
                                  " commands are left when everything is quiet");
  }
}

std::string Checker::what_is_live() const {
  const auto live = model_.unfinished();
  std::string out = std::to_string(live.size()) + " jobs";
  for (std::size_t i = 0; i < live.size() && i < 5; ++i) out += "; " + live[i];
  return out;
}

}  // namespace rota::sim
