// SPDX-License-Identifier: Apache-2.0
//
// The server process: a command queue, turns, one commit in flight, answers and events after their
// commit only, late reads, fail-stop, drain, crash and start. The engine is the real one; this does
// around it what server/runtime/engine_loop.cc does, without threads, in virtual time, and dies at
// named points.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/engine.h"
#include "sim/context.h"
#include "sim/hold_clock.h"
#include "sim/poll_clock.h"
#include "store/memory_store.h"

namespace rota::sim {

// A turn and what is known of how it came about.
struct SealedTurn {
  core::Turn turn;
  // When its first input came and when it was sealed. The wall time is the engine's: the furthest
  // the clock has been.
  core::Now first;
  core::Now sealed;
  std::vector<core::AbandonGrant> abandoned;  // given back in it
  // Of attempts that ended in it: how long their leases still had, as the server counts it.
  struct Left {
    std::int64_t ms = 0;
    bool at_cap = false;  // the attempt timeout ends it, not the lease
    bool vague = false;   // or it is the other: since the last start that is not known exactly
  };
  std::map<std::uint64_t, Left> left;            // by token
  std::map<core::CallId, PollClock::End> polls;  // lease calls that are answered in it
  bool draining = false;
  HoldClock::Turn hold;
};

// Nothing is going on, and the engine has said when it goes on by itself.
struct Rest {
  std::uint64_t turn = 0;  // of all that were sealed, the last
  core::Now sealed;        // when that was; the wall time is the engine's
  bool more = false;       // it goes on at once
  std::int64_t wake_mono_ms = 0;
  std::int64_t wake_wall_ms = 0;
};

// Sees everything that enters and leaves the engine, in order.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // Loaded, and about to serve.
  virtual void opened(const core::ShardStore& store, core::Now now) = 0;
  // The engine is given this time, whatever for.
  virtual void told(core::Now now) = 0;
  virtual void disk_is_full(bool full) = 0;
  virtual void applied(const core::Command& command, core::Now now) = 0;
  // The engine is told that nobody waits for this lease call any more.
  virtual void dropped(core::CallId call) = 0;
  virtual void answered_early(const core::Reply& reply, core::Now now) = 0;
  virtual void sealed(SealedTurn& turn) = 0;
  virtual void durable(core::CommitSeq seq, core::Now now) = 0;
  virtual void stalled(std::int64_t gap_ms, core::Stall what) = 0;
  // The turn is durable, or changes nothing. Not called for a batch that is lost.
  virtual void committed(const SealedTurn& turn) = 0;
  virtual void died() = 0;
  // Nothing is queued, in flight, read or half done.
  virtual void rested(const core::ShardStore& store, const core::Engine& engine,
                      const Rest& rest) = 0;
};

// The store's place to work: pieces in their order, each after a while.
class SimDisk final : public core::Executor {
 public:
  explicit SimDisk(Agenda& agenda) : agenda_(agenda) {}
  void pace(std::int64_t ms) { pace_ms_ = ms; }  // of the pieces that follow
  void execute(std::function<void()> work) override;
  void drop_all() {
    pieces_.clear();
    ++life_;
  }

 private:
  Agenda& agenda_;
  std::int64_t pace_ms_ = 0;
  std::int64_t last_ms_ = 0;
  std::uint64_t life_ = 0;
  std::deque<std::function<void()>> pieces_;
};

class NoZones final : public core::TimeZoneSource {
 public:
  core::TimeZonePtr find(std::string_view) const override { return nullptr; }
};

class Server {
 public:
  // Gets the answer, once, or never when the process dies before.
  using AnswerFn = std::function<void(core::ReplyBody body)>;

  Server(Context& context, Watcher& watcher, Rng rng);

  // Changes what the engine says, or what it is told behind the watcher's back, for tests of the
  // simulator itself.
  void tamper(std::function<void(core::Turn&)> with) { tamper_ = std::move(with); }
  void tamper(std::function<void(core::Command&)> with) { tamper_command_ = std::move(with); }

