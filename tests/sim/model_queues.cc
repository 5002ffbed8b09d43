// SPDX-License-Identifier: Apache-2.0
//
// Queues and purges in the model.
#include <algorithm>

#include "model/records.h"
#include "sim/model.h"

namespace rota::sim {

using base::Reason;
using core::Keyspace;

void Model::check_queue(const Queue& q, const core::QueueReply& r) {
  const auto wrong = [&](const char* what) {
    fail(8, "the answer about queue " + q.name + " is wrong in its " + what);
  };
  if (r.queue.number != q.number) return wrong("number");
  if (r.queue.settings != q.settings) return wrong("settings");
  if (r.queue.paused != q.paused || (q.paused && r.queue.pause_note != q.note)) {
    return wrong("pause");
  }
  if (r.queue.version != q.version) return wrong("version");
  if (!r.counters.conserved()) fail(7, "the counters of queue " + q.name + " do not add up");
}

void Model::on(const core::SetQueue& c, const core::ReplyBody& r) {
  const auto* answer = std::get_if<core::QueueReply>(&r);
  const auto answers = [&](const Request& call) {
    return answer != nullptr && answer->created == call.created && answer->changed == call.changed;
  };
  bool refused = false;
  const Request* before = repeated(3, c.request, r, answers, &refused);
  if (refused || !ok()) return;
  const auto expect_refusal = [&](Reason reason) {
    const std::string wrong = differs(r, reason);
    if (!wrong.empty()) fail(28, "setting queue " + c.queue + " was " + wrong);
  };
  Queue* q = queue(c.queue);
  if (before != nullptr) {
    if (q == nullptr) return expect_refusal(Reason::kQueueNotFound);
    if (!answers(*before)) {
      return fail(5, "a repeated setting of queue " + c.queue + " was answered otherwise");
    }
    return check_queue(*q, *answer);
  }
  if (!c.etag.empty() && (q == nullptr || c.etag != std::to_string(q->version))) {
    return expect_refusal(Reason::kEtagMismatch);
  }
  if (answer == nullptr) return fail(28, "setting queue " + c.queue + " was " + differs(r, {}));
  const bool created = q == nullptr;
  if (created) {
    Queue fresh;
    fresh.number = answer->queue.number;
    fresh.name = c.queue;
    if (!queue_numbers_.insert(fresh.number).second) {
      return fail(8, "the number of queue " + c.queue + " was used before");
    }
    q = &queues_.emplace(c.queue, std::move(fresh)).first->second;
  }
  const model::QueueSettings old = q->settings;
  if (c.patch.concurrency_limit) q->settings.concurrency_limit = *c.patch.concurrency_limit;
  if (c.patch.max_waiting) q->settings.max_waiting = *c.patch.max_waiting;
  if (c.patch.retry) q->settings.retry = *c.patch.retry;
  if (c.patch.attempt_timeout_ms) q->settings.attempt_timeout_ms = *c.patch.attempt_timeout_ms;
  if (c.patch.retention) q->settings.retention = *c.patch.retention;
  step_.queue_settings[q->number].push_back(old);
  const bool changed = !created && old != q->settings;
  if (changed) ++q->version;
  if (answer->created != created || answer->changed != changed) {
    return fail(8, "what became of queue " + c.queue + " is answered wrongly");
  }
  check_queue(*q, *answer);
  Request remembered;
  remembered.created = created;
  remembered.changed = changed;
  if (ok()) remember(3, c.request, std::move(remembered));
}

void Model::on(const core::PauseQueue& c, const core::ReplyBody& r) {
  Queue* q = queue(c.queue);
  const std::string wrong =
      differs(r, q == nullptr ? std::optional(Reason::kQueueNotFound) : std::nullopt);
  if (!wrong.empty()) return fail(18, "the pause of queue " + c.queue + " was " + wrong);
  if (q == nullptr) return;
  const bool changed = !q->paused || (!c.note.empty() && q->note != c.note);
  q->paused = true;
  if (!c.note.empty()) q->note = c.note;
  if (changed) ++q->version;
  check_queue(*q, std::get<core::QueueReply>(r));
}

void Model::on(const core::ResumeQueue& c, const core::ReplyBody& r) {
  Queue* q = queue(c.queue);
  const std::string wrong =
      differs(r, q == nullptr ? std::optional(Reason::kQueueNotFound) : std::nullopt);
  if (!wrong.empty()) return fail(18, "the resume of queue " + c.queue + " was " + wrong);
  if (q == nullptr) return;
  if (q->paused) ++q->version;
  q->paused = false;
  q->note.clear();
  check_queue(*q, std::get<core::QueueReply>(r));
}

// A tick of this turn has put a job there: its run record names one that is not known yet.
bool Model::gets_a_run(std::uint32_t queue) const {
  if (!step_.turn->turn.batch) return false;
  const auto& changes = step_.turn->turn.batch->changes();
  return std::any_of(changes.begin(), changes.end(), [&](const auto& row) {
    model::RunRecord run;
    return row.first.first == Keyspace::kRun && row.second && model::decode(*row.second, &run) &&
           run.outcome == model::RunOutcome::kFired && run.job.queue == queue &&
           run.seq == step_.turn->turn.seq && !jobs_.contains(run.job);
  });
}

void Model::on(const core::DeleteQueue& c, const core::ReplyBody& r) {
  Queue* q = queue(c.queue);
  std::optional<Reason> refused;
  const auto judge = [&]() -> std::string {
    refused.reset();
    if (q == nullptr) {
      refused = Reason::kQueueNotFound;
    } else if (waiting(q->number) + count(q->number, JobState::kRunning) > 0) {
      refused = Reason::kQueueNotEmpty;
    } else if (std::any_of(schedulers_.begin(), schedulers_.end(), [&](const auto& s) {
                 return s.second.declared && s.second.settings.job.queue == c.queue;
               })) {
      refused = Reason::kQueueInUse;
    }
    return differs(r, refused);
  };
  std::string wrong = judge();
  if (!wrong.empty() && q != nullptr) {  // its last job may have ended earlier in this turn
    std::vector<JobKey> left;
    for (const auto& [key, job] : jobs_) {
      if (key.queue == q->number && job.unfinished()) left.push_back(key);
    }
    for (const JobKey& key : left) {
      while (!wrong.empty() && bring_up(key)) wrong = judge();
    }
    if (!ok()) return;
    // Or a tick that is not seen yet has made another.
    const auto* error = std::get_if<base::Error>(&r);
    if (error != nullptr && error->reason == Reason::kQueueNotEmpty && gets_a_run(q->number)) {
      return;
    }
  }
  if (!wrong.empty()) return fail(8, "the deletion of queue " + c.queue + " was " + wrong);
  if (refused) return;
  const std::uint32_t number = q->number;
  // What the turn did by itself with its jobs came before.
  const auto& events = step_.turn->turn.events;
  const auto left_of_it = [&] {
    return std::any_of(events.begin() + static_cast<std::ptrdiff_t>(step_.next_event), events.end(),
                       [&](const Event& e) { return e.key.queue == number; });
  };
  while (ok() && left_of_it()) autonomous(events[step_.next_event]);
  if (!ok()) return;
  for (const auto& [name, entry] : ledger_) {
    if (entry.job.queue == number) step_.keys_lost.emplace(name, entry.job);
  }
  std::erase_if(jobs_, [&](const auto& entry) { return entry.first.queue == number; });
  for (auto& [id, purge] : purges_) {
    if (purge.queue == number) purge.done = true;
  }
  step_.dropped.insert(c.queue);
  queues_.erase(c.queue);
}

void Model::on(const core::PurgeQueue& c, const core::ReplyBody& r) {
  const auto* answer = std::get_if<core::OperationReply>(&r);
  const auto answers = [&](const Request& call) {
    return answer != nullptr && answer->operation.number == call.operation;
  };
  bool refused = false;
  const Request* before = repeated(4, c.request, r, answers, &refused);
  if (refused || !ok()) return;
  if (before != nullptr) {
    if (!answers(*before)) {
      fail(5, "a repeated purge was answered with another operation");
    }
    return;
  }
  const Queue* q = queue(c.queue);
  if (q == nullptr || answer == nullptr) {
    const auto* error = std::get_if<base::Error>(&r);
    const auto open = std::count_if(purges_.begin(), purges_.end(), [&](const auto& entry) {
      return q != nullptr && !entry.second.done && entry.second.queue == q->number;
    });
    const bool full = error != nullptr && error->reason == Reason::kOverloaded && open >= 16;
    const std::string wrong =
        differs(r, q == nullptr ? std::optional(Reason::kQueueNotFound) : std::nullopt);
    if (!wrong.empty() && !full) fail(28, "the purge of queue " + c.queue + " was " + wrong);
    return;
  }
  Purge purge;
  purge.number = answer->operation.number;
  purge.queue = q->number;
  purge.barrier = step_.turn->turn.seq;
  if (answer->operation.barrier != purge.barrier || purges_.contains(purge.number)) {
    return fail(7, "a purge does not begin with its own commit");
  }
  purges_.emplace(purge.number, purge);
  Request remembered;
  remembered.operation = purge.number;
  remember(4, c.request, std::move(remembered));
}

void Model::on(const core::CancelOperation& c, const core::ReplyBody& r) {
  const auto it = purges_.find(c.number);
  std::optional<Reason> refused;
  if (it == purges_.end()) {
    refused = Reason::kOperationNotFound;
  } else if (it->second.done) {
    refused = Reason::kOperationDone;
  }
  // It may have come to its end earlier in this turn; then its row says so at the end of it.
  const auto* error = std::get_if<base::Error>(&r);
  if (!refused && error != nullptr && error->reason == Reason::kOperationDone) {
    step_.said_done.push_back(c.number);
    return;
  }
  const std::string wrong = differs(r, refused);
  if (!wrong.empty()) return fail(7, "the cancel of an operation was " + wrong);
  if (refused) return;
  it->second.done = it->second.cancelled = true;
  it->second.done_seq = step_.turn->turn.seq;
}

void Model::on(const core::GetOperation& c, const core::ReplyBody& r) {
  const auto it = purges_.find(c.number);
  const std::string wrong =
      differs(r, it == purges_.end() ? std::optional(Reason::kOperationNotFound) : std::nullopt);
  if (!wrong.empty()) return fail(7, "the question for an operation was " + wrong);
  if (it == purges_.end()) return;
  const auto& operation = std::get<core::OperationReply>(r).operation;
  if (it->second.done && (!operation.done || operation.cancelled != it->second.cancelled)) {
    fail(7, "an operation that has ended is said to go on");
  }
}

// ---- how many wait

// Before a turn that may speak of a bound.
void Model::remember_bounded() {
  std::set<std::uint32_t> bounded;
  for (const auto& [name, q] : queues_) {
    if (q.settings.max_waiting) bounded.insert(q.number);
  }
  if (bounded.empty()) return;
  for (const auto& [key, job] : jobs_) {
    if (bounded.contains(key.queue)) step_.before[key] = {job.state, job.attempts};
  }
}

std::pair<std::uint64_t, std::uint64_t> Model::waiting_in_turn(std::uint32_t queue) const {
  const auto waits = [](JobState state) {
    return state == JobState::kScheduled || state == JobState::kBlocked ||
           state == JobState::kReady;
  };
  std::uint64_t always = 0;
  std::uint64_t sometimes = 0;
  std::set<JobKey> seen;
  const auto look = [&](const JobKey& key) {
    if (key.queue != queue || !seen.insert(key).second) return;
    const auto before = step_.before.find(key);
    const auto now = jobs_.find(key);
    const bool was = before != step_.before.end();
    const bool is = now != jobs_.end();
    const bool waited = was && waits(before->second.first);
    const bool same = was && is && before->second.second == now->second.attempts;
    if (waited && is && now->second.waits() && same) ++always;
    // What neither waits now nor did before has waited in between when it is new, or was redriven
    // or given back and granted anew.
    const bool began = !was || (is && !same);
    if (waited || (is && now->second.waits()) || began) ++sometimes;
  };
  for (const auto& [key, state] : step_.before) look(key);
  for (const auto& [key, job] : jobs_) {
    if (job.waits()) look(key);
  }
  for (const JobKey& key : step_.touched) look(key);
  return {always, sometimes};
}

// What was refused or skipped because a queue is full, and what ticks have put into one.
void Model::judge_full() {
  const auto is_full = [this](const std::string& name) {
    const Queue* q = queue(name);
    if (q == nullptr) return true;  // deleted in the turn
    const std::uint64_t sometimes = waiting_in_turn(q->number).second;
    return some_settings(*q, [sometimes](const model::QueueSettings& s) {
      return s.max_waiting && *s.max_waiting <= sometimes;
    });
  };
  for (const std::set<std::string>& names : step_.full) {
    if (!ok() || std::any_of(names.begin(), names.end(), is_full)) continue;
    std::string text;
    for (const std::string& name : names) {
      text += " " + name + ", where " +
              std::to_string(waiting_in_turn(queue(name)->number).second) + " wait";
    }
    fail(28, "QUEUE_FULL is said of" + text);
  }
  for (const std::string& name : step_.taken) {
    const Queue* q = queue(name);
    if (!ok() || q == nullptr) continue;
    const auto room = [least = waiting_in_turn(q->number).first](const model::QueueSettings& s) {
      return !s.max_waiting || *s.max_waiting > least;
    };
    if (!some_settings(*q, room)) fail(28, "a tick made a job more than may wait in " + name);
  }
}

// Operations come to their end without an event: their rows say so, and then nothing may be left
// of what they were to remove.
void Model::see_operations() {
  if (!ok()) return;
  for (auto& [number, purge] : purges_) {
    if (!step_.turn->turn.batch) break;
    const auto* stored = change(Keyspace::kMeta, model::keys::operation(number));
    if (stored == nullptr || !*stored) continue;
    model::Operation operation;
    if (!model::decode(**stored, &operation)) return fail(2, "an operation's row is damaged");
    if (purge.done && !operation.done) return fail(7, "an operation that had ended goes on");
    if (!operation.done || purge.done) continue;
    purge.done = true;
    for (const auto& [key, job] : jobs_) {
      if (key.queue == purge.queue && job.waits() && job.waiting_seq < purge.barrier) {
        return fail(7, "a purge has ended and " + at(key) + " is still there");
      }
    }
  }
  for (const std::uint64_t number : step_.said_done) {
    if (!purges_.at(number).done) fail(7, "an operation that goes on is said to have ended");
  }
}

}  // namespace rota::sim
