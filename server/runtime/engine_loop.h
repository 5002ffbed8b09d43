// SPDX-License-Identifier: Apache-2.0
//
// The one thread that owns a shard: takes commands, lets the engine apply them, makes the turn's
// batch durable and only then lets its answers out.
//
//   submit() -> bounded queue -> apply each -> seal -> commit -> answers and events, in order
//
// While one batch is being made durable the next turn is built; nothing waits to gather a batch.
// When little waits, the loop commits on its own thread (a hop costs more than the overlap gains);
// under load the commit thread does.
//
// After an outcome other than committed, a failed read or a damaged row, nothing more is
// acknowledged: the fatal callback runs once, waiting calls are answered STORE_FAILED (which says
// that the outcome is unknown), and every later submit() is refused with it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "core/command.h"
#include "core/effect.h"
#include "core/engine.h"
#include "core/store.h"
#include "runtime/admission.h"
#include "runtime/engine_port.h"
#include "runtime/payloads.h"
#include "runtime/reader_pool.h"
#include "store/commit_executor.h"
#include "store/failure.h"

namespace rota::runtime {

// What became of an answer that was handed to its caller.
enum class Delivery : std::uint8_t {
  kTaken,       // it was handed to the transport (Finish was called)
  kCallerGone,  // the call was cancelled before: nothing was sent
};

// Receives the answer of one command, once, unless the call was cancelled before. Runs on the loop
// thread (an answer with many items: on a thread of its own, as a rule; a lease reply with large
// payloads: on a reader thread) with no lock held; must not block and must not call stop(). When it
// returns kCallerGone for a lease reply, the loop takes the grant back with a command of its own.
using ReplyFn = std::function<Delivery(core::Reply reply)>;

// Runs on the loop thread when a turn's batch is durable, before that turn's answers leave: boards
// that are filled here are at least as new as any answer a client can hold.
using EventsFn = std::function<void(const std::vector<core::JobEvent>& events)>;

// What cannot be gone on from: a failed commit or read, or a stored row that cannot be decoded.
// Runs once, on the loop thread.
using LoopFatalFn = std::function<void(const store::Failure& failure)>;

struct EngineLoopOptions {
  AdmissionLimits admission;
  // Closes the building turn when it holds this much; what is left waits for the next.
  std::size_t turn_commands = base::limits::kBatchCommandsMax;
  std::size_t turn_items = 8'192;  // jobs, outcomes
  std::size_t turn_bytes = base::limits::kBatchBytesMax;
  // The loop or a commit that stood still this long did not see heartbeats: leases are extended.
  std::int64_t stall_ms = 500;
  // While a commit takes longer than this, the loop looks for heartbeats, which need no commit; and
  // the next commit is left to the commit thread.
  std::int64_t slow_commit_ms = 100;
  // At most this many commands and items in a turn for the loop to commit it itself, and items in
  // an answer for the loop to send it itself.
  std::size_t inline_commands = 4;
  std::size_t inline_items = 16;
  // Items in all answers of a turn that the loop sends itself while a commit is in flight.
  std::size_t inline_items_in_flight = 128;
  // The store feels otherwise about more writes than before. On the loop thread; must not block.
  std::function<void(core::Pressure)> on_pressure = {};
};

struct LoopStats {
  core::EngineStats engine;
  std::size_t queued_commands = 0;
  std::size_t queued_bytes = 0;
  std::size_t calls = 0;  // accepted and not yet answered, parked ones included
  std::uint64_t turns = 0;
  std::uint64_t commits = 0;
  std::uint64_t inline_commits = 0;
  std::uint64_t stalls = 0;
  std::uint64_t refused = 0;
};

class EngineLoop {
 public:
  // Everything given must outlive the loop. `executor` may be null (the store then decides alone
  // where it works). Nothing runs before start().
  EngineLoop(EnginePort& engine, core::ShardStore& store, store::AdaptiveExecutor* executor,
             ReaderPool& readers, const base::Clock& clock, EngineLoopOptions options,
             EventsFn on_events, LoopFatalFn on_fatal);
  // Stops if that has not happened.
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  void start();

