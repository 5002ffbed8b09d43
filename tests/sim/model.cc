// SPDX-License-Identifier: Apache-2.0
//
// A turn of the model: answers and events in their order, transitions of the engine's own, and what
// has no event.
#include "sim/model.h"

#include <algorithm>

#include "model/blocker.h"
#include "model/records.h"

namespace rota::sim {

namespace keys = model::keys;
using core::Keyspace;

void Model::fail(int invariant, const std::string& text) { context_.verdict.fail(invariant, text); }

std::string Model::at(const JobKey& key) const {
  return "job " + std::to_string(key.queue) + "/" + std::to_string(key.priority) + "/" +
         std::to_string(key.seq);
}

Model::Job* Model::find(const JobKey& key) {
  const auto it = jobs_.find(key);
  return it == jobs_.end() ? nullptr : &it->second;
}

Model::Queue* Model::queue(const std::string& name) {
  const auto it = queues_.find(name);
  return it == queues_.end() ? nullptr : &it->second;
}

Model::Queue* Model::queue_of(const JobKey& key) {
  for (auto& [name, q] : queues_) {
    if (q.number == key.queue) return &q;
  }
  return nullptr;
}

bool Model::some_settings(const Queue& q,
                          const std::function<bool(const model::QueueSettings&)>& fits) const {
  const auto before = step_.queue_settings.find(q.number);
  return fits(q.settings) || (before != step_.queue_settings.end() &&
                              std::any_of(before->second.begin(), before->second.end(), fits));
}

std::uint64_t Model::count(std::uint32_t queue, JobState state) const {
  return static_cast<std::uint64_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& e) {
    return e.first.queue == queue && e.second.state == state;
  }));
}

std::uint64_t Model::waiting(std::uint32_t queue) const {
  return static_cast<std::uint64_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& e) {
    return e.first.queue == queue && e.second.waits();
  }));
}

const std::string* Model::row(Keyspace keyspace, const std::string& key) const {
  const auto it = rows_.find({keyspace, key});
  return it == rows_.end() ? nullptr : &it->second;
}

const core::Batch::Change* Model::change(Keyspace keyspace, const std::string& key) const {
  return step_.turn->turn.batch ? step_.turn->turn.batch->find(keyspace, key) : nullptr;
}

std::vector<std::string> Model::unfinished() const {
  std::vector<std::string> out;
  for (const auto& [key, job] : jobs_) {
    if (job.unfinished()) {
      out.push_back(at(key) + " " + std::string(model::name_of(job.state)) + " due " +
                    std::to_string(job.due_hi - now_));
    }
  }
  return out;
}

std::map<std::uint64_t, Model::LiveLease> Model::live_leases() const {
  std::map<std::uint64_t, LiveLease> out;
  for (const auto& [token, key] : running_) {
    const Job& job = jobs_.at(key);
    const Grant& grant = grants_.at(job.grant);
    out.emplace(token, LiveLease{key, grant.session_id, grant.request_id, grant.ttl_ms,
                                 job.granted_ms, job.timeout_ms, job.grant});
  }
  return out;
}

// In a running server the ids of lease calls that are spent are never forgotten. After a start
// those that are old may be; but one that is still stored is known again where a later start looks
// further back.
void Model::restarted(std::int64_t now_ms, bool deletions_held) {
  untold_.clear();  // what was told before is not stored, so all are told again
  for (const auto& [token, key] : running_) {
    const Job& job = jobs_.at(key);
    if (job.cancel_requested) untold_.insert(job.session_id);
  }
  if (deletions_held) return;
  for (auto& [id, request] : lease_requests_) {
    request.may_be_forgotten =
        request.may_be_forgotten ||
        (request.ended_ms != 0 && request.ended_ms + base::limits::kRequestIdKeptMs <= now_ms);
  }
}

// ---- a turn

// What a command needs to read may change again and again while it is read; then it gives up and
// has changed nothing, which shows in that nothing else explains an event. A purge has its own
// bound.
bool Model::gave_up(const core::Command& command, const core::ReplyBody& reply) {
  const auto* error = std::get_if<base::Error>(&reply);
  if (error == nullptr || error->reason != base::Reason::kOverloaded) return false;
  if (std::holds_alternative<core::PurgeQueue>(command.body)) return false;
  if (++given_up_ > 10 && given_up_ * 50 > answers_) {
    fail(17, std::to_string(given_up_) + " of " + std::to_string(answers_) + " commands gave up");
  }
  return true;
}