  void boot();
  bool up() const { return up_; }
  bool stopped() const { return context_.mono_ms() < stopped_until_ms_; }
  core::CallId submit(core::Command command, AnswerFn answer);  // 0: refused or down
  void hang_up(core::CallId call);

  // The engine ticks no more, and nobody else is told; for tests of the simulator itself.
  void stop_ticks() { ticks_stopped_ = true; }

  // What may befall it.
  void crash();
  void stop_for(std::int64_t ms);
  void restart();  // drains first
  void press_disk(bool full);

  // Nothing is queued, in flight or read.
  bool idle() const;
  const core::ShardStore* store() const { return store_.get(); }
  const core::Engine* engine() const { return engine_.get(); }

 private:
  struct Call {
    AnswerFn answer;
    std::string session_id;
    bool lease = false;
    bool gone = false;
  };
  struct Incoming {
    core::Command command;
    AnswerFn answer;
  };
  struct Completion {
    core::CommitSeq seq = 0;
    core::Outcome outcome = core::Outcome::kUnknown;
  };

  core::EngineOptions options() const;
  void plan(std::int64_t delay_ms);
  void pump();
  void step();
  void look();
  void look_at_pressure();
  void handle_mail();
  void handle(const Completion& completion);
  void take_commands();
  void apply(Incoming incoming);
  bool turn_full() const;
  bool wake_due() const;
  void seal_and_submit();
  void submit(SealedTurn turn);
  void issue(std::vector<core::ReadIssue> reads);
  void release_durable();
  void answer(core::Reply reply);
  void take_back(const std::string& session_id, const core::ReplyBody& body);
  bool forget(core::CallId call);
  void input();
  core::Now tell();  // the time as the engine is told it
  core::Now engine_time() const { return {engine_wall_ms_, context_.mono_ms()}; }
  void fail_stop();
  void die(bool keep_pending);
  void end(bool crashed);

  Context& context_;
  Watcher& watcher_;
  Rng rng_;
  std::function<void(core::Turn&)> tamper_;
  std::function<void(core::Command&)> tamper_command_;
  NoZones zones_;
  std::shared_ptr<store::MemoryDisk> disk_;
  SimDisk executor_;
  std::unique_ptr<core::ShardStore> store_;
  std::unique_ptr<core::Engine> engine_;
  bool up_ = false;
  bool draining_ = false;
  std::uint64_t lives_ = 0;
  core::CallId next_call_ = 1;

  std::deque<Incoming> beats_;
  std::deque<Incoming> closing_;
  std::deque<Incoming> opening_;
  std::map<core::CallId, Call> calls_;
  std::set<core::CallId> early_;  // hung up while still in the queue
  std::deque<SealedTurn> held_;
  std::vector<core::ReadDone> reads_;
  std::vector<Completion> completions_;
  bool read_failed_ = false;
  bool full_disk_ = false;
  bool ticks_held_ = false;
  bool ticks_stopped_ = false;

  std::int64_t engine_wall_ms_ = 0;
  std::optional<core::Now> first_input_;
  std::vector<core::AbandonGrant> abandoned_;
  bool in_flight_ = false;
  std::int64_t in_flight_since_ms_ = 0;
  std::int64_t noted_in_flight_ms_ = 0;
  core::CommitSeq durable_ = 0;
  std::size_t reads_open_ = 0;
  std::size_t turn_commands_ = 0;
  bool touched_ = true;
  bool idle_turn_ = false;
  Rest rest_;  // as the last turn leaves it, if nothing else comes
  std::int64_t last_look_ms_ = 0;
  std::int64_t planned_ms_ = 0;  // when the next step is to be
  std::uint64_t plan_ = 0;
  std::int64_t stopped_until_ms_ = 0;
};

}  // namespace rota::sim
