// SPDX-License-Identifier: Apache-2.0
#include "sim/checker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "app/recount.h"
#include "model/keys.h"
#include "model/keyspace.h"
#include "model/records.h"

namespace rota::sim {

namespace {

constexpr std::uint32_t kRestsUntilTick = 6;  // more than there are schedulers
constexpr std::uint32_t kRestsUntilMatch = 3;
constexpr std::int64_t kTickLagMs = 5'000;  // of a server that nothing holds up

bool is_overdue(const Model::LiveLease& lease, std::int64_t wall_ms) {
  const std::int64_t timeout_ms = lease.timeout_ms == model::kNoTimeout ? 0 : lease.timeout_ms;
  return wall_ms - lease.granted_ms > std::max(10 * lease.ttl_ms, timeout_ms);
}

}  // namespace

// What is loaded is what was committed, row by row: nothing lost, nothing that was never promised.
void Checker::opened(const core::ShardStore& store, core::Now now) {
  if (store.last_committed() != last_seq_) {
    context_.verdict.fail(2, "the store opens at batch " + std::to_string(store.last_committed()) +
                                 ", committed was " + std::to_string(last_seq_));
    return;
  }
  compare_store(store, 2);
  model_.compare_all();
  hold_.started(now);
  model_.restarted(std::max(now.wall_ms, model_.now_ms()), hold_.deletions());
  leases_.clear();
  const std::int64_t wall_ms = std::max(now.wall_ms, model_.now_ms());
  std::map<std::uint64_t, std::int64_t> left_ms;
  for (const auto& [token, live] : model_.live_leases()) {
    if (is_overdue(live, wall_ms) && !left_ms.contains(live.grant)) {
      left_ms[live.grant] = overdue_left_ms(live, wall_ms);
    }
  }
  // Found by a start that stored nothing, at a time that went back since: as if it had not been.
  std::erase_if(overdue_, [&](const auto& known) {
    return !left_ms.contains(known.first) &&
           model_.row(core::Keyspace::kMeta, model::keys::overdue_grant(known.first)) == nullptr;
  });
  for (const auto& [token, live] : model_.live_leases()) {
    const bool overdue = is_overdue(live, wall_ms);
    restore(token, live, now, wall_ms, overdue ? left_ms.at(live.grant) : INT64_MAX);
  }
  for (auto& [grant, overdue] : overdue_) overdue.heard = false;
}

// A lease is live again with a full ttl (R1), or until the end that an earlier start gave it (R5).
void Checker::restore(std::uint64_t token, const Model::LiveLease& live, core::Now now,
                      std::int64_t wall_ms, std::int64_t left_ms) {
  LeaseClock::Lease lease;
  lease.key = live.key;
  lease.session_id = live.session_id;
  lease.request_id = live.request_id;
  lease.grant = live.grant;
  lease.ttl_ms = live.ttl_ms;
  const std::int64_t most_ms = live.ttl_ms + live.ttl_ms / 5;
  if (live.timeout_ms != model::kNoTimeout) {
    const std::int64_t attempt_ms = live.granted_ms + live.timeout_ms - wall_ms;
    lease.cap_ms = now.mono_ms + std::max(attempt_ms, live.ttl_ms);
    lease.latest_cap_ms = now.mono_ms + std::max(attempt_ms, most_ms);
  }
  lease.deadline_ms = now.mono_ms + std::min(live.ttl_ms, left_ms);
  lease.latest_ms = now.mono_ms + std::min(most_ms, left_ms);
  leases_.restore(token, lease);
}

// The row of the grant must say what the first start that found it overdue has given it, unless its
// worker was heard of since; then it may be gone.
std::int64_t Checker::overdue_left_ms(const Model::LiveLease& live, std::int64_t wall_ms) {
  const std::int64_t full_ms = live.ttl_ms + live.ttl_ms / 5;
  const auto known = overdue_.find(live.grant);
  const std::string name = "grant " + std::to_string(live.grant);
  const auto* row = model_.row(core::Keyspace::kMeta, model::keys::overdue_grant(live.grant));
  if (row == nullptr) {
    if (known != overdue_.end() && !known->second.heard && last_seq_ > known->second.seq) {
      context_.verdict.fail(17, name +
                                    " was overdue at a start, nothing was heard of its worker, "
                                    "and nothing stored says so");
    }
    overdue_[live.grant] = {{wall_ms}, last_seq_, false};
    return full_ms;
  }
  model::OverdueGrant stored;
  if (known == overdue_.end() || !model::decode(*row, &stored)) {
    context_.verdict.fail(17, name + " is stored as overdue, and no start found it so");
    return full_ms;
  }
  const auto given_at = [&](std::int64_t found_ms) {
    return stored.ends_ms >= found_ms + live.ttl_ms && stored.ends_ms <= found_ms + full_ms;
  };
  std::vector<std::int64_t>& found_ms = known->second.found_ms;
  const auto written = std::find_if(found_ms.begin(), found_ms.end(), given_at);
  if (written == found_ms.end()) {
    context_.verdict.fail(12, name + " was given another end than a ttl after the start");
    return full_ms;
  }
  if (hold_.deletions()) {  // written anew, which a crash may prevent
    found_ms.push_back(wall_ms);
    known->second = {std::move(found_ms), last_seq_, false};
    return full_ms;
  }
  context_.coverage.overdue();
  return std::clamp<std::int64_t>(stored.ends_ms - wall_ms, 0, full_ms);
}

// A sign of the worker reached the engine.
void Checker::hear(std::uint64_t token) {
  const LeaseClock::Lease* lease = leases_.find(token);
  if (lease == nullptr) return;
  if (const auto it = overdue_.find(lease->grant); it != overdue_.end()) it->second.heard = true;
}

// The worker is told that its lease lasts: no start may find the row that ends it.
void Checker::promised(std::uint64_t token) {
  const LeaseClock::Lease* lease = leases_.find(token);
  if (lease == nullptr || lease->grant == 0) return;
  if (model_.row(core::Keyspace::kMeta, model::keys::overdue_grant(lease->grant)) != nullptr) {
    context_.verdict.fail(
        12, "token " + std::to_string(token) + " is renewed while its grant is stored as overdue");
  }
  overdue_.erase(lease->grant);
}

void Checker::applied(const core::Command& command, core::Now now) {
  if (std::holds_alternative<core::AbandonGrant>(command.body)) {
    context_.coverage.answered(command.body, false);
    return;
  }
  calls_.emplace(command.call, command);
  if (const auto* beat = std::get_if<core::Heartbeat>(&command.body)) {
    for (const core::LeaseRef& ref : beat->leases) {
      hear(ref.token);
      leases_.beat(ref, beat->session_id, now.mono_ms);
    }
  } else if (const auto* lease = std::get_if<core::LeaseJobs>(&command.body)) {
    for (const auto& [token, one] : leases_.all()) {
      if (one.request_id == lease->request_id) hear(token);
    }
    leases_.repeat(*lease, now.mono_ms);
    polls_.applied(command.call, *lease, now.mono_ms);
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
    if (answer->items[i].beat == core::Beat::kRenewed) promised(asked.leases[i].token);
    const std::int64_t now_ms = context_.mono_ms();
    const std::int64_t least = std::max<std::int64_t>(0, lease->deadline_ms - now_ms);
    const std::int64_t most = std::max<std::int64_t>(0, lease->latest_ms - now_ms);
    const std::int64_t told = answer->items[i].renewed_for_ms;
    if (told < least || told > most) {
      context_.verdict.fail(12, "a heartbeat renewed for " + std::to_string(told) +
                                    " ms, the lease has from " + std::to_string(least) + " to " +
                                    std::to_string(most));
    }
  }
  calls_.erase(call);
}

void Checker::sealed(SealedTurn& sealed) {
  const std::int64_t mono_ms = sealed.sealed.mono_ms;
  sealed.hold = hold_.sealed();
  sealed.polls = polls_.sealed(sealed.turn, mono_ms);
  std::uint32_t ended_alone = 0;
  for (const core::JobEvent& event : sealed.turn.events) {
    if (event.token == 0 || event.kind == core::JobEvent::Kind::kGranted) continue;
    if (const LeaseClock::Lease* lease = leases_.find(event.token)) {
      sealed.left[event.token] = {lease->deadline_ms - mono_ms, lease->at_cap(),
                                  lease->may_be_at_cap() && !lease->surely_at_cap()};
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
                                  std::to_string(mono_ms - leases_.find(late)->latest_ms) +
                                  " ms ago and is still live");
  }
}

void Checker::durable(core::CommitSeq seq, core::Now now) {
  leases_.durable(seq, now.mono_ms);
  polls_.durable(now.mono_ms);
}

void Checker::stalled(std::int64_t gap_ms, core::Stall what) { leases_.stalled(gap_ms, what); }

void Checker::committed(const SealedTurn& sealed) {
  const core::Turn& turn = sealed.turn;
  if (turn.seq != last_seq_ + (turn.batch ? 1U : 0U)) {
    context_.verdict.fail(
        29, "batch " + std::to_string(turn.seq) + " follows batch " + std::to_string(last_seq_));
  }
  last_seq_ = turn.seq;
  events_ += turn.events.size();
  if (turn.batch) {
    context_.coverage.turn();
    ++turns_since_;
  }
  model_.take(sealed, calls_);
  check_hold(sealed);
  for (const core::Reply& reply : turn.replies) {
    const auto call = calls_.find(reply.call);
    if (const auto* answer = std::get_if<core::HeartbeatReply>(&reply.body);
        answer != nullptr && call != calls_.end()) {
      const auto& asked = std::get<core::Heartbeat>(call->second.body);
      for (std::size_t i = 0; i < answer->items.size(); ++i) {
        if (answer->items[i].beat != core::Beat::kLost) promised(asked.leases[i].token);
      }
    } else if (const auto* granted = std::get_if<core::LeaseReply>(&reply.body)) {
      for (const core::GrantedJob& job : granted->jobs) promised(job.token);
    }
    if (call != calls_.end()) calls_.erase(call);
  }
}

// What is stored says since when deletions are held, and says so with the first turn of it.
void Checker::check_hold(const SealedTurn& sealed) {
  const std::int64_t since_ms = sealed.hold.since_ms;
  if (!sealed.turn.batch) {
    if (since_ms != 0 && since_ms != hold_.stored_since_ms()) {
      context_.verdict.fail(25, "the clock has jumped, and nothing stored says so");
    }
    return;
  }
  hold_.committed(sealed.hold, sealed.sealed.wall_ms);
  const auto* row = model_.row(core::Keyspace::kMeta, model::keys::engine_meta());
  model::EngineMeta meta;
  if (row == nullptr || !model::decode(*row, &meta)) {
    context_.verdict.fail(2, "the engine's own record is lost or damaged");
  } else if (meta.deletions_held_ms != since_ms) {
    context_.verdict.fail(25, "deletions are held since " + std::to_string(since_ms) +
                                  ", stored is " + std::to_string(meta.deletions_held_ms));
  }
}

void Checker::died() {
  calls_.clear();
  behind_.clear();
  leases_.clear();
  polls_.clear();
  stuck_.clear();
}

// At rest the engine has said when it goes on by itself: not after the next thing that is due.
void Checker::check_wake(const Rest& rest) {
  const bool goes_on = rest.more || rest.wake_mono_ms <= context_.mono_ms() ||
                       rest.wake_wall_ms <= context_.wall_ms();
  if (goes_on) return;
  const Model::Due due = model_.next_due(hold_.ticks(), hold_.deletions());
  if (rest.wake_wall_ms > std::max(due.at_ms, rest.sealed.wall_ms)) {
    context_.verdict.fail(17, due.what + " at " + std::to_string(due.at_ms) +
                                  ", and the engine sleeps until " +
                                  std::to_string(rest.wake_wall_ms));
  }
  const std::int64_t end_ms = leases_.next_end_ms();
  if (rest.wake_mono_ms > std::max(end_ms, rest.sealed.mono_ms + 1)) {
    context_.verdict.fail(17, "a lease ends at " + std::to_string(end_ms) +
                                  " of the monotonic clock, and the engine sleeps until " +
                                  std::to_string(rest.wake_mono_ms));
  }
}

// Each turn goes on with one scheduler at least, the one that waits longest first, and at rest none
// is half done. So what is due is done after as many turns as there are schedulers, whenever the
// engine says that it will wake.
void Checker::check_ticks(const Rest& rest) {
  std::map<std::string, Behind> behind;
  if (!hold_.ticks()) {
    for (const Model::DueTick& due : model_.due_ticks(rest.sealed.wall_ms)) {
      const auto before = behind_.find(due.scheduler);
      const bool same = before != behind_.end() && before->second.cursor_ms == due.cursor_ms &&
                        before->second.version == due.version;
      const std::uint32_t rests = same ? before->second.rests + 1 : 0;
      behind[due.scheduler] = {due.cursor_ms, due.version, rests};
      if (rests > kRestsUntilTick) {
        context_.verdict.fail(17, due.scheduler + " should have ticked at " +
                                      std::to_string(due.at_ms) + ", and nothing becomes of it");
      }
    }
  }
  behind_ = std::move(behind);
}

// At rest no lease call is parked that could be answered: beside a READY job that it asks for, for
// one, whatever it was that made the job READY or opened its gate. Only where the engine is to go
// on at once it may have done as much as fits into a turn; then the next turns do something.
void Checker::check_polls(const Rest& rest) {
  if (polls_.parked().empty()) return stuck_.clear();
  const std::map<std::string, JobKey> grantable = model_.grantable();
  std::map<core::CallId, Stuck> stuck;
  for (const auto& [call, poll] : polls_.parked()) {
    const std::string why =
        polls_.is_over(poll) ? "its wait is over"
                             : model_.to_be_answered(poll.call, polls_.has_time(poll), grantable);
    if (why.empty()) continue;
    Stuck now{events_, 0};
    if (const auto before = stuck_.find(call);
        before != stuck_.end() && before->second.events == events_) {
      now.rests = before->second.rests + 1;
    }
    if (!rest.more || now.rests >= kRestsUntilMatch) {
      context_.verdict.fail(
          17, "the lease call of " + poll.call.session_id + " stays parked, and " + why);
      return;
    }
    stuck[call] = now;
  }
  stuck_ = std::move(stuck);
}

void Checker::judge_ticks() {
  context_.coverage.ticks_judged();
  for (const Model::DueTick& due : model_.due_ticks(context_.wall_ms() - kTickLagMs)) {
    context_.verdict.fail(17, "faults have ended and " + due.scheduler + " has not ticked at " +
                                  std::to_string(due.at_ms) + ", " +
                                  std::to_string(context_.wall_ms() - due.at_ms) + " ms ago");
  }
}

void Checker::rested(const core::ShardStore& store, const core::Engine& engine, const Rest& rest) {
  const core::EngineStats stats = engine.stats();
  if (stats.deletions_held != hold_.deletions() ||
      stats.schedulers_held != hold_.ticks_by_clock()) {
    context_.verdict.fail(25, "the engine says otherwise what a jump of the clock holds back");
  }
  if (std::exchange(rested_turn_, rest.turn) != rest.turn) {
    check_wake(rest);
    check_ticks(rest);
    check_polls(rest);
  }
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

// As `rota-server --check` counts: what lies beside the jobs too, such as their listing for
// retention, the expiry of keys and requests, and how far each of them has been swept.
void Checker::recount(const core::ShardStore& store) {
  const auto report = app::recount(store);
  if (!report) {
    context_.verdict.fail(2, "the rows cannot be counted: " + report.error().message);
    return;
  }
  for (const std::string& text : report->contradictions) context_.verdict.fail(14, text);
  const std::size_t live = model_.live_leases().size();
  if (report->live_leases != live) {
    context_.verdict.fail(14, std::to_string(report->live_leases) + " leases are counted, " +
                                  std::to_string(live) + " are live");
  }
}

void Checker::full_check(const core::ShardStore& store, const core::Engine* engine) {
  turns_since_ = 0;
  context_.coverage.full_check();
  compare_store(store, 1);
  if (context_.verdict.ok()) model_.compare_all();
  if (context_.verdict.ok()) recount(store);
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
  if (const std::string kept = model_.kept_too_long(context_.wall_ms()); !kept.empty()) {
    context_.verdict.fail(7, kept);
  }
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
