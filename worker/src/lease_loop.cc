// SPDX-License-Identifier: Apache-2.0
#include "src/lease_loop.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/mutation.h"
#include "internal/clock.h"

namespace rota::internal {
namespace {

constexpr Millis kQuick{50};  // an empty answer that came sooner did not wait
constexpr Millis kWaitWithOutcomes{base::limits::kPollWithOutcomesWaitMsMax};
constexpr int kHurriedFailuresMax = 3;  // a server that is away while the worker stops
constexpr int kHurriesMax = 3;          // repeats that end a poll whose own answer is missing

}  // namespace

LeaseLoop::LeaseLoop(WorkerPort& port, Options options, Hooks hooks, LogFunction log)
    : port_(port), options_(std::move(options)), hooks_(std::move(hooks)), log_(std::move(log)) {}

void LeaseLoop::freed(int slots) {
  std::lock_guard lock(mutex_);
  active_ -= slots;
}

void LeaseLoop::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    not_before_ = BootTime::min();
  }
  hooks_.wake();
}

bool LeaseLoop::has_ended() const {
  std::lock_guard lock(mutex_);
  return ended_locked();
}

std::optional<Error> LeaseLoop::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

BootTime LeaseLoop::step(BootTime now) {
  BootTime again = BootTime::max();
  std::optional<LeaseCall> call;
  int number = 0;
  bool may_carry = false;
  {
    std::lock_guard lock(mutex_);
    call = next_call(now, again);
    number = sends_;
    may_carry = call && !stopping_ && !poll_->alone && hooks_.carry;
  }
  if (call) send(*std::move(call), number, now, may_carry ? hooks_.carry(now) : Carried{});
  return again;
}

std::optional<LeaseCall> LeaseLoop::next_call(BootTime now, BootTime& again) {
  if (error_) return std::nullopt;
  const bool hurry = stopping_ && poll_ && !poll_->hurried;
  if (poll_ && poll_->out > 0 && !hurry) return std::nullopt;
  if (!poll_ && (stopping_ || active_ >= options_.concurrency)) return std::nullopt;
  if (now < not_before_ && !hurry) {
    again = not_before_;
    return std::nullopt;
  }
  if (!poll_) {
    poll_.emplace();
    poll_->request_id = random_hex(16);
    poll_->slots = std::min(options_.concurrency - active_, base::limits::kLeaseJobsMax);
  }
  poll_->hurried = stopping_;
  if (stopping_) ++poll_->hurries;
  poll_->out += 1;
  poll_->last_sent = ++sends_;
  return LeaseCall{.queues = options_.queues,
                   .slots = poll_->slots,
                   .wait = stopping_ ? Millis(0) : options_.wait,
                   .lease_ttl = options_.ttl,
                   .request_id = poll_->request_id};
}

void LeaseLoop::send(LeaseCall call, int number, BootTime now, Carried carried) {
  const bool carries = carried.items != nullptr;
  if (carries) {
    // A server that does not know of outcomes would hold the call, and them, for its whole wait.
    call.wait = std::min(call.wait, kWaitWithOutcomes);
    call.timeout = carried.timeout;
    call.outcomes = std::move(carried.items);
  }
  // The time was taken before the call leaves: the lease is counted from there.
  port_.lease(std::move(call), [this, number, now, carries,
                                settle = std::move(carried.answered)](Result<LeaseReply> answer) {
    // Whatever becomes of the poll: also an answer that comes too late for it settles its outcomes.
    if (carries && answer) settle(std::move(answer->finished));
    if (carries && !answer) settle(answer.error());
    const BootTime sent = planted(base::Mistake::kLeaseFromReceipt) ? BootClock::now() : now;
    on_answer(number, sent, carries, std::move(answer));
  });
}

