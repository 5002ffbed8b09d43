// SPDX-License-Identifier: Apache-2.0
//
// Jobs in the model: enqueue with keys and request ids, update, cancel, redrive, delete, explain.
#include <algorithm>

#include "model/records.h"
#include "sim/model.h"

namespace rota::sim {

namespace keys = model::keys;
using base::Error;
using base::Reason;
using core::Keyspace;

namespace {

std::string scope_of(const core::JobRequest& job) {
  return job.key_scope.empty() ? job.queue : job.key_scope;
}

std::string text_of(JobState state) { return std::string(model::name_of(state)); }

}  // namespace

// Empty when the answer is the refusal that is expected, or an answer where none is.
std::string Model::differs(const core::ReplyBody& r, std::optional<Reason> refused) const {
  const auto* error = std::get_if<Error>(&r);
  if (error == nullptr) {
    return refused ? "answered, and not refused " + std::string(base::reason_name(*refused)) : "";
  }
  if (refused && error->reason == *refused) return "";
  return "refused " + std::string(base::reason_name(error->reason)) + " instead of " +
         (refused ? std::string(base::reason_name(*refused)) : "an answer");
}

bool Model::agree(const JobKey& key, int invariant, const char* what,
                  const std::function<std::string()>& differs) {
  std::string difference = differs();
  while (!difference.empty() && bring_up(key)) difference = differs();
  if (difference.empty() || !ok()) return ok();
  const Job* job = find(key);
  fail(invariant, std::string(what) + " of " + at(key) + " (" +
                      (job == nullptr ? "absent" : text_of(job->state)) + "): " + difference);
  return false;
}

// ---- request ids

// The remembered call, when there is one with this body; `refused` when it was another body. Where
// the call was forgotten by age in this very turn, before or after this answer, the answer tells:
// `answers` says whether it is what the remembered call would have got.
const Model::Request* Model::repeated(int method, const core::RequestTag& tag,
                                      const core::ReplyBody& r,
                                      const std::function<bool(const Request&)>& answers,
                                      bool* refused) {
  *refused = false;
  if (tag.id.empty()) return nullptr;
  const auto it = requests_.find({method, tag.id});
  if (it == requests_.end()) return nullptr;
  const Request& before = it->second;
  const bool same_body = before.body_hash == tag.body_hash;
  const auto* row = change(Keyspace::kRequest,
                           keys::request(static_cast<std::uint8_t>(method), "default", tag.id));
  if (row != nullptr && !held()) {
    model::RequestRecord record;
    const bool anew = row->has_value() && model::decode(**row, &record);
    const std::int64_t by_ms = anew ? record.created_ms : row->has_value() ? INT64_MIN : step_.hi;
    const auto* error = std::get_if<Error>(&r);
    // An answer that gave jobs names them; any other one may be that of the call remembered anew.
    const bool from_memory = same_body
                                 ? (!anew || !before.keys.empty()) && answers(before)
                                 : error != nullptr && error->reason == Reason::kRequestIdReused;
    if (before.created_ms + base::limits::kRequestIdKeptMs <= by_ms && !from_memory) {
      return nullptr;
    }
  }
  if (same_body) {
    if (!std::holds_alternative<Error>(r)) step_.named = before.seq;
    return &before;
  }
  *refused = true;
  const std::string wrong = differs(r, Reason::kRequestIdReused);
  if (!wrong.empty()) fail(5, "request " + tag.id + " with another body was " + wrong);
  return nullptr;
}

void Model::remember(int method, const core::RequestTag& tag, Request request) {
  if (tag.id.empty()) return;
  request.body_hash = tag.body_hash;
  const std::string* stored =
      row(Keyspace::kRequest, keys::request(static_cast<std::uint8_t>(method), "default", tag.id));
  model::RequestRecord record;
  if (stored == nullptr || !model::decode(*stored, &record)) {
    return fail(5, "request " + tag.id + " is answered and not remembered");
  }
  request.created_ms = record.created_ms;
  request.seq = step_.turn->turn.seq;
  requests_[{method, tag.id}] = std::move(request);
}

// ---- enqueue

void Model::create(const core::JobRequest& asked, const core::EnqueuedJob& given) {
  Queue& q = *queue(asked.queue);
  const JobKey& key = given.key;
  if (key.queue != q.number || key.priority != asked.priority || key.seq < q.next_seq ||
      jobs_.contains(key) || gone_.contains(key)) {
    return fail(5, at(key) + " is not a fresh job of queue " + q.name);
  }
  q.next_seq = key.seq + 1;
  ++q.created;
  Job job;
  job.key = key;
  job.priority = key.priority;
  job.kind = asked.kind;
  job.content_type = asked.content_type;
  job.key_scope = scope_of(asked);
  job.business_key = asked.business_key;
  job.payload_hash = asked.business_key.empty() ? "" : asked.payload_hash;
  job.attempt_timeout = asked.attempt_timeout_ms;
  job.retry = asked.retry;
  job.deadline_ms = asked.start_deadline_ms;
  job.waiting_seq = step_.turn->turn.seq;
  job.state = given.state;
  job.due_lo = job.due_hi = asked.run_at_ms;
  const bool may_wait = asked.run_at_ms > step_.lo;
  const bool may_start = asked.run_at_ms <= step_.hi;
  if (!(given.state == JobState::kScheduled && may_wait) &&
      !(given.state == JobState::kReady && may_start)) {
    return fail(15, at(key) + " was enqueued as " + text_of(given.state) + " to run in " +
                        std::to_string(asked.run_at_ms - step_.lo) + " ms");
  }
  if (const std::string* stored = row(Keyspace::kJob, keys::job(key))) {
    model::JobBody body;
    if (!model::decode(*stored, &body)) return fail(2, at(key) + ": its body is damaged");
    const std::string* apart = row(Keyspace::kPayload, keys::job(key));
    const bool same = body.kind == asked.kind && body.content_type == asked.content_type &&
                      (body.payload_apart ? apart != nullptr && *apart == asked.payload
                                          : body.payload == asked.payload) &&
                      body.payload_bytes == asked.payload.size() && body.labels == asked.labels &&
                      body.business_key == asked.business_key &&
                      body.attempt_timeout_ms == asked.attempt_timeout_ms &&
                      body.retry == asked.retry && body.run_at_ms == asked.run_at_ms &&
                      body.start_deadline_ms == asked.start_deadline_ms &&
                      body.created_seq == step_.turn->turn.seq;
    if (!same) return fail(1, at(key) + " is stored otherwise than it was given");
  }
  if (!asked.business_key.empty()) {
    ledger_[{job.key_scope, job.business_key}] =
        Entry{false, key, job.kind, job.content_type, job.payload_hash, "", 0};
  }
  step_.touched.insert(key);
  jobs_.emplace(key, std::move(job));
}

void Model::check_enqueue_item(
    const core::JobRequest& asked, const core::EnqueueItem& given,
    std::map<std::pair<std::string, std::string>, const core::EnqueueItem*>* seen) {
  const auto* error = std::get_if<Error>(&given);
  const auto* got = std::get_if<core::EnqueuedJob>(&given);
  const core::ReplyBody as_reply =
      error != nullptr ? core::ReplyBody(*error) : core::ReplyBody(core::JobReply{});
  const auto refused = [&](Reason reason) {
    const std::string wrong = differs(as_reply, reason);
    if (!wrong.empty()) fail(5, "an enqueue into " + asked.queue + " was " + wrong);
  };
  if (asked.invalid) return refused(asked.invalid->reason);
  Queue* q = queue(asked.queue);
  if (q == nullptr) return refused(Reason::kQueueNotFound);

  if (!asked.business_key.empty()) {
    const std::pair name{scope_of(asked), asked.business_key};
    const auto fingerprint = [&](const Entry& entry) {
      return entry.kind == asked.kind && entry.content_type == asked.content_type &&
             entry.payload_hash == asked.payload_hash;
    };
    if (const auto earlier = seen->find(name); earlier != seen->end()) {
      if (const auto* first = std::get_if<core::EnqueuedJob>(earlier->second)) {
        if (!fingerprint(ledger_.at(name))) return refused(Reason::kBusinessKeyConflict);
        if (got == nullptr || got->key != first->key || got->created) {
          fail(5, "the second of two equal keys in one call is not the first's job");
        }
        return;
      }
    }
    (*seen)[name] = &given;
    const auto it = ledger_.find(name);
    const Job* holder = it == ledger_.end() ? nullptr : find(it->second.job);
    if (it != ledger_.end()) {
      const JobKey key = it->second.job;
      bool free = false;
      const auto difference = [&]() -> std::string {
        const auto now = ledger_.find(name);
        holder = now == ledger_.end() ? nullptr : find(now->second.job);
        free = now == ledger_.end() || (!now->second.done && holder == nullptr);
        const bool over =
            !free && now->second.done && now->second.expires_ms <= step_.hi && !held();
        if (over && got != nullptr && got->created) free = true;
        if (over && error != nullptr && error->reason == Reason::kQueueFull) free = true;
        if (free) return "";
        const Entry& entry = now->second;
        if (!fingerprint(entry)) return differs(as_reply, Reason::kBusinessKeyConflict);
        if (got == nullptr) return differs(as_reply, std::nullopt);
        if (got->created) return "created, though " + at(key) + " has the key";
        if (got->key != entry.job) return "answered with " + at(got->key);
        if (entry.done) {
          return got->state == JobState::kSucceeded && got->result == entry.result &&
                         !got->result_omitted  // what the clients send is far too small for that
                     ? ""
                     : "answered without the result";
        }
        const bool again =
            asked.on_dead == core::OnDead::kRedrive && holder->state == JobState::kDead;
        const JobState state = again ? JobState::kReady : holder->state;
        return got->state == state ? "" : "answered as " + text_of(got->state);
      };
      if (!agree(key, 5, "the enqueue of a key", difference)) return;
      if (holder != nullptr && !free) {
        context_.coverage.hit_pair<core::EnqueueJobs>(holder->state);
      }
      if (!free) {
        if (got != nullptr && holder != nullptr && holder->state == JobState::kDead &&
            asked.on_dead == core::OnDead::kRedrive && !ledger_.at(name).done) {
          redrive(*find(key));
        }
        return;
      }
      if (got != nullptr && got->created && queue_of(key) == nullptr &&
          row(Keyspace::kJob, keys::job(key)) != nullptr) {
        context_.coverage.inherited();
      }
      step_.keys_lost.emplace(name, it->second.job);
      ledger_.erase(name);
    }
    if (got != nullptr && got->created) {
      context_.coverage.hit_pair<core::EnqueueJobs>(JobState::kUnknown);
    }
  }
  const auto& most = q->settings.max_waiting;
  const std::uint64_t waits = waiting(q->number);
  if (error != nullptr) {
    if (!most || error->reason != Reason::kQueueFull) return refused(Reason::kQueueFull);
    // Ticks and ends of this turn that came before are not known yet.
    if (waits < *most) step_.full.insert({q->name});
    return;
  }
  if (!got->created) return fail(5, "an enqueue without a job's key was answered with another job");
  if (most && waits >= *most && step_.turn->turn.events.size() == step_.next_event) {
    return fail(28, "a job more than " + std::to_string(*most) + " waits in " + q->name);
  }
  create(asked, *got);
}

void Model::on(const core::EnqueueJobs& c, const core::ReplyBody& r) {
  const int method = c.bulk ? 2 : 1;
  const auto* answer = std::get_if<core::EnqueueReply>(&r);
  Request remembered;
  bool any = false;
  if (answer != nullptr) {
    for (const core::EnqueueItem& item : answer->items) {
      const auto* job = std::get_if<core::EnqueuedJob>(&item);
      remembered.keys.push_back(job == nullptr ? std::nullopt : std::optional(job->key));
      any = any || job != nullptr;
    }
  }
  bool refused = false;
  const Request* before = repeated(
      method, c.request, r, [&](const Request& call) { return call.keys == remembered.keys; },
      &refused);
  if (refused || !ok()) return;
  if (remembered.keys.size() != c.jobs.size()) {
    return fail(5, "an enqueue was " + differs(r, std::nullopt));
  }
  std::map<std::pair<std::string, std::string>, const core::EnqueueItem*> seen;
  for (std::size_t i = 0; i < c.jobs.size() && before == nullptr && ok(); ++i) {
    check_enqueue_item(c.jobs[i], answer->items[i], &seen);
  }
  if (!ok()) return;
  if (before != nullptr) {
    if (before->keys != remembered.keys) {
      fail(5, "request " + c.request.id + " was answered with other jobs than before");
    }
  } else if (any) {
    remember(method, c.request, std::move(remembered));
  }
}

// ---- one job

void Model::on(const core::UpdateJob& c, const core::ReplyBody& r) {
  const auto* answer = std::get_if<core::JobReply>(&r);
  bool refused = false;
  const bool same = agree(c.key, 8, "the update", [&]() -> std::string {
    const Job* job = find(c.key);
    refused = true;
    if (job == nullptr) return differs(r, Reason::kJobNotFound);
    if (model::is_final(job->state)) return differs(r, Reason::kAlreadyFinal);
    if (job->state == JobState::kRunning) return differs(r, Reason::kJobRunning);
    if (c.start_deadline_ms && job->attempts > 0) return differs(r, Reason::kInvalidState);
    if (c.run_at_ms && job->state == JobState::kBlocked) return differs(r, Reason::kInvalidState);
    refused = false;
    if (answer == nullptr) return differs(r, std::nullopt);
    if (c.run_at_ms) {
      const bool fits = answer->state == JobState::kScheduled
                            ? *c.run_at_ms > step_.lo
                            : answer->state == JobState::kReady && *c.run_at_ms <= step_.hi;
      return fits ? "" : "it became " + text_of(answer->state);
    }
    return answer->state == job->state ? "" : "it became " + text_of(answer->state);
  });
  if (!same) return;
  Job* job = find(c.key);
  context_.coverage.hit_pair<core::UpdateJob>(job == nullptr ? JobState::kUnknown : job->state);
  if (refused) return;
  const JobState to = answer->state;
  if (expect(Kind::kChanged, c.key, [&](const Event& e) { return e.state == to; }) == nullptr) {
    return;
  }
  step_.touched.insert(c.key);
  if (c.priority) {
    job->priority = *c.priority;
    job->priority_changed = *c.priority != c.key.priority;
  }
  if (c.start_deadline_ms) job->deadline_ms = *c.start_deadline_ms;
  if (c.run_at_ms) {
    job->due_lo = job->due_hi = *c.run_at_ms;
    job->retry_wait = false;
  }
  if (to == JobState::kReady) job->retry_wait = false;
  job->state = to;
}

void Model::on(const core::CancelJob& c, const core::ReplyBody& r) {
  const auto* answer = std::get_if<core::JobReply>(&r);
  const bool same = agree(c.key, 8, "the cancel", [&]() -> std::string {
    const Job* job = find(c.key);
    if (job == nullptr) return differs(r, Reason::kJobNotFound);
    if (model::is_final(job->state)) return differs(r, Reason::kAlreadyFinal);
    if (answer == nullptr) return differs(r, std::nullopt);
    const JobState to =
        job->state == JobState::kRunning ? JobState::kRunning : JobState::kCancelled;
    return answer->state == to && answer->cancel_requested ? ""
                                                           : "it became " + text_of(answer->state);
  });
  if (!same) return;
  Job* job = find(c.key);
  context_.coverage.hit_pair<core::CancelJob>(job == nullptr ? JobState::kUnknown : job->state);
  if (answer == nullptr) return;
  step_.touched.insert(c.key);
  if (job->state == JobState::kRunning) {
    if (std::exchange(job->cancel_requested, true)) return;
    untold_.insert(job->session_id);
    expect(Kind::kChanged, c.key, [](const Event& e) { return e.state == JobState::kRunning; });
    return;
  }
  const Event* event = expect(Kind::kFinal, c.key, [](const Event& e) {
    return e.state == JobState::kCancelled && e.token == 0;
  });
  if (event == nullptr) return;
  job->cancel_requested = true;
  end_job(*job, JobState::kCancelled, event->at_ms);
}

void Model::redrive(Job& job) {
  const Event* event =
      expect(Kind::kChanged, job.key, [](const Event& e) { return e.state == JobState::kReady; });
  if (event == nullptr) return;
  step_.touched.insert(job.key);
  job.state = JobState::kReady;
  ++job.redrives;
  job.used = job.releases = job.handlerless = 0;
  job.cancel_requested = false;
  job.first_granted_ms = event->at_ms;
  job.waiting_seq = step_.turn->turn.seq;
  job.retry_wait = false;
}

void Model::on(const core::RedriveJob& c, const core::ReplyBody& r) {
  const auto* answer = std::get_if<core::JobReply>(&r);
  bool refused = false;
  const Request* before = repeated(
      6, c.request, r, [&](const Request&) { return answer != nullptr; }, &refused);
  if (refused || !ok()) return;
  if (before != nullptr) {
    if (answer == nullptr || answer->state != JobState::kReady) {
      fail(6, "a repeated redrive was " + differs(r, std::nullopt));
    }
    return;
  }
  const bool same = agree(c.key, 8, "the redrive", [&]() -> std::string {
    const Job* job = find(c.key);
    if (job == nullptr) return differs(r, Reason::kJobNotFound);
    if (job->state != JobState::kDead) return differs(r, Reason::kNotDead);
    return differs(r, std::nullopt);
  });
  if (!same) return;
  Job* job = find(c.key);
  context_.coverage.hit_pair<core::RedriveJob>(job == nullptr ? JobState::kUnknown : job->state);
  if (answer == nullptr) return;
  redrive(*job);
  if (ok()) remember(6, c.request, {});
}

void Model::on(const core::DeleteJob& c, const core::ReplyBody& r) {
  const bool same = agree(c.key, 8, "the delete", [&]() -> std::string {
    const Job* job = find(c.key);
    if (job == nullptr) return differs(r, Reason::kJobNotFound);
    if (!model::is_final(job->state)) return differs(r, Reason::kNotFinal);
    return differs(r, std::nullopt);
  });
  if (!same) return;
  const Job* job = find(c.key);
  context_.coverage.hit_pair<core::DeleteJob>(job == nullptr ? JobState::kUnknown : job->state);
  if (std::holds_alternative<Error>(r)) return;
  step_.touched.insert(c.key);
  if (job->state == JobState::kSucceeded) ++step_.deleted[c.key.queue];
  if (expect(Kind::kRemoved, c.key, [](const Event&) { return true; }) != nullptr) remove(c.key);
}

void Model::on(const core::ExplainJob& c, const core::ReplyBody& r) {
  const auto* answer = std::get_if<core::ExplainReply>(&r);
  const bool same = agree(c.key, 8, "the explanation", [&]() -> std::string {
    const Job* job = find(c.key);
    if (job == nullptr) return differs(r, Reason::kJobNotFound);
    if (answer == nullptr) return differs(r, std::nullopt);
    if (answer->state != job->state) return "it is said to be " + text_of(answer->state);
    if (answer->cancel_requested !=
        (job->state == JobState::kDead || job->unfinished() ? job->cancel_requested : false)) {
      return "cancel_requested is wrong";
    }
    const auto has = [&](core::WhyReason reason) {
      return std::find(answer->reasons.begin(), answer->reasons.end(), reason) !=
             answer->reasons.end();
    };
    switch (job->state) {
      case JobState::kRunning:
        if (answer->holders.size() != 1 || answer->holders[0].token != job->token) {
          return "its holder is not said";
        }
        return has(core::WhyReason::kRunning) ? "" : "running is not said";
      case JobState::kScheduled:
        if (answer->until_ms < job->due_lo || answer->until_ms > job->due_hi) {
          return "until is wrong";
        }
        if (!has(job->retry_wait ? core::WhyReason::kRetryWait : core::WhyReason::kRunTime)) {
          return "why it is SCHEDULED is not said";
        }
        break;
      case JobState::kBlocked:
        if (!has(core::WhyReason::kBlocked)) return "blocked is not said";
        break;
      case JobState::kReady:
        break;
      default:
        return has(core::WhyReason::kFinal) ? "" : "final is not said";
    }
    return has(core::WhyReason::kPaused) == queue_of(c.key)->paused ? "" : "paused is wrong";
  });
  if (!same) return;
  const Job* job = find(c.key);
  context_.coverage.hit_pair<core::ExplainJob>(job == nullptr ? JobState::kUnknown : job->state);
}

// ---- the exits

void Model::give_key_back(const Job& job) {
  if (job.business_key.empty()) return;
  const auto it = ledger_.find({job.key_scope, job.business_key});
  if (it == ledger_.end() || it->second.job != job.key || it->second.done) return;
  step_.keys_lost.emplace(it->first, job.key);
  ledger_.erase(it);
}

void Model::end_job(Job& job, JobState to, std::int64_t at_ms, const std::string& result) {
  const bool success = to == JobState::kSucceeded;
  step_.touched.insert(job.key);
  job.state = to;
  job.ended_ms = at_ms;
  job.result = result;
  // A command of this turn may have changed the retention after the end: the rows tell.
  const auto keeps = [&](const model::Retention& r) {
    return success ? r.succeeded_ms != 0 && r.succeeded_count != 0 : r.cancelled_ms != 0;
  };
  const auto expires_ms = [&](const model::Retention& r) {
    return r.ledger_ms == model::kForever ? model::kForever : at_ms + r.ledger_ms;
  };
  const bool has_key = success && !job.business_key.empty();
  const auto tells = [&](const model::Retention& r) {
    if (keeps(r) != is_kept(job.key)) return false;
    if (!has_key) return true;
    const std::string* stored =
        row(Keyspace::kLedger, keys::ledger("default", job.key_scope, job.business_key));
    model::LedgerEntry entry;
    const bool done = stored != nullptr && model::decode(*stored, &entry) &&
                      entry.state == model::LedgerState::kDone && entry.job == job.key;
    return r.ledger_ms == 0 ? !done : done && entry.expires_ms == expires_ms(r);
  };
  model::Retention r = queue_of(job.key)->settings.retention;
  for (const model::QueueSettings& before : step_.queue_settings[job.key.queue]) {
    if (!tells(r)) r = before.retention;
  }
  if (!success || r.ledger_ms == 0) {
    give_key_back(job);
  } else if (has_key) {
    Entry& entry = ledger_.at({job.key_scope, job.business_key});
    entry.done = true;
    entry.result = result;
    entry.expires_ms = expires_ms(r);
  }
  if (!keeps(r)) remove(job.key);
}

// Of a job that has ended: a record of it was made in this turn, though it may be gone again.
bool Model::is_kept(const JobKey& key) const {
  const auto& events = step_.turn->turn.events;
  return row(Keyspace::kFinal, keys::final_record(key)) != nullptr ||
         std::any_of(events.begin() + static_cast<std::ptrdiff_t>(step_.next_event), events.end(),
                     [&](const Event& e) { return e.kind == Kind::kRemoved && e.key == key; });
}

void Model::remove(const JobKey& key) {
  const Job& job = jobs_.at(key);
  step_.touched.insert(key);
  give_key_back(job);
  ++queue_of(key)->removed;
  gone_.insert(key);
  jobs_.erase(key);
}

}  // namespace rota::sim
