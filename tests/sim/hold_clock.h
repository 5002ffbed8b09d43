// SPDX-License-Identifier: Apache-2.0
//
// What a jump of the clock holds back, as the documentation says (docs/ARCHITECTURE.md, "A jump of
// the clock"), from nothing but the times that the server was told and what it has committed:
// deletions by age and start deadlines for an hour, over restarts too, ticks for a minute. The
// engine is never asked.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/command.h"

namespace rota::sim {

class HoldClock {
 public:
  // Of one turn. Something is held all through it, or at some time of it, or not.
  struct Turn {
    bool deletions = false;
    bool deletions_once = false;
    bool ticks = false;
    // What had come due by then, in engine time, may still happen: it was begun before the hold.
    std::int64_t deletions_after_ms = INT64_MIN;
    std::int64_t ticks_after_ms = INT64_MIN;
    // Engine time since when deletions are held at the end of the turn, to be stored with it; 0:
    // they are not.
    std::int64_t since_ms = 0;
  };

  // How holds came about, for the coverage.
  struct Seen {
    std::uint64_t by_step = 0;       // of the clock of a running server
    std::uint64_t by_gap = 0;        // between what is stored and a start
    std::uint64_t over_restart = 0;  // begun by a former process
    std::uint64_t to_the_end = 0;    // the hour was over while the server ran
  };

  // A server has loaded what is stored.
  void started(core::Now now) {
    const std::int64_t gap_ms = now.wall_ms - stored_now_ms_;
    told_ = now;
    engine_ms_ = std::max(now.wall_ms, stored_now_ms_);
    deletions_until_ms_ = ticks_until_ms_ = INT64_MIN;
    since_ms_ = 0;
    disk_is_full_ = false;
    deletions_after_ms_ = ticks_after_ms_ = INT64_MIN;  // nothing is under way
    if (stored_now_ms_ != 0 && gap_ms > kGapMs) {
      hold_deletions(engine_ms_, kDeletionsMs);
      ++seen_.by_gap;
    } else if (stored_since_ms_ != 0 && stored_since_ms_ + kDeletionsMs > engine_ms_) {
      hold_deletions(stored_since_ms_,
                     std::min(stored_since_ms_ + kDeletionsMs - engine_ms_, kDeletionsMs));
      ++seen_.over_restart;
    }
    begin_turn();
  }

  // The engine was given this time.
  void told(core::Now now) {
    const std::int64_t jump_ms = (now.wall_ms - told_.wall_ms) - (now.mono_ms - told_.mono_ms);
    if (since_ms_ != 0 && now.mono_ms >= deletions_until_ms_) {
      since_ms_ = 0;
      ++seen_.to_the_end;
    }
    told_ = now;
    const std::int64_t before_ms = engine_ms_;
    engine_ms_ = std::max(engine_ms_, now.wall_ms);
    if (jump_ms > kStepMs) {
      if (!deletions()) deletions_after_ms_ = before_ms;
      if (!ticks()) ticks_after_ms_ = before_ms;
      hold_deletions(engine_ms_, kDeletionsMs);
      ticks_until_ms_ = now.mono_ms + kTicksMs;
      ++seen_.by_step;
    }
    look();
  }

  // A disk that is nearly full holds ticks too.
  void disk_is_full(bool full) {
    if (full && !ticks()) ticks_after_ms_ = engine_ms_;
    disk_is_full_ = full;
  }

  // A turn is sealed; the next one begins.
  Turn sealed() {
    const Turn done = turn_;
    begin_turn();
    return done;
  }
  // And is durable, with a batch.
  void committed(const Turn& turn, std::int64_t engine_ms) {
    stored_now_ms_ = engine_ms;
    stored_since_ms_ = turn.since_ms;
  }

  // As of the time that the engine was told last.
  bool deletions() const { return told_.mono_ms < deletions_until_ms_; }
  bool ticks() const { return disk_is_full_ || ticks_by_clock(); }
  bool ticks_by_clock() const { return told_.mono_ms < ticks_until_ms_; }
  // On the monotonic clock: when deletions are no longer held; the past: they are not.
  std::int64_t deletions_until_ms() const { return deletions_until_ms_; }
  std::int64_t stored_since_ms() const { return stored_since_ms_; }
  const Seen& seen() const { return seen_; }

 private:
  static constexpr std::int64_t kMinuteMs = 60'000;
  static constexpr std::int64_t kStepMs = 10 * kMinuteMs;
  static constexpr std::int64_t kGapMs = 30LL * 24 * 60 * kMinuteMs;
  static constexpr std::int64_t kDeletionsMs = 60 * kMinuteMs;
  static constexpr std::int64_t kTicksMs = kMinuteMs;

  void hold_deletions(std::int64_t since_ms, std::int64_t left_ms) {
    since_ms_ = since_ms;
    deletions_until_ms_ = told_.mono_ms + left_ms;
  }
  void begin_turn() {
    turn_ = Turn{};
    turn_.deletions = turn_.ticks = true;
  }
  void look() {
    turn_.deletions = turn_.deletions && deletions();
    turn_.deletions_once = turn_.deletions_once || deletions();
    turn_.ticks = turn_.ticks && ticks();
    turn_.deletions_after_ms = deletions_after_ms_;
    turn_.ticks_after_ms = ticks_after_ms_;
    turn_.since_ms = deletions() ? since_ms_ : 0;
  }

  core::Now told_{};
  std::int64_t engine_ms_ = 0;
  std::int64_t deletions_until_ms_ = INT64_MIN;
  std::int64_t ticks_until_ms_ = INT64_MIN;
  std::int64_t since_ms_ = 0;
  bool disk_is_full_ = false;
  std::int64_t deletions_after_ms_ = INT64_MIN;
  std::int64_t ticks_after_ms_ = INT64_MIN;
  Turn turn_;
  std::int64_t stored_now_ms_ = 0;
  std::int64_t stored_since_ms_ = 0;
  Seen seen_;
};

}  // namespace rota::sim