  // A fresh id, for a caller that must know it before its answer can arrive: put it into
  // command.call. Without one submit() takes one. Any thread.
  core::CallId next_call() { return next_call_.fetch_add(1, std::memory_order_relaxed); }

  // Accepts the command, or refuses it at once without calling `reply`: OVERLOADED (its class of
  // the queue is full or the disk nearly is), DRAINING, STORE_FAILED. Any thread; never blocks.
  base::Result<core::CallId> submit(core::Command command, ReplyFn reply);

  // Two commands that are accepted together, or refused together for whatever would refuse one of
  // them, and applied right after each other in the same turn: what the first frees the second can
  // have with the same commit. They take their place in the order of the first one's class. Each
  // has an answer of its own; the first one's is handed over on the loop thread however many items
  // it has. Returns the call of the first.
  base::Result<core::CallId> submit_both(core::Command first, ReplyFn first_reply,
                                         core::Command second, ReplyFn second_reply);

  // Gives back what a lease reply granted, for a caller that had taken the answer and could not
  // pass it on. Never refused; any thread.
  void take_back(const std::string& session_id, std::vector<core::LeaseRef> leases);

  // The caller has gone away: a parked call is forgotten, an answer not yet released is dropped (a
  // grant is given back). `reply` may still run if it has begun; after it returned, nothing
  // happens. Idempotent; unknown ids are ignored. Any thread.
  void cancel(core::CallId call);

  // From now on opening commands are refused DRAINING and parked polls are answered empty; closing
  // ones go on until stop(). Any thread.
  void drain();
  bool draining() const { return draining_.load(std::memory_order_relaxed); }

  // True when there was a moment since the call in which nothing that was accepted was unanswered,
  // though more may have come by now; waits for one until the deadline (on the process's steady
  // clock). Not on the loop thread.
  bool wait_idle(std::int64_t timeout_ms);

  // Finishes what has been accepted and what is in flight, then joins. Parked calls that are left
  // are answered DRAINING. Not on the loop thread. Idempotent.
  void stop();

  // Numbers of a moment after the call, handed over on the loop thread (or at once, without the
  // engine's, when the loop has ended). All who ask until the loop looks share one answer. Any
  // thread.
  void ask_stats(std::function<void(LoopStats)> done);

  // Runs `work` on the loop thread between two turns; for tests and server info. False when the
  // loop has ended.
  bool post(std::function<void()> work);

  // Lets the loop look at the clock again, after a test moved it.
  void poke();

  // The server's wall time: never before a time that was stored or told. Where the wall clock
  // stands before it, time stands still. Any thread.
  std::int64_t wall_ms() const {
    return std::max(wall_ms_.load(std::memory_order_relaxed), clock_.wall_ms());
  }

  bool failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  struct Call {
    ReplyFn reply;
    std::string session_id = {};  // of a lease call
    bool lease = false;
    bool inline_answer = false;
    bool cancelled = false;  // kept until no answer to it can come any more
  };
  struct Incoming {
    core::Command command;
    ReplyFn reply;
    CommandSize size;
    std::unique_ptr<Incoming> then = nullptr;  // applied right after this one
  };
  struct Completion {
    core::CommitSeq seq = 0;
    core::Outcome outcome = core::Outcome::kUnknown;
    std::string detail;
  };
  // What arrived for the loop since it last looked, besides commands.
  struct Mail {
    std::vector<core::ReadDone> reads;
    std::vector<Completion> completions;
    std::vector<core::CallId> cancels;
    std::vector<std::function<void()>> work;
    std::optional<store::Failure> failure;  // of a read
    bool drain = false;
    bool empty() const {
      return reads.empty() && completions.empty() && cancels.empty() && work.empty() && !failure &&
             !drain;
    }
  };

