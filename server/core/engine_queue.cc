// SPDX-License-Identifier: Apache-2.0
//
// Queues: set, pause, resume, delete.
#include "base/limits.h"
#include "base/mutation.h"
#include "core/damage.h"
#include "core/engine_impl.h"
#include "core/request_answers.h"

namespace rota::core {

namespace keys = model::keys;

QueueState* EngineImpl::find_queue(const std::string& name_space, const std::string& name) {
  auto it = queue_numbers_.find({name_space, name});
  return it == queue_numbers_.end() ? nullptr : queues_.at(it->second).get();
}

QueueState* EngineImpl::queue_of(const JobKey& key) {
  auto it = queues_.find(key.queue);
  return it == queues_.end() ? nullptr : it->second.get();
}

Error EngineImpl::queue_not_found(const std::string& name) const {
  Error e = base::make_error(
      Reason::kQueueNotFound,
      "no queue \"" + name + "\"; create it first (rota queue set " + name + ")", "queue");
  e.meta["queue"] = name;
  return e;
}

void EngineImpl::put_queue(QueueState& q) {
  batch().put(Keyspace::kQueueState, keys::queue_settings(q.queue.number), model::encode(q.queue));
}

QueueReply EngineImpl::queue_reply(const QueueState& q) const {
  QueueReply r;
  r.queue = q.queue;
  r.counters = q.counters;
  return r;
}

bool EngineImpl::on(const SetQueue& c, const Command& cmd, Lookup& look) {
  std::string request;
  const std::string* row = nullptr;
  if (!c.request.id.empty()) {
    request = request_key(cmd, static_cast<std::uint8_t>(RequestMethod::kSetQueue), c.request);
    if (!look.get(Keyspace::kRequest, request, &row)) return false;
  }
  QueueState* q = find_queue(cmd.name_space, c.queue);
  if (row != nullptr) {
    auto record = repeated_request(request, *row, c.request);
    if (!record) return reply(cmd.call, record.error()), true;
    if (q == nullptr) return reply(cmd.call, queue_not_found(c.queue)), true;
    DeclaredAnswer answer;
    if (!decode_answer(record->answer, &answer)) damaged_row(Keyspace::kRequest, request);
    QueueReply r = queue_reply(*q);
    r.created = answer.declared == Declared::kCreated;
    r.changed = answer.declared == Declared::kChanged;
    return reply(cmd.call, std::move(r), record->seq), true;
  }
  if (!c.etag.empty() && (q == nullptr || c.etag != std::to_string(q->queue.version))) {
    return reply_error(cmd.call, Reason::kEtagMismatch,
                       q == nullptr ? "the queue does not exist"
                                    : "the queue has been changed meanwhile; read it again",
                       "etag"),
           true;
  }
  const bool created = q == nullptr;
  if (created) {
    if (queues_.size() >= options_.max_queues) {
      return reply_error(cmd.call, Reason::kTooManyQueues,
                         "the limit is " + std::to_string(options_.max_queues) +
                             " queues (server option limits.queues)",
                         "queue"),
             true;
    }
    auto fresh = std::make_unique<QueueState>(&window_bytes_);
    fresh->queue.number = meta_.next_queue++;
    fresh->queue.name_space = cmd.name_space;
    fresh->queue.name = c.queue;
    fresh->queue.created_ms = now_.wall_ms;
    fresh->queue.updated_ms = now_.wall_ms;
    q = fresh.get();
    queue_numbers_[{cmd.name_space, c.queue}] = q->queue.number;
    queues_[q->queue.number] = std::move(fresh);
  }
  const model::Queue before = q->queue;
  model::QueueSettings& s = q->queue.settings;
  if (c.patch.concurrency_limit) s.concurrency_limit = *c.patch.concurrency_limit;
  if (c.patch.max_waiting) s.max_waiting = *c.patch.max_waiting;
  if (c.patch.retry) s.retry = *c.patch.retry;
  if (c.patch.attempt_timeout_ms) s.attempt_timeout_ms = *c.patch.attempt_timeout_ms;
  if (c.patch.retention) s.retention = *c.patch.retention;
  const bool changed = !created && s != before.settings;
  if (changed) {
    ++q->queue.version;
    q->queue.updated_ms = now_.wall_ms;
  }
  if (created || changed) {
    put_queue(*q);
    if (created) touch(*q);  // its counters exist from the first commit on
    want_match(*q);
    // A shorter or smaller retention takes effect now, not when the old one would have.
    for (const JobState group : model::kFinalStates) {
      if (q->counters.of(group) > 0) final_plan_.plan({q->queue.number, group}, now_.wall_ms);
    }
  }
  QueueReply r = queue_reply(*q);
  r.created = created;
  r.changed = changed;
  if (changed) r.before = before;
  if (!request.empty()) {
    DeclaredAnswer answer;
    answer.declared =
        created ? Declared::kCreated : (changed ? Declared::kChanged : Declared::kUnchanged);
    remember_request(request, c.request, encode_answer(answer));
  }
  reply(cmd.call, std::move(r));
  return true;
}

bool EngineImpl::on(const PauseQueue& c, const Command& cmd, Lookup&) {
  QueueState* q = find_queue(cmd.name_space, c.queue);
  if (q == nullptr) return reply(cmd.call, queue_not_found(c.queue)), true;
  const model::Queue before = q->queue;
  // Who pauses again without a note has nothing better to say than the one before.
  const bool new_note = !c.note.empty() && q->queue.pause_note != c.note;
  const bool changed = !q->queue.paused || new_note;
  if (changed) {
    if (!q->queue.paused) q->queue.paused_ms = now_.wall_ms;
    q->queue.paused = true;
    if (new_note) q->queue.pause_note = c.note;
    q->queue.paused_by = cmd.principal;
    q->queue.updated_ms = now_.wall_ms;
    ++q->queue.version;
    put_queue(*q);
  }
  QueueReply r = queue_reply(*q);
  r.changed = changed;
  if (changed) r.before = before;
  reply(cmd.call, std::move(r));
  return true;
}

bool EngineImpl::on(const ResumeQueue& c, const Command& cmd, Lookup&) {
  QueueState* q = find_queue(cmd.name_space, c.queue);
  if (q == nullptr) return reply(cmd.call, queue_not_found(c.queue)), true;
  const model::Queue before = q->queue;
  const bool changed = q->queue.paused;
  if (changed) {
    q->queue.paused = false;
    q->queue.pause_note.clear();
    q->queue.paused_by.clear();
    q->queue.paused_ms = 0;
    q->queue.updated_ms = now_.wall_ms;
    ++q->queue.version;
    put_queue(*q);
    if (!planted(base::Mistake::kForgetMatchOnResume)) want_match(*q);
  }
  QueueReply r = queue_reply(*q);
  r.changed = changed;
  if (changed) r.before = before;
  reply(cmd.call, std::move(r));
  return true;
}

bool EngineImpl::on(const DeleteQueue& c, const Command& cmd, Lookup&) {
  QueueState* q = find_queue(cmd.name_space, c.queue);
  if (q == nullptr) return reply(cmd.call, queue_not_found(c.queue)), true;
  const std::uint64_t running = q->counters.of(JobState::kRunning);
  if (q->counters.waiting() + running > 0) {
    return reply_error(cmd.call, Reason::kQueueNotEmpty,
                       std::to_string(q->counters.waiting()) + " jobs wait and " +
                           std::to_string(running) + " run; purge it or let it drain first",
                       "queue"),
           true;
  }
  const std::string user = book_.scheduler_of_queue(cmd.name_space, c.queue);
  if (!user.empty()) {
    Error e = base::make_error(Reason::kQueueInUse, "scheduler \"" + user + "\" creates jobs in it",
                               "queue");
    e.meta["schedulerId"] = user;
    return reply(cmd.call, std::move(e)), true;
  }
  QueueReply r = queue_reply(*q);
  const std::uint32_t number = q->queue.number;
  for (const std::uint64_t purge : std::vector<std::uint64_t>(q->purges)) {
    end_operation(operations_.at(purge), /*cancelled=*/false);
  }
  // Those who ask for a queue that goes away are answered empty, and hear NOT_FOUND next time.
  for (const auto& [place, poll] : q->polls) polls_to_answer_.insert(poll->call);
  batch().del(Keyspace::kQueueState, keys::queue_settings(number));
  batch().del(Keyspace::kQueueState, keys::queue_counters(number));
  // What is left of its final jobs goes in slices.
  batch().put(Keyspace::kQueueState, keys::queue_dropped(number), model::encode(q->queue));
  dropped_.insert(number);
  for (const CallId call : polls_to_answer_) {
    auto it = polls_.find(call);
    if (it == polls_.end()) continue;
    std::erase(it->second->queues, number);
  }
  for (const JobState group : model::kFinalStates) final_plan_.forget({number, group});
  to_match_.erase(number);
  touched_.erase(number);
  if (q->listed_idle) std::erase(idle_windows_, number);
  if (q->listed_asked) std::erase(asked_windows_, number);
  std::erase_if(ended_, [&](const auto& group) { return group.first.queue == number; });
  queue_numbers_.erase({cmd.name_space, c.queue});
  queues_.erase(number);
  reply(cmd.call, std::move(r));
  return true;
}

}  // namespace rota::core
