// SPDX-License-Identifier: Apache-2.0
//
// Lease calls: parking, matching, granting, answering; heartbeats; grants whose caller is gone.
#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mutation.h"
#include "core/engine_impl.h"

namespace rota::core {

namespace keys = model::keys;
using base::Mistake;
using base::limits::kPollDeadlineMarginMsMin;

namespace {

std::string hash_request(const std::string& session, const std::string& request) {
  if (request.empty()) return {};
  return std::string(base::as_bytes(base::hash_parts({session, request})).substr(0, 16));
}

// About what a job takes in a lease reply, never less.
std::size_t reply_bytes(const model::JobBody& body, const std::string& queue) {
  constexpr std::size_t kNumbersAndTags = 512;
  constexpr std::size_t kLabelTags = 16;
  constexpr std::size_t kTimestamp = 24;
  std::size_t bytes = kNumbersAndTags + body.payload_bytes + queue.size() + body.kind.size() +
                      body.content_type.size() + body.business_key.size() +
                      body.scheduler_id.size() + body.business_date.size() +
                      body.nominal_ms.size() * kTimestamp;
  for (const auto& [key, value] : body.labels) bytes += key.size() + value.size() + kLabelTags;
  return bytes;
}

}  // namespace

bool EngineImpl::on(const LeaseJobs& c, const Command& cmd, Lookup&) {
  auto poll = std::make_unique<Poll>();
  const std::string hash = hash_request(c.session_id, c.request_id);
  poll->place = cmd.call;
  if (!hash.empty() && answer_repeated_lease(c, cmd, hash, &poll->place)) return true;
  for (const std::string& name : c.queues) {
    QueueState* q = find_queue(cmd.name_space, name);
    if (q == nullptr) return reply(cmd.call, queue_not_found(name)), true;
    if (std::find(poll->queues.begin(), poll->queues.end(), q->queue.number) ==
        poll->queues.end()) {
      poll->queues.push_back(q->queue.number);
    }
  }
  if (polls_.size() >= options_.max_polls) {
    Error e = base::make_error(Reason::kTooManyPolls,
                               "the limit is " + std::to_string(options_.max_polls) +
                                   " parked lease calls (server option limits.parked_polls)");
    e.retry_after_ms = 1000;
    return reply(cmd.call, std::move(e)), true;
  }
  if (const auto own = polls_by_session_.find(c.session_id);
      own != polls_by_session_.end() &&
      own->second.size() >= static_cast<std::size_t>(base::limits::kParkedPollsPerSessionMax)) {
    Error e =
        base::make_error(Reason::kTooManyPolls,
                         "the limit is " + std::to_string(base::limits::kParkedPollsPerSessionMax) +
                             " parked lease calls of one session");
    e.retry_after_ms = 1000;
    return reply(cmd.call, std::move(e)), true;
  }
  poll->call = cmd.call;
  poll->name_space = cmd.name_space;
  poll->principal = cmd.principal;
  poll->request = c;
  poll->request_hash = hash;
  const std::int64_t last = last_grant_mono_ms(c);
  poll->end_mono_ms = std::min(c.received_mono_ms + c.wait_ms, last);
  if (last <= now_.mono_ms || draining_) {
    return answer_poll(*poll), true;
  }
  park(std::move(poll));
  return true;
}

// Nothing is granted to a call that is about to die: its worker would never hear of it.
std::int64_t EngineImpl::last_grant_mono_ms(const LeaseJobs& c) const {
  if (c.caller_deadline_mono_ms == INT64_MAX) return INT64_MAX;
  return c.caller_deadline_mono_ms -
         std::max<std::int64_t>(kPollDeadlineMarginMsMin, 4 * commit_latency_ms_);
}

bool EngineImpl::has_time_for_a_grant(const Poll& poll) const {
  return last_grant_mono_ms(poll.request) > now_.mono_ms;
}

// A request id that has granted before never grants a second set.
bool EngineImpl::answer_repeated_lease(const LeaseJobs& c, const Command& cmd,
                                       const std::string& hash, CallId* place) {
  if (auto it = grant_by_request_.find(hash); it != grant_by_request_.end()) {
    GrantState& grant = *grants_.at(it->second);
    grant.adopted = true;
    LeaseReply r;
    r.lease_ttl_ms = grant.ttl_ms;
    r.granted_after_ms = std::max<std::int64_t>(0, now_.mono_ms - c.received_mono_ms);
    for (const JobKey& key : grant.live) {
      Lease& lease = leases_.at(key);
      renew(lease, grant.ttl_ms);
      r.jobs.push_back(granted_job(lease));
    }
    r.cancel_tokens = tell_cancels(c.session_id);
    reply(cmd.call, std::move(r));
    return true;
  }
  if (auto it = poll_by_request_.find(hash); it != poll_by_request_.end()) {
    const CallId first = it->second;
    *place = polls_.at(first)->place;
    reply_error(first, Reason::kPollReplaced, "a repeat of this call has taken its place");
    unpark(first);
    return false;  // parks in its own right, at the place of the first
  }
  if (spent_set_.contains(hash)) {
    LeaseReply r;
    r.lease_ttl_ms = c.lease_ttl_ms;
    r.request_spent = true;
    reply(cmd.call, std::move(r));
    return true;
  }
  return false;
}

void EngineImpl::park(std::unique_ptr<Poll> poll) {
  Poll& p = *poll;
  poll_ends_.insert({p.end_mono_ms, p.call});
  polls_by_session_[p.request.session_id].insert(p.call);
  if (!p.request_hash.empty()) poll_by_request_[p.request_hash] = p.call;
  for (const std::uint32_t number : p.queues) {
    QueueState& q = *queues_.at(number);
    q.polls[p.place] = &p;
    q.last_asked_mono_ms = now_.mono_ms;
    want_match(q);
  }
  const CallId call = p.call;
  if (cancels_untold_.contains(p.request.session_id)) polls_with_news_.insert(call);
  polls_.emplace(call, std::move(poll));
}

void EngineImpl::unpark(CallId call) {
  auto it = polls_.find(call);
  if (it == polls_.end()) return;
  Poll& p = *it->second;
  poll_ends_.erase({p.end_mono_ms, call});
  if (auto s = polls_by_session_.find(p.request.session_id); s != polls_by_session_.end()) {
    s->second.erase(call);
    if (s->second.empty()) polls_by_session_.erase(s);
  }
  if (auto r = poll_by_request_.find(p.request_hash);
      r != poll_by_request_.end() && r->second == call) {
    poll_by_request_.erase(r);
  }
  for (const std::uint32_t number : p.queues) {
    auto q = queues_.find(number);
    if (q == queues_.end()) continue;
    q->second->polls.erase(p.place);
    q->second->last_asked_mono_ms = now_.mono_ms;
    if (q->second->polls.empty()) list_window(*q->second);
  }
  polls_granted_.erase(call);
  polls_to_answer_.erase(call);
  polls_with_news_.erase(call);
  polls_.erase(it);
}

void EngineImpl::drop_call(CallId call) {
  auto it = polls_.find(call);
  if (it == polls_.end()) return;
  if (!it->second->granted.empty()) return;  // decided: found at release, and abandoned there
  unpark(call);
}

// ---- matching

void EngineImpl::match_all(Turn* turn) {
  if (draining_) {
    for (const std::uint32_t number : to_match_) {
      if (auto it = queues_.find(number); it != queues_.end()) it->second->match_wanted = false;
    }
    to_match_.clear();
    return;
  }
  std::uint32_t budget = options_.max_grants_per_turn;
  // Taken out first: a job that expires at its grant may make another one ready, whose queue is
  // then matched in the next turn.
  const std::set<std::uint32_t> wanted = std::exchange(to_match_, {});
  // Behind the queue that was served last, and round: a backlog in one of a worker's queues keeps
  // nothing from the others.
  auto next = wanted.upper_bound(last_served_);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (next == wanted.end()) next = wanted.begin();
    const std::uint32_t number = *next++;
    auto it = queues_.find(number);
    if (it == queues_.end()) continue;
    it->second->match_wanted = false;
    const std::uint64_t before = meta_.next_token;
    if (!match(*it->second, &budget)) want_match(*it->second);
    if (meta_.next_token != before) last_served_ = number;
  }
  if (!to_match_.empty()) turn->more = true;
}