void Model::take(const SealedTurn& sealed, const std::map<core::CallId, core::Command>& calls) {
  if (!ok()) return;
  const core::Turn& turn = sealed.turn;
  step_ = Step{};
  step_.turn = &sealed;
  step_.lo = std::max(now_, sealed.first.wall_ms);
  step_.hi = std::max(now_, sealed.sealed.wall_ms);
  apply_rows();
  for (const core::AbandonGrant& abandon : sealed.abandoned) {
    for (const core::LeaseRef& ref : abandon.leases) step_.abandoned.emplace(ref.token, false);
  }
  for (const auto& [key, job] : jobs_) {
    if (!job.scheduler.empty() && (job.unfinished() || job.state == JobState::kDead)) {
      step_.runs_before[job.scheduler][key] = job.unfinished();
    }
  }
  remember_bounded();
  for (const Event& event : turn.events) {
    context_.coverage.hit(event.kind);
    if (event.seq != turn.seq) fail(29, "an event names another commit than its own");
    if (event.at_ms < step_.lo || event.at_ms > step_.hi) {
      fail(25, "an event at " + std::to_string(event.at_ms) + ", the turn lasted from " +
                   std::to_string(step_.lo) + " to " + std::to_string(step_.hi));
    }
  }
  for (const core::Reply& reply : turn.replies) {
    if (!ok()) return;
    const auto call = calls.find(reply.call);
    if (call == calls.end()) return fail(3, "an answer to a call that was never made, or twice");
    context_.coverage.answered(call->second.body, std::holds_alternative<base::Error>(reply.body));
    ++answers_;
    if (gave_up(call->second, reply.body)) continue;
    if (const auto* lease = std::get_if<core::LeaseReply>(&reply.body);
        lease != nullptr && !lease->request_spent &&
        (lease->jobs.empty() || !running_.contains(lease->jobs.front().token))) {
      step_.polls.emplace_back(&call->second, lease);  // decided at the end of the turn
      continue;
    }
    step_.named = turn.seq;
    std::visit([&](const auto& command) { on(command, reply.body); }, call->second.body);
    if (ok() && !reply.immediate && reply.seq != step_.named) {
      fail(5, "an answer names commit " + std::to_string(reply.seq) + " instead of " +
                  std::to_string(step_.named));
    }
  }
  silent();
  while (ok() && step_.next_event < turn.events.size()) {
    if (!autonomous(turn.events[step_.next_event])) return;
  }
  for (const auto& [command, reply] : step_.polls) {
    if (ok()) check_poll(*command, *reply);
  }
  if (ok()) after_turn();
  if (ok()) compare_touched();
  if (turn.batch) now_ = step_.hi;  // what is not stored does not outlive the process
}

void Model::apply_rows() {
  if (!step_.turn->turn.batch) return;
  for (const auto& [key, value] : step_.turn->turn.batch->changes()) {
    if (value) {
      rows_.insert_or_assign(key, *value);
    } else {
      rows_.erase(key);
    }
  }
}

// The next event that fits; what stands before it must be explained without a command.
const Model::Event* Model::expect(Kind kind, const JobKey& key,
                                  const std::function<bool(const Event&)>& fits) {
  const auto& events = step_.turn->turn.events;
  while (ok() && step_.next_event < events.size()) {
    const Event& event = events[step_.next_event];
    if (event.kind == kind && event.key == key && fits(event)) {
      ++step_.next_event;
      return &event;
    }
    if (!autonomous(event)) return nullptr;
  }
  fail(8, at(key) + " changed without the event that says so");
  return nullptr;
}

bool Model::autonomous(const Event& event) {
  ++step_.next_event;
  step_.touched.insert(event.key);
  switch (event.kind) {
    case Kind::kGranted:
      return granted(event);
    case Kind::kAttemptEnded:
      return attempt_ended(event);
    case Kind::kFinal:
      return job_final(event);
    case Kind::kRemoved:
      return removed(event);
    default:
      fail(8, at(event.key) + " changed and no command asked for it");
      return false;
  }
}

