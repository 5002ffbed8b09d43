// SPDX-License-Identifier: Apache-2.0
//
// The one place where a job's state changes: counters, rows of each state, and the two exits of a
// job (ended, or removed without a trace but the count).
#include <algorithm>

#include "base/limits.h"
#include "core/engine_impl.h"

namespace rota::core {

namespace keys = model::keys;
using model::Claim;

void EngineImpl::touch(QueueState& q) {
  q.counters_touched = true;
  touched_.insert(q.queue.number);
}

void EngineImpl::want_match(QueueState& q) {
  touched_.insert(q.queue.number);  // also when matching is wanted already: it may need a refill
  if (q.match_wanted) return;
  q.match_wanted = true;
  to_match_.insert(q.queue.number);
}

void EngineImpl::count(QueueState& q, JobState state, int by, std::uint8_t priority,
                       std::uint64_t seq) {
  q.counters.of(state) += static_cast<std::uint64_t>(by);
  if (state != JobState::kReady) return;
  auto it = q.counters.levels.find(priority);
  if (by > 0) {
    if (it == q.counters.levels.end()) {
      it = q.counters.levels.emplace(priority, model::Level{0, seq}).first;
    }
    it->second.head = std::min(it->second.head, seq);
    ++it->second.ready;
  } else if (it != q.counters.levels.end() && --it->second.ready == 0) {
    q.counters.levels.erase(it);
  }
}

void EngineImpl::enter(QueueState& q, JobState to, std::uint8_t priority, std::uint64_t seq) {
  ++q.counters.created;
  count(q, to, +1, priority, seq);
  touch(q);
}

void EngineImpl::move(QueueState& q, JobState from, JobState to, std::uint8_t priority,
                      std::uint64_t seq) {
  if (!model::transition_allowed(from, to)) std::abort();  // I8: never write such a batch
  count(q, from, -1, priority, seq);
  count(q, to, +1, priority, seq);
  touch(q);
}

void EngineImpl::leave(QueueState& q, JobState from, std::uint8_t priority) {
  ++q.counters.removed;
  count(q, from, -1, priority, 0);
  touch(q);
}

void EngineImpl::put_side(const JobRef& job) {
  batch().put(Keyspace::kSide, keys::job(job.key), model::encode(job.side));
}

namespace {

// A side record that says nothing is not kept: the job is plain READY again.
bool says_nothing(const model::Side& s) {
  return s.claim == Claim::kNone && s.attempts == 0 && s.redrives == 0 && !s.priority_changed &&
         !s.run_at_ms && !s.start_deadline_ms && !s.cancel_requested && s.waiting_seq == 0;
}

// Waiting began anew, for the barrier of a purge; a promoted job has waited all along.
bool came_back(JobState from) { return from == JobState::kRunning || from == JobState::kDead; }

std::int64_t start_deadline_of(const JobRef& job) {
  return job.side.start_deadline_ms.value_or(job.body->start_deadline_ms);
}

}  // namespace

void EngineImpl::to_ready(JobRef job, JobState from) {
  QueueState& q = *job.queue;
  job.side.claim = job.side.priority_changed ? Claim::kMoved : Claim::kNone;
  job.side.due_ms = 0;
  job.side.retry_wait = false;
  job.side.blocker = {};
  if (came_back(from)) job.side.waiting_seq = building();
  const bool plain = says_nothing(job.side);
  if (!plain) {
    put_side(job);
  } else if (job.had_side_row) {
    batch().del(Keyspace::kSide, keys::job(job.key));
  }
  if (job.side.priority_changed) {
    model::Pointer pointer{job.key.priority, model::encode(job.side), model::encode(*job.body)};
    batch().put(Keyspace::kJob, keys::ready(job.key, job.priority), model::encode(pointer));
  }
  if (from != JobState::kReady) {
    move(q, from, JobState::kReady, job.priority, job.key.seq);
  }
  const JobKey ready_key{job.key.queue, job.priority, job.key.seq};
  const SidePtr side = plain ? nullptr : std::make_shared<const model::Side>(std::move(job.side));
  ReadyJob entry{job.key, std::move(job.body), side};
  const std::size_t bytes = entry.memory_bytes();
  q.window.offer(ready_key, std::move(entry), bytes);
  window_changed(q);
  want_match(q);
}

void EngineImpl::to_scheduled(JobRef job, JobState from, std::int64_t due_ms, bool retry_wait) {
  QueueState& q = *job.queue;
  job.side.claim = Claim::kScheduled;
  job.side.due_ms = due_ms;
  job.side.retry_wait = retry_wait;
  job.side.blocker = {};
  if (came_back(from)) job.side.waiting_seq = building();
  put_side(job);
  put_timer({due_ms, keys::TimerKind::kPromote, job.key});
  move(q, from, JobState::kScheduled, job.priority, job.key.seq);
}

void EngineImpl::out_of_waiting(JobRef& job, JobState from) {
  QueueState& q = *job.queue;
  if (from == JobState::kReady) {
    q.window.erase(JobKey{job.key.queue, job.priority, job.key.seq});
    if (job.side.priority_changed) {
      batch().del(Keyspace::kJob, keys::ready(job.key, job.priority));
    }
  } else if (from == JobState::kScheduled) {
    del_timer({job.side.due_ms, keys::TimerKind::kPromote, job.key});
  } else if (from == JobState::kBlocked) {
    batch().del(Keyspace::kBlocked, keys::blocked(job.side.blocker, job.key));
  }
}

// ---- the exits

void EngineImpl::erase_rows(const JobRef& job) {
  const std::string key = keys::job(job.key);
  batch().del(Keyspace::kJob, key);
  ++job.queue->hollowed;
  if (job.had_side_row) batch().del(Keyspace::kSide, key);
  if (job.body->payload_apart) batch().del(Keyspace::kPayload, key);
  if (const std::int64_t deadline = start_deadline_of(job);
      deadline != 0 && job.side.first_granted_ms == 0) {
    del_timer({deadline, keys::TimerKind::kStartDeadline, job.key});
  }
}

// The business key of an ended job. A job with a key holds its entry from enqueue to its end, so
// the entry is this job's; enqueue compares owners before it lets another job in.
void EngineImpl::finish_key(const JobRef& job, JobState to, std::string_view result) {
  const model::JobBody& body = *job.body;
  if (body.business_key.empty()) return;
  const model::Queue& queue = job.queue->queue;
  std::string key = keys::ledger(queue.name_space, body.key_scope, body.business_key);
  const std::int64_t keep_ms = queue.settings.retention.ledger_ms;
  if (to != JobState::kSucceeded || keep_ms == 0) {
    batch().del(Keyspace::kLedger, std::move(key));
    return;
  }
  model::LedgerEntry entry;
  entry.state = model::LedgerState::kDone;
  entry.job = job.key;
  entry.kind = body.kind;
  entry.content_type = body.content_type;
  entry.payload_hash = body.payload_hash;
  entry.result = result;
  entry.done_ms = now_.wall_ms;
  entry.expires_ms = keep_ms == model::kForever ? model::kForever : now_.wall_ms + keep_ms;
  if (entry.expires_ms != model::kForever) ledger_expiries_[entry.expires_ms].push_back(key);
  batch().put(Keyspace::kLedger, std::move(key), model::encode(entry));
}

void EngineImpl::end_job(JobRef&& job, JobState from, JobState to, std::string_view reason,
                         std::string_view result) {
  QueueState& q = *job.queue;
  out_of_waiting(job, from);
  erase_rows(job);
  finish_key(job, to, result);
  move(q, from, to, job.priority, job.key.seq);

  const model::Retention& retention = q.queue.settings.retention;
  const std::int64_t keep_ms =
      to == JobState::kSucceeded ? retention.succeeded_ms : retention.cancelled_ms;
  const bool keep = keep_ms != 0 && !(to == JobState::kSucceeded && retention.succeeded_count == 0);
  const model::JobBody& body = *job.body;
  if (keep) {
    model::JobEnd end;
    end.state = to;
    end.priority = job.priority;
    end.ended_ms = now_.wall_ms;
    end.ended_seq = building();
    end.reason = reason;
    end.result = result;
    batch().put(Keyspace::kFinal, keys::final_record(job.key),
                model::encode_final(body, job.side, end));
    ended_[{q.queue.number, to, now_.wall_ms}].push_back(job.key);
  } else {
    leave(q, to, job.priority);
  }
  if (!body.scheduler_id.empty()) {
    book_.job_ended(q.queue.name_space, body.scheduler_id, job.key);
  }
  JobEvent e;
  e.kind = JobEvent::Kind::kFinal;
  e.key = job.key;
  e.state = to;
  e.token = from == JobState::kRunning ? job.side.last_token : 0;
  event(std::move(e));
  want_match(q);
}

void EngineImpl::remove_job(JobRef job, JobState from) {
  QueueState& q = *job.queue;
  out_of_waiting(job, from);
  erase_rows(job);
  finish_key(job, JobState::kUnknown, {});
  leave(q, from, job.priority);
  // A DEAD job's scheduler has been told at its death.
  if (!job.body->scheduler_id.empty() && from != JobState::kDead) {
    book_.job_ended(q.queue.name_space, job.body->scheduler_id, job.key);
  }
  JobEvent e;
  e.kind = JobEvent::Kind::kRemoved;
  e.key = job.key;
  event(std::move(e));
}

void EngineImpl::die(JobRef job, std::string reason) {
  QueueState& q = *job.queue;
  job.side.claim = Claim::kDead;
  job.side.dead_reason = std::move(reason);
  job.side.ended_ms = now_.wall_ms;
  put_side(job);
  move(q, JobState::kRunning, JobState::kDead, job.priority, job.key.seq);
  ended_[{q.queue.number, JobState::kDead, now_.wall_ms}].push_back(job.key);
  if (!job.body->scheduler_id.empty()) {
    book_.job_ended(q.queue.name_space, job.body->scheduler_id, job.key);
  }
  JobEvent e;
  e.kind = JobEvent::Kind::kFinal;
  e.key = job.key;
  e.state = JobState::kDead;
  e.token = job.side.last_token;
  event(std::move(e));
  want_match(q);
}

// ---- memory of windows

void EngineImpl::window_changed(QueueState& q) {
  q.window.shrink(options_.window_rows);
  list_window(q);
  bound_windows();
}

// A window that can be made smaller is on the list of its kind. A queue that comes to be asked, or
// no longer is, changes lists here or when its turn comes.
void EngineImpl::list_window(QueueState& q) {
  if (q.window.bytes() == 0) return;
  const bool idle = q.polls.empty();
  bool& listed = idle ? q.listed_idle : q.listed_asked;
  if (listed) return;
  listed = true;
  (idle ? idle_windows_ : asked_windows_).push_back(q.queue.number);
}

// Nobody misses the window of a queue that nobody asks for jobs: it goes first, and whole. Where
// somebody asks, it is halved in turn with the others and keeps its first entry at least, which is
// what the next grant takes; those may be more than the bound allows. Each step drops an entry or
// takes a queue off a list, so that all steps together cost no more than what was put in.
void EngineImpl::bound_windows() {
  while (window_bytes_ > options_.window_bytes) {
    const bool idle = !idle_windows_.empty();
    if (!idle && asked_windows_.empty()) return;
    std::deque<std::uint32_t>& list = idle ? idle_windows_ : asked_windows_;
    QueueState& q = *queues_.at(list.front());
    list.pop_front();
    (idle ? q.listed_idle : q.listed_asked) = false;
    if (q.polls.empty() != idle) {
      list_window(q);
    } else if (idle) {
      q.window.shrink(0);
    } else if (q.window.size() > 1) {
      q.window.drop_tail(q.window.size() / 2);
      list_window(q);
    }
  }
}

}  // namespace rota::core
