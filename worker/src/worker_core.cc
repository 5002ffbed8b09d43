// SPDX-License-Identifier: Apache-2.0
#include "src/worker_core.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/utf8.h"
#include "src/executor.h"
#include "src/keeper.h"
#include "src/lease_clock.h"
#include "src/lease_lanes.h"
#include "src/options.h"
#include "src/pump.h"
#include "src/reporter.h"
#include "src/stopper.h"
#include "src/term_signal.h"

namespace rota::internal {
namespace {

constexpr std::size_t kWhyBytes = 500;  // of a failure's message in a line of the log

}  // namespace

// In the order of their making; what is used by a callback of the port is made before it and goes
// after it.
struct WorkerCore::Parts {
  LeaseTable table;
  Stopper stopper;
  Pump pump;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<LeaseLanes> lanes;
  std::unique_ptr<Reporter> reporter;
  std::unique_ptr<Keeper> keeper;
};

WorkerCore::WorkerCore(WorkerOptions options, PortFactory factory, LogFunction log)
    : options_(with_defaults(std::move(options))),
      factory_(std::move(factory)),
      log_(std::move(log)),
      warnings_(log_) {}

WorkerCore::~WorkerCore() = default;

void WorkerCore::stop() {
  stops_.fetch_add(1);
  event_.set();
}

Result<Ok> WorkerCore::run() {
  if (auto ok = check(options_); !ok) return ok;
  if (started_.exchange(true)) return precondition("run() may be called once");
  auto port = factory_({.worker_id = options_.id,
                        .session_id = random_hex(16),
                        .concurrency = options_.concurrency});
  if (!port) return std::move(port).error();

  TermSignal signal(event_);
  parts_ = std::make_unique<Parts>();
  Parts& parts = *parts_;
  const auto wake = [&parts] { parts.pump.wake(); };
  const auto changed = [this] { event_.set(); };
  // Nobody waits for it before, and it happens after every report.
  const auto reported = [this] {
    if (draining_.load()) event_.set();
  };
  parts.executor = std::make_unique<Executor>(
      options_.concurrency, [this](const LeasePtr& lease) { run_job(lease); }, wake);
  parts.lanes = std::make_unique<LeaseLanes>(
      **port,
      LeaseLoop::Options{.queues = options_.queues,
                         .concurrency = options_.concurrency,
                         .ttl = options_.lease_ttl},
      LeaseLanes::Hooks{
          .granted = [this](std::size_t lane, LeaseReply reply,
                            BootTime sent) { on_grants(lane, std::move(reply), sent); },
          .wake = wake,
          .ended = changed,
          .carry = [&parts](BootTime now) { return parts.reporter->carry(now); }},
      log_);
  parts.reporter =
      std::make_unique<Reporter>(**port, parts.table, options_.lease_ttl, wake, reported, log_);
  parts.keeper =
      std::make_unique<Keeper>(**port, parts.table, parts.stopper, options_.lease_ttl, log_);
  // The poll goes first and takes the outcomes along. If one is parked already, they go by
  // themselves, and what they free can be granted to it with the same commit.
  parts.pump.add([&parts](BootTime now) {
    const BootTime gathers = parts.executor->gather_until(now);
    if (gathers > now) return gathers;
    const BootTime poll = parts.lanes->step(now);
    return std::min(poll, parts.reporter->step(now));
  });
  parts.pump.add([&parts](BootTime now) { return parts.executor->pace(now); });
  parts.keeper->start();
  parts.pump.start();

  while (stops_.load() == 0 && signal.count() == 0 && !parts.lanes->error()) event_.wait();
  drain(signal);
  const std::optional<Error> error = parts.lanes->error();
  parts.pump.stop();
  parts.executor.reset();
  parts.keeper->stop();
  port->reset();  // the callbacks that this ends still find the parts
  parts_.reset();
  warnings_.flush();
  if (error) return *error;
  return Ok{};
}

void WorkerCore::wait_for(BootTime until, const std::function<bool()>& done) {
  while (!done() && BootClock::now() < until) event_.wait_until(until);
}

bool WorkerCore::hurried(TermSignal& signal) const { return stops_.load() + signal.count() > 1; }

void WorkerCore::drain(TermSignal& signal) {
  Parts& parts = *parts_;
  const int running = handlers_running_.load();
  // What the server refuses from the start is told by the error alone.
  if (running > 0 || !parts.lanes->error()) {
    log_(1, "stopping: no new jobs, " + std::to_string(running) + " running");
  }
  const BootTime told = BootClock::now() + options_.drain -
                        std::min(stop_grace(options_.lease_ttl), options_.drain / 5);
  draining_.store(true);
  parts.reporter->drain();
  parts.lanes->stop();
  for (const LeasePtr& lease : parts.executor->take_waiting()) {
    parts.table.handler_ended(*lease);
    handlers_running_.fetch_sub(1);
    give_back(lease, ReleaseReason::kShutdown);
  }
  parts.pump.wake();
  // In this order: the last poll may still bring a job, and the last handler an outcome.
  const auto done = [this, &parts] {
    return parts.lanes->has_ended() && handlers_running_.load() == 0 && parts.reporter->is_idle();
  };
  wait_for(told, [&] { return done() || hurried(signal); });
  if (handlers_running_.load() > 0) {
    for (const LeasePtr& lease : parts.table.all()) parts.stopper.stop(lease, StopReason::kDrain);
  }
  // A handler cannot be ended from here. Its lease is kept until it returns: to give the job to
  // another worker while this one still works on it would be worse than to wait.
  wait_for(BootTime::max(), done);
}

void WorkerCore::on_grants(std::size_t lane, LeaseReply reply, BootTime sent) {
  Parts& parts = *parts_;
  std::vector<LeasePtr> runnable;
  runnable.reserve(reply.grants.size());
  int given_back = 0;
  for (Grant& grant : reply.grants) {
    const bool cancelled = grant.cancel_requested;
    auto lease =
        std::make_shared<Lease>(std::move(grant), sent, reply.granted_after, reply.lease_ttl, lane);
    std::optional<ReleaseReason> reason;
    if (draining_.load()) {
      reason = ReleaseReason::kShutdown;
    } else if (cancelled) {
      reason = ReleaseReason::kOther;  // any end but a success makes the job CANCELLED
    } else if (find_handler(lease->job().kind) == nullptr) {
      reason = ReleaseReason::kNoHandler;
    }
    if (reason) {
      parts.table.hold(lease);
    } else if (!parts.table.add(lease)) {
      reason = ReleaseReason::kStillRunningHere;
    }
    if (reason) {
      give_back(lease, *reason);
      ++given_back;
    } else {
      runnable.push_back(std::move(lease));
    }
  }
  for (const std::uint64_t token : reply.cancelled_tokens) parts.keeper->cancel(token);
  if (given_back > 0) parts.lanes->freed(lane, given_back);
  if (runnable.empty()) return;
  handlers_running_.fetch_add(static_cast<int>(runnable.size()));
  for (const LeasePtr& lease : runnable) parts.keeper->added(*lease);
  parts.executor->submit(std::move(runnable));
}

void WorkerCore::give_back(const LeasePtr& lease, ReleaseReason reason) {
  if (reason == ReleaseReason::kNoHandler) {
    warnings_.warn("no handler for kind '" + lease->job().kind + "': job " + lease->job().id +
                   " goes back");
  }
  FinishItem item;
  item.lease = lease->key();
  item.kind = FinishItem::Kind::kReleased;
  item.release_reason = reason;
  parts_->reporter->add(std::move(item), lease);
}

const Handler* WorkerCore::find_handler(const std::string& kind) const {
  const auto found = handlers_.find(kind);
  if (found != handlers_.end()) return &found->second;
  return any_ ? &any_ : nullptr;
}

void WorkerCore::run_job(const LeasePtr& lease) {
  Parts& parts = *parts_;
  // A job whose lease ran out while it stood in line must not start.
  if (lease->over(BootClock::now())) {
    parts.table.handler_ended(*lease);
    parts.table.drop(lease->token());
  } else {
    Outcome outcome = call_handler(*find_handler(lease->job().kind), *lease);
    parts.table.handler_ended(*lease);
    report(lease, std::move(outcome));
  }
  parts.lanes->freed(lease->lane(), 1);  // the pump is woken by the executor
  if (handlers_running_.fetch_sub(1) == 1 && draining_.load()) event_.set();
}

Outcome WorkerCore::call_handler(const Handler& handler, Lease& lease) {
  try {
    return handler(lease);
  } catch (const std::exception& error) {
    return Outcome::fail(error.what()).with_type("exception");
  } catch (...) {
    return Outcome::fail("the handler threw something that is no std::exception")
        .with_type("exception");
  }
}

void WorkerCore::report(const LeasePtr& lease, Outcome outcome) {
  const BootTime now = BootClock::now();
  if (lease->over(now)) {
    // Another worker may have the job by now. Nothing is said, least of all a success.
    lease->set_lost();
    parts_->table.drop(lease->token());
    warnings_.warn("job " + lease->job().id +
                   ": what its handler returned is not reported, the lease had ended");
    return;
  }
  const bool plain_failure =
      outcome.kind() == Outcome::Kind::kFailed && outcome.retryable() && !outcome.retry_after();
  const StopReason cause = lease->stop_reason();
  if (plain_failure && cause == StopReason::kTimeout) {
    // It failed because it was told to stop. The server ends the attempt in a moment, as TIMED_OUT.
    parts_->table.drop(lease->token());
    warn_of(*lease, "timed out", outcome.why());
    return;
  }
  if (plain_failure && (cause == StopReason::kDrain || cause == StopReason::kAtRisk)) {
    return give_back(
        lease, cause == StopReason::kDrain ? ReleaseReason::kShutdown : ReleaseReason::kOther);
  }
  FinishItem item = to_item(*lease, std::move(outcome));
  if (item.kind == FinishItem::Kind::kFailed && cause != StopReason::kCancel) {
    warn_of(*lease, "failed", item.failure_message);
  }
  parts_->reporter->add(std::move(item), lease);
}

void WorkerCore::warn_of(const Lease& lease, const char* what, const std::string& why) {
  const bool plain = base::is_utf8(why) && !base::has_control(why);
  const std::string shown(base::utf8_prefix(why, kWhyBytes));
  warnings_.warn("job " + lease.job().id + ", attempt " + std::to_string(lease.job().attempt) +
                 " " + what + ": " + (plain ? shown : base::quoted(why, kWhyBytes)));
}

}  // namespace rota::internal