bool Model::granted(const Event& event) {
  const auto broken = [&](int invariant, const std::string& why) {
    fail(invariant,
         at(event.key) + " was granted with token " + std::to_string(event.token) + ": " + why);
    return false;
  };
  Job* job = find(event.key);
  if (job == nullptr) return broken(8, "there is no such job");
  if (job->state == JobState::kRunning) return broken(9, "it is running");
  if (job->state == JobState::kScheduled) return broken(15, "it is SCHEDULED");
  if (job->state != JobState::kReady) return broken(8, "it is not READY");
  Queue& q = *queue_of(event.key);
  if (q.paused) return broken(18, "the queue is paused");
  const std::uint64_t running = count(q.number, JobState::kRunning);
  if (q.settings.concurrency_limit && running >= *q.settings.concurrency_limit) {
    return broken(19, std::to_string(running) + " run, the limit is " +
                          std::to_string(*q.settings.concurrency_limit));
  }
  if (step_.turn->draining) return broken(17, "the server is being drained");
  // READY only from an event on that comes after this one.
  const auto still_blocked = [&](const Job& one) {
    const auto from = step_.let_go.find(one.key);
    return from != step_.let_go.end() && from->second >= step_.next_event;
  };
  if (still_blocked(*job)) return broken(26, "other runs of its scheduler are unfinished");
  for (const auto& [key, other] : jobs_) {
    if (key.queue == q.number && other.state == JobState::kReady &&
        other.ready_key() < job->ready_key() && !still_blocked(other)) {
      return broken(16, at(key) + " comes before it");
    }
  }
  if (event.token <= max_token_) return broken(10, "the last was " + std::to_string(max_token_));
  if (event.attempt != job->attempts + 1) {
    return broken(10, "attempt " + std::to_string(event.attempt) + " follows " +
                          std::to_string(job->attempts));
  }
  if (job->attempts == 0 && job->deadline_ms != 0 && job->deadline_ms <= step_.lo &&
      !step_.turn->hold.deletions_once) {
    return broken(15, "its start deadline has passed");
  }
  for (const auto& [number, purge] : purges_) {
    if (!purge.done && purge.queue == q.number && job->waiting_seq < purge.barrier) {
      return broken(7, "a purge is to remove it");
    }
  }
  max_token_ = event.token;
  job->state = JobState::kRunning;
  job->attempts = event.attempt;
  job->token = event.token;
  job->granted_ms = event.at_ms;
  job->session_id = event.holder ? event.holder->session_id : "";
  running_[event.token] = event.key;
  return true;
}

bool Model::attempt_ended(const Event& event) {
  Job* job = find(event.key);
  if (job == nullptr || job->state != JobState::kRunning || job->token != event.token) {
    fail(11, at(event.key) + ": token " + std::to_string(event.token) + " ended and is not live");
    return false;
  }
  if (const auto back = step_.abandoned.find(event.token);
      back != step_.abandoned.end() && !grants_.at(job->grant).adopted) {
    back->second = true;
    end_attempt(*job, model::AttemptOutcome::kReleased, false, event.at_ms);
    settle_end(*job, may_give_back(*job, 0, 0), event, false);
    return ok();
  }
  const auto left = step_.turn->left.find(event.token);
  if (left == step_.turn->left.end() || left->second.ms > 0) {
    fail(12, at(event.key) + ": token " + std::to_string(event.token) +
                 " ended without a finish, " +
                 std::to_string(left == step_.turn->left.end() ? -1 : left->second.ms) +
                 " ms before its lease does");
    return false;
  }
  const bool at_cap = left->second.at_cap;
  const bool lost = !at_cap || left->second.vague;
  end_attempt(*job, at_cap ? model::AttemptOutcome::kTimedOut : model::AttemptOutcome::kLost, false,
              event.at_ms);
  settle_end(*job, may_retry(*job, nullptr, lost, event.at_ms), event, true);
  return ok();
}

bool Model::job_final(const Event& event) {
  Job* job = find(event.key);
  if (job == nullptr) {
    fail(8, at(event.key) + " ended and was not there");
    return false;
  }
  if (event.token != 0) return attempt_ended(event);
  // While a jump holds it back, none passes but those that had passed before.
  const std::int64_t until_ms = held() ? step_.turn->hold.deletions_after_ms : step_.hi;
  const bool due = job->deadline_ms != 0 && job->deadline_ms <= until_ms;
  if (event.state != JobState::kExpired || !job->waits() || job->attempts != 0 || !due) {
    fail(8, at(event.key) + ", which is " + std::string(model::name_of(job->state)) + ", became " +
                std::string(model::name_of(event.state)) + " and nothing made it so");
    return false;
  }
  end_job(*job, JobState::kExpired, event.at_ms);
  return true;
}

