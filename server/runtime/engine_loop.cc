// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine_loop.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/fail_point.h"
#include "base/mutation.h"

namespace rota::runtime {

using base::Mistake;
using base::Reason;
using core::CallId;
using core::Pressure;

namespace {

// The loop looks at the clocks at least this often, so that a process that was stopped is noticed
// with this precision and a wall clock that stepped forward is seen.
constexpr std::int64_t kLookMs = 500;
// While a commit is in flight nothing can be sealed: only this much that waits is worth the switch
// to apply it already.
constexpr std::size_t kWakeAtCommandsInFlight = 32;
constexpr std::size_t kWakeAtBytesInFlight = 4'096;  // about thirty items

base::Error store_failed() {
  return base::make_error(
      Reason::kStoreFailed,
      "the server stops; whether the change was kept is unknown until it is back");
}

std::vector<core::LeaseRef> granted(const core::Reply& reply) {
  std::vector<core::LeaseRef> leases;
  if (const auto* lease = std::get_if<core::LeaseReply>(&reply.body)) {
    leases.reserve(lease->jobs.size());
    for (const core::GrantedJob& job : lease->jobs) leases.push_back({job.key, job.token});
  }
  return leases;
}

std::size_t items_of(const core::ReplyBody& body) {
  if (const auto* lease = std::get_if<core::LeaseReply>(&body)) return lease->jobs.size();
  if (const auto* finish = std::get_if<core::FinishReply>(&body)) return finish->items.size();
  if (const auto* enqueue = std::get_if<core::EnqueueReply>(&body)) return enqueue->items.size();
  return 1;
}

// The places "after commit and before reply" for tests of lost answers.
void reach_reply_point(const core::ReplyBody& body) {
  if (std::holds_alternative<core::EnqueueReply>(body)) base::fail_point("before_enqueue_reply");
  if (std::holds_alternative<core::FinishReply>(body)) base::fail_point("before_finish_reply");
  if (std::holds_alternative<core::JobReply>(body)) base::fail_point("before_job_reply");
  if (std::holds_alternative<core::OperationReply>(body)) {
    base::fail_point("before_operation_reply");
  }
  if (std::holds_alternative<core::QueueReply>(body)) base::fail_point("before_queue_reply");
  if (std::holds_alternative<core::SchedulerReply>(body)) {
    base::fail_point("before_scheduler_reply");
  }
  if (const auto* lease = std::get_if<core::LeaseReply>(&body); lease && !lease->jobs.empty()) {
    base::fail_point("before_lease_reply");
  }
}

// What a disk that is nearly full refuses; leases, ends, deletions and settings go on, so that the
// backlog can be worked off.
bool brings_more(const core::CommandBody& body) {
  return std::holds_alternative<core::EnqueueJobs>(body) ||
         std::holds_alternative<core::UpsertScheduler>(body);
}

// Goes on even when nothing may be written: a refused heartbeat would end leases, and that writes.
bool writes_nothing(const core::CommandBody& body) {
  return std::holds_alternative<core::Heartbeat>(body) ||
         std::holds_alternative<core::ExplainJob>(body) ||
         std::holds_alternative<core::GetOperation>(body);
}

}  // namespace

EngineLoop::EngineLoop(EnginePort& engine, core::ShardStore& store,
                       store::AdaptiveExecutor* executor, ReaderPool& readers,
                       const base::Clock& clock, EngineLoopOptions options, EventsFn on_events,
                       LoopFatalFn on_fatal)
    : engine_(engine),
      store_(store),
      executor_(executor),
      readers_(readers),
      clock_(clock),
      options_(options),
      on_events_(std::move(on_events)),
      on_fatal_(std::move(on_fatal)),
      queue_(options.admission) {}

EngineLoop::~EngineLoop() { stop(); }

// ---- callers' side --------------------------------------------------------------------------

void EngineLoop::start() {
  {
    std::lock_guard lock(mutex_);
    ended_ = false;
  }
  durable_ = store_.last_committed();
  last_look_ms_ = clock_.mono_ms();
  wall_ms_ = engine_.stats().now_ms;
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "engine");
    run();
  });
}

