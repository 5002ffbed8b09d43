// SPDX-License-Identifier: Apache-2.0
//
// When each lease ends as the server has to count it: from its grant and again from the commit of
// the grant, moved by heartbeats, by repeats of the lease call and by the server's own stalls,
// never beyond the attempt timeout. Fed in the order in which things enter the engine, since
// heartbeats are not written. What a start chooses by itself (its jitter) is known as a range only:
// an earliest and a latest end, and likewise of the attempt.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/effect.h"
#include "core/engine.h"

namespace rota::sim {

class LeaseClock {
 public:
  struct Lease {
    core::JobKey key;
    std::string session_id;
    std::string request_id;
    std::int64_t ttl_ms = 0;
    std::int64_t deadline_ms = 0;  // not before
    std::int64_t latest_ms = 0;    // nor after
    std::int64_t cap_ms = INT64_MAX;
    std::int64_t latest_cap_ms = INT64_MAX;
    std::int64_t stall_ms = 0;      // of stalls since the last heartbeat
    std::int64_t cap_stall_ms = 0;  // by which slow commits have moved the attempt timeout
    core::CommitSeq granted_seq = 0;
    std::uint64_t grant = 0;  // whose lease it is; 0: granted since the start
    // Turns that were sealed since it was over, and how many leases were live at the first of them.
    std::size_t overdue_turns = 0;
    std::size_t overdue_among = 0;

    // Its end is the attempt timeout for all that is known, or may be.
    bool at_cap() const { return deadline_ms >= cap_ms; }
    bool may_be_at_cap() const { return latest_ms >= cap_ms; }
    bool surely_at_cap() const { return deadline_ms >= latest_cap_ms; }
  };

  void clear() { leases_.clear(); }
  void grant(const core::GrantedJob& job, const core::LeaseJobs& call, core::CommitSeq seq,
             std::int64_t mono_ms) {
    Lease lease;
    lease.key = job.key;
    lease.session_id = call.session_id;
    lease.request_id = call.request_id;
    lease.ttl_ms = call.lease_ttl_ms;
    lease.granted_seq = seq;
    if (job.time_left_ms != model::kNoTimeout) {
      lease.cap_ms = lease.latest_cap_ms = mono_ms + job.time_left_ms;
    }
    renew(lease, mono_ms);
    leases_[job.token] = lease;
  }
  // After a start: live again with at least a full ttl, up to a fifth more, and not shortened by
  // what the attempt had left; or with less, when its grant was overdue at an earlier start.
  void restore(std::uint64_t token, const Lease& lease) { leases_[token] = lease; }
  void end(std::uint64_t token) { leases_.erase(token); }
  void durable(core::CommitSeq seq, std::int64_t mono_ms) {
    for (auto& [token, lease] : leases_) {
      if (lease.granted_seq == seq) renew(lease, mono_ms);
    }
  }
  void beat(const core::LeaseRef& ref, const std::string& session_id, std::int64_t mono_ms) {
    const auto it = leases_.find(ref.token);
    if (it == leases_.end() || it->second.key != ref.key || it->second.session_id != session_id) {
      return;
    }
    it->second.stall_ms = 0;
    renew(it->second, mono_ms);
  }
  // The call that was granted leases comes again: they begin anew.
  void repeat(const core::LeaseJobs& call, std::int64_t mono_ms) {
    for (auto& [token, lease] : leases_) {
      if (!call.request_id.empty() && lease.request_id == call.request_id &&
          lease.session_id == call.session_id) {
        renew(lease, mono_ms);
      }
    }
  }
  void stalled(std::int64_t gap_ms, core::Stall what) {
    for (auto& [token, lease] : leases_) {
      if (lease.stall_ms >= lease.ttl_ms) continue;
      lease.stall_ms += gap_ms;
      lease.deadline_ms += gap_ms;
      lease.latest_ms += gap_ms;
      if (lease.cap_ms == INT64_MAX) continue;
      std::int64_t cap_gap_ms = gap_ms;
      if (what == core::Stall::kCommit) {
        cap_gap_ms = std::min(gap_ms, lease.ttl_ms - lease.cap_stall_ms);
        lease.cap_stall_ms += cap_gap_ms;
      }
      lease.cap_ms += cap_gap_ms;
      lease.latest_cap_ms += cap_gap_ms;
      end_at_cap(lease);
    }
  }
  // A turn was sealed in which these are still live, and `ended` others ended by themselves. A turn
  // looks at so many leases that may be over, the first ones first; one that was renewed meanwhile
  // is none of those that come next. So each ends after as many turns as all of them take. Returns
  // the token of one that did not, or 0.
  std::uint64_t sealed(std::int64_t mono_ms, std::size_t ended, std::size_t looks) {
    const std::size_t among = leases_.size() + ended;
    for (auto& [token, lease] : leases_) {
      if (lease.latest_ms > mono_ms) {
        lease.overdue_turns = 0;
        continue;
      }
      if (lease.overdue_turns++ == 0) lease.overdue_among = among;
      if (lease.overdue_turns * looks >= lease.overdue_among) return token;
    }
    return 0;
  }
  // When the next one is over for certain; INT64_MAX: there is none.
  std::int64_t next_end_ms() const {
    std::int64_t next = INT64_MAX;
    for (const auto& [token, lease] : leases_) next = std::min(next, lease.latest_ms);
    return next;
  }
  const Lease* find(std::uint64_t token) const {
    const auto it = leases_.find(token);
    return it == leases_.end() ? nullptr : &it->second;
  }
  const std::map<std::uint64_t, Lease>& all() const { return leases_; }

 private:
  static void renew(Lease& lease, std::int64_t mono_ms) {
    lease.deadline_ms = lease.latest_ms = mono_ms + lease.ttl_ms;
    end_at_cap(lease);
  }
  static void end_at_cap(Lease& lease) {
    lease.deadline_ms = std::min(lease.deadline_ms, lease.cap_ms);
    lease.latest_ms = std::min(lease.latest_ms, lease.latest_cap_ms);
  }
  std::map<std::uint64_t, Lease> leases_;
};

}  // namespace rota::sim
