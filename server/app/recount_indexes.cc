// SPDX-License-Identifier: Apache-2.0
//
// What stands beside the jobs: payloads, timers, blocked rows, final records and their index, the
// ledger, remembered requests, schedulers and their runs; and the counters at the end.
#include <algorithm>
#include <utility>
#include <vector>

#include "app/recount_state.h"
#include "model/bytes.h"

namespace rota::app {

namespace keys = model::keys;

void Recount::read_payloads() {
  each(Keyspace::kPayload, [&](std::string_view key, std::string_view value) {
    const auto job = keys::parse_job(key);
    if (!job) return contradiction("a payload's key is damaged");
    if (dropped(job->queue)) return;
    const auto expected = payloads_.find(*job);
    if (expected == payloads_.end()) {
      return contradiction(name_of_job(*job) + " has a payload row and needs none");
    }
    if (expected->second != value.size()) {
      contradiction("the payload of " + name_of_job(*job) + " has " + std::to_string(value.size()) +
                    " bytes instead of " + std::to_string(expected->second));
    }
    payloads_.erase(expected);
  });
  for (const auto& [key, bytes] : payloads_) {
    contradiction(name_of_job(key) + " has lost its payload");
  }
}

void Recount::read_timers() {
  each(Keyspace::kTimer, [&](std::string_view key, std::string_view) {
    const auto timer = keys::parse_timer(key);
    if (!timer) return contradiction("a timer's key is damaged");
    if (timer->due_ms < meta_.timers_swept_ms) {
      contradiction("a timer of " + name_of_job(timer->job) + " lies before what has been swept");
    }
    if (timers_.erase(*timer) == 0 && !timers_allowed_.contains(*timer)) {
      contradiction(name_of_job(timer->job) + " has a timer that nothing waits for");
    }
  });
  for (const keys::TimerKey& timer : timers_) {
    contradiction(name_of_job(timer.job) + (timer.kind == keys::TimerKind::kPromote
                                                ? " is SCHEDULED and has no timer"
                                                : " has a start deadline and no timer"));
  }
}

void Recount::read_blocked() {
  each(Keyspace::kBlocked, [&](std::string_view key, std::string_view) {
    if (blocked_.erase(std::string(key)) == 0) {
      contradiction("a blocked row belongs to no BLOCKED job");
    }
  });
  if (!blocked_.empty()) {
    contradiction(std::to_string(blocked_.size()) + " BLOCKED jobs have no blocked row");
  }
}

// Each final record, and each DEAD job, must be listed for retention, else it is kept for ever.
void Recount::read_final() {
  std::map<JobKey, std::pair<JobState, std::int64_t>> unlisted;
  for (const auto& [key, ended_ms] : dead_) unlisted[key] = {JobState::kDead, ended_ms};
  each(Keyspace::kFinal, [&](std::string_view key, std::string_view value) {
    if (key.empty() || key.front() != 'j') return;
    const auto job = keys::parse_final(key);
    model::FinalRecord record;
    if (!job || !model::decode(value, &record)) return contradiction("a final record is damaged");
    if (dropped(job->queue)) return;
    const auto queue = queues_.find(job->queue);
    if (queue == queues_.end()) return contradiction(name_of_job(*job) + " is in no queue");
    if (record.state != JobState::kSucceeded && record.state != JobState::kCancelled &&
        record.state != JobState::kExpired) {
      return contradiction(name_of_job(*job) + " has a final record and is not final");
    }
    if (dead_.contains(*job)) contradiction(name_of_job(*job) + " is final and DEAD");
    ++queue->second.counted[static_cast<std::size_t>(record.state)];
    unlisted[*job] = {record.state, record.ended_ms};
  });
  each(Keyspace::kFinal, [&](std::string_view key, std::string_view value) {
    if (key.empty() || key.front() == 'j') {
      --report_.rows;
      return;
    }
    const auto index = keys::parse_final_index(key);
    std::vector<JobKey> listed;
    if (!index || !model::decode_job_keys(value, &listed)) {
      return contradiction("a row of the retention index is damaged");
    }
    if (dropped(index->queue)) return;
    const auto queue = queues_.find(index->queue);
    if (queue == queues_.end()) return contradiction("a retention index belongs to no queue");
    if (queue->second.counters &&
        index->ended_ms <
            queue->second.counters->swept_ms[static_cast<std::size_t>(index->group)]) {
      contradiction("a row of the retention index of " + name_of_queue(index->queue) +
                    " lies before what has been swept");
    }
    for (const JobKey& job : listed) {
      const auto it = unlisted.find(job);
      if (it != unlisted.end() && it->second.first == index->group &&
          it->second.second <= index->ended_ms) {
        unlisted.erase(it);
      } else if (index->group != JobState::kDead && index->seq >= meta_.index_exact_from_seq) {
        contradiction("the retention index names " + name_of_job(job) + ", which is gone");
      }
    }
  });
  for (const auto& [key, state] : unlisted) {
    contradiction(name_of_job(key) + " is " + std::string(model::name_of(state.first)) +
                  " and not listed for retention");
  }
}

void Recount::read_schedulers() {
  each(Keyspace::kScheduler, [&](std::string_view key, std::string_view value) {
    if (key.empty()) return contradiction("a scheduler's key is damaged");
    SchedulerRows& rows = schedulers_[std::string(key.substr(1))];
    if (key.front() == 's') {
      model::Scheduler scheduler;
      if (!model::decode(value, &scheduler)) return contradiction("a scheduler is damaged");
      rows.declared = true;
      ++report_.schedulers;
      if (scheduler.generation >= meta_.next_token) {
        contradiction("scheduler \"" + scheduler.id + "\" has a generation not given out yet");
      }
    } else if (!model::decode(value, &rows.state.emplace())) {
      contradiction("the state of a scheduler is damaged");
    }
  });
}

void Recount::read_runs() {
  // Namespace and id, then nominal time and generation, eight bytes each.
  constexpr std::size_t kTail = 16;
  each(Keyspace::kRun, [&](std::string_view key, std::string_view value) {
    model::RunRecord run;
    if (key.size() < kTail || !model::decode(value, &run)) {
      return contradiction("a run record is damaged");
    }
    ++report_.run_records;
    ++schedulers_[std::string(key.substr(0, key.size() - kTail))].runs;
    if (run.outcome == model::RunOutcome::kFired && !run.job.valid()) {
      contradiction("a fired run names no job");
    }
  });
  for (const auto& [name, rows] : schedulers_) {
    model::Reader reader(name);
    reader.view();
    const std::string id = "scheduler \"" + reader.str() + "\"";
    if (!rows.state) {
      if (rows.declared || rows.unfinished > 0 || rows.runs > 0) {
        contradiction(id + " has no state record");
      }
      continue;
    }
    if (rows.state->unfinished != rows.unfinished) {
      contradiction(id + " counts " + std::to_string(rows.state->unfinished) +
                    " unfinished jobs, there are " + std::to_string(rows.unfinished));
    }
    if (rows.state->runs != rows.runs) {
      contradiction(id + " counts " + std::to_string(rows.state->runs) +
                    " run records, there are " + std::to_string(rows.runs));
    }
    if (rows.state->waiting.valid() && !blocked_jobs_.contains(rows.state->waiting)) {
      contradiction(id + " names a waiting job that is not BLOCKED");
    }
  }
}

void Recount::read_ledger() {
  std::unordered_set<std::string> expiring;
  each(Keyspace::kLedger, [&](std::string_view key, std::string_view value) {
    if (key.empty() || key.front() == 'e') return;
    std::vector<std::string> listed;
    const auto expires_ms = keys::parse_expiry(key);
    if (!expires_ms || !model::decode_strings(value, &listed)) {
      return contradiction("a row of the ledger's expiry index is damaged");
    }
    if (*expires_ms < meta_.ledger_swept_ms) {
      contradiction("a row of the ledger's expiry index lies before what has been swept");
    }
    expiring.insert(listed.begin(), listed.end());
  });
  each(Keyspace::kLedger, [&](std::string_view key, std::string_view value) {
    if (key.empty() || key.front() != 'e') {
      --report_.rows;
      return;
    }
    model::LedgerEntry entry;
    if (!model::decode(value, &entry)) return contradiction("a ledger entry is damaged");
    ++report_.ledger_entries;
    const auto held = held_keys_.find(std::string(key));
    if (entry.state == model::LedgerState::kHeld) {
      if (held != held_keys_.end() && held->second == entry.job) {
        held_keys_.erase(held);
      } else if (!dropped(entry.job.queue)) {
        contradiction("a business key is held by " + name_of_job(entry.job) +
                      ", which does not have it");
      }
      return;
    }
    if (held != held_keys_.end()) {
      contradiction(name_of_job(held->second) + " lives although its business key is done");
      held_keys_.erase(held);
    }
    if (entry.expires_ms != model::kForever && !expiring.contains(std::string(key))) {
      contradiction("the ledger entry of " + name_of_job(entry.job) + " is not listed to expire");
    }
  });
  for (const auto& [key, job] : held_keys_) {
    contradiction(name_of_job(job) + " does not hold its business key");
  }
}

void Recount::read_requests() {
  std::unordered_set<std::string> expiring;
  each(Keyspace::kRequest, [&](std::string_view key, std::string_view value) {
    if (!key.empty() && (key.front() == 'r' || key.front() == 's')) return;
    std::vector<std::string> listed;
    const auto expires_ms = keys::parse_expiry(key);
    if (!expires_ms || !model::decode_strings(value, &listed)) {
      return contradiction("a row of the requests' expiry index is damaged");
    }
    if (*expires_ms < meta_.requests_swept_ms) {
      contradiction("a row of the requests' expiry index lies before what has been swept");
    }
    expiring.insert(listed.begin(), listed.end());
  });
  each(Keyspace::kRequest, [&](std::string_view key, std::string_view value) {
    const bool spent = !key.empty() && key.front() == 's';  // of lease calls
    if (!spent && (key.empty() || key.front() != 'r')) {
      --report_.rows;
      return;
    }
    model::RequestRecord record;
    std::vector<std::string> hashes;
    if (!model::decode(value, &record) ||
        (spent && !model::decode_strings(record.answer, &hashes))) {
      return contradiction("a remembered request is damaged");
    }
    if (!spent) ++report_.remembered_requests;
    if (!expiring.contains(std::string(key))) {
      contradiction("a remembered request is not listed to expire");
    }
  });
}

void Recount::compare_counters() {
  for (const auto& [number, rows] : queues_) {
    QueueCount count{
        .name_space = rows.queue.name_space, .name = rows.queue.name, .in_state = rows.counted};
    if (rows.counters) {
      count.created = rows.counters->created;
      count.removed = rows.counters->removed;
      for (int i = 1; i < model::kJobStateCount; ++i) {
        const auto state = static_cast<JobState>(i);
        const std::uint64_t rows_say = rows.counted[static_cast<std::size_t>(i)];
        if (rows.counters->of(state) != rows_say) {
          contradiction(
              name_of_queue(number) + " counts " + std::to_string(rows.counters->of(state)) + " " +
              std::string(model::name_of(state)) + ", there are " + std::to_string(rows_say));
        }
      }
      for (const auto& [priority, level] : rows.counters->levels) {
        const auto counted = rows.ready_levels.find(priority);
        if (level.ready != (counted == rows.ready_levels.end() ? 0 : counted->second)) {
          contradiction(name_of_queue(number) + " counts " + std::to_string(level.ready) +
                        " READY of priority " + std::to_string(priority));
        }
      }
      for (const auto& [priority, ready] : rows.ready_levels) {
        if (!rows.counters->levels.contains(priority)) {
          contradiction(name_of_queue(number) + " has READY jobs of priority " +
                        std::to_string(priority) + " that no level counts");
        }
      }
    }
    report_.queues.push_back(std::move(count));
  }
}

}  // namespace rota::app