EngineLoop::Incoming EngineLoop::incoming_of(core::Command command, ReplyFn reply) {
  Incoming incoming{std::move(command), std::move(reply), {}};
  incoming.size = size_of(incoming.command);
  incoming.command.bytes = incoming.size.bytes;
  if (incoming.command.call == 0) incoming.command.call = next_call();
  return incoming;
}

base::Result<CallId> EngineLoop::submit(core::Command command, ReplyFn reply) {
  return submit(incoming_of(std::move(command), std::move(reply)));
}

base::Result<CallId> EngineLoop::submit_both(core::Command first, ReplyFn first_reply,
                                             core::Command second, ReplyFn second_reply) {
  Incoming both = incoming_of(std::move(first), std::move(first_reply));
  both.then = std::make_unique<Incoming>(incoming_of(std::move(second), std::move(second_reply)));
  return submit(std::move(both));
}

base::Result<CallId> EngineLoop::submit(Incoming incoming) {
  const CallId call = incoming.command.call;
  const AdmissionClass line = admission_class(incoming.command.body);
  AdmissionClass cls = line;  // what it is admitted as: the one of a pair that is refused first
  std::size_t bytes = incoming.size.bytes;
  std::size_t commands = 1;
  bool writes = !writes_nothing(incoming.command.body);
  bool more = brings_more(incoming.command.body);
  if (const Incoming* then = incoming.then.get()) {
    cls = std::max(cls, admission_class(then->command.body));
    bytes += then->size.bytes;
    ++commands;
    writes = writes || !writes_nothing(then->command.body);
    more = more || brings_more(then->command.body);
  }

  std::lock_guard lock(mutex_);
  const auto refuse = [&](Reason reason, const char* why) {
    ++refused_;
    return base::make_error(reason, why);
  };
  if (failed()) return store_failed();
  if (ended_ || stopping_ || (draining() && cls == AdmissionClass::kOpening)) {
    return refuse(Reason::kDraining, "the server is shutting down");
  }
  const Pressure pressure = pressure_.load(std::memory_order_relaxed);
  if ((pressure >= Pressure::kReadOnly && writes) || (pressure == Pressure::kRefuseNew && more)) {
    return refuse(Reason::kOverloaded, "the disk of the server is nearly full or too slow");
  }
  if (!queue_.admits(cls, bytes)) {
    return refuse(Reason::kOverloaded, "too many commands wait at the server");
  }
  open_calls_.fetch_add(commands, std::memory_order_relaxed);
  queue_.push(line, bytes, std::move(incoming));
  if (asleep_ && waits_at_least(wake_at_commands_, wake_at_bytes_)) wake_locked();
  return call;
}

void EngineLoop::cancel(CallId call) {
  std::lock_guard lock(mutex_);
  if (ended_) return;
  mail_.cancels.push_back(call);
  wake_locked();
}

void EngineLoop::drain() {
  std::lock_guard lock(mutex_);
  if (draining_.exchange(true)) return;
  mail_.drain = true;
  wake_locked();
}

bool EngineLoop::wait_idle(std::int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  // In a busy drain the next call may be open again before this thread has woken up.
  return idle_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                        [this, before = idle_moments_] {
                          return open_calls_.load() == 0 || idle_moments_ != before || ended_;
                        });
}

void EngineLoop::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_locked();
  }
  if (thread_.joinable()) thread_.join();
  // Nothing may come back to this object later: after a failure a commit may still be under way.
  if (executor_ != nullptr) executor_->drain();
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return answers_apart_ == 0; });
}

void EngineLoop::ask_stats(std::function<void(LoopStats)> done) {
  {
    std::lock_guard lock(mutex_);
    if (!ended_) {
      stats_asked_.push_back(std::move(done));
      if (stats_asked_.size() > 1) return;
      mail_.work.push_back([this] { answer_stats(); });
      wake_locked();
      return;
    }
  }
  done({});
}