// False: the budget was used up before there was nothing to do.
bool EngineImpl::match(QueueState& q, std::uint32_t* budget) {
  while (!q.polls.empty() && q.gate_open() && !q.window.empty()) {
    if (*budget == 0) return false;
    --*budget;
    const ReadyJob& head = q.window.front();
    const bool fresh = !head.side || head.side->attempts == 0;
    const std::uint64_t waiting_seq =
        head.side && head.side->waiting_seq != 0 ? head.side->waiting_seq : head.body->created_seq;
    const std::int64_t deadline = head.side && head.side->start_deadline_ms
                                      ? *head.side->start_deadline_ms
                                      : head.body->start_deadline_ms;
    const bool late = fresh && deadline != 0 && deadline <= now_.wall_ms && !deletions_held();
    const bool purged = waiting_seq < q.purge_barrier;
    if (late || purged) {
      JobRef job;
      job.queue = &q;
      job.key = head.key;
      job.priority = q.window.front_key().priority;
      job.body = head.body;
      if (head.side) job.side = *head.side;
      job.had_side_row = head.side != nullptr;
      if (purged) {
        for (const std::uint64_t number : q.purges) {
          model::Operation& operation = operations_.at(number);
          if (waiting_seq >= operation.barrier) continue;
          ++operation.removed;
          put_operation(operation);
        }
        remove_job(std::move(job), JobState::kReady);
      } else {
        end_job(std::move(job), JobState::kReady, JobState::kExpired,
                "start deadline passed before a worker took it");
      }
      continue;
    }
    Poll& poll = *q.polls.begin()->second;
    if (poll.granted.empty() && !has_time_for_a_grant(poll)) {
      polls_to_answer_.insert(poll.call);
      q.polls.erase(q.polls.begin());
      continue;
    }
    const std::size_t bytes = reply_bytes(*head.body, q.queue.name);
    if (!poll.granted.empty() && poll.granted_bytes + bytes > poll.request.max_bytes) {
      // Full by bytes: it is answered at the end of this turn and asks again.
      q.polls.erase(q.polls.begin());
      continue;
    }
    grant(q, poll);
  }
  return true;
}

