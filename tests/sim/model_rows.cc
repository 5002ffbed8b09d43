// SPDX-License-Identifier: Apache-2.0
//
// What the committed rows say against what the model says: for the objects of a turn after each
// turn, for everything now and then.
#include <algorithm>

#include "model/blocker.h"
#include "model/bytes.h"
#include "model/records.h"
#include "sim/model.h"

namespace rota::sim {

namespace keys = model::keys;
using core::Keyspace;

void Model::compare_touched() {
  std::set<std::uint32_t> queues;
  for (const JobKey& key : step_.touched) {
    queues.insert(key.queue);
    compare_job(key);
    if (!ok()) return;
  }
  if (!step_.turn->turn.batch) return;
  std::set<std::string> schedulers;
  for (const auto& [row_key, value] : step_.turn->turn.batch->changes()) {
    const auto& [keyspace, key] = row_key;
    if (keyspace == Keyspace::kQueueState) {
      queues.insert(model::Reader(std::string_view(key).substr(1)).u32());
    } else if (keyspace == Keyspace::kJob || keyspace == Keyspace::kSide) {
      const JobKey job = *keys::parse_job(key);
      // A pointer stands at another key than its job.
      if (!step_.touched.contains(job) && jobs_.contains(job)) compare_job(job);
    }
    if (!ok()) return;
  }
  for (const auto& [name, q] : queues_) {
    if (queues.contains(q.number) && ok()) compare_queue(q);
  }
  for (const auto& [id, s] : schedulers_) {
    if (change(Keyspace::kScheduler, keys::scheduler_state("default", id)) != nullptr && ok()) {
      compare_scheduler(id);
    }
  }
}

void Model::compare_job(const JobKey& key) {
  const std::string row_key = keys::job(key);
  const std::string* body = row(Keyspace::kJob, row_key);
  const std::string* side_row = row(Keyspace::kSide, row_key);
  const std::string* final_row = row(Keyspace::kFinal, keys::final_record(key));
  if (body != nullptr && model::is_pointer(*body)) body = nullptr;
  const Job* job = find(key);
  if (job == nullptr) {
    if (queue_of(key) == nullptr) return;  // its queue is gone, its rows go in slices
    if (body != nullptr || side_row != nullptr || final_row != nullptr) {
      fail(14, at(key) + " is gone and a row of it is left");
    }
    return;
  }
  model::Side side;
  if (side_row != nullptr && !model::decode(*side_row, &side)) {
    return fail(2, at(key) + ": its side record is damaged");
  }
  const bool stays = job->unfinished() || job->state == JobState::kDead;
  if (!stays) {
    if (body != nullptr || side_row != nullptr) {
      return fail(14, at(key) + " has ended and has a body or a side record");
    }
    return compare_final(*job);
  }
  if (body == nullptr || final_row != nullptr) {
    return fail(14, at(key) + " is " + std::string(model::name_of(job->state)) +
                        (body == nullptr ? " and has no body" : " and has a final record"));
  }
  compare_side(*job, side_row == nullptr ? nullptr : &side);
  if (!ok()) return;
  const std::string* pointer =
      job->priority_changed ? row(Keyspace::kJob, keys::ready(key, job->priority)) : nullptr;
  if (job->priority_changed && (pointer != nullptr) != (job->state == JobState::kReady)) {
    return fail(14, at(key) + ": its pointer row is wrong");
  }
  const bool timed = job->state == JobState::kScheduled;
  if (timed && row(Keyspace::kTimer, keys::timer({job->due_lo, keys::TimerKind::kPromote, key})) ==
                   nullptr) {
    return fail(14, at(key) + " is SCHEDULED and has no timer");
  }
  const bool deadline = job->deadline_ms != 0 && job->attempts == 0 && job->waits();
  if (deadline &&
      row(Keyspace::kTimer,
          keys::timer({job->deadline_ms, keys::TimerKind::kStartDeadline, key})) == nullptr) {
    return fail(14, at(key) + " has a start deadline and no timer for it");
  }
  if (job->state == JobState::kBlocked &&
      row(Keyspace::kBlocked,
          keys::blocked(model::scheduler_blocker("default", job->scheduler), key)) == nullptr) {
    return fail(14, at(key) + " is BLOCKED and not in that index");
  }
  if (job->state == JobState::kRunning) {
    const std::string* stored = row(Keyspace::kGrant, keys::grant(job->grant));
    model::Grant grant;
    if (stored == nullptr || !model::decode(*stored, &grant)) {
      return fail(1, at(key) + " is RUNNING and its grant is not stored");
    }
    const auto entry = std::find_if(grant.entries.begin(), grant.entries.end(), [&](const auto& e) {
      return e.job == key && e.token == job->token && e.attempt == job->attempts;
    });
    if (entry == grant.entries.end() || grant.session_id != job->session_id) {
      return fail(14, at(key) + " is RUNNING and its grant says otherwise");
    }
  }
  if (!job->business_key.empty()) compare_ledger(job->key_scope, job->business_key);
}

void Model::compare_side(const Job& job, const model::Side* stored) {
  const model::Side none;
  const model::Side& side = stored == nullptr ? none : *stored;
  const auto wrong = [&](const std::string& what) {
    fail(14, at(job.key) + " (" + std::string(model::name_of(job.state)) +
                 "): its side record differs in " + what);
  };
  switch (job.state) {
    case JobState::kScheduled: {
      if (side.claim != model::Claim::kScheduled) return wrong("the claim");
      if (side.due_ms < job.due_lo || side.due_ms > job.due_hi) {
        return fail(15, at(job.key) + " is due at " + std::to_string(side.due_ms) +
                            ", which must lie between " + std::to_string(job.due_lo) + " and " +
                            std::to_string(job.due_hi));
      }
      Job& exact = jobs_.at(job.key);
      exact.due_lo = exact.due_hi = side.due_ms;
      if (side.retry_wait != job.retry_wait) return wrong("retry_wait");
      break;
    }
    case JobState::kBlocked:
      if (side.claim != model::Claim::kBlocked) return wrong("the claim");
      break;
    case JobState::kDead:
      if (side.claim != model::Claim::kDead || side.ended_ms != job.ended_ms) {
        return wrong("the claim");
      }
      break;
    default:
      if (side.claim != (job.priority_changed ? model::Claim::kMoved : model::Claim::kNone)) {
        return wrong("the claim");
      }
      break;
  }
  const std::uint32_t ended = job.state == JobState::kRunning ? job.attempts - 1 : job.attempts;
  if (side.attempts != ended) return wrong("attempts");
  if (side.attempts_used != job.used) return wrong("attempts_used");
  if (side.releases != job.releases) return wrong("releases");
  if (side.handlerless != job.handlerless) return wrong("handlerless");
  if (side.redrives != job.redrives) return wrong("redrives");
  if (side.last_token != job.last_token) return wrong("last_token");
  if (side.first_granted_ms != job.first_granted_ms) return wrong("first_granted");
  if (side.cancel_requested != job.cancel_requested) return wrong("cancel_requested");
  if (side.priority_changed != job.priority_changed) return wrong("priority_changed");
  if (side.priority_changed && side.priority != job.priority) return wrong("priority");
  if (!same_attempts(job, side.history)) wrong("its attempts");
}

// After a start a lease's end at its cap or before it is not told apart.
bool Model::same_attempts(const Job& job, const std::vector<model::Attempt>& stored) {
  const auto alone = [](model::AttemptOutcome outcome) {
    return outcome == model::AttemptOutcome::kLost || outcome == model::AttemptOutcome::kTimedOut;
  };
  return std::equal(
      job.history.begin(), job.history.end(), stored.begin(), stored.end(),
      [&](const Ended& own, const model::Attempt& kept) {
        return own.token == kept.token && own.by_finish == kept.by_finish &&
               (own.outcome == kept.outcome || (alone(own.outcome) && alone(kept.outcome)));
      });
}

void Model::compare_final(const Job& job) {
  const std::string* stored = row(Keyspace::kFinal, keys::final_record(job.key));
  if (stored == nullptr) {
    return fail(14, at(job.key) + " is " + std::string(model::name_of(job.state)) +
                        " and has no final record");
  }
  model::FinalRecord record;
  if (!model::decode(*stored, &record)) return fail(2, at(job.key) + ": its record is damaged");
  const std::vector<std::int64_t> nominal_ms(job.scheduler.empty() ? 0 : 1, job.nominal_ms);
  const bool same = record.state == job.state && record.ended_ms == job.ended_ms &&
                    record.attempts == job.attempts && record.attempts_used == job.used &&
                    record.redrives == job.redrives && record.priority == job.priority &&
                    record.kind == job.kind && record.content_type == job.content_type &&
                    record.result == job.result &&
                    record.cancel_requested == job.cancel_requested &&
                    record.business_key == job.business_key &&
                    record.scheduler_id == job.scheduler && record.generation == job.generation &&
                    record.nominal_ms == nominal_ms && same_attempts(job, record.history);
  if (!same) fail(14, at(job.key) + ": its final record says otherwise");
}

void Model::compare_queue(const Queue& q) {
  const std::string* stored = row(Keyspace::kQueueState, keys::queue_counters(q.number));
  const std::string* settings = row(Keyspace::kQueueState, keys::queue_settings(q.number));
  model::QueueCounters c;
  model::Queue kept;
  if (stored == nullptr || !model::decode(*stored, &c) || settings == nullptr ||
      !model::decode(*settings, &kept)) {
    return fail(2, "queue " + q.name + " has no counters or settings");
  }
  if (kept.name != q.name || kept.settings != q.settings || kept.paused != q.paused ||
      kept.version != q.version) {
    return fail(1, "the stored settings of queue " + q.name + " are others");
  }
  std::array<std::uint64_t, model::kJobStateCount> counted{};
  std::map<std::uint8_t, std::pair<std::uint64_t, std::uint64_t>> levels;  // ready, least seq
  for (const auto& [key, job] : jobs_) {
    if (key.queue != q.number) continue;
    ++counted[static_cast<std::size_t>(job.state)];
    if (job.state != JobState::kReady) continue;
    auto& [ready, least] = levels.try_emplace(job.priority, 0, key.seq).first->second;
    ++ready;
    least = std::min(least, key.seq);
  }
  if (counted != c.in_state || c.created != q.created || c.removed != q.removed || !c.conserved()) {
    std::string text = "queue " + q.name + " counts";
    for (std::size_t i = 1; i < counted.size(); ++i) {
      if (counted[i] == c.in_state[i]) continue;
      text += " " + std::to_string(c.in_state[i]) + " " +
              std::string(model::name_of(static_cast<JobState>(i))) + " of " +
              std::to_string(counted[i]) + ",";
    }
    return fail(7, text + " created " + std::to_string(c.created) + " of " +
                       std::to_string(q.created) + ", removed " + std::to_string(c.removed) +
                       " of " + std::to_string(q.removed));
  }
  // Sequences are dense: one for each job that was ever created.
  if (c.next_seq != q.next_seq || c.next_seq != c.created + 1) {
    return fail(16, "the sequence of queue " + q.name + " has a gap");
  }
  for (const auto& [priority, level] : c.levels) {
    const auto it = levels.find(priority);
    if (it == levels.end() || it->second.first != level.ready) {
      return fail(7, "queue " + q.name + " counts a priority level wrongly");
    }
    if (level.head > it->second.second) {
      return fail(14, "a READY job of queue " + q.name + " lies below the head of its level");
    }
  }
  if (c.levels.size() != levels.size()) {
    fail(7, "queue " + q.name + " forgot a priority level");
  }
}

void Model::compare_ledger(const std::string& scope, const std::string& key) {
  const std::string* stored = row(Keyspace::kLedger, keys::ledger("default", scope, key));
  const auto it = ledger_.find({scope, key});
  if (stored == nullptr || it == ledger_.end()) {
    if ((stored == nullptr) != (it == ledger_.end())) {
      fail(5, "the ledger entry of " + scope + "/" + key +
                  (stored == nullptr ? " is lost" : " is left over"));
    }
    return;
  }
  model::LedgerEntry entry;
  if (!model::decode(*stored, &entry)) return fail(2, "a ledger entry is damaged");
  const Entry& own = it->second;
  const bool done = entry.state == model::LedgerState::kDone;
  if (done != own.done || entry.job != own.job || entry.kind != own.kind ||
      entry.payload_hash != own.payload_hash || (done && entry.result != own.result) ||
      (done && entry.expires_ms != own.expires_ms)) {
    fail(5, "the ledger entry of " + scope + "/" + key + " says otherwise");
  }
}

void Model::compare_scheduler(const std::string& id) {
  const Scheduler& s = schedulers_.at(id);
  const std::string* stored = row(Keyspace::kScheduler, keys::scheduler_state("default", id));
  const std::uint64_t unfinished = unfinished_of(id);
  if (stored == nullptr) {
    if (s.declared || unfinished != 0 || !s.runs.empty())
      fail(14, "the state of " + id + " is lost");
    return;
  }
  model::SchedulerState state;
  if (!model::decode(*stored, &state)) return fail(2, "the state of a scheduler is damaged");
  if (state.unfinished != unfinished) {
    return fail(26, id + " counts " + std::to_string(state.unfinished) + " unfinished runs of " +
                        std::to_string(unfinished));
  }
  if (state.runs != s.runs.size()) return fail(14, id + " counts its run records wrongly");
  JobKey waiting;
  for (const auto& [key, job] : jobs_) {
    if (job.scheduler == id && job.state == JobState::kBlocked) waiting = key;
  }
  // A run that was the last to wait may be let go a turn after the others have ended.
  if (waiting.valid() && state.waiting != waiting) {
    return fail(26, id + " has forgotten the run that waits");
  }
  const bool has_row = row(Keyspace::kScheduler, keys::scheduler("default", id)) != nullptr;
  if (has_row != s.declared) fail(1, "the declaration of " + id + " is stored wrongly");
}

// ---- everything

void Model::compare_all() {
  std::size_t bodies = 0;
  std::size_t pointers = 0;
  std::size_t sides = 0;
  std::size_t promotions = 0;
  std::size_t deadlines = 0;
  std::size_t blocked = 0;
  for (const auto& [key, job] : jobs_) {
    compare_job(key);
    if (!ok()) return;
    const bool stays = job.unfinished() || job.state == JobState::kDead;
    bodies += stays ? 1 : 0;
    pointers += job.priority_changed && job.state == JobState::kReady ? 1 : 0;
    sides += row(Keyspace::kSide, keys::job(key)) != nullptr ? 1 : 0;
    promotions += job.state == JobState::kScheduled ? 1 : 0;
    deadlines += job.deadline_ms != 0 && job.attempts == 0 && job.waits() ? 1 : 0;
    blocked += job.state == JobState::kBlocked ? 1 : 0;
  }
  for (const auto& [name, q] : queues_) {
    if (ok()) compare_queue(q);
  }
  for (const auto& [name, entry] : ledger_) {
    if (ok() && (entry.done || jobs_.contains(entry.job))) compare_ledger(name.first, name.second);
  }
  for (const auto& [id, s] : schedulers_) {
    if (ok()) compare_scheduler(id);
  }
  if (!ok()) return;

  std::set<std::uint32_t> present;
  for (const auto& [name, q] : queues_) present.insert(q.number);
  const auto ours = [&](const JobKey& key) { return present.contains(key.queue); };
  for (const auto& [row_key, value] : rows_) {
    const auto& [keyspace, key] = row_key;
    switch (keyspace) {
      case Keyspace::kJob: {
        const JobKey job = *keys::parse_job(key);
        if (!ours(job)) break;
        std::size_t& left = model::is_pointer(value) ? pointers : bodies;
        if (left-- == 0) return fail(14, at(job) + ": a body or pointer that leads nowhere");
        break;
      }
      case Keyspace::kSide:
        if (ours(*keys::parse_job(key)) && sides-- == 0) {
          return fail(14, "a side record without a job");
        }
        break;
      case Keyspace::kTimer: {
        const auto timer = keys::parse_timer(key);
        if (!timer || !ours(timer->job)) break;
        std::size_t& left = timer->kind == keys::TimerKind::kPromote ? promotions : deadlines;
        if (left-- == 0) return fail(14, "a timer of " + at(timer->job) + " that nobody waits for");
        break;
      }
      case Keyspace::kBlocked:
        if (blocked-- == 0) return fail(14, "an index row of a job that is not BLOCKED");
        break;
      case Keyspace::kFinal:
        if (key.front() == 'j' && ours(*keys::parse_final(key)) &&
            !jobs_.contains(*keys::parse_final(key))) {
          return fail(14, at(*keys::parse_final(key)) + ": a final record of a job that is gone");
        }
        break;
      case Keyspace::kGrant: {
        model::Grant grant;
        if (!model::decode(value, &grant)) return fail(2, "a grant is damaged");
        const bool live = std::any_of(grant.entries.begin(), grant.entries.end(),
                                      [&](const auto& e) { return running_.contains(e.token); });
        if (!live) return fail(17, "a grant is stored of which no lease is live");
        break;
      }
      case Keyspace::kLedger: {
        if (key.front() != 'e') break;
        model::LedgerEntry entry;
        if (!model::decode(value, &entry)) return fail(2, "a ledger entry is damaged");
        if (entry.state == model::LedgerState::kHeld && ours(entry.job) &&
            !jobs_.contains(entry.job)) {
          return fail(5, "a business key is held by " + at(entry.job) + ", which is gone");
        }
        break;
      }
      default:
        break;
    }
  }
  const std::size_t missing = bodies + pointers + sides + promotions + deadlines + blocked;
  if (missing != 0) fail(14, std::to_string(missing) + " rows of jobs are missing");
}

// Delayed jobs and retries, start deadlines, ticks. A start deadline that passes while deletions
// are held waits for the end of that.
Model::Due Model::next_due(bool ticks_held, bool deletions_held) const {
  std::int64_t at_ms = INT64_MAX;
  const Job* first = nullptr;
  bool starts = false;
  for (const auto& [key, job] : jobs_) {
    if (job.state == JobState::kScheduled && job.due_hi < at_ms) {
      at_ms = job.due_hi;
      first = &job;
      starts = true;
    }
    if (job.waits() && job.attempts == 0 && job.deadline_ms != 0 && job.deadline_ms < at_ms &&
        !deletions_held) {
      at_ms = job.deadline_ms;
      first = &job;
      starts = false;
    }
  }
  Due due{at_ms, ""};
  if (first != nullptr) {
    due.what = at(first->key) + (starts ? " is due" : " has its start deadline");
  }
  for (const auto& [id, s] : schedulers_) {
    if (!s.declared || s.paused || ticks_held || next_tick_ms(s) >= due.at_ms) continue;
    due = {next_tick_ms(s), id + " ticks"};
  }
  return due;
}

// By age, and SUCCEEDED jobs and run records by their number too.
std::string Model::kept_too_long(std::int64_t now_ms) const {
  constexpr std::int64_t kGraceMs = 2 * 60'000;  // some is looked for each minute
  const auto over = [&](std::int64_t from_ms, std::int64_t keep_ms) {
    return keep_ms != model::kForever && from_ms + keep_ms + kGraceMs < now_ms;
  };
  std::map<std::uint32_t, const Queue*> queues;
  for (const auto& [name, q] : queues_) queues[q.number] = &q;
  for (const auto& [key, job] : jobs_) {
    if (!model::is_final(job.state)) continue;
    const model::Retention& r = queues.at(key.queue)->settings.retention;
    const std::int64_t keep_ms = job.state == JobState::kSucceeded ? r.succeeded_ms
                                 : job.state == JobState::kDead    ? r.dead_ms
                                                                   : r.cancelled_ms;
    if (over(job.ended_ms, keep_ms)) {
      return at(key) + " is " + std::string(model::name_of(job.state)) + " since " +
             std::to_string(now_ms - job.ended_ms) + " ms and to be kept for " +
             std::to_string(keep_ms);
    }
  }
  for (const auto& [number, q] : queues) {
    const std::uint64_t there = count(number, JobState::kSucceeded);
    if (there > q->settings.retention.succeeded_count) {
      return std::to_string(there) + " SUCCEEDED jobs of queue " + q->name + " are kept, not " +
             std::to_string(q->settings.retention.succeeded_count);
    }
  }
  for (const auto& [name, entry] : ledger_) {
    if (entry.done && entry.expires_ms != model::kForever && over(entry.expires_ms, 0)) {
      return "the result of key " + name.second + " is kept longer than its ledger";
    }
  }
  for (const auto& [name, request] : requests_) {
    if (over(request.created_ms, base::limits::kRequestIdKeptMs)) {
      return "request " + name.second + " is remembered for more than its time";
    }
  }
  for (const auto& [id, s] : schedulers_) {
    if (s.runs.size() > context_.profile.max_scheduler_runs) {
      return std::to_string(s.runs.size()) + " run records of " + id + " are kept";
    }
    for (const auto& [name, run] : s.runs) {
      // Those of a deleted scheduler that rests are looked at once a day only.
      if (s.declared && over(run.last_nominal_ms, base::limits::kRunsKeptMsDefault)) {
        return "a run record of " + id + " is kept longer than its time";
      }
    }
  }
  return "";
}

// The engine is idle: nothing that is due may be left.
void Model::judge_due(std::int64_t now_ms) {
  for (const auto& [key, job] : jobs_) {
    if (job.state == JobState::kScheduled && job.due_hi + 5'000 < now_ms) {
      return fail(17, at(key) + " was due " + std::to_string(now_ms - job.due_hi) + " ms ago");
    }
    if (job.state == JobState::kBlocked && unfinished_of(job.scheduler) <= 1) {
      return fail(17, at(key) + " waits and nothing else of its scheduler is unfinished");
    }
  }
}

}  // namespace rota::sim