void EngineLoop::answer_stats() {
  std::vector<std::function<void(LoopStats)>> asked;
  LoopStats stats = counts_;
  stats.calls = open_calls_.load();
  {
    std::lock_guard lock(mutex_);
    asked.swap(stats_asked_);
    stats.queued_commands = queue_.commands();
    stats.queued_bytes = queue_.bytes();
    stats.refused = refused_;
  }
  stats.engine = engine_.stats();
  for (const auto& done : asked) done(stats);
}

bool EngineLoop::post(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  if (ended_) return false;
  mail_.work.push_back(std::move(work));
  wake_locked();
  return true;
}

void EngineLoop::poke() {
  std::lock_guard lock(mutex_);
  poked_ = true;
  wake_locked();
}

bool EngineLoop::waits_at_least(std::size_t commands, std::size_t bytes) const {
  return queue_.commands() >= commands || queue_.bytes() >= bytes;
}

// One notification per sleep: the flag is taken back with the lock held.
void EngineLoop::wake_locked() {
  if (!asleep_) return;
  asleep_ = false;
  wake_.notify_one();
}

// ---- the loop -------------------------------------------------------------------------------

void EngineLoop::run() {
  while (step()) {
  }
}

bool EngineLoop::step() {
  look();
  look_at_pressure();
  Mail mail;
  take_mail(&mail);
  handle(mail);
  if (failed()) return false;

  // A large turn that is ready goes to the disk before the answers of the one before it leave, so
  // that the disk is not idle meanwhile; a small one is committed on this thread, so answers first.
  if (small_turn()) release_durable();
  // What has arrived before a deadline is judged before it: no lease ends while its heartbeat
  // waits.
  if (!in_flight_ && wake_due()) take_commands();
  if (!in_flight_) seal_and_submit();
  release_durable();
  take_commands();
  if (!in_flight_) seal_and_submit();
  release_durable();
  if (failed()) return false;
  return sleep();
}

// A nearly full disk makes nothing new: calls that bring more are refused in submit(), and no
// scheduler ticks.
void EngineLoop::look_at_pressure() {
  const Pressure now = store_.pressure();
  const Pressure before = pressure_.exchange(now, std::memory_order_relaxed);
  if (now == before) return;
  const bool held = now >= Pressure::kRefuseNew;
  if (held != (before >= Pressure::kRefuseNew)) {
    engine_.hold_ticks(held);
    touched_ = true;
  }
  if (options_.on_pressure) options_.on_pressure(now);
}

void EngineLoop::take_mail(Mail* mail) {
  std::lock_guard lock(mutex_);
  if (mail_.empty()) return;
  *mail = std::move(mail_);
  mail_ = {};
}

// Work that was posted runs in any case: somebody waits for it.
void EngineLoop::handle(Mail& mail) {
  handle_news(mail);
  for (const auto& work : mail.work) work();
}

void EngineLoop::handle_news(Mail& mail) {
  for (const Completion& completion : mail.completions) {
    handle(completion);
    if (failed()) return;
  }
  if (mail.failure) return fail(*mail.failure);
  if (mail.drain) {
    engine_.drain();
    touched_ = true;
  }
  for (core::ReadDone& read : mail.reads) {
    --reads_open_;
    engine_.apply(std::move(read), now());
    touched_ = true;
  }
  for (const CallId call : mail.cancels) {
    if (!forget(call)) early_cancels_.push_back(call);
  }
}

void EngineLoop::handle(const Completion& completion) {
  if (completion.outcome != core::Outcome::kCommitted) {
    return fail(
        {store::FailureKind::kIo, "batch " + std::to_string(completion.seq) +
                                      (completion.outcome == core::Outcome::kNotOwner
                                           ? " was refused: another server owns the data"
                                           : " may not be durable") +
                                      (completion.detail.empty() ? "" : ": " + completion.detail)});
  }
  in_flight_ = false;
  durable_ = completion.seq;
  ++counts_.commits;
  const std::int64_t at = clock_.mono_ms();
  last_commit_ms_ = at - in_flight_since_ms_;
  if (last_commit_ms_ > options_.stall_ms && last_commit_ms_ > noted_in_flight_ms_) {
    ++counts_.stalls;
    engine_.stalled(last_commit_ms_ - noted_in_flight_ms_, core::Stall::kCommit);
  }
  engine_.committed(completion.seq, now());
  base::fail_point("after_commit");
}

