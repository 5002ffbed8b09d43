// SPDX-License-Identifier: Apache-2.0
//
// Ends of attempts: finish, expiry, and what becomes of the job then.
#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "base/limits.h"
#include "base/mutation.h"
#include "core/engine_impl.h"
#include "model/job_id.h"

namespace rota::core {

namespace keys = model::keys;
using base::Mistake;
using base::limits::kUncountedGrantsMax;
using model::AttemptOutcome;

// The one exit of a lease: permits, grant record, history. The job is nowhere until the caller puts
// it into its next state.
JobRef EngineImpl::end_attempt(Lease& lease, AttemptEnd end) {
  JobRef job;
  job.queue = queue_of(lease.key);
  job.key = lease.key;
  job.priority = lease.priority;
  job.body = lease.body;
  job.had_side_row = lease.side != nullptr;
  if (lease.side) job.side = *lease.side;
  GrantState& grant = *lease.grant;

  model::Attempt attempt;
  attempt.number = lease.attempt;
  attempt.token = lease.token;
  attempt.worker_id = grant.holder->worker_id;
  attempt.session_id = grant.holder->session_id;
  attempt.granted_ms = grant.granted_ms;
  attempt.granted_seq = grant.granted_seq;
  attempt.ended_ms = now_.wall_ms;
  attempt.ended_seq = building();
  attempt.outcome = end.outcome;
  attempt.by_finish = end.by_finish;
  attempt.failure = std::move(end.failure);
  attempt.release_reason = std::move(end.release_reason);
  attempt.log_tail = std::move(end.log_tail);
  attempt.result_truncated = end.result_truncated;

  if (job.side.last_token >= lease.token) std::abort();  // I10: tokens grow
  job.side.attempts = lease.attempt;
  job.side.last_token = lease.token;
  if (job.side.first_granted_ms == 0) job.side.first_granted_ms = grant.granted_ms;
  job.side.remember(std::move(attempt));

  QueueState& q = *job.queue;
  forget_cancel(lease);
  q.running.erase(lease.key);
  lease_deadlines_.erase({lease.watched_mono_ms, lease.key});
  grant.live.erase(lease.key);
  if (grant.live.empty()) {
    // A grant made in this very turn has no row yet, and its poll is still to be answered.
    batch().del(Keyspace::kGrant, keys::grant(grant.number));
    forget_overdue(grant);
    if (!grant.request_hash.empty()) {
      grant_by_request_.erase(grant.request_hash);
      spend_request(grant.request_hash);
    }
    grants_.erase(grant.number);
  }
  const JobKey key = lease.key;
  leases_.erase(key);  // `lease` and `grant` end here
  want_match(q);
  return job;
}

const model::RetryPolicy& EngineImpl::retry_of(const QueueState& q,
                                               const model::JobBody& body) const {
  return body.retry ? *body.retry : q.queue.settings.retry;
}

// Delay before try n + 1 (n >= 1 tries have been used), saturating, with jitter that is a function
// of job and attempt: the engine needs no randomness.
std::int64_t EngineImpl::backoff_ms(const model::RetryPolicy& policy, const JobKey& key,
                                    std::uint32_t n, std::uint32_t attempt) const {
  double delay = 0;
  if (!policy.delays_ms.empty()) {
    delay = static_cast<double>(
        policy.delays_ms[std::min<std::size_t>(n == 0 ? 0 : n - 1, policy.delays_ms.size() - 1)]);
  } else {
    delay = static_cast<double>(policy.first_ms) * std::pow(policy.factor, n == 0 ? 0 : n - 1);
    delay = std::min(delay, static_cast<double>(policy.cap_ms));
  }
  std::uint64_t h = key.seq * 0x9e3779b97f4a7c15ULL + key.queue * 0xbf58476d1ce4e5b9ULL + attempt;
  h = (h ^ (h >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  h = (h ^ (h >> 27U)) * 0x94d049bb133111ebULL;
  h ^= h >> 31U;
  const double unit = static_cast<double>(h >> 11U) / 9007199254740992.0;  // 0 <= unit < 1
  delay += delay * policy.jitter * unit;
  return static_cast<std::int64_t>(
      std::min(delay, static_cast<double>(base::limits::kBackoffMsMax)));
}

// After an attempt that counts: another try, or the end.
void EngineImpl::retry_or_die(JobRef job, const WorkerOutcome* outcome, bool lost) {
  QueueState& q = *job.queue;
  ++job.side.attempts_used;
  job.side.handlerless = 0;
  if (job.side.cancel_requested) {
    const std::string reason =
        job.side.cancel_reason.empty() ? "cancelled" : job.side.cancel_reason;
    end_job(std::move(job), JobState::kRunning, JobState::kCancelled, reason);
    return;
  }
  if (outcome != nullptr && !outcome->retryable) return die(std::move(job), "NOT_RETRYABLE");
  const model::RetryPolicy& policy = retry_of(q, *job.body);
  if (job.side.attempts_used >= policy.max_attempts) {
    return die(std::move(job), "MAX_ATTEMPTS");
  }
  std::int64_t delay = backoff_ms(policy, job.key, job.side.attempts_used, job.side.attempts);
  if (lost && delay < base::limits::kLostRetryJitterMsMin) {
    // Many leases of one dead worker end together: spread their second tries.
    model::RetryPolicy spread;
    spread.first_ms = base::limits::kLostRetryJitterMsMin;
    spread.jitter = 1.0;
    delay += backoff_ms(spread, job.key, 1, job.side.attempts) - spread.first_ms;
  }
  if (outcome != nullptr && outcome->retry_after_ms) delay = *outcome->retry_after_ms;
  const std::int64_t due_ms = now_.wall_ms + delay;
  if (policy.give_up_after_ms != 0 &&
      due_ms > job.side.first_granted_ms + policy.give_up_after_ms) {
    return die(std::move(job), "GAVE_UP");
  }
  const JobKey key = job.key;
  const std::uint64_t token = job.side.last_token;
  const JobState to = delay <= 0 ? JobState::kReady : JobState::kScheduled;
  if (to == JobState::kReady) {
    to_ready(std::move(job), JobState::kRunning);
  } else {
    to_scheduled(std::move(job), JobState::kRunning, due_ms, /*retry_wait=*/true);
  }
  JobEvent e;
  e.kind = JobEvent::Kind::kAttemptEnded;
  e.key = key;
  e.state = to;
  e.token = token;
  event(std::move(e));
}

// After an attempt that does not count; bounded all the same.
void EngineImpl::give_back(JobRef job, std::int64_t delay_ms, bool snoozed) {
  ++job.side.releases;
  if (job.side.cancel_requested) {
    const std::string reason =
        job.side.cancel_reason.empty() ? "cancelled" : job.side.cancel_reason;
    end_job(std::move(job), JobState::kRunning, JobState::kCancelled, reason);
    return;
  }
  if (job.side.releases >= kUncountedGrantsMax) return die(std::move(job), "TOO_MANY_RELEASES");
  const JobKey key = job.key;
  const std::uint64_t token = job.side.last_token;
  const JobState to = delay_ms <= 0 ? JobState::kReady : JobState::kScheduled;
  if (to == JobState::kReady) {
    to_ready(std::move(job), JobState::kRunning);
  } else {
    to_scheduled(std::move(job), JobState::kRunning, now_.wall_ms + delay_ms, snoozed);
  }
  JobEvent e;
  e.kind = JobEvent::Kind::kAttemptEnded;
  e.key = key;
  e.state = to;
  e.token = token;
  event(std::move(e));
}

void EngineImpl::expire_leases() {
  std::uint32_t left = options_.max_expiries_per_turn;
  while (!lease_deadlines_.empty() && lease_deadlines_.begin()->first <= now_.mono_ms &&
         left-- > 0 && room_for_duties()) {
    Lease& lease = leases_.at(lease_deadlines_.begin()->second);
    if (lease.deadline_mono_ms > now_.mono_ms) {  // renewed since it was put here
      watch(lease);
      continue;
    }
    if (planted(Mistake::kFreeSlotTwice)) {
      count(*queue_of(lease.key), JobState::kRunning, -1, lease.priority, lease.key.seq);
    }
    AttemptEnd end;
    const bool timed_out = lease.deadline_mono_ms >= lease.cap_mono_ms;
    end.outcome = timed_out ? AttemptOutcome::kTimedOut : AttemptOutcome::kLost;
    end.failure.type = timed_out ? "ATTEMPT_TIMEOUT" : "LEASE_EXPIRED";
    end.failure.message =
        timed_out ? "reached its attempt timeout"
                  : "no heartbeat for " + std::to_string(lease.grant->ttl_ms / 1000) + " s";
    retry_or_die(end_attempt(lease, std::move(end)), nullptr, /*lost=*/!timed_out);
  }
}

// ---- finish

bool EngineImpl::on(const FinishJobs& c, const Command& cmd, Lookup& look) {
  // Stale items first: they need the job's record, and change nothing.
  std::vector<std::optional<std::variant<FinishedJob, Error>>> stale(c.items.size());
  for (std::size_t i = 0; i < c.items.size(); ++i) {
    const FinishItem& item = c.items[i];
    auto it = leases_.find(item.lease.key);
    const bool live = it != leases_.end() && (it->second.token == item.lease.token ||
                                              planted(Mistake::kSkipTokenComparison));
    if (item.invalid || live) continue;
    stale[i] = finish_stale(item, look);
  }
  if (!look.complete()) return false;
  FinishReply r;
  absl::flat_hash_map<std::uint64_t, FinishedJob> ended_here;  // by token
  ended_here.reserve(c.items.size());
  r.items.reserve(c.items.size());
  for (std::size_t i = 0; i < c.items.size(); ++i) {
    const FinishItem& item = c.items[i];
    if (item.invalid) {
      r.items.emplace_back(*item.invalid);  // a live lease stays
    } else if (stale[i]) {
      r.items.push_back(std::move(*stale[i]));
    } else if (auto done = ended_here.find(item.lease.token); done != ended_here.end()) {
      FinishedJob repeat = done->second;  // twice in one call
      repeat.already_ended = true;
      r.items.emplace_back(repeat);
    } else {
      r.items.push_back(finish_live(leases_.at(item.lease.key), item));
      ended_here.emplace(item.lease.token, std::get<FinishedJob>(r.items.back()));
    }
  }
  reply(cmd.call, std::move(r));
  return true;
}

std::variant<FinishedJob, Error> EngineImpl::finish_live(Lease& lease, const FinishItem& item) {
  using Kind = WorkerOutcome::Kind;
  const WorkerOutcome& outcome = item.outcome;
  const JobKey key = lease.key;
  AttemptEnd end;
  end.by_finish = true;
  end.log_tail = outcome.log_tail;
  end.result_truncated = outcome.result_truncated;
  FinishedJob done;
  switch (outcome.kind) {
    case Kind::kSucceeded: {
      end.outcome = AttemptOutcome::kSucceeded;
      JobRef job = end_attempt(lease, std::move(end));
      // The effect exists, also when a cancel was requested meanwhile: anything else would free
      // the key and make it twice.
      end_job(std::move(job), JobState::kRunning, JobState::kSucceeded, {}, outcome.result);
      done.state = JobState::kSucceeded;
      done.recorded = AttemptOutcome::kSucceeded;
      return done;
    }
    case Kind::kFailed: {
      const bool cancelled = lease.side && lease.side->cancel_requested;
      end.outcome = cancelled ? AttemptOutcome::kCancelled : AttemptOutcome::kFailed;
      end.failure = outcome.failure;
      done.recorded = end.outcome;
      retry_or_die(end_attempt(lease, std::move(end)), &outcome, /*lost=*/false);
      break;
    }
    case Kind::kSnoozed: {
      end.outcome = AttemptOutcome::kSnoozed;
      end.failure = outcome.failure;
      done.recorded = AttemptOutcome::kSnoozed;
      JobRef job = end_attempt(lease, std::move(end));
      const model::RetryPolicy& policy = retry_of(*job.queue, *job.body);
      const std::int64_t delay =
          outcome.retry_after_ms
              ? *outcome.retry_after_ms
              : backoff_ms(policy, job.key, job.side.releases + 1, job.side.attempts);
      job.side.handlerless = 0;
      give_back(std::move(job), delay, /*snoozed=*/true);
      break;
    }
    case Kind::kReleased: {
      end.outcome = AttemptOutcome::kReleased;
      end.release_reason = outcome.release_reason;
      done.recorded = AttemptOutcome::kReleased;
      JobRef job = end_attempt(lease, std::move(end));
      std::int64_t delay = 0;
      const bool put_off =
          outcome.release_reason == "NO_HANDLER" || outcome.release_reason == "STILL_RUNNING_HERE";
      if (put_off) {
        const std::uint32_t n = std::min<std::uint32_t>(job.side.handlerless++, 16);
        delay = std::min(base::limits::kNoHandlerDelayMsMax, base::kSecondMs << n);
      } else {
        job.side.handlerless = 0;
      }
      give_back(std::move(job), delay, /*snoozed=*/false);
      break;
    }
  }
  // What it is now: from its lease-less rows, which the open batch holds.
  done.state = JobState::kReady;
  if (const Batch::Change* side = batch().find(Keyspace::kSide, keys::job(key)); side && *side) {
    model::Side s;
    if (model::decode(**side, &s)) {
      if (s.claim == model::Claim::kScheduled) done.state = JobState::kScheduled;
      if (s.claim == model::Claim::kDead) done.state = JobState::kDead;
    }
  } else if (const Batch::Change* body = batch().find(Keyspace::kJob, keys::job(key));
             body && !*body) {
    done.state = JobState::kCancelled;
  }
  return done;
}

// A token that is not live. nullopt: its rows are not known yet.
std::optional<std::variant<FinishedJob, Error>> EngineImpl::finish_stale(const FinishItem& item,
                                                                         Lookup& look) {
  JobView view;
  if (!view_job(item.lease.key, look, &view)) return std::nullopt;
  if (planted(Mistake::kFinishAfterRegrant) && view.lease) return finish_live(*view.lease, item);
  const std::vector<model::Attempt>* history = nullptr;
  if (view.where == JobView::Where::kFinal) history = &view.final_record.history;
  if (view.where == JobView::Where::kLive && view.side) history = &view.side->history;
  if (view.where == JobView::Where::kNowhere) {
    return Error(base::make_error(
        Reason::kUnknownLease,
        "nothing is known of job " + model::job_id(item.lease.key) + " any more", "id"));
  }
  if (history != nullptr) {
    for (const model::Attempt& attempt : *history) {
      if (attempt.token != item.lease.token || !attempt.by_finish) continue;
      FinishedJob repeat;
      repeat.already_ended = true;
      repeat.recorded = attempt.outcome;
      repeat.state = view.state;
      return repeat;
    }
  }
  Error e = base::make_error(
      Reason::kLeaseLost,
      "this lease has ended; token " + std::to_string(item.lease.token) + " changes nothing",
      "fencing_token");
  e.meta["jobId"] = model::job_id(item.lease.key);
  return e;
}

}  // namespace rota::core
