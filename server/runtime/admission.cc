// SPDX-License-Identifier: Apache-2.0
#include "runtime/admission.h"

#include <variant>

namespace rota::runtime {
namespace {

constexpr std::size_t kPerCommand = 256;  // the command itself and its place in the queue
constexpr std::size_t kPerItem = 128;

std::size_t bytes_of(const model::Labels& labels) {
  std::size_t n = 0;
  for (const auto& [key, value] : labels) n += 64 + key.size() + value.size();
  return n;
}

std::size_t bytes_of(const core::JobRequest& job) {
  return kPerItem + job.queue.size() + job.kind.size() + job.content_type.size() +
         job.payload.size() + job.key_scope.size() + job.business_key.size() +
         job.payload_hash.size() + bytes_of(job.labels);
}

struct Size {
  CommandSize operator()(const core::EnqueueJobs& c) const {
    CommandSize size{.bytes = kPerCommand + c.request.id.size() + c.request.body_hash.size(),
                     .items = c.jobs.size()};
    for (const auto& job : c.jobs) size.bytes += bytes_of(job);
    return size;
  }
  CommandSize operator()(const core::FinishJobs& c) const {
    CommandSize size{.bytes = kPerCommand + c.session_id.size(), .items = c.items.size()};
    for (const auto& item : c.items) size.bytes += kPerItem + runtime::bytes_of(item.outcome);
    return size;
  }
  CommandSize operator()(const core::LeaseJobs& c) const {
    CommandSize size{.bytes = kPerCommand + c.session_id.size() + c.worker_id.size() +
                              c.request_id.size()};
    for (const auto& queue : c.queues) size.bytes += 32 + queue.size();
    return size;
  }
  CommandSize operator()(const core::Heartbeat& c) const {
    return {.bytes = kPerCommand + c.leases.size() * sizeof(core::LeaseRef)};
  }
  CommandSize operator()(const core::AbandonGrant& c) const {
    return {.bytes = kPerCommand + c.leases.size() * sizeof(core::LeaseRef),
            .items = c.leases.size()};
  }
  CommandSize operator()(const core::UpsertScheduler& c) const {
    const model::JobTemplate& job = c.settings.job;
    return {.bytes = kPerCommand + kPerItem + job.payload.size() + bytes_of(job.labels)};
  }
  template <class Other>
  CommandSize operator()(const Other&) const {
    return {.bytes = kPerCommand + kPerItem};
  }
};

}  // namespace

std::size_t bytes_of(const core::WorkerOutcome& outcome) {
  return outcome.result.size() + outcome.failure.type.size() + outcome.failure.message.size() +
         outcome.failure.detail.size() + outcome.release_reason.size() + outcome.log_tail.size();
}

AdmissionClass admission_class(const core::CommandBody& body) {
  if (std::holds_alternative<core::Heartbeat>(body)) return AdmissionClass::kBeat;
  if (std::holds_alternative<core::ExplainJob>(body) ||
      std::holds_alternative<core::GetOperation>(body)) {
    return AdmissionClass::kQuestion;
  }
  return core::is_closing(body) ? AdmissionClass::kClosing : AdmissionClass::kOpening;
}

CommandSize size_of(const core::Command& command) { return std::visit(Size{}, command.body); }

}  // namespace rota::runtime