// False when the call is not known: answered, or still in the queue. A lease call's answer may
// already be under way: its entry stays until no turn can hold one.
bool EngineLoop::forget(CallId call) {
  const auto it = calls_.find(call);
  if (it == calls_.end()) return false;
  if (it->second.cancelled) return true;
  it->second.reply = nullptr;
  call_ended();
  if (!it->second.lease) {
    calls_.erase(it);
    return true;
  }
  it->second.cancelled = true;
  cancelled_.emplace_back(turns_sealed_ + 1, call);
  engine_.drop_call(call);
  touched_ = true;
  return true;
}

void EngineLoop::take_commands() {
  std::vector<Incoming> taken;
  bool all_taken = false;
  {
    std::lock_guard lock(mutex_);
    const bool full = turn_full();
    std::size_t commands = turn_commands_;
    std::size_t items = turn_items_;
    std::size_t bytes = turn_bytes_;
    for (const AdmissionClass cls : kAdmissionOrder) {
      const bool beats = cls == AdmissionClass::kBeat;
      if (!beats && full) break;
      while (beats || (commands < options_.turn_commands && items < options_.turn_items &&
                       bytes < options_.turn_bytes)) {
        std::optional<Incoming> next = queue_.pop(cls);
        if (!next) break;
        if (!beats) {
          for (const Incoming* one = &*next; one != nullptr; one = one->then.get()) {
            ++commands;
            items += one->size.items;
            bytes += one->size.bytes;
          }
        }
        taken.push_back(std::move(*next));
      }
    }
    all_taken = queue_.empty();
  }
  const core::Now at = now();
  // Heartbeats stand first. What the others bring was known before; what they make the engine write
  // shows only now.
  std::size_t applied = 0;
  for (; applied < taken.size(); ++applied) {
    Incoming& next = taken[applied];
    if (!std::holds_alternative<core::Heartbeat>(next.command.body) && engine_.full()) break;
    apply(std::move(next), at);
  }
  if (applied < taken.size()) {
    put_back(taken, applied);
    all_taken = false;
  }
  // A heartbeat that saw nothing pending is answered now: a slow disk must not starve it.
  for (core::Reply& reply : engine_.take_immediate()) answer(std::move(reply));
  std::erase_if(early_cancels_, [&](CallId call) { return forget(call) || all_taken; });
}

// From `first` on, each to its place in the queue.
void EngineLoop::put_back(std::vector<Incoming>& taken, std::size_t first) {
  std::lock_guard lock(mutex_);
  for (std::size_t i = taken.size(); i-- > first;) {
    std::size_t bytes = 0;
    for (const Incoming* one = &taken[i]; one != nullptr; one = one->then.get()) {
      bytes += one->size.bytes;
    }
    const AdmissionClass cls = admission_class(taken[i].command.body);
    queue_.put_back(cls, bytes, std::move(taken[i]));
  }
}

bool EngineLoop::turn_full() const {
  return turn_commands_ >= options_.turn_commands || turn_items_ >= options_.turn_items ||
         turn_bytes_ >= options_.turn_bytes || engine_.full();
}

void EngineLoop::apply(Incoming incoming, core::Now at) {
  const std::unique_ptr<Incoming> then = std::move(incoming.then);
  core::Command& command = incoming.command;
  if (!std::holds_alternative<core::Heartbeat>(command.body)) {
    ++turn_commands_;
    turn_items_ += incoming.size.items;
    turn_bytes_ += incoming.size.bytes;
  }
  touched_ = true;
  if (!std::holds_alternative<core::AbandonGrant>(command.body)) {
    Call call{.reply = std::move(incoming.reply), .inline_answer = then != nullptr};
    if (const auto* lease = std::get_if<core::LeaseJobs>(&command.body)) {
      call.lease = true;
      call.session_id = lease->session_id;
    }
    calls_.emplace(command.call, std::move(call));
  }
  engine_.apply(std::move(command), at);
  if (then) apply(std::move(*then), at);
}

