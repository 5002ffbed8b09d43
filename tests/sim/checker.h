// SPDX-License-Identifier: Apache-2.0
//
// Judges a run: the reference model in lockstep with committed turns, the clock of the leases, and
// the store against what was committed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/context.h"
#include "sim/hold_clock.h"
#include "sim/lease_clock.h"
#include "sim/model.h"
#include "sim/poll_clock.h"
#include "sim/server.h"

namespace rota::sim {

class Checker final : public Watcher {
 public:
  explicit Checker(Context& context) : context_(context), model_(context) {}

  void opened(const core::ShardStore& store, core::Now now) override;
  void told(core::Now now) override { hold_.told(now); }
  void disk_is_full(bool full) override { hold_.disk_is_full(full); }
  void applied(const core::Command& command, core::Now now) override;
  void dropped(core::CallId call) override { polls_.dropped(call); }
  void answered_early(const core::Reply& reply, core::Now now) override;
  void sealed(SealedTurn& turn) override;
  void durable(core::CommitSeq seq, core::Now now) override;
  void stalled(std::int64_t gap_ms, core::Stall what) override;
  void committed(const SealedTurn& turn) override;
  void died() override;
  void rested(const core::ShardStore& store, const core::Engine& engine, const Rest& rest) override;

  // Everything, now and then: rows of the store, the model, the engine's own view, and a second
  // engine that loads what is stored.
  void full_check(const core::ShardStore& store, const core::Engine* engine);
  // Healed a while ago, and nothing holds ticks back: each scheduler that is not paused is up to
  // date, whatever the engine says of itself.
  void judge_ticks();
  bool ticks_held() const { return hold_.ticks(); }
  // At the end, when everything is quiet.
  void judge(const core::ShardStore& store, const core::Engine& engine);

  bool nothing_live() const { return model_.unfinished().empty(); }
  // Nothing should have been deleted by now: by age or number, as the settings say.
  bool nothing_overdue() const { return model_.kept_too_long(context_.wall_ms()).empty(); }
  // On the monotonic clock, the end of what a jump holds back; the past when nothing is held.
  std::int64_t held_until_ms() const { return hold_.deletions_until_ms(); }
  const HoldClock::Seen& holds_seen() const { return hold_.seen(); }
  std::string what_is_live() const;

 private:
  // Of a grant that a start found overdue (R5).
  struct Overdue {
    // The wall times of that start and of those before it that may still be what is stored.
    std::vector<std::int64_t> found_ms;
    core::CommitSeq seq = 0;  // before the batch that says so
    bool heard = false;       // of its worker, since the last start
  };
  void restore(std::uint64_t token, const Model::LiveLease& live, core::Now now,
               std::int64_t wall_ms, std::int64_t left_ms);
  std::int64_t overdue_left_ms(const Model::LiveLease& live, std::int64_t wall_ms);
  void check_hold(const SealedTurn& sealed);
  void check_wake(const Rest& rest);
  void check_ticks(const Rest& rest);
  void check_polls(const Rest& rest);
  void hear(std::uint64_t token);
  void promised(std::uint64_t token);
  void compare_store(const core::ShardStore& store, int invariant);
  void recount(const core::ShardStore& store);

  Context& context_;
  Model model_;
  LeaseClock leases_;
  HoldClock hold_;
  PollClock polls_;
  std::map<core::CallId, core::Command> calls_;
  std::map<std::uint64_t, Overdue> overdue_;  // by grant
  core::CommitSeq last_seq_ = 0;
  std::uint32_t turns_since_ = 0;
  std::uint64_t rested_turn_ = 0;  // the last one that was followed by rest
  // Schedulers with a due tick at the last rest, and for how many rests nothing has become of it.
  struct Behind {
    std::int64_t cursor_ms = 0;
    std::uint64_t version = 0;
    std::uint32_t rests = 0;
  };
  std::map<std::string, Behind> behind_;
  // Lease calls that could have been answered at the last rest while the engine was to go on at
  // once, and for how many rests nothing has happened at all.
  struct Stuck {
    std::uint64_t events = 0;
    std::uint32_t rests = 0;
  };
  std::map<core::CallId, Stuck> stuck_;
  std::uint64_t events_ = 0;  // of all turns
};

}  // namespace rota::sim
