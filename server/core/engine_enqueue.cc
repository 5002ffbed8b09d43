// SPDX-License-Identifier: Apache-2.0
//
// Enqueue, single and bulk: request ids, business keys, limits, and the birth of a job.
#include <map>

#include "base/limits.h"
#include "core/damage.h"
#include "core/engine_impl.h"
#include "core/request_answers.h"
#include "model/job_id.h"

namespace rota::core {

namespace keys = model::keys;

// Writes a new job's rows and puts it into its first state.
JobKey EngineImpl::insert_job(QueueState& q, NewJob job) {
  const JobKey key{q.queue.number, job.priority, q.counters.next_seq++};
  model::JobBody& body = job.body;
  body.created_ms = now_.wall_ms;
  body.created_seq = building();
  body.payload_bytes = body.payload.size();
  const std::string row_key = keys::job(key);
  if (body.payload.size() > static_cast<std::size_t>(base::limits::kPayloadInlineBytesMax)) {
    batch().put(Keyspace::kPayload, row_key, std::move(body.payload));
    body.payload.clear();
    body.payload_apart = true;
  }
  if (!body.business_key.empty()) {
    model::LedgerEntry entry;
    entry.state = model::LedgerState::kHeld;
    entry.job = key;
    entry.kind = body.kind;
    entry.content_type = body.content_type;
    entry.payload_hash = job.payload_hash;
    body.payload_hash = std::move(job.payload_hash);
    batch().put(Keyspace::kLedger,
                keys::ledger(q.queue.name_space, body.key_scope, body.business_key),
                model::encode(entry));
  }
  batch().put(Keyspace::kJob, row_key, model::encode(body));
  if (body.start_deadline_ms != 0) {
    put_timer({body.start_deadline_ms, keys::TimerKind::kStartDeadline, key});
  }

  JobRef ref;
  ref.queue = &q;
  ref.key = key;
  ref.priority = key.priority;
  ref.body = std::make_shared<const model::JobBody>(std::move(body));
  if (job.blocker.kind != 0) {
    enter(q, JobState::kBlocked, key.priority, key.seq);
    ref.side.claim = model::Claim::kBlocked;
    ref.side.blocker = std::move(job.blocker);
    put_side(ref);
    batch().put(Keyspace::kBlocked, keys::blocked(ref.side.blocker, key), std::string());
  } else if (job.due_ms > now_.wall_ms) {
    enter(q, JobState::kScheduled, key.priority, key.seq);
    ref.side.claim = model::Claim::kScheduled;
    ref.side.due_ms = job.due_ms;
    put_side(ref);
    put_timer({job.due_ms, keys::TimerKind::kPromote, key});
  } else {
    enter(q, JobState::kReady, key.priority, key.seq);
    const std::size_t bytes = ref.body->memory_bytes();
    q.window.offer(key, ReadyJob{key, std::move(ref.body), nullptr}, bytes);
    window_changed(q);
    want_match(q);
  }
  return key;
}

namespace {

Error key_conflict(const model::LedgerEntry& entry, const JobRequest& job, JobState state) {
  std::string differs;
  const auto add = [&](const char* what) {
    differs += (differs.empty() ? "" : ", ") + std::string(what);
  };
  if (entry.kind != job.kind) add("kind");
  if (entry.content_type != job.content_type) add("content_type");
  if (entry.payload_hash != job.payload_hash) add("payload");
  const std::string holder = model::job_id(entry.job);
  Error e =
      base::make_error(Reason::kBusinessKeyConflict,
                       "job " + holder + " holds this key with another " + differs, "business_key");
  e.meta["jobId"] = holder;
  e.meta["differs"] = differs;
  if (state != JobState::kUnknown) e.meta["state"] = std::string(model::name_of(state));
  return e;
}

// Leaves out the results that are too large together: each may be 256 KiB, and a call may ask for a
// thousand.
class Results {
 public:
  void bound(EnqueuedJob* job) {
    if (!job->result) return;
    if (bytes_ + job->result->size() <= kEnqueueResultsBytesMax) {
      bytes_ += job->result->size();
      return;
    }
    job->result.reset();
    job->result_omitted = true;
  }