  Incoming incoming_of(core::Command command, ReplyFn reply);
  base::Result<core::CallId> submit(Incoming incoming);
  void run();
  bool step();  // false: the loop has ended
  void look_at_pressure();
  void take_mail(Mail* mail);
  void handle(Mail& mail);
  void handle_news(Mail& mail);
  void handle(const Completion& completion);
  bool forget(core::CallId call);
  void take_commands();
  void put_back(std::vector<Incoming>& taken, std::size_t first);
  bool turn_full() const;
  void apply(Incoming incoming, core::Now at);
  bool wake_due() const;
  bool seal_due() const;
  void seal_and_submit();
  bool small_turn() const;
  void submit(core::Turn turn);
  void issue_reads(std::vector<core::ReadIssue> reads);
  void release_durable();
  void answer(core::Reply reply);
  void deliver(Call call, core::Reply reply);
  void deliver_with_payloads(Call call, core::Reply reply);
  void deliver_apart(Call call, core::Reply reply);
  void call_ended();
  void answer_stats();
  void fail(const store::Failure& failure);
  void end_all(const base::Error& error);
  core::Now look();
  bool sleep();
  void wake_locked();
  bool waits_at_least(std::size_t commands, std::size_t bytes) const;  // either; needs the lock
  core::Now now() const { return {clock_.wall_ms(), clock_.mono_ms()}; }

  EnginePort& engine_;
  core::ShardStore& store_;
  store::AdaptiveExecutor* const executor_;
  ReaderPool& readers_;
  const base::Clock& clock_;
  const EngineLoopOptions options_;
  const EventsFn on_events_;
  const LoopFatalFn on_fatal_;

  std::atomic<core::CallId> next_call_{1};
  std::atomic<bool> draining_{false};
  std::atomic<bool> failed_{false};
  std::atomic<std::int64_t> wall_ms_{0};  // the newest that was seen
  std::atomic<core::Pressure> pressure_{core::Pressure::kOk};
  std::atomic<std::size_t> open_calls_{0};

  // Shared with callers.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  AdmissionQueue<Incoming> queue_;
  Mail mail_;
  std::uint64_t refused_ = 0;
  std::vector<std::function<void(LoopStats)>> stats_asked_;  // work to answer them is posted
  // While asleep: how much must wait to be worth a wake-up.
  std::size_t wake_at_commands_ = 1;
  std::size_t wake_at_bytes_ = 0;
  std::uint64_t idle_moments_ = 0;  // times that the last open call ended
  std::size_t answers_apart_ = 0;   // on their way through another thread
  bool asleep_ = false;
  bool poked_ = false;
  bool stopping_ = false;
  bool ended_ = true;  // until start()

  // The loop thread's own.
  std::unordered_map<core::CallId, Call> calls_;
  std::deque<std::pair<std::uint64_t, core::CallId>> cancelled_;  // gone after this turn's release
  std::vector<core::CallId> early_cancels_;  // of calls that may still be in the queue
  std::deque<core::Turn> held_;              // given to the store, not yet released
  bool in_flight_ = false;
  std::int64_t in_flight_since_ms_ = 0;
  std::int64_t last_commit_ms_ = 0;
  core::CommitSeq durable_ = 0;
  std::uint64_t turns_sealed_ = 0;
  std::uint64_t turns_released_ = 0;
  std::size_t reads_open_ = 0;
  std::size_t turn_commands_ = 0;  // of the turn being built
  std::size_t turn_items_ = 0;
  std::size_t turn_bytes_ = 0;
  std::size_t inline_items_left_ = 0;  // of the turn being released
  bool touched_ = true;                // something happened since the last seal
  bool more_ = false;
  bool idle_turn_ = false;  // the last turn did nothing
  std::int64_t wake_mono_ms_ = 0;
  std::int64_t wake_wall_ms_ = 0;
  std::int64_t last_look_ms_ = 0;
  std::int64_t planned_sleep_ms_ = 0;
  std::int64_t inline_commit_ms_ = 0;    // spent in commits on this thread since the last look
  std::int64_t noted_in_flight_ms_ = 0;  // stalls of the loop found since that commit began
  LoopStats counts_;

  ReaderPool answers_{1};  // answers with many items

  std::thread thread_;
};

}  // namespace rota::runtime
