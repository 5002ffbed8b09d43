// SPDX-License-Identifier: Apache-2.0
#include "sim/describe.h"

namespace rota::sim {
namespace {

using core::JobState;

std::string text(JobState state) {
  return state == JobState::kUnknown ? "absent" : std::string(model::name_of(state));
}

std::string text(const core::LeaseRef& ref) {
  return describe(ref.key) + "#" + std::to_string(ref.token);
}

struct Commands {
  std::string operator()(const core::EnqueueJobs& c) const {
    std::string out = "enqueue " + c.request.id;
    for (const core::JobRequest& job : c.jobs) {
      out += " [" + job.queue + " p" + std::to_string(job.priority);
      if (!job.business_key.empty()) out += " key " + job.key_scope + "/" + job.business_key;
      if (job.run_at_ms != 0) out += " at " + std::to_string(job.run_at_ms);
      if (job.start_deadline_ms != 0) out += " by " + std::to_string(job.start_deadline_ms);
      out += "]";
    }
    return out;
  }
  std::string operator()(const core::UpdateJob& c) const {
    std::string out = "update " + describe(c.key);
    if (c.priority) out += " p" + std::to_string(*c.priority);
    if (c.run_at_ms) out += " at " + std::to_string(*c.run_at_ms);
    if (c.start_deadline_ms) out += " by " + std::to_string(*c.start_deadline_ms);
    return out;
  }
  std::string operator()(const core::CancelJob& c) const { return "cancel " + describe(c.key); }
  std::string operator()(const core::RedriveJob& c) const {
    return "redrive " + describe(c.key) + " " + c.request.id;
  }
  std::string operator()(const core::DeleteJob& c) const { return "delete " + describe(c.key); }
  std::string operator()(const core::ExplainJob& c) const { return "explain " + describe(c.key); }
  std::string operator()(const core::LeaseJobs& c) const {
    std::string out = "lease " + c.session_id + " " + c.request_id + " max " +
                      std::to_string(c.max_jobs) + " wait " + std::to_string(c.wait_ms) + " ttl " +
                      std::to_string(c.lease_ttl_ms);
    for (const std::string& name : c.queues) out += " " + name;
    return out;
  }
  std::string operator()(const core::Heartbeat& c) const {
    std::string out = "beat " + c.session_id;
    for (const core::LeaseRef& ref : c.leases) out += " " + text(ref);
    return out;
  }
  std::string operator()(const core::FinishJobs& c) const {
    std::string out = "finish " + c.session_id;
    for (const core::FinishItem& item : c.items) {
      out += " " + text(item.lease) + "=" + std::to_string(static_cast<int>(item.outcome.kind));
    }
    return out;
  }
  std::string operator()(const core::AbandonGrant& c) const {
    std::string out = "abandon";
    for (const core::LeaseRef& ref : c.leases) out += " " + text(ref);
    return out;
  }
  std::string operator()(const core::SetQueue& c) const { return "set " + c.queue; }
  std::string operator()(const core::PauseQueue& c) const { return "pause " + c.queue; }
  std::string operator()(const core::ResumeQueue& c) const { return "resume " + c.queue; }
  std::string operator()(const core::DeleteQueue& c) const { return "delete queue " + c.queue; }
  std::string operator()(const core::PurgeQueue& c) const { return "purge " + c.queue; }
  std::string operator()(const core::CancelOperation& c) const {
    return "cancel operation " + std::to_string(c.number);
  }
  std::string operator()(const core::GetOperation& c) const {
    return "get operation " + std::to_string(c.number);
  }
  std::string operator()(const core::UpsertScheduler& c) const {
    return "declare " + c.id + " revision " + std::to_string(c.revision) + " every " +
           std::to_string(c.settings.spec.every_ms) + " overlap " +
           std::to_string(static_cast<int>(c.settings.overlap)) + " catch-up " +
           std::to_string(static_cast<int>(c.settings.catch_up.mode));
  }
  std::string operator()(const core::PauseScheduler& c) const { return "pause " + c.id; }
  std::string operator()(const core::ResumeScheduler& c) const { return "resume " + c.id; }
  std::string operator()(const core::DeleteScheduler& c) const { return "delete " + c.id; }
};

struct Answers {
  std::string operator()(const base::Error& e) const {
    return std::string(base::reason_name(e.reason)) + ": " + e.message;
  }
  std::string operator()(const core::EnqueueReply& r) const {
    std::string out = "enqueued";
    for (const core::EnqueueItem& item : r.items) {
      if (const auto* job = std::get_if<core::EnqueuedJob>(&item)) {
        out += " " + describe(job->key) + (job->created ? " new " : " old ") + text(job->state);
      } else {
        out += " " + std::string(base::reason_name(std::get<base::Error>(item).reason));
      }
    }
    return out;
  }
  std::string operator()(const core::JobReply& r) const {
    return describe(r.key) + " " + text(r.state) + (r.cancel_requested ? " cancelled" : "");
  }
  std::string operator()(const core::ExplainReply& r) const {
    return describe(r.key) + " is " + text(r.state);
  }
  std::string operator()(const core::LeaseReply& r) const {
    std::string out = r.request_spent ? "spent" : "leased";
    for (const core::GrantedJob& job : r.jobs) {
      out += " " + describe(job.key) + "#" + std::to_string(job.token);
    }
    return out;
  }
  std::string operator()(const core::HeartbeatReply& r) const {
    std::string out = "beats";
    for (const auto& item : r.items) {
      out += " " + std::to_string(static_cast<int>(item.beat)) + "/" +
             std::to_string(item.renewed_for_ms);
    }
    return out;
  }
  std::string operator()(const core::FinishReply& r) const {
    std::string out = "finished";
    for (const auto& item : r.items) {
      if (const auto* done = std::get_if<core::FinishedJob>(&item)) {
        out += " " + text(done->state) + (done->already_ended ? " again" : "");
      } else {
        out += " " + std::string(base::reason_name(std::get<base::Error>(item).reason));
      }
    }
    return out;
  }
  std::string operator()(const core::QueueReply& r) const { return "queue " + r.queue.name; }
  std::string operator()(const core::OperationReply& r) const {
    return "operation " + std::to_string(r.operation.number) +
           (r.operation.done ? " done" : " goes on");
  }
  std::string operator()(const core::SchedulerReply& r) const {
    return "scheduler " + r.scheduler.id + " generation " + std::to_string(r.scheduler.generation) +
           " declared " + std::to_string(static_cast<int>(r.declared)) + " cursor " +
           std::to_string(r.state.cursor_ms);
  }
};

}  // namespace

std::string describe(const core::JobKey& key) {
  return std::to_string(key.queue) + "/" + std::to_string(key.priority) + "/" +
         std::to_string(key.seq);
}
std::string describe(const core::CommandBody& command) { return std::visit(Commands{}, command); }
std::string describe(const core::ReplyBody& answer) { return std::visit(Answers{}, answer); }
std::string describe(const core::JobEvent& event) {
  constexpr const char* kNames[] = {"", "granted", "attempt ended", "final", "changed", "removed"};
  return describe(event.key) + " " + kNames[static_cast<std::size_t>(event.kind)] + " " +
         text(event.state) + (event.token == 0 ? "" : " token " + std::to_string(event.token));
}

}  // namespace rota::sim