void LeaseLoop::on_answer(int number, BootTime sent, bool carried, Result<LeaseReply> answer) {
  LeaseReply fresh;
  bool ended = false;
  {
    std::lock_guard lock(mutex_);
    if (!poll_) return;
    poll_->out -= 1;
    if (answer) {
      failures_ = 0;
      missing_queue_.clear();
      const bool empty = answer->grants.empty() && answer->cancelled_tokens.empty();
      const bool newest = number == poll_->last_sent;
      fresh = only_new(*std::move(answer));
      active_ += static_cast<int>(fresh.grants.size());
      if (newest && poll_->out > 0 && empty && stopping_ && poll_->hurries < kHurriesMax) {
        // This answer says nothing of a first call that has not arrived yet: it would then wait for
        // jobs that nobody here expects any more.
        poll_->hurried = false;
      } else if (newest || poll_->out == 0) {
        close_poll();
      }
      if (empty) {
        if (!carried) on_empty(sent);
      } else {
        quick_empties_ = 0;
      }
    } else {
      on_error(number, carried, answer.error());
    }
    ++delivering_;
  }
  if (!fresh.grants.empty() || !fresh.cancelled_tokens.empty()) {
    hooks_.granted(std::move(fresh), sent);
  }
  {
    std::lock_guard lock(mutex_);
    --delivering_;
    ended = ended_locked();
  }
  if (ended) hooks_.ended();
  hooks_.wake();
}

LeaseReply LeaseLoop::only_new(LeaseReply reply) {
  // First calls and repeats can both bring the same grants, the later one when the job is done
  // here.
  std::erase_if(reply.grants, [this](const Grant& grant) {
    return !poll_->seen.insert(grant.fencing_token).second;
  });
  return reply;
}

void LeaseLoop::close_poll() {
  // An older call of this id that is still out cannot bring anything: the server gives the grants
  // of one id to its newest call, and the answer to that is here.
  poll_.reset();
}

void LeaseLoop::on_refusal() {
  // That nothing was granted is true of the call that was refused. An earlier one of this id whose
  // answer never came may have its grants at the server, held by this living session: only the id
  // brings them, and nobody would look for them under another.
  if (poll_->unknown && !(stopping_ && ++poll_->failures >= kHurriedFailuresMax)) return;
  close_poll();
}

void LeaseLoop::on_empty(BootTime sent) {
  // A server that has nothing holds the poll; one that answers at once must not be asked in a
  // circle.
  if (BootClock::now() - sent >= kQuick) {
    quick_empties_ = 0;
    return;
  }
  if (quick_empties_++ > 0) {
    not_before_ = BootClock::now() + full_jitter(quick_empties_, Millis(2), Millis(500));
  }
}

void LeaseLoop::on_error(int number, bool carried, const Error& error) {
  const bool newest = number == poll_->last_sent;
  // Two calls that leave at once may arrive the other way round: the one that waits for long has
  // then taken the place of the one that was to end it, which is sent again.
  if (newest && poll_->out > 0 && error.reason == "POLL_REPLACED") poll_->hurried = false;
  poll_->unknown = poll_->unknown || error.may_have_happened;
  // The older of two calls is told that the newer one took its place.
  if (!newest || poll_->out > 0) return;
  const int failures = failures_++;
  const Millis least = error.retry_after.value_or(Millis(5));
  switch (error.code) {
    case Code::kNotFound:
      if (error.reason != "QUEUE_NOT_FOUND") break;
      if (missing_queue_ != error.message) log_(2, "waiting for a queue: " + error.message);
      missing_queue_ = error.message;
      on_refusal();
      not_before_ =
          BootClock::now() + full_jitter(failures, Millis(250), Millis(5'000), Millis(50));
      return;
    case Code::kExhausted:
    case Code::kConflict:
      on_refusal();
      not_before_ = BootClock::now() + full_jitter(failures, Millis(100), Millis(5'000), least);
      return;
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kInternal:
      if (error.reason == "CLIENT_CLOSED" ||
          (stopping_ && ++poll_->failures >= kHurriedFailuresMax)) {
        return close_poll();
      }
      if (failures == 0) log_(2, "asking for jobs failed: " + error.message);
      not_before_ = BootClock::now() + full_jitter(failures, Millis(50), Millis(1'000), least);
      return;
    default:
      break;
  }
  if (carried) {  // it may be the outcomes that do not suit; without them the answer is the poll's
    poll_->alone = true;
    return;
  }
  error_ = error;
  close_poll();
}

}  // namespace rota::internal
