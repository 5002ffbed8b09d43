// SPDX-License-Identifier: Apache-2.0
#include "sim/server.h"

#include <algorithm>
#include <utility>

#include "sim/describe.h"

namespace rota::sim {

using base::Reason;
using core::CallId;

namespace {

constexpr std::int64_t kStallMs = 500;
constexpr std::int64_t kLookMs = 500;
constexpr std::size_t kQueuedMax = 400;         // of opening commands; closing ones have more room
constexpr std::int64_t kDrainMs = 10 * 60'000;  // a drained server has come to rest by then

base::Error refusal(Reason reason) { return base::make_error(reason, "refused by the server"); }

}  // namespace

void SimDisk::execute(std::function<void()> work) {
  last_ms_ = std::max(last_ms_, agenda_.now_ms() + pace_ms_);
  pieces_.push_back(std::move(work));
  agenda_.in(last_ms_ - agenda_.now_ms(), [this, life = life_] {
    if (life != life_ || pieces_.empty()) return;
    const std::function<void()> piece = std::move(pieces_.front());
    pieces_.pop_front();
    piece();
  });
}

Server::Server(Context& context, Watcher& watcher, Rng rng)
    : context_(context),
      watcher_(watcher),
      rng_(rng),
      disk_(store::MemoryDisk::create()),
      executor_(context.agenda) {}

core::EngineOptions Server::options() const {
  const Profile& p = context_.profile;
  core::EngineOptions o;
  o.window_rows = p.window_rows;
  o.window_bytes = p.window_bytes;
  o.timer_window_rows = p.timer_window_rows;
  o.page_rows = p.page_rows;
  o.head_advance_rows = p.head_advance_rows;
  o.max_grants_per_turn = p.max_grants;
  o.max_timers_per_turn = p.max_timers;
  o.max_ticks_per_turn = p.max_ticks;
  o.max_ticks_per_scheduler = p.max_ticks_per_scheduler;
  o.max_expiries_per_turn = p.max_expiries;
  o.max_scheduler_runs = p.max_scheduler_runs;
  return o;
}

// ---- start and end

void Server::boot() {
  if (up_) return;
  ++lives_;
  store_ = disk_->open(executor_);
  const bool short_pages = context_.strikes(Fault::kShortPages, rng_);
  disk_->set_page_rows(short_pages ? static_cast<std::uint32_t>(1 + rng_.below(4)) : 0);
  engine_ = std::make_unique<core::Engine>(options(), zones_);
  context_.trace.add("boot", {lives_, store_->last_committed()});
  if (context_.crashes(CrashPoint::kDuringLoad, rng_)) {
    disk_->fail_read_after(rng_.below(12));
    const auto loaded = engine_->load(*store_, context_.now());
    context_.trace.add("load-died", {loaded ? 1U : 0U});
    return die(false);
  }
  const auto loaded = engine_->load(*store_, context_.now());
  if (!loaded) {
    context_.verdict.fail(2, "what was committed is not loaded: " + loaded.error().message);
    return;
  }
  up_ = true;
  draining_ = false;
  in_flight_ = false;
  durable_ = store_->last_committed();
  touched_ = true;
  rest_.more = true;
  rest_.wake_mono_ms = rest_.wake_wall_ms = 0;
  last_look_ms_ = planned_ms_ = context_.mono_ms();
  engine_wall_ms_ = engine_->stats().now_ms;
  if (engine_wall_ms_ < context_.wall_ms()) {
    context_.verdict.fail(25, "the engine starts behind the clock");
  }
  engine_->hold_ticks(ticks_held_ || ticks_stopped_);
  watcher_.opened(*store_, context_.now());
  watcher_.disk_is_full(ticks_held_);
  plan(0);
}

// Everything in memory is gone; what was submitted and had not been told may be on the disk.
void Server::die(bool keep_pending) {
  context_.coverage.crash();
  engine_.reset();
  executor_.drop_all();
  store_.reset();
  disk_->settle_pending(keep_pending ? 1 : 0);
  end(/*crashed=*/true);
  context_.agenda.in(rng_.between(5, context_.healed ? 20 : 4'000), [this] { boot(); });
}

void Server::end(bool crashed) {
  up_ = false;
  context_.trace.add(crashed ? "died" : "stopped", {disk_->last_committed()});
  for (const SealedTurn& turn : held_) {
    if (turn.turn.batch && turn.turn.seq <= disk_->last_committed()) watcher_.committed(turn);
  }
  held_.clear();
  beats_.clear();
  closing_.clear();
  opening_.clear();
  calls_.clear();
  early_.clear();
  reads_.clear();
  completions_.clear();
  read_failed_ = false;
  first_input_.reset();
  abandoned_.clear();
  in_flight_ = false;
  reads_open_ = 0;
  turn_commands_ = 0;
  stopped_until_ms_ = 0;
  ++plan_;
  watcher_.died();
}

void Server::crash() {
  if (up_) die(rng_.chance(0.5));
}

// After a commit or read that failed nothing more is acknowledged: who waits hears that the
// outcome is unknown, and the process ends.
void Server::fail_stop() {
  context_.trace.add("fail-stop", {});
  std::map<CallId, Call> calls;
  calls.swap(calls_);
  for (auto& [id, call] : calls) {
    if (!call.gone) call.answer(refusal(Reason::kStoreFailed));
  }
  die(rng_.chance(0.5));
}

void Server::restart() {
  if (!up_ || draining_) return;
  context_.trace.add("drain", {});
  draining_ = true;
  engine_->drain();
  touched_ = true;
  plan(0);
  const std::uint64_t life = lives_;
  context_.agenda.in(kDrainMs, [this, life] {
    if (up_ && draining_ && lives_ == life) {
      context_.verdict.fail(17, "a drained server does not come to rest");
    }
  });
}

void Server::stop_for(std::int64_t ms) {
  if (!up_) return;
  context_.trace.add("stop", {static_cast<std::uint64_t>(ms)});
  stopped_until_ms_ = std::max(stopped_until_ms_, context_.mono_ms() + ms);
}

void Server::press_disk(bool full) {
  full_disk_ = full;
  disk_->set_pressure(full ? core::Pressure::kRefuseNew : core::Pressure::kOk);
  if (up_) plan(0);
}

bool Server::idle() const {
  return up_ && beats_.empty() && closing_.empty() && opening_.empty() && held_.empty() &&
         !in_flight_ && reads_open_ == 0 && reads_.empty() && completions_.empty() && !touched_;
}

// ---- calls

CallId Server::submit(core::Command command, AnswerFn answer) {
  if (!up_) return 0;
  const bool closing = core::is_closing(command.body);
  const bool beat = std::holds_alternative<core::Heartbeat>(command.body);
  const bool brings_more = std::holds_alternative<core::EnqueueJobs>(command.body) ||
                           std::holds_alternative<core::UpsertScheduler>(command.body);
  if (draining_ && !closing) return answer(refusal(Reason::kDraining)), 0;
  if (ticks_held_ && brings_more) return answer(refusal(Reason::kOverloaded)), 0;
  const std::size_t queued = beats_.size() + closing_.size() + opening_.size();
  if (queued >= (closing ? 2 * kQueuedMax : kQueuedMax)) {
    return answer(refusal(Reason::kOverloaded)), 0;
  }
  command.call = next_call_++;
  if (auto* lease = std::get_if<core::LeaseJobs>(&command.body)) {
    lease->received_mono_ms = context_.mono_ms();
    if (lease->caller_deadline_mono_ms != INT64_MAX) {
      lease->caller_deadline_mono_ms += context_.mono_ms();  // given as what is left
    }
  }
  const CallId call = command.call;
  auto& line = beat ? beats_ : closing ? closing_ : opening_;
  line.push_back({std::move(command), std::move(answer)});
  plan(rng_.between(0, 3));
  return call;
}

void Server::hang_up(CallId call) {
  if (!up_) return;
  if (!forget(call)) early_.insert(call);
  plan(0);
}

bool Server::forget(CallId call) {
  const auto it = calls_.find(call);
  if (it == calls_.end()) return false;
  if (it->second.gone) return true;
  if (!it->second.lease) {
    calls_.erase(it);
    return true;
  }
  it->second.gone = true;
  engine_->drop_call(call);
  watcher_.dropped(call);
  touched_ = true;
  return true;
}

// ---- the loop

void Server::plan(std::int64_t delay_ms) {
  // While it is stopped nothing wakes it; the step that was planned comes when it goes on.
  if (context_.mono_ms() < stopped_until_ms_) return;
  const std::int64_t at = context_.mono_ms() + delay_ms;
  if (plan_ != 0 && planned_ms_ > context_.mono_ms() && planned_ms_ <= at) return;
  planned_ms_ = at;
  context_.agenda.in(delay_ms, [this, plan = ++plan_] {
    if (plan == plan_ && up_) pump();
  });
}

void Server::pump() {
  const std::int64_t now = context_.mono_ms();
  if (now < stopped_until_ms_) {
    context_.agenda.in(stopped_until_ms_ - now, [this, plan = plan_] {
      if (plan == plan_ && up_) pump();
    });
    return;
  }
  step();
}

void Server::step() {
  const std::uint64_t life = lives_;
  const auto gone = [&] { return !up_ || lives_ != life; };
  look();
  look_at_pressure();
  handle_mail();
  if (gone()) return;
  release_durable();
  if (gone()) return;
  if (!in_flight_ && wake_due()) take_commands();
  if (!in_flight_) seal_and_submit();
  if (gone()) return;
  release_durable();
  if (gone()) return;
  take_commands();
  if (!in_flight_) seal_and_submit();
  if (gone()) return;
  release_durable();
  if (gone()) return;

  if (draining_ && idle()) {
    if (engine_->stats().parked_polls != 0) {
      context_.verdict.fail(17, "a poll is parked in a drained server");
    }
    engine_.reset();
    executor_.drop_all();
    store_->close();
    store_.reset();
    end(/*crashed=*/false);
    context_.agenda.in(rng_.between(5, 2'000), [this] { boot(); });
    return;
  }
  if (idle()) watcher_.rested(*store_, *engine_, rest_);
  const bool work = !beats_.empty() || (!turn_full() && !(closing_.empty() && opening_.empty()));
  std::int64_t wait_ms = kLookMs;
  if (!reads_.empty() || !completions_.empty()) {
    wait_ms = 0;
  } else if (!in_flight_) {
    if (touched_ || rest_.more || work) {
      wait_ms = 1;
    } else {
      const std::int64_t due = std::min(rest_.wake_mono_ms - context_.mono_ms(),
                                        rest_.wake_wall_ms - context_.wall_ms());
      wait_ms = std::clamp<std::int64_t>(due, idle_turn_ ? 1 : 0, kLookMs);
    }
  }
  planned_ms_ = 0;  // this step is done
  plan(wait_ms);
}

void Server::look() {
  const std::int64_t now = context_.mono_ms();
  if (now > planned_ms_ + kStallMs) {
    const std::int64_t gap = now - last_look_ms_;
    noted_in_flight_ms_ += gap;
    engine_->stalled(gap, core::Stall::kLoop);
    watcher_.stalled(gap, core::Stall::kLoop);
    touched_ = true;
  }
  last_look_ms_ = now;
}

void Server::look_at_pressure() {
  if (full_disk_ == ticks_held_) return;
  ticks_held_ = full_disk_;
  engine_->hold_ticks(ticks_held_ || ticks_stopped_);
  watcher_.disk_is_full(ticks_held_);
  touched_ = true;
}

core::Now Server::tell() {
  engine_wall_ms_ = std::max(engine_wall_ms_, context_.wall_ms());
  watcher_.told(context_.now());
  return context_.now();
}

void Server::input() {
  tell();
  if (!first_input_) first_input_ = engine_time();
  touched_ = true;
}

void Server::handle_mail() {
  const std::uint64_t life = lives_;
  for (const Completion& completion : std::exchange(completions_, {})) {
    handle(completion);
    if (!up_ || lives_ != life) return;
  }
  if (read_failed_) return fail_stop();
  for (core::ReadDone& read : std::exchange(reads_, {})) {
    --reads_open_;
    input();
    engine_->apply(std::move(read), tell());
  }
}

void Server::handle(const Completion& completion) {
  if (completion.outcome != core::Outcome::kCommitted) return fail_stop();
  in_flight_ = false;
  durable_ = completion.seq;
  const std::int64_t took = context_.mono_ms() - in_flight_since_ms_;
  if (took > kStallMs && took > noted_in_flight_ms_) {
    engine_->stalled(took - noted_in_flight_ms_, core::Stall::kCommit);
    watcher_.stalled(took - noted_in_flight_ms_, core::Stall::kCommit);
  }
  engine_->committed(completion.seq, tell());
  watcher_.durable(completion.seq, context_.now());
  if (context_.crashes(CrashPoint::kCommittedUnanswered, rng_)) die(false);
}

bool Server::turn_full() const {
  return turn_commands_ >= context_.profile.turn_commands || engine_->full();
}

void Server::take_commands() {
  while (!beats_.empty()) {
    Incoming next = std::move(beats_.front());
    beats_.pop_front();
    apply(std::move(next));
  }
  for (auto* line : {&closing_, &opening_}) {
    while (!line->empty() && !turn_full()) {
      Incoming next = std::move(line->front());
      line->pop_front();
      ++turn_commands_;
      apply(std::move(next));
    }
  }
  for (core::Reply& reply : engine_->take_immediate()) {
    watcher_.answered_early(reply, context_.now());
    answer(std::move(reply));
  }
  const bool all_taken = closing_.empty() && opening_.empty();
  std::erase_if(early_, [&](CallId call) { return forget(call) || all_taken; });
}

void Server::apply(Incoming incoming) {
  core::Command& command = incoming.command;
  context_.trace.add("apply", {command.call, command.body.index()});
  context_.trace.say([&] { return describe(command.body); });
  input();
  if (const auto* abandon = std::get_if<core::AbandonGrant>(&command.body)) {
    abandoned_.push_back(*abandon);
  } else {
    Call call{.answer = std::move(incoming.answer)};
    if (const auto* lease = std::get_if<core::LeaseJobs>(&command.body)) {
      call.lease = true;
      call.session_id = lease->session_id;
    }
    calls_.emplace(command.call, std::move(call));
  }
  watcher_.applied(command, context_.now());
  if (tamper_command_) tamper_command_(command);
  engine_->apply(std::move(command), tell());
}

bool Server::wake_due() const {
  return context_.mono_ms() >= rest_.wake_mono_ms || context_.wall_ms() >= rest_.wake_wall_ms;
}

void Server::seal_and_submit() {
  if (!touched_ && !rest_.more && !wake_due()) return;
  SealedTurn sealed;
  tell();
  sealed.first = first_input_.value_or(engine_time());
  sealed.sealed = engine_time();
  sealed.abandoned = std::exchange(abandoned_, {});
  sealed.draining = draining_;
  sealed.turn = engine_->seal(context_.now());
  if (engine_->stats().now_ms != engine_wall_ms_) {
    context_.verdict.fail(25, "engine time is not the furthest that the clock has been");
  }
  first_input_.reset();
  core::Turn& turn = sealed.turn;
  if (!turn.damage.empty()) {
    context_.verdict.fail(2, "a row that the engine wrote is damaged: " + turn.damage);
    return;
  }
  if (tamper_) tamper_(turn);
  touched_ = false;
  ++rest_.turn;
  rest_.sealed = sealed.sealed;
  rest_.more = turn.more;
  idle_turn_ = !turn.batch && turn.replies.empty() && turn.reads.empty();
  rest_.wake_mono_ms = turn.wake_mono_ms;
  rest_.wake_wall_ms = turn.wake_wall_ms;
  turn_commands_ = 0;
  if (!idle_turn_) {
    context_.trace.add("seal", {turn.seq, turn.batch ? turn.batch->ops() : 0, turn.replies.size(),
                                turn.events.size(), turn.reads.size()});
  }
  for (const core::JobEvent& event : turn.events) {
    context_.trace.say([&] { return "event " + describe(event); });
  }
  for (const core::Reply& reply : turn.replies) {
    context_.trace.say([&] {
      return "reply " + std::to_string(reply.call) + (reply.immediate ? " at once: " : ": ") +
             describe(reply.body);
    });
  }
  watcher_.sealed(sealed);
  for (core::Reply& reply : turn.replies) {
    if (!reply.immediate) continue;
    watcher_.answered_early(reply, context_.now());
    answer(std::move(reply));
  }
  std::erase_if(turn.replies, [](const core::Reply& reply) { return reply.immediate; });
  submit(std::move(sealed));
}

void Server::submit(SealedTurn sealed) {
  std::vector<core::ReadIssue> reads = std::move(sealed.turn.reads);
  const std::shared_ptr<const core::Batch> batch = sealed.turn.batch;
  const core::CommitSeq seq = sealed.turn.seq;
  held_.push_back(std::move(sealed));
  if (batch) {
    if (context_.crashes(CrashPoint::kBeforeSubmit, rng_)) return die(false);
    using store::CommitFault;
    if (context_.strikes(Fault::kUnknownLost, rng_)) {
      disk_->fail_commit(seq, CommitFault::kUnknownLost);
    } else if (context_.strikes(Fault::kUnknownKept, rng_)) {
      disk_->fail_commit(seq, CommitFault::kUnknownApplied);
    } else if (context_.strikes(Fault::kNotOwner, rng_)) {
      disk_->fail_commit(seq, CommitFault::kNotOwner);
    }
    in_flight_ = true;
    in_flight_since_ms_ = context_.mono_ms();
    noted_in_flight_ms_ = 0;
    const bool slow = context_.strikes(Fault::kSlowCommit, rng_);
    executor_.pace(slow ? static_cast<std::int64_t>(rng_.log_uniform(100, 20'000))
                        : rng_.between(0, context_.profile.commit_ms));
    store_->commit(batch, seq, [this](core::CommitSeq at, core::Outcome outcome, std::string) {
      context_.trace.add("commit", {at, static_cast<std::uint64_t>(outcome)});
      completions_.push_back({at, outcome});
      plan(0);
    });
    if (context_.crashes(CrashPoint::kSubmittedLost, rng_)) return die(false);
    if (context_.crashes(CrashPoint::kSubmittedKept, rng_)) return die(true);
  }
  issue(std::move(reads));
}

void Server::issue(std::vector<core::ReadIssue> reads) {
  for (core::ReadIssue& read : reads) {
    ++reads_open_;
    const bool late = context_.strikes(Fault::kLateRead, rng_);
    const std::int64_t wait = late ? static_cast<std::int64_t>(rng_.log_uniform(50, 3'000))
                                   : rng_.between(0, context_.profile.read_ms);
    const bool fails = context_.strikes(Fault::kFailedRead, rng_);
    executor_.pace(0);
    store_->read(std::move(read.spec),
                 [this, id = read.id, wait, fails, life = lives_](
                     core::ReadError error, core::ReadResult result, std::string) {
                   // The long half of a read runs beside what comes after it.
                   auto kept = std::make_shared<core::ReadResult>(std::move(result));
                   const bool failed = fails || error != core::ReadError::kNone;
                   context_.agenda.in(wait, [this, id, kept, failed, life] {
                     if (!up_ || lives_ != life) return;
                     context_.trace.add("read", {id, kept->at, failed ? 1U : 0U});
                     if (failed) {
                       read_failed_ = true;
                     } else {
                       reads_.push_back({id, std::move(*kept)});
                     }
                     plan(0);
                   });
                 });
  }
}

// ---- answers

void Server::release_durable() {
  const std::uint64_t life = lives_;
  while (!held_.empty() && held_.front().turn.seq <= durable_) {
    SealedTurn sealed = std::move(held_.front());
    held_.pop_front();
    watcher_.committed(sealed);
    for (core::Reply& reply : sealed.turn.replies) {
      if (context_.crashes(CrashPoint::kAnsweredInPart, rng_)) return die(false);
      answer(std::move(reply));
      if (!up_ || lives_ != life) return;
    }
  }
}

void Server::answer(core::Reply reply) {
  const auto it = calls_.find(reply.call);
  if (it == calls_.end()) return;
  const Call call = std::move(it->second);
  calls_.erase(it);
  context_.trace.add("answer", {reply.call, reply.body.index()});
  if (call.gone) return take_back(call.session_id, reply.body);
  if (call.lease && context_.strikes(Fault::kUndelivered, rng_)) {
    return take_back(call.session_id, reply.body);
  }
  call.answer(std::move(reply.body));
}

void Server::take_back(const std::string& session_id, const core::ReplyBody& body) {
  const auto* lease = std::get_if<core::LeaseReply>(&body);
  if (lease == nullptr || lease->jobs.empty()) return;
  core::AbandonGrant abandon{.session_id = session_id, .leases = {}};
  for (const core::GrantedJob& job : lease->jobs) abandon.leases.push_back({job.key, job.token});
  core::Command command;
  command.call = next_call_++;
  command.body = std::move(abandon);
  closing_.push_back({std::move(command), nullptr});
  plan(0);
}

}  // namespace rota::sim
