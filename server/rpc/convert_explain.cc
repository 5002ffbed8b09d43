// SPDX-License-Identifier: Apache-2.0
//
// Why a job does not run: the engine's structured answer as a message and as one sentence.
#include <string>

#include "base/duration.h"
#include "base/time_format.h"
#include "base/utf8.h"
#include "model/job_id.h"
#include "rpc/convert_job.h"
#include "rpc/convert_time.h"

namespace rota::rpc {
namespace {

using core::ExplainReply;
using core::WhyReason;

v1::Explanation::Reason reason_to_wire(WhyReason reason) {
  switch (reason) {
    case WhyReason::kFinal:
      return v1::Explanation::REASON_FINAL;
    case WhyReason::kRunning:
      return v1::Explanation::REASON_RUNNING;
    case WhyReason::kPaused:
      return v1::Explanation::REASON_PAUSED;
    case WhyReason::kLimit:
      return v1::Explanation::REASON_CONCURRENCY_LIMIT;
    case WhyReason::kRunTime:
      return v1::Explanation::REASON_RUN_TIME;
    case WhyReason::kRetryWait:
      return v1::Explanation::REASON_RETRY_WAIT;
    case WhyReason::kBlocked:
      return v1::Explanation::REASON_BLOCKED;
    case WhyReason::kNobodyAsks:
      return v1::Explanation::REASON_NO_WORKER_ASKS;
    case WhyReason::kAheadInLine:
      return v1::Explanation::REASON_IN_LINE;
    case WhyReason::kStartDeadline:
      return v1::Explanation::REASON_START_DEADLINE;
    case WhyReason::kPurging:
      return v1::Explanation::REASON_BEING_PURGED;
  }
  return v1::Explanation::REASON_UNSPECIFIED;
}

std::string holder_text(const core::Holder& holder) {
  return model::job_id(holder.key) + " (attempt " + std::to_string(holder.attempt) + ", worker " +
         holder.worker_id + ", lease ends in " + base::format_duration(holder.lease_left_ms) + ")";
}

std::string limit_text(const ExplainReply& reply) {
  std::string text = "queue '" + reply.queue + "' allows " + std::to_string(reply.limit) +
                     " at once and " + std::to_string(reply.running) + " run";
  if (reply.holders.empty()) return text;
  text += ": " + holder_text(reply.holders.front());
  if (reply.running > 1) text += " and " + std::to_string(reply.running - 1) + " more";
  return text;
}

std::string paused_text(const ExplainReply& reply) {
  std::string text = "queue '" + reply.queue + "' is paused";
  if (!reply.paused_by.empty()) text += " by " + reply.paused_by;
  if (!reply.pause_note.empty()) text += ": " + base::quoted(reply.pause_note, 200);
  return text;
}

std::string nobody_text(const ExplainReply& reply) {
  if (reply.last_asked_ms_ago < 0) {
    return "no worker has asked for queue '" + reply.queue + "' since the server's start";
  }
  return "no worker asks for queue '" + reply.queue + "' at this moment; the last one did " +
         base::format_duration(reply.last_asked_ms_ago) + " ago";
}

std::string line_text(const ExplainReply& reply) {
  if (!reply.ahead) return "others come first in queue '" + reply.queue + "'";
  if (*reply.ahead == 0) return "it is the next of queue '" + reply.queue + "'";
  return (*reply.ahead == 1 ? "one other comes" : std::to_string(*reply.ahead) + " others come") +
         " first in queue '" + reply.queue + "'";
}

std::string sentence(const ExplainReply& reply, WhyReason reason) {
  switch (reason) {
    case WhyReason::kFinal:
      return "it has ended: " + std::string(model::name_of(reply.state));
    case WhyReason::kRunning:
      return reply.holders.empty() ? "it is running"
                                   : "it is running: " + holder_text(reply.holders.front());
    case WhyReason::kPaused:
      return paused_text(reply);
    case WhyReason::kLimit:
      return limit_text(reply);
    case WhyReason::kRunTime:
      return "it waits until " + base::format_time(reply.until_ms);
    case WhyReason::kRetryWait:
      return "it waits for its next attempt until " + base::format_time(reply.until_ms);
    case WhyReason::kBlocked:
      return "it waits for an earlier run of " + blocker_text(reply.blocker) + " to end";
    case WhyReason::kNobodyAsks:
      return nobody_text(reply);
    case WhyReason::kAheadInLine:
      return line_text(reply);
    case WhyReason::kStartDeadline:
      return "its start deadline " + base::format_time(reply.start_deadline_ms) + " has passed";
    case WhyReason::kPurging:
      return "a purge of queue '" + reply.queue + "' is about to remove it";
  }
  return {};
}

void holders_to_wire(const ExplainReply& reply, v1::Explanation* wire) {
  for (const auto& holder : reply.holders) {
    auto* out = wire->add_holders();
    out->set_job_id(model::job_id(holder.key));
    out->set_attempt(static_cast<std::int32_t>(holder.attempt));
    out->set_worker_id(holder.worker_id);
    out->set_fencing_token(static_cast<std::int64_t>(holder.token));
    put_duration(holder.lease_left_ms, out->mutable_lease_remaining());
  }
}

}  // namespace

void explanation_to_wire(const ExplainReply& reply, v1::Explanation* wire) {
  wire->set_job_id(model::job_id(reply.key));
  wire->set_state(state_to_wire(reply.state));
  bool first = true;
  for (const auto reason : reply.reasons) {
    if (first) {
      wire->set_reason(reason_to_wire(reason));
      wire->set_text(sentence(reply, reason));
    } else {
      wire->add_other_reasons(reason_to_wire(reason));
    }
    if (reason == WhyReason::kPaused) {
      wire->mutable_pause()->set_note(reply.pause_note);
      wire->mutable_pause()->set_principal(reply.paused_by);
    }
    first = false;
  }
  wire->set_queue(reply.queue);
  if (reply.ahead && reply.state == model::JobState::kReady) {
    wire->set_position(static_cast<std::int64_t>(*reply.ahead) + 1);
  }
  wire->set_ready_count(static_cast<std::int64_t>(reply.ready));
  wire->set_running_count(static_cast<std::int64_t>(reply.running));
  if (reply.limit > 0) wire->set_concurrency_limit(static_cast<std::int32_t>(reply.limit));
  holders_to_wire(reply, wire);
  if (reply.until_ms > 0) put_time(reply.until_ms, wire->mutable_due_time());
  if (reply.start_deadline_ms > 0) {
    put_time(reply.start_deadline_ms, wire->mutable_start_deadline());
  }
  wire->set_blocked_by(blocker_text(reply.blocker));
  if (reply.last_asked_ms_ago >= 0) {
    put_duration(reply.last_asked_ms_ago, wire->mutable_since_last_asked());
  }
  wire->set_cancel_requested(reply.cancel_requested);
}

}  // namespace rota::rpc
