// SPDX-License-Identifier: Apache-2.0
//
// Leases in the model: lease calls, heartbeats, finishes, and what becomes of a job whose attempt
// ends.
#include <algorithm>
#include <cmath>

#include "sim/model.h"

namespace rota::sim {

using base::Reason;
using model::AttemptOutcome;
using Outcome = core::WorkerOutcome::Kind;

namespace {
constexpr std::size_t kHistory = 20;
constexpr std::uint32_t kUncountedMax = 1'000;
constexpr std::int64_t kLostSpreadMs = 1'000;
}  // namespace

const model::RetryPolicy& Model::retry_of(const Job& job) {
  return job.retry ? *job.retry : queue_of(job.key)->settings.retry;
}

// ---- lease calls

void Model::on(const core::LeaseJobs& c, const core::ReplyBody& r) {
  if (const auto* error = std::get_if<base::Error>(&r)) {
    switch (error->reason) {
      case Reason::kQueueNotFound:
        if (std::all_of(c.queues.begin(), c.queues.end(),
                        [&](const auto& name) { return queue(name) != nullptr; })) {
          fail(8, "a lease call was refused QUEUE_NOT_FOUND and its queues exist");
        }
        return;
      case Reason::kPollReplaced:
        if (c.request_id.empty()) fail(6, "a lease call without a request id was replaced");
        return;
      default:
        fail(28, "a lease call was refused " + std::string(base::reason_name(error->reason)));
        return;
    }
  }
  const auto& reply = std::get<core::LeaseReply>(r);
  const std::pair id{c.session_id, c.request_id};
  const auto repeated = [&]() -> Grant* {
    for (auto& [number, grant] : grants_) {
      if (!c.request_id.empty() && grant.session_id == id.first && grant.request_id == id.second) {
        return &grant;
      }
    }
    return nullptr;
  };
  std::set<std::uint64_t> given;
  for (const core::GrantedJob& job : reply.jobs) given.insert(job.token);
  // Some may have ended earlier in this turn.
  if (const Grant* before = repeated(); before != nullptr) {
    for (const std::uint64_t token : std::set<std::uint64_t>(before->live)) {
      while (!given.contains(token)) {
        const auto live = running_.find(token);
        if (live == running_.end() || !bring_up(JobKey(live->second))) break;
      }
    }
  }
  if (!ok()) return;
  Grant* grant = repeated();
  if (reply.request_spent) {
    if (!lease_requests_.contains(id)) {
      fail(6, "a lease call is said to be spent and has never been granted anything");
    }
    if (grant != nullptr) fail(6, "a lease call is said to be spent and has live leases");
    return;
  }
  if (grant == nullptr || given != grant->live) {
    return fail(6, "a repeated lease call was answered with other leases than it has");
  }
  grant->adopted = true;
  untold_.erase(c.session_id);
  for (const core::GrantedJob& job : reply.jobs) {
    check_granted(job, jobs_.at(running_.at(job.token)));
  }
}

void Model::check_granted(const core::GrantedJob& given, const Job& job) {
  const Queue& q = *queue_of(job.key);
  const bool same = given.key == job.key && given.queue == q.name &&
                    given.attempt == job.attempts && given.token == job.token &&
                    given.priority == job.priority &&
                    given.cancel_requested == job.cancel_requested &&
                    given.max_attempts == retry_of(job).max_attempts && given.body != nullptr &&
                    given.body->kind == job.kind && given.body->business_key == job.business_key &&
                    given.body->scheduler_id == job.scheduler;
  if (!same) fail(6, at(job.key) + " is described wrongly to its worker");
}

// Of its live leases those whose cancel was asked for, sorted.
std::vector<std::uint64_t> Model::cancelled_of(const std::string& session_id) const {
  std::vector<std::uint64_t> out;
  for (const auto& [token, key] : running_) {
    const Job& job = jobs_.at(key);
    if (job.session_id == session_id && job.cancel_requested) out.push_back(token);
  }
  return out;
}

std::map<std::string, JobKey> Model::grantable() const {
  std::map<std::uint32_t, std::uint64_t> running;
  for (const auto& [token, key] : running_) ++running[key.queue];
  std::map<std::uint32_t, std::uint64_t> barriers;  // what a purge is to remove
  for (const auto& [number, purge] : purges_) {
    if (!purge.done) barriers[purge.queue] = std::max(barriers[purge.queue], purge.barrier);
  }
  std::map<std::string, JobKey> out;
  for (const auto& [name, q] : queues_) {
    const auto& limit = q.settings.concurrency_limit;
    if (q.paused || (limit && running[q.number] >= *limit)) continue;
    for (auto it = jobs_.lower_bound({q.number, 255, 0});
         it != jobs_.end() && it->first.queue == q.number; ++it) {
      if (it->second.state != JobState::kReady || it->second.waiting_seq < barriers[q.number]) {
        continue;
      }
      out.emplace(name, it->first);
      break;
    }
  }
  return out;
}

std::string Model::to_be_answered(const core::LeaseJobs& call, bool has_time,
                                  const std::map<std::string, JobKey>& grantable) const {
  if (untold_.contains(call.session_id) && !cancelled_of(call.session_id).empty()) {
    return "a cancel is not told to it";
  }
  for (const std::string& name : call.queues) {
    if (!queues_.contains(name)) return name + " is gone";
    const auto ready = grantable.find(name);
    if (has_time && ready != grantable.end()) {
      return at(ready->second) + " of " + name + " is READY";
    }
  }
  return {};
}

// A call that was parked, or was answered at the end of its turn.
void Model::check_poll(const core::Command& command, const core::LeaseReply& reply) {
  const auto& c = std::get<core::LeaseJobs>(command.body);
  const SealedTurn& turn = *step_.turn;
  const auto broken = [&](int invariant, const std::string& why) {
    fail(invariant, "the lease call of " + c.session_id + ": " + why);
  };
  if (reply.jobs.size() > c.max_jobs) return broken(19, "more jobs than it has slots");
  const std::vector<std::uint64_t> cancelled = cancelled_of(c.session_id);
  std::vector<std::uint64_t> told = reply.cancel_tokens;
  std::sort(told.begin(), told.end());
  // At the deletion of one of its queues it is answered at once, and the next call is told of it.
  const bool queue_gone = std::any_of(c.queues.begin(), c.queues.end(), [&](const auto& name) {
    return step_.dropped.contains(name) || queue(name) == nullptr;
  });
  if (told != cancelled && c.caller_deadline_mono_ms == INT64_MAX && !turn.draining &&
      !queue_gone) {
    return broken(11, "the cancelled leases it is told of are wrong");
  }
  const bool news = untold_.contains(c.session_id) && !cancelled.empty();
  if (std::includes(told.begin(), told.end(), cancelled.begin(), cancelled.end())) {
    untold_.erase(c.session_id);
  }
  if (!reply.jobs.empty()) {
    if (reply.lease_ttl_ms != c.lease_ttl_ms) return broken(12, "another ttl than it asked for");
    const std::pair id{c.session_id, c.request_id};
    if (!c.request_id.empty()) {
      const auto [request, fresh] = lease_requests_.try_emplace(id);
      if (!fresh && !request->second.may_be_forgotten) {
        return broken(6, "a second set of jobs for request " + c.request_id);
      }
      request->second = {};
    }
    Grant grant{c.session_id, c.request_id, c.lease_ttl_ms, false, {}};
    std::size_t bytes = 0;
    for (const core::GrantedJob& given : reply.jobs) {
      const auto live = running_.find(given.token);
      if (live == running_.end()) return broken(11, "it is given a token that is not live");
      Job& job = jobs_.at(live->second);
      if (job.session_id != c.session_id || job.grant != 0) {
        return broken(9, "it is given what another call was granted");
      }
      if (std::find(c.queues.begin(), c.queues.end(), given.queue) == c.queues.end()) {
        return broken(8, "it is given a job of a queue it did not name");
      }
      job.grant = reply.jobs.front().token;
      grant.live.insert(given.token);
      bytes += given.body == nullptr ? 0 : given.body->payload_bytes;
      check_granted(given, job);
      job.timeout_ms = job.attempt_timeout.value_or(queue_of(job.key)->settings.attempt_timeout_ms);
      if (given.time_left_ms != job.timeout_ms) return broken(12, "its attempt timeout is wrong");
    }
    if (reply.jobs.size() > 1 && bytes > c.max_bytes) return broken(28, "more bytes than it takes");
    grants_[reply.jobs.front().token] = std::move(grant);
    return;
  }
  // Empty is not idle: not before its wait is over, and if it does not wait, only when nothing can
  // be granted; or to tell of a cancel at once.
  const PollClock::End& end = turn.polls.at(command.call);
  if (turn.draining || news || queue_gone || end.too_late) return;
  if (!end.over) return broken(17, "answered empty before its wait was over");
  if (c.wait_ms != 0) return;
  for (const std::string& name : c.queues) {
    const Queue* q = queue(name);
    const auto& limit = q->settings.concurrency_limit;
    const bool open = !q->paused && (!limit || count(q->number, JobState::kRunning) < *limit);
    if (open && count(q->number, JobState::kReady) > 0) {
      return broken(17, "answered empty while a job of " + name + " is READY and may be granted");
    }
  }
}

// ---- heartbeats

void Model::take_early(const core::Heartbeat& asked, const core::HeartbeatReply& answer) {
  if (answer.items.size() != asked.leases.size()) return fail(11, "a heartbeat lost an item");
  for (std::size_t i = 0; i < asked.leases.size() && ok(); ++i) {
    const core::LeaseRef& ref = asked.leases[i];
    const auto live = running_.find(ref.token);
    const bool renews = live != running_.end() && live->second == ref.key &&
                        jobs_.at(ref.key).session_id == asked.session_id;
    if (!renews || answer.items[i].beat != core::Beat::kRenewed) {
      return fail(11, at(ref.key) + ": a heartbeat with token " + std::to_string(ref.token) +
                          " was answered early and its lease is not live");
    }
    context_.coverage.hit_pair<core::Heartbeat>(JobState::kRunning);
  }
}

void Model::on(const core::Heartbeat& c, const core::ReplyBody& r) {
  const auto* answer = std::get_if<core::HeartbeatReply>(&r);
  if (answer == nullptr || answer->items.size() != c.leases.size()) {
    return fail(11, "a heartbeat was " + differs(r, std::nullopt));
  }
  for (std::size_t i = 0; i < c.leases.size() && ok(); ++i) {
    const core::LeaseRef& ref = c.leases[i];
    const bool same = agree(ref.key, 11, "the heartbeat", [&]() -> std::string {
      const auto live = running_.find(ref.token);
      const bool renews = live != running_.end() && live->second == ref.key &&
                          jobs_.at(ref.key).session_id == c.session_id;
      const core::Beat expected = !renews ? core::Beat::kLost
                                  : jobs_.at(ref.key).cancel_requested
                                      ? core::Beat::kCancelRequested
                                      : core::Beat::kRenewed;
      return answer->items[i].beat == expected
                 ? ""
                 : "token " + std::to_string(ref.token) + " was answered " +
                       std::to_string(static_cast<int>(answer->items[i].beat)) + " instead of " +
                       std::to_string(static_cast<int>(expected));
    });
    if (!same) return;
    const Job* job = find(ref.key);
    context_.coverage.hit_pair<core::Heartbeat>(job == nullptr ? JobState::kUnknown : job->state);
  }
}

// ---- ends of attempts

void Model::end_attempt(Job& job, AttemptOutcome outcome, bool by_finish, std::int64_t at_ms) {
  step_.touched.insert(job.key);
  running_.erase(job.token);
  if (const auto grant = grants_.find(job.grant); grant != grants_.end()) {
    grant->second.live.erase(job.token);
    if (grant->second.live.empty()) {
      const auto request =
          lease_requests_.find({grant->second.session_id, grant->second.request_id});
      if (request != lease_requests_.end()) request->second.ended_ms = at_ms;
      grants_.erase(grant);
    }
  }
  job.last_token = job.token;
  if (job.first_granted_ms == 0) job.first_granted_ms = job.granted_ms;
  job.history.push_back({job.token, outcome, by_finish});
  if (job.history.size() > kHistory) job.history.erase(job.history.begin());
  job.token = 0;
  job.grant = 0;
  job.session_id.clear();
}

// Before try n + 1: fixed, listed or growing, up to the jitter's share longer.
void Model::delay_of(const Job& job, std::uint32_t n, std::int64_t* lo, std::int64_t* hi) {
  const model::RetryPolicy& policy = retry_of(job);
  double delay = 0;
  if (!policy.delays_ms.empty()) {
    const std::size_t last = policy.delays_ms.size() - 1;
    delay = static_cast<double>(policy.delays_ms[std::min<std::size_t>(n - 1, last)]);
  } else {
    delay = std::min(static_cast<double>(policy.first_ms) * std::pow(policy.factor, n - 1),
                     static_cast<double>(policy.cap_ms));
  }
  *lo = static_cast<std::int64_t>(delay);
  *hi = static_cast<std::int64_t>(delay * (1.0 + policy.jitter));
}

Model::Ends Model::may_retry(Job& job, const core::WorkerOutcome* outcome, bool lost,
                             std::int64_t at_ms) {
  Ends ends;
  ++job.used;
  job.handlerless = 0;
  if (job.cancel_requested) {
    ends.cancelled = true;
    return ends;
  }
  const model::RetryPolicy& policy = retry_of(job);
  if ((outcome != nullptr && !outcome->retryable) || job.used >= policy.max_attempts) {
    ends.dead = true;
    return ends;
  }
  delay_of(job, job.used, &ends.delay_lo, &ends.delay_hi);
  if (lost && ends.delay_lo < kLostSpreadMs) ends.delay_hi += kLostSpreadMs;
  if (outcome != nullptr && outcome->retry_after_ms) {
    ends.delay_lo = ends.delay_hi = *outcome->retry_after_ms;
  }
  const std::int64_t horizon =
      policy.give_up_after_ms == 0 ? INT64_MAX : job.first_granted_ms + policy.give_up_after_ms;
  ends.dead = at_ms + ends.delay_hi > horizon;
  const bool goes_on = at_ms + ends.delay_lo <= horizon;
  ends.ready = goes_on && ends.delay_lo <= 0;
  ends.scheduled = goes_on && ends.delay_hi > 0;
  return ends;
}

Model::Ends Model::may_give_back(Job& job, std::int64_t delay_lo, std::int64_t delay_hi) {
  Ends ends;
  ++job.releases;
  if (job.cancel_requested) {
    ends.cancelled = true;
    return ends;
  }
  if (job.releases >= kUncountedMax) {
    ends.dead = true;
    return ends;
  }
  ends.delay_lo = delay_lo;
  ends.delay_hi = delay_hi;
  ends.ready = delay_lo <= 0;
  ends.scheduled = delay_hi > 0;
  return ends;
}

// The event says which of the allowed ends it was.
void Model::settle_end(Job& job, const Ends& ends, const Event& event, bool retry_wait) {
  const bool is_final = event.kind == core::JobEvent::Kind::kFinal;
  const JobState to = event.state;
  const bool allowed = is_final ? (to == JobState::kDead && ends.dead) ||
                                      (to == JobState::kCancelled && ends.cancelled)
                                : (to == JobState::kReady && ends.ready) ||
                                      (to == JobState::kScheduled && ends.scheduled);
  if (!allowed) {
    return fail(13, at(job.key) + " became " + std::string(model::name_of(to)) +
                        " when its attempt ended, with " + std::to_string(job.used) +
                        " attempts used and a delay from " + std::to_string(ends.delay_lo) +
                        " to " + std::to_string(ends.delay_hi) + " ms");
  }
  if (to == JobState::kCancelled) return end_job(job, to, event.at_ms);
  job.state = to;
  if (to == JobState::kDead) {
    job.ended_ms = event.at_ms;
    return;
  }
  job.waiting_seq = step_.turn->turn.seq;
  job.due_lo = event.at_ms + ends.delay_lo;
  job.due_hi = event.at_ms + ends.delay_hi;
  job.retry_wait = to == JobState::kScheduled && retry_wait;
}

// ---- finish

void Model::finish(Job& job, const core::WorkerOutcome& outcome, const core::FinishedJob& given) {
  const std::uint64_t token = job.token;
  const bool success = outcome.kind == Outcome::kSucceeded;
  const auto last = [&](const Event& e) { return e.token == token; };
  const auto kind = model::is_final(given.state) ? core::JobEvent::Kind::kFinal
                                                 : core::JobEvent::Kind::kAttemptEnded;
  const Event* event = expect(kind, job.key, last);
  if (event == nullptr) return;
  if (event->state != given.state) {
    return fail(8, at(job.key) + " ended as one state and was answered as another");
  }
  AttemptOutcome recorded = AttemptOutcome::kSucceeded;
  Ends ends;
  bool retry_wait = false;
  switch (outcome.kind) {
    case Outcome::kSucceeded:
      break;
    case Outcome::kFailed:
      recorded = job.cancel_requested ? AttemptOutcome::kCancelled : AttemptOutcome::kFailed;
      retry_wait = true;
      break;
    case Outcome::kSnoozed:
      recorded = AttemptOutcome::kSnoozed;
      retry_wait = true;
      break;
    case Outcome::kReleased:
      recorded = AttemptOutcome::kReleased;
      break;
  }
  if (given.recorded != recorded) return fail(8, at(job.key) + ": another outcome was recorded");
  end_attempt(job, recorded, true, event->at_ms);
  if (success) {
    if (given.state != JobState::kSucceeded) return fail(12, at(job.key) + " did not succeed");
    return end_job(job, JobState::kSucceeded, event->at_ms, outcome.result);
  }
  if (outcome.kind == Outcome::kFailed) {
    ends = may_retry(job, &outcome, false, event->at_ms);
  } else if (outcome.kind == Outcome::kSnoozed) {
    std::int64_t lo = 0;
    std::int64_t hi = 0;
    delay_of(job, job.releases + 1, &lo, &hi);
    if (outcome.retry_after_ms) lo = hi = *outcome.retry_after_ms;
    job.handlerless = 0;
    ends = may_give_back(job, lo, hi);
  } else {
    std::int64_t delay = 0;
    if (outcome.release_reason == "NO_HANDLER" || outcome.release_reason == "STILL_RUNNING_HERE") {
      delay = std::min<std::int64_t>(60'000, 1'000LL << std::min(job.handlerless, 16U));
      ++job.handlerless;
    } else {
      job.handlerless = 0;
    }
    ends = may_give_back(job, delay, delay);
  }
  settle_end(job, ends, *event, retry_wait);
}

void Model::on(const core::FinishJobs& c, const core::ReplyBody& r) {
  const auto* answer = std::get_if<core::FinishReply>(&r);
  if (answer == nullptr || answer->items.size() != c.items.size()) {
    return fail(11, "a finish was " + differs(r, std::nullopt));
  }
  const auto is_live = [&](const core::LeaseRef& ref) {
    const auto live = running_.find(ref.token);
    return live != running_.end() && live->second == ref.key;
  };
  std::set<std::uint64_t> live_before;
  for (const core::FinishItem& item : c.items) {
    const Job* job = find(item.lease.key);
    context_.coverage.hit_pair<core::FinishJobs>(job == nullptr ? JobState::kUnknown : job->state);
    if (is_live(item.lease)) live_before.insert(item.lease.token);
  }
  // What is stale is looked at before anything is changed.
  for (std::size_t i = 0; i < c.items.size() && ok(); ++i) {
    const core::LeaseRef& ref = c.items[i].lease;
    if (c.items[i].invalid || live_before.contains(ref.token)) continue;
    const auto* done = std::get_if<core::FinishedJob>(&answer->items[i]);
    const auto* error = std::get_if<base::Error>(&answer->items[i]);
    agree(ref.key, 11, "the finish with a stale token", [&]() -> std::string {
      const Job* job = find(ref.key);
      if (job == nullptr) {
        return error != nullptr && error->reason == Reason::kUnknownLease ? ""
                                                                          : "not UNKNOWN_LEASE";
      }
      const auto ended =
          std::find_if(job->history.begin(), job->history.end(),
                       [&](const Ended& e) { return e.token == ref.token && e.by_finish; });
      if (ended == job->history.end()) {
        return error != nullptr && error->reason == Reason::kLeaseLost ? "" : "not LEASE_LOST";
      }
      if (done == nullptr || !done->already_ended || done->recorded != ended->outcome) {
        return "the recorded outcome is not repeated";
      }
      return done->state == job->state ? "" : "another state is told";
    });
  }
  std::map<std::uint64_t, core::FinishedJob> ended_here;
  for (std::size_t i = 0; i < c.items.size() && ok(); ++i) {
    const core::FinishItem& item = c.items[i];
    if (item.invalid || !live_before.contains(item.lease.token)) continue;
    const auto* done = std::get_if<core::FinishedJob>(&answer->items[i]);
    if (done == nullptr) {
      return fail(12, at(item.lease.key) + ": a finish under its live token was refused");
    }
    if (const auto first = ended_here.find(item.lease.token); first != ended_here.end()) {
      if (!done->already_ended || done->recorded != first->second.recorded) {
        fail(11, at(item.lease.key) + ": two finishes of one call both had effect");
      }
      continue;
    }
    if (done->already_ended) {
      return fail(12, at(item.lease.key) + ": a first finish is taken for a repeat");
    }
    if (!is_live(item.lease)) {
      return fail(11, at(item.lease.key) + ": a finish had effect though its lease had ended");
    }
    ended_here.emplace(item.lease.token, *done);
    finish(*find(item.lease.key), item.outcome, *done);
  }
}

}  // namespace rota::sim