bool EngineLoop::wake_due() const {
  return clock_.mono_ms() >= wake_mono_ms_ || clock_.wall_ms() >= wake_wall_ms_;
}

bool EngineLoop::seal_due() const { return touched_ || more_ || wake_due(); }

bool EngineLoop::small_turn() const {
  return turn_commands_ <= options_.inline_commands && turn_items_ <= options_.inline_items &&
         last_commit_ms_ < options_.slow_commit_ms;
}

void EngineLoop::seal_and_submit() {
  if (!seal_due()) return;
  if (executor_ != nullptr) {
    std::lock_guard lock(mutex_);
    executor_->set_prefer_inline(small_turn() && queue_.empty());
  }
  // The process may have been stopped since this step began: no deadline is judged by a time that
  // holds a stall nobody told the engine of.
  core::Turn turn = engine_.seal(look());
  if (!turn.damage.empty()) return fail({store::FailureKind::kDamage, std::move(turn.damage)});
  ++turns_sealed_;
  ++counts_.turns;
  touched_ = false;
  more_ = turn.more;
  idle_turn_ = !turn.batch && turn.replies.empty() && turn.reads.empty();
  wake_mono_ms_ = turn.wake_mono_ms;
  wake_wall_ms_ = turn.wake_wall_ms;
  turn_commands_ = turn_items_ = turn_bytes_ = 0;

  for (core::Reply& reply : turn.replies) {
    if (reply.immediate) answer(std::move(reply));
  }
  std::erase_if(turn.replies, [](const core::Reply& reply) { return reply.immediate; });
  submit(std::move(turn));
}

void EngineLoop::submit(core::Turn turn) {
  std::vector<core::ReadIssue> reads = std::move(turn.reads);
  const std::shared_ptr<const core::Batch> batch = std::move(turn.batch);
  const core::CommitSeq seq = turn.seq;
  held_.push_back(std::move(turn));
  if (batch) {
    base::fail_point("before_commit");
    in_flight_ = true;
    in_flight_since_ms_ = clock_.mono_ms();
    noted_in_flight_ms_ = 0;
    if (executor_ != nullptr && executor_->prefer_inline()) ++counts_.inline_commits;
    store_.commit(batch, seq,
                  [this](core::CommitSeq at, core::Outcome outcome, std::string detail) {
                    std::lock_guard lock(mutex_);
                    mail_.completions.push_back({at, outcome, std::move(detail)});
                    wake_locked();
                  });
    inline_commit_ms_ += clock_.mono_ms() - in_flight_since_ms_;
  }
  issue_reads(std::move(reads));
}

void EngineLoop::issue_reads(std::vector<core::ReadIssue> reads) {
  for (core::ReadIssue& issue : reads) {
    ++reads_open_;
    const std::uint64_t id = issue.id;
    store_.read(std::move(issue.spec), [this, id](core::ReadError error, core::ReadResult result,
                                                  const std::string& detail) {
      std::lock_guard lock(mutex_);
      if (error == core::ReadError::kNone) {
        mail_.reads.push_back({id, std::move(result)});
      } else {
        mail_.failure = {store::FailureKind::kIo, "a read failed: " + detail};
      }
      wake_locked();
    });
  }
}

// ---- answers --------------------------------------------------------------------------------

void EngineLoop::release_durable() {
  const auto durable = [this](const core::Turn& turn) {
    return turn.seq <= durable_ || planted(Mistake::kReplyBeforeCommit);
  };
  while (!held_.empty() && durable(held_.front()) && !failed()) {
    core::Turn turn = std::move(held_.front());
    held_.pop_front();
    if (!turn.events.empty() && on_events_) on_events_(turn.events);
    inline_items_left_ = options_.inline_items_in_flight;
    for (core::Reply& reply : turn.replies) answer(std::move(reply));
    ++turns_released_;
    while (!cancelled_.empty() && cancelled_.front().first <= turns_released_) {
      calls_.erase(cancelled_.front().second);
      cancelled_.pop_front();
    }
  }
}