bool Model::removed(const Event& event) {
  Job* job = find(event.key);
  if (job == nullptr) {
    fail(8, at(event.key) + " was removed and was not there");
    return false;
  }
  if (job->state == JobState::kDead) {
    const bool old = some_settings(*queue_of(event.key), [&](const model::QueueSettings& settings) {
      const std::int64_t keep = settings.retention.dead_ms;
      return keep != model::kForever && job->ended_ms + keep <= step_.hi && !held();
    });
    if (!old) {
      fail(7, at(event.key) + " is DEAD and was removed before its time");
      return false;
    }
    remove(event.key);
    return true;
  }
  // One that was cancelled in this turn may have gone on until then.
  const bool purged = std::any_of(purges_.begin(), purges_.end(), [&](const auto& entry) {
    return entry.second.queue == event.key.queue && job->waiting_seq < entry.second.barrier &&
           (!entry.second.done || entry.second.done_seq == step_.turn->turn.seq);
  });
  if (!job->waits() || !purged) {
    fail(7, at(event.key) + ", which is " + std::string(model::name_of(job->state)) +
                ", was removed and no purge may do so");
    return false;
  }
  remove(event.key);
  return true;
}

// ---- what has no event

void Model::promote(Job& job) {
  if (job.due_lo > step_.hi) {
    return fail(15, at(job.key) + " was made READY " + std::to_string(job.due_lo - step_.hi) +
                        " ms before it is due");
  }
  job.state = JobState::kReady;
  step_.touched.insert(job.key);
}

// At some time of the turn no other run of its scheduler was unfinished: after so many events at
// the earliest.
std::optional<std::size_t> Model::may_unblock(const Job& job) const {
  const std::vector<std::uint64_t> busy = busy_in_turn(job.scheduler, job.key);
  const auto alone = std::find(busy.begin(), busy.end(), 0U);
  if (alone == busy.end()) return std::nullopt;
  return static_cast<std::size_t>(alone - busy.begin());
}

void Model::unblock(Job& job) {
  const std::optional<std::size_t> from = may_unblock(job);
  if (!from) {
    return fail(26,
                at(job.key) + " waits for other runs of " + job.scheduler + " and was made READY");
  }
  job.state = JobState::kReady;
  step_.let_go[job.key] = *from;
  step_.touched.insert(job.key);
}

// A record of an ended job whose time is over.
void Model::retire(const JobKey& key) {
  const Job& job = jobs_.at(key);
  const bool success = job.state == JobState::kSucceeded;
  const std::uint64_t there = count(key.queue, JobState::kSucceeded) + step_.deleted[key.queue];
  const bool due = some_settings(*queue_of(key), [&](const model::QueueSettings& settings) {
    const model::Retention& r = settings.retention;
    const std::int64_t keep = success ? r.succeeded_ms : r.cancelled_ms;
    const bool old = keep != model::kForever && job.ended_ms + keep <= step_.hi && !held();
    return old || (success && there > r.succeeded_count);
  });
  if (!due) {
    return fail(7, at(key) + ", " + std::string(model::name_of(job.state)) +
                       ", was retired before its time");
  }
  remove(key);
}

std::size_t Model::end_of(const JobKey& key, std::size_t first) const {
  const auto& events = step_.turn->turn.events;
  const auto end = std::find_if(
      events.begin() + static_cast<std::ptrdiff_t>(first), events.end(), [&](const Event& e) {
        return e.key == key && (e.kind == Kind::kFinal || e.kind == Kind::kRemoved);
      });
  return static_cast<std::size_t>(end - events.begin());
}

// It ends in this turn by an event that is not taken yet.
bool Model::ends_later(const JobKey& key) const {
  return end_of(key, step_.next_event) < step_.turn->turn.events.size();
}