void EngineImpl::grant(QueueState& q, Poll& poll) {
  const JobKey ready_key = q.window.front_key();
  ReadyJob head = q.window.pop();

  const std::uint64_t token = meta_.next_token++;
  if (token > model::kMaxToken) std::abort();
  if (poll.grant_number == 0) {
    auto fresh = std::make_shared<GrantState>();
    fresh->number = token;
    fresh->holder = std::make_shared<const LeaseHolder>(
        LeaseHolder{.worker_id = poll.request.worker_id, .session_id = poll.request.session_id});
    fresh->principal = poll.principal;
    fresh->request_hash = poll.request_hash;
    fresh->ttl_ms = poll.request.lease_ttl_ms;
    fresh->granted_ms = now_.wall_ms;
    fresh->granted_seq = building();
    poll.grant_number = token;
    poll.granted.reserve(std::min<std::size_t>(poll.request.max_jobs, q.window.size() + 1));
    grants_[token] = fresh;
    if (!poll.request_hash.empty()) grant_by_request_[poll.request_hash] = token;
  }
  const std::shared_ptr<GrantState>& state = grants_.at(poll.grant_number);

  Lease lease;
  lease.key = head.key;
  lease.priority = ready_key.priority;
  lease.body = head.body;
  lease.side = head.side;
  lease.attempt = (head.side ? head.side->attempts : 0) + 1;
  lease.token = token;
  lease.permits = model::kPermitQueue;
  lease.grant = state;
  const std::int64_t timeout_ms =
      head.body->attempt_timeout_ms.value_or(q.queue.settings.attempt_timeout_ms);
  if (timeout_ms != model::kNoTimeout) lease.cap_mono_ms = now_.mono_ms + timeout_ms;
  lease.deadline_mono_ms = std::min(now_.mono_ms + state->ttl_ms, lease.cap_mono_ms);
  watch(lease);
  state->live.insert(lease.key);
  q.running.insert(lease.key);
  move(q, JobState::kReady, JobState::kRunning, ready_key.priority, ready_key.seq);

  const bool first = lease.attempt == 1;
  const std::int64_t deadline = head.side && head.side->start_deadline_ms
                                    ? *head.side->start_deadline_ms
                                    : head.body->start_deadline_ms;
  if (first && deadline != 0) del_timer({deadline, keys::TimerKind::kStartDeadline, head.key});
  if (ready_key != head.key) batch().del(Keyspace::kJob, keys::job(ready_key));  // its pointer

  if (undurable_.empty() || undurable_.back().first != building()) {
    undurable_.push_back({building(), {}});
  }
  undurable_.back().second.push_back(lease.key);
  JobEvent e;
  e.kind = JobEvent::Kind::kGranted;
  e.key = lease.key;
  e.state = JobState::kRunning;
  e.token = token;
  e.attempt = lease.attempt;
  e.holder = state->holder;
  event(std::move(e));
  const JobKey key = lease.key;
  const auto [it, fresh] = leases_.emplace(key, std::move(lease));
  if (!fresh) std::abort();  // I9: one live lease per job

  poll.granted.push_back(granted_job(it->second));
  poll.granted_bytes += reply_bytes(*head.body, q.queue.name);
  polls_granted_.insert(poll.call);
  if (poll.granted.size() >= poll.request.max_jobs) {
    for (const std::uint32_t number : poll.queues) {
      if (auto other = queues_.find(number); other != queues_.end()) {
        other->second->polls.erase(poll.place);
      }
    }
  }
}

