// SPDX-License-Identifier: Apache-2.0
// The worker: pulls jobs, runs a handler for each, and reports what became of it.
//
//   rota::Worker worker(*client, {.queues = {"mail"}});
//   worker.handle("welcome", [](rota::Context& ctx) { send(ctx.job().payload); return
//   rota::Outcome::succeed(); }); auto ended = worker.run();  // until stop() or SIGTERM
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rota/client.h"

namespace rota {

struct Job {
  std::string id{}, queue{}, kind{}, payload{}, scheduler_id{}, business_key{};
  // Stable over all attempts of the job; hand it to services that know idempotency keys.
  std::string idempotency_key{};
  std::vector<Time> nominal_times{};            // of a scheduled job: the ticks it stands for
  std::chrono::year_month_day business_date{};  // of a scheduled job, else not ok()
  int attempt = 0, max_attempts = 0;            // attempt counts grants, from 1
  // Grows with every grant and is never given twice: a target that compares it can refuse a worker
  // that lost its lease. Positive and below 2^53.
  std::uint64_t fencing_token = 0;
  Labels labels{};
};

// What became of an attempt.
class ROTA_EXPORT Outcome {
 public:
  // At most 256 KiB; a larger result is reported as a failure that is not retried.
  static Outcome succeed(std::string result = {});
  // Retried by the job's policy.
  static Outcome fail(std::string why);
  // Not retried: the job is DEAD.
  static Outcome fail_for_good(std::string why);
  // A failure that is retried after this delay instead of the policy's; uses an attempt.
  static Outcome retry_in(Millis delay, std::string why);
  // Comes again at `until`; uses no attempt.
  static Outcome snooze(Time until);
  // Comes again after the back-off of the retry policy; uses no attempt.
  static Outcome snooze();

  enum class Kind { kSucceeded, kFailed, kSnoozed };
  Kind kind() const { return kind_; }
  const std::string& result() const { return text_; }  // of a success
  const std::string& why() const { return text_; }     // of a failure
  bool retryable() const { return retryable_; }
  std::optional<Millis> retry_after() const { return retry_after_; }
  std::optional<Time> until() const { return until_; }

  // A short class of the failure, for grouping: "exit", "ConnectionRefused". At most 128 bytes.
  Outcome with_type(std::string type) &&;
  const std::string& type() const { return type_; }

  // Marks the attempt: its result is only the begin of what there was.
  Outcome truncated() &&;
  bool is_truncated() const { return truncated_; }

  std::string take_text() && { return std::move(text_); }

 private:
  explicit Outcome(Kind kind) : kind_(kind) {}
  Kind kind_;
  std::string text_{}, type_{};
  bool retryable_ = true, truncated_ = false;
  std::optional<Millis> retry_after_{};
  std::optional<Time> until_{};
};

// Why a handler is asked to stop.
enum class StopReason {
  kNone,     // it is not
  kCancel,   // the job's cancel was requested: only a success keeps it from being CANCELLED
  kTimeout,  // the attempt timeout is near
  kAtRisk,   // no heartbeat got through and the lease is near its end
  kLost,     // the lease is over
  kDrain,    // the worker stops
};

// Handed to a handler; valid until the handler returns. Thread-safe.
class ROTA_EXPORT Context {
 public:
  virtual ~Context() = default;
  virtual const Job& job() const = 0;

  // Asked to stop on cancel, attempt timeout, lease loss and drain: return soon. What a handler
  // returns after its lease is lost is not reported: another worker may have the job.
  virtual std::stop_token stop() const = 0;
  // The first reason stays.
  virtual StopReason stop_reason() const = 0;

  // Until this attempt must be over: the attempt timeout, or the lease if no heartbeat gets
  // through.
  virtual Millis time_left() const = 0;

  // Kept with the attempt; of longer output the last 8 KiB.
  virtual void log(std::string_view line) = 0;
};

// An exception that leaves a handler is a failed attempt, retried by the job's policy.
using Handler = std::function<Outcome(Context&)>;

struct WorkerOptions {
  std::vector<std::string> queues{};  // 1 to 64
  int concurrency = 4;                // handlers at once in this process
  Millis lease_ttl{30'000};           // 5 s to 1 h; beats go at a third of it
  Millis drain{
      60'000};       // at stop(): how long running handlers may go on before they are told to stop
  std::string id{};  // a name for people; empty: HOST-PID
};

namespace internal {
class WorkerCore;
}

// run() may be called once. handle() comes before run(); stop() may be called from any thread and
// from a handler. The client must outlive the worker.
class ROTA_EXPORT Worker {
 public:
  Worker(Client& client, WorkerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The handler of one kind; a second call for a kind replaces the first. Jobs of kinds without
  // handler go back as NO_HANDLER and use no attempt.
  Worker& handle(std::string kind, Handler handler);

  // The handler of every kind that has none of its own.
  Worker& handle_any(Handler handler);

  // Returns after stop() or SIGTERM and drain. kInvalid for options out of bounds. A server that is
  // away, and a queue that does not exist yet, are waited for.
  Result<Ok> run();

  void stop();

 private:
  std::unique_ptr<internal::WorkerCore> core_;
};

}  // namespace rota
