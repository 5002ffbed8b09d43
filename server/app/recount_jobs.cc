// SPDX-License-Identifier: Apache-2.0
//
// Queues, side records, grants, bodies and pointers: which state each job is in.
#include <functional>
#include <utility>

#include "app/recount_state.h"
#include "model/bytes.h"

namespace rota::app {

namespace keys = model::keys;
using model::Claim;

namespace {

std::size_t hash_of(std::string_view row) { return std::hash<std::string_view>{}(row); }

}  // namespace

void Recount::read_meta() {
  each(Keyspace::kMeta, [&](std::string_view key, std::string_view value) {
    if (key == keys::engine_meta()) {
      if (!model::decode(value, &meta_)) contradiction("the engine's counters are damaged");
    } else if (!key.empty() && key.front() == 'o') {
      model::Operation operation;
      if (!model::decode(value, &operation)) {
        contradiction("an operation's record is damaged");
      } else if (operation.number >= meta_.next_operation) {
        contradiction("operation " + std::to_string(operation.number) +
                      " has a number that was not given out yet");
      }
    } else if (!key.empty() && key.front() == 'g') {
      model::OverdueGrant overdue;
      if (key.size() != 9 || !model::decode(value, &overdue)) {
        return contradiction("the record of an overdue grant is damaged");
      }
      overdue_grants_.insert(model::Reader(key.substr(1)).u64());
    }
  });
}

void Recount::read_queues() {
  each(Keyspace::kQueueState, [&](std::string_view key, std::string_view value) {
    if (key.size() != 5) return contradiction("a queue's row has no key of its kind");
    const std::uint32_t number = model::Reader(key.substr(1)).u32();
    if (number >= meta_.next_queue) {
      contradiction("queue number " + std::to_string(number) + " was not given out yet");
    }
    model::Queue queue;
    switch (key.front()) {
      case 'q':
        if (!model::decode(value, &queue)) return contradiction("queue settings are damaged");
        queues_[number].queue = std::move(queue);
        return;
      case 'd':
        if (!model::decode(value, &queue)) return contradiction("a dropped queue is damaged");
        dropped_[number] = queue.name_space;
        return;
      case 'c':
        if (!model::decode(value, &queues_[number].counters.emplace())) {
          contradiction("the counters of queue number " + std::to_string(number) + " are damaged");
        }
        return;
      default:
        contradiction("a queue's row has no key of its kind");
    }
  });
  for (const auto& [number, rows] : queues_) {
    if (rows.queue.number != number) {
      contradiction("queue number " + std::to_string(number) + " has counters and no settings");
    } else if (!rows.counters) {
      contradiction(name_of_queue(number) + " has no counters");
    } else if (!rows.counters->conserved()) {
      contradiction("the counters of " + name_of_queue(number) + " do not add up");
    }
  }
}

void Recount::read_sides() {
  each(Keyspace::kSide, [&](std::string_view key, std::string_view value) {
    const auto job = keys::parse_job(key);
    model::Side side;
    if (!job || !model::decode(value, &side)) return contradiction("a side record is damaged");
    if (dropped(job->queue)) return;
    SideRow row;
    row.claim = side.claim;
    row.due_ms = side.due_ms;
    row.start_deadline_ms = side.start_deadline_ms;
    if (side.claim == Claim::kBlocked) row.blocked_key = keys::blocked(side.blocker, *job);
    row.priority = side.priority;
    row.priority_changed = side.priority_changed;
    row.attempts = side.attempts;
    row.last_token = side.last_token;
    row.ended_ms = side.ended_ms;
    row.hash = hash_of(value);
    if (side.last_token >= meta_.next_token) {
      contradiction(name_of_job(*job) + " has a token that was not given out yet");
    }
    if (side.attempts_used > side.attempts) {
      contradiction(name_of_job(*job) + " has used more attempts than it had");
    }
    sides_.emplace(*job, std::move(row));
  });
}

// An entry is over when its token is not above the last ended one of the job, or the body is gone.
void Recount::read_grants() {
  each(Keyspace::kGrant, [&](std::string_view key, std::string_view value) {
    model::Grant grant;
    if (key.size() != 8 || !model::decode(value, &grant)) {
      return contradiction("a grant record is damaged");
    }
    overdue_grants_.erase(model::Reader(key).u64());
    for (const model::GrantEntry& entry : grant.entries) {
      if (entry.token >= meta_.next_token) {
        contradiction(name_of_job(entry.job) + " was granted a token that was not given out yet");
      }
      const auto side = sides_.find(entry.job);
      if (side != sides_.end() && entry.token <= side->second.last_token) continue;
      // Whether it has a body shows later: a job that is gone may stand in several old grants.
      const auto [it, fresh] = grants_.emplace(entry.job, GrantRow{.token = entry.token});
      if (!fresh) it->second.other_token = entry.token;
    }
  });
  for (const std::uint64_t number : overdue_grants_) {
    contradiction("grant " + std::to_string(number) + " is overdue and does not exist");
  }
}

void Recount::read_pointers() {
  each(Keyspace::kJob, [&](std::string_view key, std::string_view value) {
    if (!model::is_pointer(value)) return;
    --report_.rows;  // counted with the bodies
    const auto at = keys::parse_job(key);
    model::Pointer pointer;
    if (!at || !model::decode(value, &pointer)) return contradiction("a pointer is damaged");
    if (dropped(at->queue)) return;
    const JobKey job{at->queue, pointer.first_priority, at->seq};
    const PointerRow row{at->priority, hash_of(pointer.body), hash_of(pointer.side), false};
    if (!pointers_.emplace(job, row).second) {
      contradiction(name_of_job(job) + " has two pointers");
    }
  });
}

void Recount::read_bodies() {
  std::uint64_t bodies = 0;
  each(Keyspace::kJob, [&](std::string_view key, std::string_view value) {
    ++bodies;
    if (model::is_pointer(value)) return;
    const auto job = keys::parse_job(key);
    if (!job) return contradiction("a body's key is damaged");
    if (dropped(job->queue)) return;
    body(*job, value);
  });
}

void Recount::body(const JobKey& key, std::string_view row) {
  model::JobBody job;
  if (!model::decode(row, &job))
    return contradiction("the body of " + name_of_job(key) + " is damaged");
  const auto queue = queues_.find(key.queue);
  if (queue == queues_.end()) return contradiction(name_of_job(key) + " is in no queue");
  if (queue->second.counters && key.seq >= queue->second.counters->next_seq) {
    contradiction(name_of_job(key) + " has a sequence that was not given out yet");
  }
  if (job.created_seq > last_seq_) {
    contradiction(name_of_job(key) + " was enqueued by a commit that does not exist");
  }
  const auto side = sides_.find(key);
  const auto grant = grants_.find(key);
  SideRow* side_row = side == sides_.end() ? nullptr : &side->second;
  GrantRow* grant_row = grant == grants_.end() ? nullptr : &grant->second;
  const JobState state = state_of(key, side_row, grant_row);
  ++queue->second.counted[static_cast<std::size_t>(state)];

  const auto pointer = pointers_.find(key);
  const bool moved = state == JobState::kReady && side_row && side_row->claim == Claim::kMoved;
  if (pointer != pointers_.end()) {
    pointer->second.has_body = true;
    if (!moved || pointer->second.priority != side_row->priority) {
      contradiction(name_of_job(key) + " has a pointer although it is not READY there");
    } else if (pointer->second.body_hash != hash_of(row) ||
               pointer->second.side_hash != side_row->hash) {
      contradiction("the pointer of " + name_of_job(key) + " repeats other records than its own");
    }
  } else if (moved) {
    contradiction(name_of_job(key) + " has a changed priority and no pointer");
  }
  if (state == JobState::kReady) ready(key, moved ? side_row->priority : key.priority);
  expect_rows_of(key, state, job, side_row);
}

model::JobState Recount::state_of(const JobKey& key, SideRow* side, GrantRow* grant) {
  if (side != nullptr) side->has_body = true;
  if (grant != nullptr) {
    grant->has_body = true;
    ++report_.live_leases;
    if (grant->other_token != 0) {
      contradiction(name_of_job(key) + " is granted twice: tokens " + std::to_string(grant->token) +
                    " and " + std::to_string(grant->other_token));
    }
    if (side != nullptr && side->claim != Claim::kNone && side->claim != Claim::kMoved) {
      contradiction(name_of_job(key) + " is granted although its side record holds it back");
    }
    return JobState::kRunning;
  }
  if (side == nullptr) return JobState::kReady;
  switch (side->claim) {
    case Claim::kScheduled:
      return JobState::kScheduled;
    case Claim::kBlocked:
      return JobState::kBlocked;
    case Claim::kDead:
      return JobState::kDead;
    case Claim::kMoved:
    case Claim::kNone:
      break;
  }
  return JobState::kReady;
}

void Recount::ready(const JobKey& key, std::uint8_t priority) {
  QueueRows& rows = queues_.at(key.queue);
  ++rows.ready_levels[priority];
  if (!rows.counters) return;
  const auto level = rows.counters->levels.find(priority);
  if (level != rows.counters->levels.end() && key.seq < level->second.head) {
    contradiction(name_of_job(key) + " is READY below the head of its priority: no scan sees it");
  }
}

// What other keyspaces must hold because of this job.
void Recount::expect_rows_of(const JobKey& key, JobState state, const model::JobBody& job,
                             const SideRow* side) {
  if (job.payload_apart) payloads_[key] = job.payload_bytes;
  const model::Queue& queue = queues_.at(key.queue).queue;
  if (!job.business_key.empty()) {
    const auto [it, fresh] =
        held_keys_.emplace(keys::ledger(queue.name_space, job.key_scope, job.business_key), key);
    if (!fresh) {
      contradiction(name_of_job(key) + " and " + name_of_job(it->second) +
                    " have the same business key");
    }
  }
  if (!job.scheduler_id.empty() && state != JobState::kDead) {
    ++schedulers_[keys::scheduler_state(queue.name_space, job.scheduler_id).substr(1)].unfinished;
  }
  if (state == JobState::kScheduled) {
    timers_.insert({side->due_ms, keys::TimerKind::kPromote, key});
  }
  if (state == JobState::kBlocked) {
    blocked_.insert(side->blocked_key);
    blocked_jobs_.insert(key);
  }
  if (state == JobState::kDead) dead_[key] = side->ended_ms;
  const std::int64_t deadline =
      side != nullptr && side->start_deadline_ms ? *side->start_deadline_ms : job.start_deadline_ms;
  if (deadline != 0) {
    const keys::TimerKey timer{deadline, keys::TimerKind::kStartDeadline, key};
    const bool waits =
        state == JobState::kScheduled || state == JobState::kBlocked || state == JobState::kReady;
    (waits && (side == nullptr || side->attempts == 0) ? timers_ : timers_allowed_).insert(timer);
  }
}

void Recount::leftovers() {
  for (const auto& [key, side] : sides_) {
    if (!side.has_body) contradiction(name_of_job(key) + " has a side record and no body");
  }
  for (const auto& [key, pointer] : pointers_) {
    if (!pointer.has_body) contradiction(name_of_job(key) + " has a pointer and no body");
  }
}

}  // namespace rota::app