GrantedJob EngineImpl::granted_job(const Lease& lease) const {
  const QueueState& q = *queues_.at(lease.key.queue);
  GrantedJob g;
  g.key = lease.key;
  g.queue = q.queue.name;
  g.body = lease.body;
  g.attempt = lease.attempt;
  g.max_attempts = retry_of(q, *lease.body).max_attempts;
  g.token = lease.token;
  g.time_left_ms = lease.cap_mono_ms == INT64_MAX
                       ? model::kNoTimeout
                       : std::max<std::int64_t>(0, lease.cap_mono_ms - now_.mono_ms);
  g.priority = lease.priority;
  g.cancel_requested = lease.side && lease.side->cancel_requested;
  return g;
}

// ---- answers

bool EngineImpl::poll_may_wait_for_refill(const Poll& poll) const {
  if (poll.request.wait_ms != 0) return false;
  if (poll.request.caller_deadline_mono_ms - kPollDeadlineMarginMsMin <= now_.mono_ms) return false;
  return std::any_of(poll.queues.begin(), poll.queues.end(), [&](std::uint32_t number) {
    auto it = queues_.find(number);
    return it != queues_.end() && it->second->gate_open() &&
           it->second->counters.of(JobState::kReady) > 0;
  });
}

void EngineImpl::answer_polls() {
  for (const CallId call : std::set<CallId>(polls_granted_)) answer_poll(*polls_.at(call));
  for (const CallId call : std::set<CallId>(polls_to_answer_)) {
    if (auto it = polls_.find(call); it != polls_.end()) answer_poll(*it->second);
  }
  polls_to_answer_.clear();
  for (const CallId call : std::set<CallId>(polls_with_news_)) {
    auto it = polls_.find(call);
    if (it == polls_.end()) continue;
    if (cancels_untold_.contains(it->second->request.session_id)) answer_poll(*it->second);
  }
  polls_with_news_.clear();
  std::vector<CallId> over;
  for (const auto& [end, call] : poll_ends_) {
    if (end > now_.mono_ms) break;
    if (!poll_may_wait_for_refill(*polls_.at(call))) over.push_back(call);
  }
  for (const CallId call : over) answer_poll(*polls_.at(call));
}