void EngineLoop::answer(core::Reply reply) {
  const auto it = calls_.find(reply.call);
  if (it == calls_.end()) return;
  if (it->second.cancelled) return take_back(it->second.session_id, granted(reply));
  Call call = std::move(it->second);
  calls_.erase(it);
  reach_reply_point(reply.body);
  if (const auto* lease = std::get_if<core::LeaseReply>(&reply.body);
      lease != nullptr && needs_payloads(*lease)) {
    return deliver_with_payloads(std::move(call), std::move(reply));
  }
  const std::size_t items = items_of(reply.body);
  // While a commit is in flight this thread has the time for a cohort, and a switch costs more.
  const bool has_time = in_flight_ && items <= inline_items_left_;
  if (items > options_.inline_items && !call.inline_answer && !has_time) {
    return deliver_apart(std::move(call), std::move(reply));
  }
  inline_items_left_ -= std::min(items, inline_items_left_);
  deliver(std::move(call), std::move(reply));
}

void EngineLoop::deliver(Call call, core::Reply reply) {
  const std::vector<core::LeaseRef> leases = granted(reply);
  const bool gone = call.reply(std::move(reply)) == Delivery::kCallerGone;
  if (gone || planted(Mistake::kTakeBackAfterReply)) take_back(call.session_id, leases);
  call_ended();
}

// To turn many items into a message takes as long as to apply them: another thread does it, and
// this one goes on with the next turn.
void EngineLoop::deliver_apart(Call call, core::Reply reply) {
  {
    std::lock_guard lock(mutex_);
    ++answers_apart_;
  }
  auto shared = std::make_shared<std::pair<Call, core::Reply>>(std::move(call), std::move(reply));
  const auto work = [this, shared] {
    deliver(std::move(shared->first), std::move(shared->second));
    std::lock_guard lock(mutex_);
    --answers_apart_;
    wake_locked();
    idle_.notify_all();
  };
  if (!answers_.submit_first(work)) work();
}

void EngineLoop::deliver_with_payloads(Call call, core::Reply reply) {
  {
    std::lock_guard lock(mutex_);
    ++answers_apart_;
  }
  auto shared = std::make_shared<std::pair<Call, core::Reply>>(std::move(call), std::move(reply));
  const auto done = [this](std::optional<store::Failure> failure) {
    std::lock_guard lock(mutex_);
    if (failure) mail_.failure = std::move(failure);
    wake_locked();
    --answers_apart_;
    idle_.notify_all();
  };
  const bool taken = readers_.submit_first([this, shared, done] {
    auto& [waiting, answer] = *shared;
    auto failure = fill_payloads(store_, &std::get<core::LeaseReply>(answer.body));
    if (failure) answer.body = store_failed();
    deliver(std::move(waiting), std::move(answer));
    done(std::move(failure));
  });
  if (taken) return;
  take_back(shared->first.session_id, granted(shared->second));
  shared->second.body = base::make_error(Reason::kDraining, "the server is shutting down");
  deliver(std::move(shared->first), std::move(shared->second));
  done({});
}

// Any thread. Not bounded: at most one for each call that was accepted.
void EngineLoop::take_back(const std::string& session_id, std::vector<core::LeaseRef> leases) {
  if (leases.empty()) return;
  core::AbandonGrant abandon{.session_id = session_id, .leases = std::move(leases)};
  Incoming incoming{{.call = next_call(), .body = std::move(abandon)}, nullptr, {}};
  incoming.size = size_of(incoming.command);
  std::lock_guard lock(mutex_);
  if (ended_) return;
  const std::size_t bytes = incoming.size.bytes;
  queue_.push(AdmissionClass::kClosing, bytes, std::move(incoming));
  wake_locked();
}

void EngineLoop::call_ended() {
  if (open_calls_.fetch_sub(1) == 1) {
    std::lock_guard lock(mutex_);
    ++idle_moments_;
    idle_.notify_all();
  }
}

// ---- ends -----------------------------------------------------------------------------------

