// SPDX-License-Identifier: Apache-2.0
#include "sim/worker.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace rota::sim {

using core::WorkerOutcome;

namespace {

constexpr std::size_t kRumours = 48;
constexpr std::int64_t kMarginMs = 20;
constexpr std::int64_t kFinishAgainMs = 2'000;
constexpr std::int64_t kPollGraceMs = 2'000;

template <class T>
void remember(std::vector<T>* all, const T& one) {
  all->push_back(one);
  if (all->size() > kRumours) all->erase(all->begin());
}

}  // namespace

void Rumours::heard(const core::JobKey& job) { remember(&jobs, job); }
void Rumours::heard(const core::LeaseRef& lease) {
  leases.push_back(lease);
  if (leases.size() > kRumours) leases.erase(leases.begin());
}

Worker::Worker(Context& context, Network& network, Rumours& rumours, Rng rng, std::uint32_t number,
               ClashFn clashes)
    : context_(context),
      network_(network),
      rumours_(rumours),
      rng_(rng),
      number_(number),
      clashes_(std::move(clashes)) {}

// Everything that a process does passes here: not after its death, not while it is suspended, and
// after a suspension only when the handlers whose time is over have been stopped.
void Worker::run(std::int64_t delay_ms, std::function<void()> work) {
  context_.agenda.in(delay_ms, [this, life = life_, work = std::move(work)] {
    if (life != life_) return;
    if (context_.mono_ms() < asleep_until_ms_) {
      return run(asleep_until_ms_ - context_.mono_ms(), work);
    }
    stop_overdue();
    work();
  });
}