void EngineImpl::answer_poll(Poll& poll) {
  LeaseReply r;
  r.lease_ttl_ms = poll.request.lease_ttl_ms;
  r.granted_after_ms = std::max<std::int64_t>(0, now_.mono_ms - poll.request.received_mono_ms);
  r.cancel_tokens = tell_cancels(poll.request.session_id);
  if (!poll.granted.empty()) {
    const GrantState& state = *grants_.at(poll.grant_number);
    model::Grant grant;
    grant.session_id = state.holder->session_id;
    grant.worker_id = state.holder->worker_id;
    grant.principal = state.principal;
    grant.request_hash = state.request_hash;
    grant.ttl_ms = state.ttl_ms;
    grant.granted_ms = state.granted_ms;
    grant.granted_seq = state.granted_seq;
    for (const GrantedJob& g : poll.granted) {
      // Granted in this turn: what is left of the attempt is all of it.
      grant.entries.push_back({g.key, g.attempt, g.token, model::kPermitQueue, g.time_left_ms});
    }
    batch().put(Keyspace::kGrant, keys::grant(state.number), model::encode(grant));
    r.jobs = std::move(poll.granted);
  }
  const CallId call = poll.call;
  reply(call, std::move(r));
  unpark(call);
}

// For a lease reply. Should that be lost, the heartbeats name them too.
std::vector<std::uint64_t> EngineImpl::tell_cancels(const std::string& session_id) {
  cancels_untold_.erase(session_id);
  auto it = cancels_by_session_.find(session_id);
  if (it == cancels_by_session_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

// ---- heartbeats

void EngineImpl::forget_overdue(GrantState& grant) {
  if (grant.overdue_ends_ms == 0) return;
  batch().del(Keyspace::kMeta, keys::overdue_grant(grant.number));
  grant.overdue_ends_ms = 0;
  grant.heard_seq = building();
}

void EngineImpl::renew(Lease& lease, std::int64_t ttl_ms) {
  forget_overdue(*lease.grant);
  lease.deadline_mono_ms = std::min(now_.mono_ms + ttl_ms, lease.cap_mono_ms);
  if (planted(Mistake::kRenewPastCap)) lease.deadline_mono_ms = now_.mono_ms + ttl_ms;
  if (lease.deadline_mono_ms < lease.watched_mono_ms) watch(lease);
}

void EngineImpl::watch(Lease& lease) {
  lease_deadlines_.erase({lease.watched_mono_ms, lease.key});
  lease.watched_mono_ms = lease.deadline_mono_ms;
  lease_deadlines_.emplace(lease.watched_mono_ms, lease.key);
}

bool EngineImpl::on(const Heartbeat& c, const Command& cmd, Lookup&) {
  HeartbeatReply r;
  bool plain = true;
  for (const LeaseRef& ref : c.leases) {
    HeartbeatReply::Item item;
    auto it = leases_.find(ref.key);
    if (it == leases_.end() || it->second.token != ref.token ||
        it->second.grant->holder->session_id != c.session_id) {
      item.beat = Beat::kLost;
      plain = false;
    } else {
      Lease& lease = it->second;
      lease.stall_credit_ms = 0;
      renew(lease, lease.grant->ttl_ms);
      item.renewed_for_ms = std::max<std::int64_t>(0, lease.deadline_mono_ms - now_.mono_ms);
      item.beat = Beat::kRenewed;
      if (lease.side && lease.side->cancel_requested) {
        item.beat = Beat::kCancelRequested;
        plain = false;
      }
      // What is promised here the next start must know to keep, and the lease itself.
      const GrantState& grant = *lease.grant;
      if (std::max(grant.granted_seq, grant.heard_seq) > durable_seq_) plain = false;
    }
    r.items.push_back(item);
  }
  if (plain) {  // nothing it saw is pending: a slow disk must not starve heartbeats
    Reply answer;
    answer.call = cmd.call;
    answer.body = std::move(r);
    answer.seq = durable_seq_;
    answer.immediate = true;
    immediate_.push_back(std::move(answer));
  } else {
    reply(cmd.call, std::move(r));
  }
  return true;
}

// ---- a grant whose caller is gone

bool EngineImpl::on(const AbandonGrant& c, const Command&, Lookup&) {
  for (const LeaseRef& ref : c.leases) {
    auto it = leases_.find(ref.key);
    if (it == leases_.end() || it->second.token != ref.token) continue;
    if (it->second.grant->adopted) continue;  // a repeat of the call has it
    AttemptEnd end;
    end.outcome = model::AttemptOutcome::kReleased;
    end.release_reason = "CALLER_GONE";
    give_back(end_attempt(it->second, std::move(end)), 0, /*snoozed=*/false);
  }
  return true;
}

}  // namespace rota::core