 private:
  std::size_t bytes_ = 0;
};

bool same_fingerprint(const model::LedgerEntry& entry, const JobRequest& job) {
  return entry.kind == job.kind && entry.content_type == job.content_type &&
         entry.payload_hash == job.payload_hash;
}

}  // namespace

// What a key's entry means for a new enqueue: the existing job, or nullopt when the key is free
// (its holder is gone with its queue).
std::optional<EnqueuedJob> EngineImpl::existing_for_key(model::LedgerEntry& entry, Lookup& look,
                                                        bool* missing) {
  EnqueuedJob existing;
  existing.key = entry.job;
  if (entry.state == model::LedgerState::kDone) {
    existing.state = JobState::kSucceeded;
    existing.result = std::move(entry.result);
    entry.result.clear();
    return existing;
  }
  JobView view;
  if (!view_job(entry.job, look, &view)) {
    *missing = true;
    return std::nullopt;
  }
  if (view.where != JobView::Where::kLive) return std::nullopt;
  existing.state = view.state;
  return existing;
}

bool EngineImpl::on(const EnqueueJobs& c, const Command& cmd, Lookup& look) {
  // Everything is read before anything is changed.
  const auto method = c.bulk ? RequestMethod::kBulkEnqueue : RequestMethod::kEnqueue;
  std::string request;
  const std::string* request_row = nullptr;
  if (!c.request.id.empty()) {
    request = request_key(cmd, static_cast<std::uint8_t>(method), c.request);
    look.get(Keyspace::kRequest, request, &request_row);
  }
  struct Plan {
    QueueState* queue = nullptr;
    std::string ledger_key;
    std::optional<model::LedgerEntry> entry;
    std::optional<EnqueuedJob> existing;
    JobView holder;
  };
  std::vector<Plan> plans(c.jobs.size());
  Results held;  // by the plans
  for (std::size_t i = 0; i < c.jobs.size(); ++i) {
    const JobRequest& job = c.jobs[i];
    Plan& plan = plans[i];
    if (job.invalid) continue;
    plan.queue = find_queue(cmd.name_space, job.queue);
    if (plan.queue == nullptr || job.business_key.empty()) continue;
    plan.ledger_key = keys::ledger(
        cmd.name_space, job.key_scope.empty() ? job.queue : job.key_scope, job.business_key);
    const std::string* row = nullptr;
    if (!look.get(Keyspace::kLedger, plan.ledger_key, &row) || row == nullptr) continue;
    model::LedgerEntry entry;
    if (!model::decode(*row, &entry)) damaged_row(Keyspace::kLedger, plan.ledger_key);
    // While a jump of the clock holds deletions back, an entry is not over by age either.
    if (entry.state == model::LedgerState::kDone && entry.expires_ms <= now_.wall_ms &&
        !deletions_held()) {
      continue;
    }
    bool missing = false;
    plan.existing = existing_for_key(entry, look, &missing);
    if (plan.existing) held.bound(&*plan.existing);
    if (plan.existing && job.on_dead == OnDead::kRedrive &&
        plan.existing->state == JobState::kDead) {
      view_job(entry.job, look, &plan.holder);
      if (plan.holder.body) recall_scheduler(entry.job, *plan.holder.body, look);
    }
    plan.entry = std::move(entry);
  }
  if (!look.complete()) return false;

  if (request_row != nullptr) {
    auto record = repeated_request(request, *request_row, c.request);
    if (!record) return reply(cmd.call, record.error()), true;
    EnqueueReply answer;
    if (!decode_answer(record->answer, &answer)) damaged_row(Keyspace::kRequest, request);
    for (std::size_t i = 0; i < answer.items.size() && i < plans.size(); ++i) {
      auto* job = std::get_if<EnqueuedJob>(&answer.items[i]);
      if (job && job->state == JobState::kSucceeded && plans[i].existing) {
        job->result = std::move(plans[i].existing->result);
        job->result_omitted = plans[i].existing->result_omitted;
      }
    }
    return reply(cmd.call, std::move(answer), record->seq), true;
  }

  EnqueueReply answer;
  std::map<std::string, std::size_t> first_with_key;  // within this call
  Results told;                                       // a job that is asked for twice is told twice
  bool any = false;
  for (std::size_t i = 0; i < c.jobs.size(); ++i) {
    const JobRequest& job = c.jobs[i];
    Plan& plan = plans[i];
    if (job.invalid) {
      answer.items.emplace_back(*job.invalid);
      continue;
    }
    if (plan.queue == nullptr) {
      answer.items.emplace_back(queue_not_found(job.queue));
      continue;
    }
    if (!plan.ledger_key.empty()) {
      if (auto [it, fresh] = first_with_key.try_emplace(plan.ledger_key, i); !fresh) {
        // An earlier item of this call has the key; it decides, unless it was refused.
        const EnqueueItem& earlier = answer.items[it->second];
        const JobRequest& first = c.jobs[it->second];
        if (const auto* done = std::get_if<EnqueuedJob>(&earlier)) {
          model::LedgerEntry entry;
          entry.job = done->key;
          entry.kind = first.kind;
          entry.content_type = first.content_type;
          entry.payload_hash = first.payload_hash;
          if (same_fingerprint(entry, job)) {
            EnqueuedJob same = *done;
            same.created = false;
            told.bound(&same);
            answer.items.emplace_back(std::move(same));
          } else {
            answer.items.emplace_back(key_conflict(entry, job, done->state));
          }
          continue;
        }
        it->second = i;
      }
      if (plan.existing) {
        if (!same_fingerprint(*plan.entry, job)) {
          answer.items.emplace_back(key_conflict(*plan.entry, job, plan.existing->state));
          continue;
        }
        if (plan.holder.where == JobView::Where::kLive) {  // DEAD, and the caller wants it redriven
          redrive(take_job(plan.entry->job, plan.holder), look);
          plan.existing->state = JobState::kReady;
        }
        any = true;
        told.bound(&*plan.existing);
        answer.items.emplace_back(*std::move(plan.existing));
        continue;
      }
    }
    const auto& max_waiting = plan.queue->queue.settings.max_waiting;
    if (max_waiting && plan.queue->counters.waiting() >= *max_waiting) {
      Error e = base::make_error(Reason::kQueueFull,
                                 std::to_string(plan.queue->counters.waiting()) +
                                     " jobs wait, the queue's max_waiting is " +
                                     std::to_string(*max_waiting),
                                 "queue");
      e.retry_after_ms = 1000;
      answer.items.emplace_back(std::move(e));
      continue;
    }
    NewJob fresh;
    fresh.priority = job.priority;
    fresh.due_ms = job.run_at_ms;
    fresh.payload_hash = job.payload_hash;
    fresh.body.kind = job.kind;
    fresh.body.content_type = job.content_type;
    fresh.body.payload = job.payload;
    fresh.body.labels = job.labels;
    fresh.body.key_scope = job.key_scope.empty() ? job.queue : job.key_scope;
    fresh.body.business_key = job.business_key;
    fresh.body.attempt_timeout_ms = job.attempt_timeout_ms;
    fresh.body.retry = job.retry;
    fresh.body.run_at_ms = job.run_at_ms;
    fresh.body.start_deadline_ms = job.start_deadline_ms;
    fresh.body.principal = cmd.principal;
    EnqueuedJob created;
    created.state = job.run_at_ms > now_.wall_ms ? JobState::kScheduled : JobState::kReady;
    created.created = true;
    created.key = insert_job(*plan.queue, std::move(fresh));
    any = true;
    answer.items.emplace_back(std::move(created));
  }
  if (any && !request.empty()) remember_request(request, c.request, encode_answer(answer));
  reply(cmd.call, std::move(answer));
  return true;
}

}  // namespace rota::core