void Worker::start() {
  session_ = "w" + std::to_string(number_) + "-" + std::to_string(++life_);
  reserved_ = 0;
  asleep_until_ms_ = 0;
  held_.clear();
  finishes_.clear();
  run(rng_.between(0, 300), [this] { poll(); });
  run(rng_.between(500, 2'000), [this] { beat(); });
}

void Worker::die() {
  context_.trace.add("worker-died", {number_, held_.size()});
  for (const auto& [token, held] : held_) rumours_.heard(core::LeaseRef{held.key, token});
  held_.clear();
  finishes_.clear();
  ++life_;
  context_.agenda.in(rng_.between(10, 5'000), [this, life = life_] {
    if (life == life_) start();
  });
}

void Worker::suspend(std::int64_t ms) {
  context_.trace.add("worker-suspended", {number_, static_cast<std::uint64_t>(ms)});
  asleep_until_ms_ = std::max(asleep_until_ms_, context_.mono_ms() + ms);
}

bool Worker::holds(const core::JobKey& key) const {
  return std::any_of(held_.begin(), held_.end(), [&](const auto& entry) {
    return entry.second.key == key && entry.second.deadline_ms > context_.mono_ms();
  });
}

void Worker::stop_overdue() {
  for (auto it = held_.begin(); it != held_.end();) {
    if (it->second.deadline_ms > context_.mono_ms()) {
      ++it;
      continue;
    }
    context_.trace.add("handler-stopped", {number_, it->first});
    rumours_.heard(core::LeaseRef{it->second.key, it->first});
    it = held_.erase(it);
  }
}

// ---- lease calls

void Worker::poll() {
  const std::uint32_t slots = context_.profile.slots;
  const auto busy = static_cast<std::uint32_t>(held_.size()) + reserved_;
  if (busy < slots && !rumours_.queues.empty()) {
    core::LeaseJobs call;
    if (context_.healed || rng_.chance(0.6)) {
      call.queues = rumours_.queues;
    } else {
      call.queues.push_back(rumours_.queues[rng_.below(rumours_.queues.size())]);
    }
    call.session_id = session_;
    call.worker_id = "worker-" + std::to_string(number_);
    call.max_jobs = static_cast<std::uint32_t>(rng_.between(1, slots - busy));
    call.wait_ms = rng_.chance(0.3) ? 0 : rng_.between(1, 8'000);
    call.lease_ttl_ms = rng_.between(context_.profile.ttl_lo_ms, context_.profile.ttl_hi_ms);
    if (rng_.chance(0.8)) call.request_id = "l" + std::to_string(next_request_++);
    if (rng_.chance(0.1)) call.max_bytes = 1'500;
    if (rng_.chance(0.3)) call.caller_deadline_mono_ms = call.wait_ms + rng_.between(0, 1'500);
    const std::uint32_t reserve = call.max_jobs;
    reserved_ += reserve;
    send_poll(std::move(call), reserve, 0);
  }
  run(rng_.between(20, 400), [this] { poll(); });
}

void Worker::send_poll(core::LeaseJobs call, std::uint32_t slots, int tries) {
  const std::int64_t sent_ms = context_.mono_ms();
  const auto answered = std::make_shared<bool>(false);
  const auto kept = std::make_shared<const core::LeaseJobs>(std::move(call));
  network_.send(*kept,
                [this, life = life_, answered, kept, slots, sent_ms](const core::ReplyBody& body) {
                  if (life != life_) return;
                  run(0, [this, answered, kept, slots, sent_ms, body] {
                    // Also a second copy counts: the leases in it are this worker's.
                    if (const auto* reply = std::get_if<core::LeaseReply>(&body))
                      take(*reply, *kept, sent_ms);
                    if (!std::exchange(*answered, true)) reserved_ -= slots;
                  });
                });
  run(kept->wait_ms + kPollGraceMs, [this, answered, kept, slots, tries] {
    if (std::exchange(*answered, true)) return;
    if (!kept->request_id.empty() && tries < 3) return send_poll(*kept, slots, tries + 1);
    reserved_ -= slots;
  });
}

void Worker::take(const core::LeaseReply& reply, const core::LeaseJobs& call,
                  std::int64_t sent_ms) {
  const std::int64_t deadline_ms =
      sent_ms + reply.granted_after_ms + reply.lease_ttl_ms * 95 / 100 - kMarginMs;
  for (const core::GrantedJob& job : reply.jobs) {
    rumours_.heard(job.key);
    const std::int64_t cap_ms = job.time_left_ms == model::kNoTimeout
                                    ? INT64_MAX
                                    : sent_ms + reply.granted_after_ms + job.time_left_ms;
    begin(job, call, std::min(deadline_ms, cap_ms));
  }
  for (const std::uint64_t token : reply.cancel_tokens) {
    if (auto it = held_.find(token); it != held_.end()) it->second.cancelled = true;
  }
}

void Worker::begin(const core::GrantedJob& job, const core::LeaseJobs& call,
                   std::int64_t deadline_ms) {
  if (auto it = held_.find(job.token); it != held_.end()) {  // a repeat has renewed it
    it->second.deadline_ms = std::max(it->second.deadline_ms, deadline_ms);
    return;
  }
  if (!known_.insert(job.token).second) return;  // it was here and is over
  if (deadline_ms <= context_.mono_ms()) {
    rumours_.heard(core::LeaseRef{job.key, job.token});
    return;
  }
  if (holds(job.key)) {  // an earlier handler of it is still alive in this process
    core::FinishItem item{.lease = {job.key, job.token}, .outcome = {}, .invalid = {}};
    item.outcome.kind = WorkerOutcome::Kind::kReleased;
    item.outcome.release_reason = "STILL_RUNNING_HERE";
    finishes_[job.token] = {std::move(item)};
    return send_finish(job.token);
  }
  if (clashes_(*this, job.key)) {
    context_.verdict.fail(9, "two workers are entitled to run one job, the second with token " +
                                 std::to_string(job.token));
    return;
  }
  context_.trace.add("handler", {number_, job.key.queue, job.key.seq, job.token});
  Held held;
  held.key = job.key;
  held.deadline_ms = deadline_ms;
  held.ttl_ms = call.lease_ttl_ms;
  held.cancelled = job.cancel_requested;
  held.mute = context_.strikes(Fault::kBeatNever, rng_);
  held_.emplace(job.token, held);
  const double work =
      context_.healed ? 50
                      : static_cast<double>(std::max<std::int64_t>(2, context_.profile.work_ms));
  std::int64_t takes_ms = static_cast<std::int64_t>(work * (0.2 + 1.6 * rng_.unit()));
  if (!context_.healed && rng_.chance(0.05)) takes_ms += 20'000;  // into its attempt timeout
  run(takes_ms, [this, token = job.token] { end(token); });
}

// ---- ends

WorkerOutcome Worker::outcome(bool cancelled) {
  WorkerOutcome o;
  const std::uint64_t n = context_.healed ? 99 : rng_.below(100);
  if (cancelled && rng_.chance(0.7)) {
    o.kind = WorkerOutcome::Kind::kFailed;
    o.failure = {"CANCELLED", "stopped as asked", ""};
  } else if (n < 14) {
    o.kind = WorkerOutcome::Kind::kFailed;
    o.failure = {"ERROR", "it did not work", ""};
  } else if (n < 18) {
    o.kind = WorkerOutcome::Kind::kFailed;
    o.retryable = false;
  } else if (n < 22) {
    o.kind = WorkerOutcome::Kind::kFailed;
    o.retry_after_ms = rng_.between(0, 3'000);
  } else if (n < 28) {
    o.kind = WorkerOutcome::Kind::kSnoozed;
    if (rng_.chance(0.7)) o.retry_after_ms = rng_.between(0, 3'000);
  } else if (n < 33) {
    o.kind = WorkerOutcome::Kind::kReleased;
    o.release_reason = "SHUTDOWN";
  } else if (n < 36) {
    o.kind = WorkerOutcome::Kind::kReleased;
    o.release_reason = "NO_HANDLER";
  } else {
    o.kind = WorkerOutcome::Kind::kSucceeded;
    o.result = "done by " + session_;
  }
  return o;
}

void Worker::end(std::uint64_t token) {
  const auto it = held_.find(token);
  if (it == held_.end()) return;  // stopped, or lost meanwhile
  core::FinishItem item{.lease = {it->second.key, token}, .outcome = {}, .invalid = {}};
  item.outcome = outcome(it->second.cancelled);
  held_.erase(it);
  finishes_[token] = {std::move(item)};
  send_finish(token);
}

// A worker gone astray: it ends what it does not hold.
void Worker::meddle() {
  core::FinishJobs call;
  call.session_id = session_;
  const auto add = [&](const core::LeaseRef& lease) {
    core::FinishItem item{.lease = lease, .outcome = outcome(false), .invalid = {}};
    if (rng_.chance(0.1)) item.invalid = base::invalid_field("result", "refused at the border");
    call.items.push_back(std::move(item));
  };
  for (int i = 0; i < 3; ++i) {
    add({rumours_.jobs[rng_.below(rumours_.jobs.size())], 1'000'000 + rng_.below(50)});
  }
  if (!rumours_.leases.empty()) add(rumours_.leases[rng_.below(rumours_.leases.size())]);
  network_.send(std::move(call), [](const core::ReplyBody&) {});
}

// Whatever is not answered yet goes together, as the worker library does it.
void Worker::send_finish(std::uint64_t token) {
  const auto own = finishes_.find(token);
  if (own == finishes_.end()) return;
  core::FinishJobs call;
  call.session_id = session_;
  ++own->second.tries;
  call.items.push_back(own->second.item);
  for (auto& [other, finish] : finishes_) {
    if (other != token && rng_.chance(0.3)) call.items.push_back(finish.item);
  }
  if (rng_.chance(0.02)) call.items.push_back(own->second.item);  // twice in one call
  const auto kept = std::make_shared<const core::FinishJobs>(call);
  network_.send(std::move(call), [this, life = life_, kept](const core::ReplyBody& body) {
    if (life != life_) return;
    run(0, [this, kept, body] {
      const auto* reply = std::get_if<core::FinishReply>(&body);
      if (reply == nullptr || reply->items.size() != kept->items.size()) return;
      for (const core::FinishItem& item : kept->items) {
        finishes_.erase(item.lease.token);
        rumours_.heard(item.lease);
      }
    });
  });
  run(kFinishAgainMs, [this, token] {
    const auto it = finishes_.find(token);
    if (it == finishes_.end()) return;
    if (it->second.tries < 6 || context_.healed) return send_finish(token);
    rumours_.heard(it->second.item.lease);
    finishes_.erase(it);
  });
}

// ---- heartbeats

void Worker::beat() {
  core::Heartbeat call;
  call.session_id = session_;
  std::int64_t next_ms = context_.profile.ttl_lo_ms / 3;
  for (const auto& [token, held] : held_) {
    if (!held.mute) call.leases.push_back({held.key, token});
  }
  // Sometimes one more that is not its own any more, or never was.
  if (!rumours_.leases.empty() && !context_.healed && rng_.chance(0.1)) {
    call.leases.push_back(rumours_.leases[rng_.below(rumours_.leases.size())]);
  }
  if (!rumours_.jobs.empty() && !context_.healed && rng_.chance(0.1)) {
    call.leases.push_back({rumours_.jobs[rng_.below(rumours_.jobs.size())], 1 + rng_.below(50)});
  }
  if (!rumours_.jobs.empty() && !context_.healed && rng_.chance(0.05)) meddle();
  if (context_.strikes(Fault::kBeatLate, rng_)) {
    next_ms = rng_.between(next_ms, 4 * next_ms);
  } else if (!call.leases.empty()) {
    const std::int64_t sent_ms = context_.mono_ms();
    const auto kept = std::make_shared<const core::Heartbeat>(call);
    network_.send(std::move(call),
                  [this, life = life_, kept, sent_ms](const core::ReplyBody& body) {
                    if (life != life_) return;
                    run(0, [this, kept, sent_ms, body] {
                      if (const auto* reply = std::get_if<core::HeartbeatReply>(&body)) {
                        hear_beat(*kept, *reply, sent_ms);
                      }
                    });
                  });
  }
  run(next_ms, [this] { beat(); });
}

void Worker::hear_beat(const core::Heartbeat& call, const core::HeartbeatReply& reply,
                       std::int64_t sent_ms) {
  for (std::size_t i = 0; i < reply.items.size() && i < call.leases.size(); ++i) {
    const auto it = held_.find(call.leases[i].token);
    if (it == held_.end() || it->second.key != call.leases[i].key) continue;
    const core::HeartbeatReply::Item& item = reply.items[i];
    if (item.beat == core::Beat::kLost) {
      rumours_.heard(call.leases[i]);
      held_.erase(it);
      continue;
    }
    it->second.deadline_ms =
        std::max(it->second.deadline_ms, sent_ms + item.renewed_for_ms * 95 / 100 - kMarginMs);
    if (item.beat == core::Beat::kCancelRequested) it->second.cancelled = true;
  }
}

}  // namespace rota::sim
