// SPDX-License-Identifier: Apache-2.0
#include "internal/worker_port.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "internal/access.h"
#include "internal/raw_client.h"
#include "rota/version.h"
#include "src/client_core.h"
#include "src/convert.h"
#include "src/status.h"
#include "src/text.h"

namespace rota::internal {
namespace {

namespace limits = base::limits;

constexpr Millis kPollSlack{10'000};  // the deadline of a long poll is this much behind its wait

Grant to_grant(v1::LeasedJob&& job) {
  Grant grant;
  grant.job_id = std::move(*job.mutable_job_id());
  grant.queue = std::move(*job.mutable_queue());
  grant.kind = std::move(*job.mutable_kind());
  grant.idempotency_key = std::move(*job.mutable_idempotency_key());
  // What is seldom there is looked at first: asking for it to move it would make it.
  if (job.has_payload()) grant.payload = std::move(*job.mutable_payload()->mutable_data());
  if (!job.scheduler_id().empty()) grant.scheduler_id = std::move(*job.mutable_scheduler_id());
  if (!job.business_key().empty()) grant.business_key = std::move(*job.mutable_business_key());
  for (const auto& time : job.nominal_times()) grant.nominal_times.push_back(to_time(time));
  if (!job.business_date().empty()) grant.business_date = std::move(*job.mutable_business_date());
  grant.attempt = job.attempt();
  grant.max_attempts = job.max_attempts();
  grant.fencing_token = static_cast<std::uint64_t>(job.fencing_token());
  for (const auto& [key, value] : job.labels()) grant.labels.emplace(key, value);
  grant.cancel_requested = job.cancel_requested();
  if (job.has_attempt_time_left()) grant.attempt_left = to_millis(job.attempt_time_left());
  return grant;
}

void set_lease(const LeaseKey& key, v1::LeaseRef& message) {
  message.set_job_id(key.job_id);
  message.set_fencing_token(static_cast<std::int64_t>(key.fencing_token));
}

v1::ReleaseOutcome::Reason to_reason(ReleaseReason reason) {
  switch (reason) {
    case ReleaseReason::kShutdown:
      return v1::ReleaseOutcome::REASON_SHUTDOWN;
    case ReleaseReason::kNoHandler:
      return v1::ReleaseOutcome::REASON_NO_HANDLER;
    case ReleaseReason::kStillRunningHere:
      return v1::ReleaseOutcome::REASON_STILL_RUNNING_HERE;
    case ReleaseReason::kOther:
      break;
  }
  return v1::ReleaseOutcome::REASON_UNSPECIFIED;
}

void set_outcome(const FinishItem& item, v1::Outcome& message) {
  switch (item.kind) {
    case FinishItem::Kind::kSucceeded: {
      auto& success = *message.mutable_success();
      if (!item.result.empty()) success.mutable_result()->set_data(item.result);
      success.set_result_truncated(item.result_truncated);
      break;
    }
    case FinishItem::Kind::kFailed: {
      auto& failure = *message.mutable_failure();
      failure.mutable_failure()->set_type(head_of(item.failure_type, 128));
      failure.mutable_failure()->set_message(
          head_of(item.failure_message, limits::kFailureMessageBytesMax));
      failure.set_not_retryable(!item.retryable);
      if (item.retry_after) set_duration(*failure.mutable_retry_after(), *item.retry_after);
      break;
    }
    case FinishItem::Kind::kSnoozed: {
      auto& snooze = *message.mutable_snooze();
      std::optional<Millis> delay = item.retry_after;
      if (item.snooze_until) {
        const auto now = std::chrono::floor<Millis>(std::chrono::system_clock::now());
        delay = std::clamp(*item.snooze_until - now, Millis(0), Millis(limits::kBackoffMsMax));
      }
      if (delay) set_duration(*snooze.mutable_delay(), *delay);
      break;
    }
    case FinishItem::Kind::kReleased:
      message.mutable_release()->set_reason(to_reason(item.release_reason));
      break;
  }
}

void set_items(const std::vector<FinishItem>& items,
               google::protobuf::RepeatedPtrField<v1::FinishItem>& messages) {
  messages.Reserve(static_cast<int>(items.size()));
  for (const FinishItem& item : items) {
    auto& message = *messages.Add();
    set_lease(item.lease, *message.mutable_lease());
    set_outcome(item, *message.mutable_outcome());
    if (!item.log_tail.empty()) {
      message.set_log_tail(tail_of(item.log_tail, limits::kLogTailBytesMax));
    }
  }
}

std::vector<Result<Ok>> to_results(
    const google::protobuf::RepeatedPtrField<v1::FinishResult>& messages) {
  std::vector<Result<Ok>> results;
  results.reserve(static_cast<std::size_t>(messages.size()));
  for (const auto& message : messages) {
    if (message.has_error()) {
      results.emplace_back(to_error(message.error()));
    } else {
      results.emplace_back(Ok{});
    }
  }
  return results;
}

Error wrong_count() {
  Error error;
  error.reason = "UNKNOWN_ANSWER";
  error.message = "the server answered another number of items than were sent";
  return error;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

class GrpcWorkerPort final : public WorkerPort {
 public:
  GrpcWorkerPort(RawClient raw, std::string name_space, WorkerIdentity identity)
      : raw_(std::move(raw)), name_space_(std::move(name_space)), session_id_(identity.session_id) {
    info_.set_worker_id(identity.worker_id);
    info_.set_host(host_name());
    info_.set_library("rota-cpp/" ROTA_VERSION);
    info_.set_concurrency(identity.concurrency);
    info_.set_process_id(getpid());
  }
  ~GrpcWorkerPort() override { raw_.close(); }

  void lease(LeaseCall call, std::function<void(Result<LeaseReply>)> done) override {
    v1::LeaseJobsRequest request;
    request.set_namespace_(name_space_);
    request.set_request_id(std::move(call.request_id));
    request.set_session_id(session_id_);
    *request.mutable_worker() = info_;
    for (auto& queue : call.queues) request.add_queues(std::move(queue));
    request.set_max_jobs(call.slots);
    request.set_max_bytes(base::limits::kCallBytesMax);  // the transport takes more than that
    set_duration(*request.mutable_wait_duration(), call.wait);
    set_duration(*request.mutable_lease_ttl(), call.lease_ttl);
    if (call.outcomes) set_items(*call.outcomes, *request.mutable_outcomes());
    const Millis timeout = call.timeout > Millis(0) ? call.timeout : call.wait + kPollSlack;
    raw_.lease_jobs_async(std::move(request), {.timeout = timeout, .repeat = false},
                          [done = std::move(done)](Result<v1::LeaseJobsResponse> response) {
                            if (!response) return done(std::move(response).error());
                            LeaseReply reply;
                            reply.finished = to_results(response->finished());
                            reply.lease_ttl = to_millis(response->lease_ttl());
                            reply.granted_after = to_millis(response->granted_after());
                            reply.request_spent = response->request_spent();
                            reply.grants.reserve(static_cast<std::size_t>(response->jobs_size()));
                            for (auto& job : *response->mutable_jobs()) {
                              reply.grants.push_back(to_grant(std::move(job)));
                            }
                            for (const std::int64_t token : response->cancelled_tokens()) {
                              reply.cancelled_tokens.push_back(static_cast<std::uint64_t>(token));
                            }
                            done(std::move(reply));
                          });
  }

  void beat(std::vector<LeaseKey> leases, Millis timeout,
            std::function<void(Result<std::vector<BeatResult>>)> done) override {
    v1::HeartbeatRequest request;
    request.set_namespace_(name_space_);
    request.set_session_id(session_id_);
    for (const LeaseKey& key : leases) set_lease(key, *request.add_leases());
    const std::size_t count = leases.size();
    raw_.heartbeat_async(
        std::move(request), {.timeout = timeout, .repeat = false},
        [count, done = std::move(done)](Result<v1::HeartbeatResponse> response) {
          if (!response) return done(std::move(response).error());
          if (static_cast<std::size_t>(response->results_size()) != count) {
            return done(wrong_count());
          }
          std::vector<BeatResult> results;
          results.reserve(count);
          for (const auto& result : response->results()) {
            results.push_back({.renewed = result.status() == v1::HeartbeatResult::STATUS_RENEWED,
                               .renewed_for = to_millis(result.renewed_for()),
                               .cancel_requested = result.cancel_requested()});
          }
          done(std::move(results));
        });
  }

  void finish(std::shared_ptr<const std::vector<FinishItem>> items, Millis timeout,
              std::function<void(Result<std::vector<Result<Ok>>>)> done) override {
    v1::FinishJobsRequest request;
    request.set_namespace_(name_space_);
    request.set_session_id(session_id_);
    set_items(*items, *request.mutable_items());
    const std::size_t count = items->size();
    raw_.finish_jobs_async(
        std::move(request), {.timeout = timeout, .repeat = false},
        [count, done = std::move(done)](Result<v1::FinishJobsResponse> response) {
          if (!response) return done(std::move(response).error());
          if (static_cast<std::size_t>(response->results_size()) != count) {
            return done(wrong_count());
          }
          done(to_results(response->results()));
        });
  }

 private:
  RawClient raw_;
  const std::string name_space_, session_id_;
  v1::WorkerInfo info_{};
};

}  // namespace

Result<std::unique_ptr<WorkerPort>> make_worker_port(const Client& client,
                                                     WorkerIdentity identity) {
  const ClientOptions& options = ClientAccess::core(client)->options();
  auto raw = RawClient::create(options);
  if (!raw) return std::move(raw).error();
  return std::unique_ptr<WorkerPort>(
      new GrpcWorkerPort(*std::move(raw), options.name_space, std::move(identity)));
}

}  // namespace rota::internal