void EngineLoop::fail(const store::Failure& failure) {
  if (failed_.exchange(true)) return;
  if (on_fatal_) on_fatal_(failure);
  end_all(store_failed());
}

// What is left is answered with the error; from here on nothing is accepted.
void EngineLoop::end_all(const base::Error& error) {
  std::vector<Incoming> waiting;
  std::vector<std::function<void()>> work;
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    for (const AdmissionClass cls : kAdmissionOrder) {
      while (std::optional<Incoming> next = queue_.pop(cls)) waiting.push_back(std::move(*next));
    }
    work.swap(mail_.work);
    idle_.notify_all();
  }
  for (auto& [call, entry] : calls_) {
    if (entry.cancelled) continue;
    entry.reply({.call = call, .body = error});
    call_ended();
  }
  calls_.clear();
  for (Incoming& incoming : waiting) {
    for (Incoming* one = &incoming; one != nullptr; one = one->then.get()) {
      if (!one->reply) continue;
      one->reply({.call = one->command.call, .body = error});
      call_ended();
    }
  }
  for (const auto& fn : work) fn();
}

// Reads the clocks. Where they jumped, the process was stopped, the machine was suspended, or a
// commit on this thread was slow: workers' heartbeats are still on their way, so no lease may end
// because of it.
core::Now EngineLoop::look() {
  const core::Now at = now();
  const std::int64_t gap = at.mono_ms - last_look_ms_;
  if (gap > planned_sleep_ms_ + options_.stall_ms) {
    noted_in_flight_ms_ += gap;
    ++counts_.stalls;
    // A commit on this thread that took most of it: the disk was slow, nobody was stopped.
    engine_.stalled(gap, inline_commit_ms_ > gap / 2 ? core::Stall::kCommit : core::Stall::kLoop);
    touched_ = true;
  }
  wall_ms_.store(std::max(wall_ms_.load(std::memory_order_relaxed), at.wall_ms),
                 std::memory_order_relaxed);
  last_look_ms_ = at.mono_ms;
  planned_sleep_ms_ = 0;
  inline_commit_ms_ = 0;
  return at;
}

// False when the loop was asked to stop and everything accepted is done.
bool EngineLoop::sleep() {
  const bool in_hand = in_flight_ || !held_.empty() || reads_open_ > 0;
  std::unique_lock lock(mutex_);
  if (!mail_.empty() || std::exchange(poked_, false)) return true;
  const bool may_take = !turn_full();
  if (!queue_.empty(AdmissionClass::kBeat) || (may_take && !queue_.empty())) {
    // While a commit is in flight a few commands are not worth another look; it ends by itself.
    if (!in_flight_ || waits_at_least(kWakeAtCommandsInFlight, kWakeAtBytesInFlight)) return true;
  }
  // An answer on its way may come back as a grant that nobody took.
  if (stopping_ && !in_hand && answers_apart_ == 0 && queue_.empty() && !touched_) {
    lock.unlock();
    end_all(base::make_error(Reason::kDraining, "the server is shutting down"));
    return false;
  }

  std::int64_t wait_ms = kLookMs;
  if (in_flight_) {
    wait_ms = std::min(wait_ms, options_.slow_commit_ms);
  } else if (touched_ || more_) {
    return true;
  } else {
    const std::int64_t due =
        std::min(wake_mono_ms_ - clock_.mono_ms(), wake_wall_ms_ - clock_.wall_ms());
    // A turn that did nothing although it was due must not make the loop spin.
    wait_ms = std::clamp<std::int64_t>(due, idle_turn_ ? 1 : 0, kLookMs);
    if (wait_ms == 0) return true;
  }
  wake_at_commands_ = !may_take ? SIZE_MAX : in_flight_ ? kWakeAtCommandsInFlight : 1;
  wake_at_bytes_ = !may_take ? SIZE_MAX : kWakeAtBytesInFlight;
  planned_sleep_ms_ = wait_ms;
  asleep_ = true;
  wake_.wait_for(lock, std::chrono::milliseconds(wait_ms), [this] { return !asleep_; });
  asleep_ = false;
  return true;
}

}  // namespace rota::runtime
