// SPDX-License-Identifier: Apache-2.0
//
// One job: finding it, and what people change about it (update, cancel, redrive, delete).
#include <algorithm>

#include "base/mutation.h"
#include "core/damage.h"
#include "core/engine_impl.h"
#include "core/request_answers.h"
#include "model/job_id.h"

namespace rota::core {

namespace keys = model::keys;
using model::Claim;

Error EngineImpl::job_not_found(const JobKey& key) const {
  Error e =
      base::make_error(Reason::kJobNotFound, "no job has this id, or it is kept no longer", "id");
  e.meta["jobId"] = model::job_id(key);
  return e;
}

// False: rows are missing. A job is where its lease is, else where its rows are.
bool EngineImpl::view_job(const JobKey& key, Lookup& look, JobView* view) {
  *view = JobView{};
  if (auto it = leases_.find(key); it != leases_.end()) {
    view->where = JobView::Where::kLive;
    view->state = JobState::kRunning;
    view->lease = &it->second;
    view->body = it->second.body;
    view->side = it->second.side;
    view->priority = it->second.priority;
    return true;
  }
  const std::string row_key = keys::job(key);
  const std::string* body = nullptr;
  const std::string* side = nullptr;
  const std::string* final_row = nullptr;
  const bool known = look.get(Keyspace::kJob, row_key, &body);
  const bool side_known = look.get(Keyspace::kSide, row_key, &side);
  const bool final_known = look.get(Keyspace::kFinal, keys::final_record(key), &final_row);
  if (!known || !side_known || !final_known) return false;
  if (body != nullptr && !model::is_pointer(*body) && queues_.contains(key.queue)) {
    auto decoded = std::make_shared<model::JobBody>();
    if (!model::decode(*body, decoded.get())) damaged_row(Keyspace::kJob, row_key);
    view->where = JobView::Where::kLive;
    view->body = std::move(decoded);
    view->priority = key.priority;
    view->state = JobState::kReady;
    if (side != nullptr) {
      auto s = std::make_shared<model::Side>();
      if (!model::decode(*side, s.get())) damaged_row(Keyspace::kSide, row_key);
      if (s->priority_changed) view->priority = s->priority;
      if (s->claim == Claim::kScheduled) view->state = JobState::kScheduled;
      if (s->claim == Claim::kBlocked) view->state = JobState::kBlocked;
      if (s->claim == Claim::kDead) view->state = JobState::kDead;
      view->side = std::move(s);
    }
  } else if (final_row != nullptr && queues_.contains(key.queue)) {
    if (!model::decode(*final_row, &view->final_record)) {
      damaged_row(Keyspace::kFinal, keys::final_record(key));
    }
    view->where = JobView::Where::kFinal;
    view->state = view->final_record.state;
  }
  return true;
}

JobRef EngineImpl::take_job(const JobKey& key, const JobView& view) {
  JobRef job;
  job.queue = queue_of(key);
  job.key = key;
  job.priority = view.priority;
  job.body = view.body;
  if (view.side) job.side = *view.side;
  job.had_side_row = view.side != nullptr;
  return job;
}

namespace {

Error final_error(JobState state, std::string what) {
  Error e =
      base::make_error(Reason::kAlreadyFinal,
                       "the job is " + std::string(model::name_of(state)) + "; " + what, "id");
  e.meta["state"] = std::string(model::name_of(state));
  return e;
}

}  // namespace

bool EngineImpl::on(const UpdateJob& c, const Command& cmd, Lookup& look) {
  JobView view;
  if (!view_job(c.key, look, &view)) return false;
  if (view.where == JobView::Where::kNowhere) return reply(cmd.call, job_not_found(c.key)), true;
  if (model::is_final(view.state)) {
    return reply(cmd.call, final_error(view.state, "it cannot be changed any more")), true;
  }
  if (view.state == JobState::kRunning) {
    return reply_error(cmd.call, Reason::kJobRunning,
                       "a running job keeps its priority, run time and start deadline", "id"),
           true;
  }
  const bool granted_before = view.side && view.side->attempts > 0;
  if (c.start_deadline_ms && granted_before) {
    return reply_error(cmd.call, Reason::kInvalidState,
                       "the job has been started before: its start deadline no longer applies",
                       "start_deadline"),
           true;
  }
  if (c.run_at_ms && view.state == JobState::kBlocked) {
    return reply_error(cmd.call, Reason::kInvalidState,
                       "the job waits for another one: its run time cannot be changed", "run_at"),
           true;
  }
  JobRef job = take_job(c.key, view);
  QueueState& q = *job.queue;
  const JobState from = view.state;
  if (c.start_deadline_ms) {
    const std::int64_t old = job.side.start_deadline_ms.value_or(job.body->start_deadline_ms);
    if (old != 0) del_timer({old, keys::TimerKind::kStartDeadline, job.key});
    if (*c.start_deadline_ms != 0) {
      put_timer({*c.start_deadline_ms, keys::TimerKind::kStartDeadline, job.key});
    }
    job.side.start_deadline_ms = *c.start_deadline_ms;
  }
  out_of_waiting(job, from);
  count(q, from, -1, job.priority, job.key.seq);
  if (c.priority) {
    job.priority = *c.priority;
    job.side.priority = *c.priority;
    job.side.priority_changed = *c.priority != job.key.priority;
  }
  JobState to = from;
  std::int64_t due_ms = job.side.due_ms;
  if (c.run_at_ms) {
    job.side.run_at_ms = *c.run_at_ms;
    due_ms = *c.run_at_ms;
    to = due_ms > now_.wall_ms ? JobState::kScheduled : JobState::kReady;
  }
  count(q, from, +1, job.priority, job.key.seq);  // as if it had always been there
  touch(q);
  if (to == JobState::kReady) {
    to_ready(std::move(job), from);
  } else if (to == JobState::kScheduled) {
    const bool retry_wait = job.side.retry_wait && !c.run_at_ms;
    to_scheduled(std::move(job), from, due_ms, retry_wait);
  } else {  // BLOCKED: only what its side record says has changed
    batch().put(Keyspace::kBlocked, keys::blocked(job.side.blocker, job.key), std::string());
    put_side(job);
  }
  JobEvent e;
  e.kind = JobEvent::Kind::kChanged;
  e.key = c.key;
  e.state = to;
  event(std::move(e));
  reply(cmd.call, JobReply{c.key, to, false});
  return true;
}

void EngineImpl::request_cancel(Lease& lease, const std::string& reason) {
  model::Side side = lease.side ? *lease.side : model::Side{};
  side.cancel_requested = true;
  side.cancel_reason = reason;
  lease.side = std::make_shared<const model::Side>(side);
  batch().put(Keyspace::kSide, keys::job(lease.key), model::encode(side));
  cancels_by_session_[lease.grant->holder->session_id].insert(lease.token);
  cancels_untold_.insert(lease.grant->holder->session_id);
  // The worker hears of it at once if it has a poll parked, else with its next poll or heartbeat.
  auto it = polls_by_session_.find(lease.grant->holder->session_id);
  if (it != polls_by_session_.end() && !it->second.empty()) {
    polls_with_news_.insert(*it->second.begin());
  }
}

void EngineImpl::forget_cancel(const Lease& lease) {
  if (!lease.side || !lease.side->cancel_requested) return;
  auto it = cancels_by_session_.find(lease.grant->holder->session_id);
  if (it == cancels_by_session_.end()) return;
  it->second.erase(lease.token);
  if (!it->second.empty()) return;
  cancels_untold_.erase(it->first);
  cancels_by_session_.erase(it);
}

bool EngineImpl::on(const CancelJob& c, const Command& cmd, Lookup& look) {
  JobView view;
  if (!view_job(c.key, look, &view)) return false;
  if (view.where == JobView::Where::kNowhere) return reply(cmd.call, job_not_found(c.key)), true;
  if (model::is_final(view.state)) {
    return reply(cmd.call, final_error(view.state, "it cannot be cancelled any more")), true;
  }
  if (view.state == JobState::kRunning) {
    if (!view.side || !view.side->cancel_requested) {
      request_cancel(*view.lease, c.reason);
      JobEvent e;
      e.kind = JobEvent::Kind::kChanged;
      e.key = c.key;
      e.state = JobState::kRunning;
      event(std::move(e));
    }
    reply(cmd.call, JobReply{c.key, JobState::kRunning, true});
    return true;
  }
  JobRef job = take_job(c.key, view);
  job.side.cancel_requested = true;
  job.side.cancel_reason = c.reason;
  end_job(std::move(job), view.state, JobState::kCancelled,
          c.reason.empty() ? "cancelled" : c.reason);
  reply(cmd.call, JobReply{c.key, JobState::kCancelled, true});
  return true;
}

bool EngineImpl::recall_scheduler(const JobKey& key, const model::JobBody& body, Lookup& look) {
  return body.scheduler_id.empty() ||
         book_.recall(queue_of(key)->queue.name_space, body.scheduler_id, look);
}

void EngineImpl::redrive(JobRef job, Lookup& look) {
  ++job.side.redrives;
  job.side.attempts_used = 0;
  job.side.releases = 0;
  job.side.handlerless = 0;
  job.side.dead_reason.clear();
  job.side.cancel_requested = false;
  job.side.first_granted_ms = now_.wall_ms;  // the horizon of its retries starts anew
  if (!job.body->scheduler_id.empty()) {
    book_.job_reopened(job.queue->queue.name_space, job.body->scheduler_id, job.key, look);
  }
  JobEvent e;
  e.kind = JobEvent::Kind::kChanged;
  e.key = job.key;
  e.state = JobState::kReady;
  event(std::move(e));
  const bool uncounted = planted(base::Mistake::kLoseCounterOnRedrive);
  to_ready(std::move(job), uncounted ? JobState::kReady : JobState::kDead);
}

bool EngineImpl::on(const RedriveJob& c, const Command& cmd, Lookup& look) {
  std::string request;
  const std::string* row = nullptr;
  if (!c.request.id.empty()) {
    request = request_key(cmd, static_cast<std::uint8_t>(RequestMethod::kRedrive), c.request);
    if (!look.get(Keyspace::kRequest, request, &row)) return false;
  }
  if (row != nullptr) {  // the job may have run and died again since: once is once
    auto record = repeated_request(request, *row, c.request);
    if (!record) return reply(cmd.call, record.error()), true;
    return reply(cmd.call, JobReply{c.key, JobState::kReady, false}, record->seq), true;
  }
  JobView view;
  if (!view_job(c.key, look, &view)) return false;
  if (view.where == JobView::Where::kNowhere) return reply(cmd.call, job_not_found(c.key)), true;
  if (view.state != JobState::kDead) {
    Error e = base::make_error(Reason::kNotDead,
                               "the job is " + std::string(model::name_of(view.state)) +
                                   "; only a DEAD job can be redriven",
                               "id");
    e.meta["state"] = std::string(model::name_of(view.state));
    return reply(cmd.call, std::move(e)), true;
  }
  if (!recall_scheduler(c.key, *view.body, look)) return false;
  redrive(take_job(c.key, view), look);
  // What was decided is always the same: nothing but the fact needs to be remembered.
  if (!request.empty()) remember_request(request, c.request, std::string());
  reply(cmd.call, JobReply{c.key, JobState::kReady, false});
  return true;
}

// A job that is deleted by hand leaves the retention index too. False: its row is missing.
bool EngineImpl::take_out_of_index(const JobKey& key, const model::FinalRecord& record,
                                   Lookup& look) {
  if (record.ended_seq == building()) {  // in this batch, whose index rows are yet to be written
    const auto group = ended_.find({key.queue, record.state, record.ended_ms});
    std::erase(group->second, key);
    if (group->second.empty()) ended_.erase(group);
    return true;
  }
  if (record.ended_seq < meta_.index_exact_from_seq) return true;
  std::string row_key =
      keys::final_index(key.queue, record.state, record.ended_ms, record.ended_seq);
  const std::string* row = nullptr;
  if (!look.get(Keyspace::kFinal, row_key, &row)) return false;
  std::vector<JobKey> named;
  if (row == nullptr || !model::decode_job_keys(*row, &named) || std::erase(named, key) == 0) {
    damaged_row(Keyspace::kFinal, row_key);
  }
  if (named.empty()) {
    batch().del(Keyspace::kFinal, std::move(row_key));
  } else {
    batch().put(Keyspace::kFinal, std::move(row_key), model::encode_job_keys(named));
  }
  return true;
}

bool EngineImpl::on(const DeleteJob& c, const Command& cmd, Lookup& look) {
  JobView view;
  if (!view_job(c.key, look, &view)) return false;
  if (view.where == JobView::Where::kNowhere) return reply(cmd.call, job_not_found(c.key)), true;
  if (!model::is_final(view.state)) {
    Error e = base::make_error(
        Reason::kNotFinal,
        "the job is " + std::string(model::name_of(view.state)) + "; cancel it first", "id");
    e.meta["state"] = std::string(model::name_of(view.state));
    return reply(cmd.call, std::move(e)), true;
  }
  if (view.where == JobView::Where::kLive) {  // DEAD: its body is still there
    remove_job(take_job(c.key, view), JobState::kDead);
  } else {
    if (!take_out_of_index(c.key, view.final_record, look)) return false;
    batch().del(Keyspace::kFinal, keys::final_record(c.key));
    leave(*queue_of(c.key), view.state, view.final_record.priority);
    JobEvent e;
    e.kind = JobEvent::Kind::kRemoved;
    e.key = c.key;
    event(std::move(e));
  }
  reply(cmd.call, JobReply{c.key, JobState::kUnknown, false});
  return true;
}

}  // namespace rota::core