// One step of what the turn did with the job by itself before a command met it: first what has no
// event, and of its events the next one only, since those that follow may be a command's. False:
// nothing more of it is known.
bool Model::bring_up(const JobKey& key) {
  Job* job = find(key);
  if (job == nullptr || !ok()) return false;
  const auto deleted = [&](Keyspace keyspace, const std::string& row_key) {
    const auto* row_change = change(keyspace, row_key);
    return row_change != nullptr && !*row_change;
  };
  if (job->state == JobState::kScheduled && job->due_lo <= step_.hi &&
      deleted(Keyspace::kTimer, keys::timer({job->due_lo, keys::TimerKind::kPromote, key}))) {
    promote(*job);
    return ok();
  }
  if (job->state == JobState::kBlocked && may_unblock(*job) &&
      deleted(Keyspace::kBlocked,
              keys::blocked(model::scheduler_blocker("default", job->scheduler), key))) {
    unblock(*job);
    return ok();
  }
  if (model::is_final(job->state) && job->state != JobState::kDead &&
      deleted(Keyspace::kFinal, keys::final_record(key))) {
    retire(key);
    return ok();
  }
  const auto& events = step_.turn->turn.events;
  std::size_t next = step_.next_event;
  const auto own = [&](const Event& event) {
    return event.key == key && (event.kind == Kind::kRemoved || event.kind == Kind::kFinal ||
                                event.kind == Kind::kAttemptEnded);
  };
  while (next < events.size() && !own(events[next])) ++next;
  if (next == events.size()) return false;
  while (ok() && step_.next_event <= next) autonomous(events[step_.next_event]);
  return ok();
}

void Model::silent() {
  if (!ok() || !step_.turn->turn.batch) return;
  std::vector<JobKey> gone;
  for (const auto& [row_key, value] : step_.turn->turn.batch->changes()) {
    const auto& [keyspace, key] = row_key;
    if (keyspace == Keyspace::kSide) {
      Job* job = find(*keys::parse_job(key));
      if (job == nullptr ||
          (job->state != JobState::kScheduled && job->state != JobState::kBlocked)) {
        continue;
      }
      const auto* body = change(Keyspace::kJob, key);
      if (body != nullptr && !*body) continue;  // gone with its job
      model::Side side;
      if (value && !model::decode(*value, &side)) return fail(2, "a side record is damaged");
      if (value && side.claim != model::Claim::kNone && side.claim != model::Claim::kMoved) {
        continue;
      }
      job->state == JobState::kScheduled ? promote(*job) : unblock(*job);
    } else if (keyspace == Keyspace::kFinal && !value && key.front() == 'j') {
      const Job* job = find(*keys::parse_final(key));
      if (job != nullptr && model::is_final(job->state) && job->state != JobState::kDead) {
        gone.push_back(job->key);
      }
    } else if (keyspace == Keyspace::kRequest && !value && key.front() == 'r') {
      for (auto it = requests_.begin(); it != requests_.end(); ++it) {
        if (keys::request(static_cast<std::uint8_t>(it->first.first), "default",
                          it->first.second) != key) {
          continue;
        }
        if (it->second.created_ms + base::limits::kRequestIdKeptMs > step_.hi || held()) {
          return fail(5, "request " + it->first.second + " was forgotten before its time");
        }
        requests_.erase(it);
        break;
      }
    }
  }
  for (auto it = ledger_.begin(); it != ledger_.end();) {
    const auto* stored =
        change(Keyspace::kLedger, keys::ledger("default", it->first.first, it->first.second));
    const bool swept = stored != nullptr && !*stored && it->second.done;
    if (swept && (it->second.expires_ms > step_.hi || held())) {
      return fail(5, "the result of key " + it->first.second + " was forgotten before its time");
    }
    if (swept) step_.keys_lost.emplace(it->first, it->second.job);
    it = swept ? ledger_.erase(it) : std::next(it);
  }
  // The oldest first, as by count.
  for (const JobKey& key : gone) {
    if (ok()) retire(key);
  }
  see_runs();
}

void Model::after_turn() {
  for (const auto& [token, given_back] : step_.abandoned) {
    const auto live = running_.find(token);
    if (live == running_.end() || given_back) continue;
    if (!grants_.at(jobs_.at(live->second).grant).adopted) {
      return fail(22, at(live->second) + " was granted to a caller that is gone, and stays so");
    }
  }
  see_operations();
  judge_full();
}

}  // namespace rota::sim
