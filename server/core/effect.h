// SPDX-License-Identifier: Apache-2.0
//
// What one turn of the engine asks of the world: a batch to commit, reads to issue behind it, and
// replies and events that may be released only when the batch is durable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/command.h"
#include "core/store.h"

namespace rota::core {

struct Reply {
  CallId call = 0;
  ReplyBody body;
  // The commit it names: of a repeat by request id, the one of the first answer; else the newest
  // that it could see. It is released with its turn, which is never before this commit.
  CommitSeq seq = 0;
  // Saw nothing that is not yet durable (a plain renewal): may leave before the batch is.
  bool immediate = false;
};

// Who holds the jobs of one lease reply. Shared by the grant, its events and whoever keeps them.
struct LeaseHolder {
  std::string worker_id;
  std::string session_id;
};
using LeaseHolderPtr = std::shared_ptr<const LeaseHolder>;

// What happened to a job, for whoever waits or shows it. Stamped with the commit that made it so.
struct JobEvent {
  enum class Kind : std::uint8_t {
    kGranted = 1,       // an attempt began
    kAttemptEnded = 2,  // an attempt ended; the job goes on in `state`
    kFinal = 3,         // the job ended; if it was running, so did its attempt
    kChanged = 4,       // waiting state changed, or a cancel was requested
    kRemoved = 5,       // nothing of it is left
  };
  Kind kind{};
  JobKey key;
  JobState state = JobState::kUnknown;
  CommitSeq seq = 0;
  // of the attempt, for kGranted and the ends of one
  std::uint64_t token = 0;
  std::uint32_t attempt = 0;
  LeaseHolderPtr holder;  // kGranted only
  std::int64_t at_ms = 0;
};

// Read at the read point behind this turn's batch; the result comes back as ReadDone.
struct ReadIssue {
  std::uint64_t id = 0;
  ReadSpec spec;
};

struct Turn {
  std::shared_ptr<const Batch> batch;  // null when nothing changed
  CommitSeq seq = 0;                   // of the batch; without one, of the last before it
  std::vector<Reply> replies;
  std::vector<JobEvent> events;
  std::vector<ReadIssue> reads;
  bool more = false;              // bounded work is left: seal another turn without waiting
  std::int64_t wake_mono_ms = 0;  // call again no later than this, whatever arrives
  std::int64_t wake_wall_ms = 0;  // or when wall time reaches this
  // A stored row could not be decoded, in one sentence: nothing else is in the turn, and there is
  // nothing to go on with. Empty: all is well.
  std::string damage;
};

struct ReadDone {
  std::uint64_t id = 0;
  ReadResult result;
};

}  // namespace rota::core
