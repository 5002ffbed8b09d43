// SPDX-License-Identifier: Apache-2.0
//
// The lease calls that the server holds, and until when each waits: for as long as it says from its
// receipt, and no longer than a grant would still reach it. Nothing is granted to a caller whose
// deadline is nearer than four times what a commit takes. Known from what was asked and when turns
// were sealed and became durable; the engine is never asked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "core/command.h"
#include "core/effect.h"

namespace rota::sim {

class PollClock {
 public:
  struct Poll {
    core::LeaseJobs call;
    std::int64_t end_ms = 0;     // monotonic, as known when it came: answered by then
    bool came_too_late = false;  // for a grant
    bool gone = false;           // its caller is
  };
  // Of a call that is answered.
  struct End {
    bool over = false;      // it need not wait any more
    bool too_late = false;  // no grant would reach it
  };

  void applied(core::CallId call, const core::LeaseJobs& asked, std::int64_t mono_ms) {
    const std::int64_t last_ms = last_grant_ms(asked, commit_ms_);
    polls_[call] = {asked, std::min(asked.received_mono_ms + asked.wait_ms, last_ms),
                    last_ms <= mono_ms, false};
  }
  // Its caller is gone: it is forgotten, unless it has been answered already.
  void dropped(core::CallId call) {
    if (const auto it = polls_.find(call); it != polls_.end()) it->second.gone = true;
  }
  // Ends the calls that are answered in the turn.
  std::map<core::CallId, End> sealed(const core::Turn& turn, std::int64_t mono_ms) {
    sealed_ms_ = mono_ms;
    sealed_commit_ms_ = commit_ms_;
    std::map<core::CallId, End> out;
    for (const core::Reply& reply : turn.replies) {
      const auto it = polls_.find(reply.call);
      if (it == polls_.end()) continue;
      const bool too_late = it->second.came_too_late || !has_time(it->second);
      out[reply.call] = {too_late || is_over(it->second), too_late};
      polls_.erase(it);
    }
    std::erase_if(polls_, [](const auto& entry) { return entry.second.gone; });
    return out;
  }
  // The batch of the last sealed turn is durable.
  void durable(std::int64_t mono_ms) { commit_ms_ = (commit_ms_ * 7 + mono_ms - sealed_ms_) / 8; }
  void clear() { *this = {}; }

  // What is not answered by the last sealed turn, and what may be said of it at that moment.
  const std::map<core::CallId, Poll>& parked() const { return polls_; }
  bool has_time(const Poll& poll) const {
    return last_grant_ms(poll.call, sealed_commit_ms_) > sealed_ms_;
  }
  bool is_over(const Poll& poll) const { return poll.end_ms <= sealed_ms_; }

 private:
  static constexpr std::int64_t kMarginMs = 250;

  static std::int64_t last_grant_ms(const core::LeaseJobs& call, std::int64_t commit_ms) {
    if (call.caller_deadline_mono_ms == INT64_MAX) return INT64_MAX;
    return call.caller_deadline_mono_ms - std::max(kMarginMs, 4 * commit_ms);
  }

  std::map<core::CallId, Poll> polls_;
  std::int64_t sealed_ms_ = 0;
  std::int64_t commit_ms_ = 0;  // what a commit takes, smoothed over about eight of them
  std::int64_t sealed_commit_ms_ = 0;
};

}  // namespace rota::sim
