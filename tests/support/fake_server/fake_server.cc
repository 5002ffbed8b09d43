// SPDX-License-Identifier: Apache-2.0
#include "support/fake_server/fake_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "rota/v1/admin_service.grpc.pb.h"
#include "rota/v1/job_service.grpc.pb.h"
#include "rota/v1/queue_service.grpc.pb.h"
#include "rota/v1/worker_service.grpc.pb.h"

namespace rota::test {
namespace {

using std::chrono::milliseconds;

void set(google::protobuf::Duration& message, milliseconds value) {
  message.set_seconds(value.count() / 1'000);
  message.set_nanos(static_cast<int>(value.count() % 1'000) * 1'000'000);
}

template <class Message>
void pack(google::rpc::Status& status, const char* name, const Message& detail) {
  auto* any = status.add_details();
  any->set_type_url(std::string("type.googleapis.com/google.rpc.") + name);
  any->set_value(detail.SerializeAsString());
}

grpc::Status error(grpc::StatusCode code, const std::string& reason, const std::string& message,
                   const std::string& field = "", milliseconds retry_after = milliseconds(0)) {
  google::rpc::Status details;
  details.set_code(code);
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("rota");
  pack(details, "ErrorInfo", info);
  if (!field.empty()) {
    google::rpc::BadRequest bad;
    auto* violation = bad.add_field_violations();
    violation->set_field(field);
    violation->set_description(message);
    pack(details, "BadRequest", bad);
  }
  if (retry_after.count() > 0) {
    google::rpc::RetryInfo retry;
    set(*retry.mutable_retry_delay(), retry_after);
    pack(details, "RetryInfo", retry);
  }
  return grpc::Status(code, message, details.SerializeAsString());
}

grpc::Status broken_connection() {
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed");
}

}  // namespace

class FakeServer::Services {
 public:
  explicit Services(FakeServer& server)
      : jobs(server), workers(server), admin(server), queues(server) {}

  // What the trouble says when nothing is to be done; nullopt: do it.
  static std::optional<grpc::Status> before(FakeServer& fake, std::unique_lock<std::mutex>& lock,
                                            grpc::ServerContext* context, Trouble trouble) {
    switch (trouble) {
      case Trouble::kRefuse:
        return error(grpc::StatusCode::UNAVAILABLE, "DRAINING", "the server is shutting down", "",
                     milliseconds(10));
      case Trouble::kBusy:
        return error(grpc::StatusCode::RESOURCE_EXHAUSTED, "OVERLOADED", "the queue is full", "",
                     milliseconds(1'500));
      case Trouble::kInvalid:
        return error(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_FIELD", "not a name", "job.kind");
      case Trouble::kHang:
        while (!fake.stopping_ && !context->IsCancelled()) {
          fake.changed_.wait_for(lock, milliseconds(20));
        }
        return broken_connection();
      default:
        return std::nullopt;
    }
  }

  static grpc::Status after(Trouble trouble) {
    return trouble == Trouble::kLoseAnswer ? broken_connection() : grpc::Status::OK;
  }

  class Jobs final : public v1::JobService::Service {
   public:
    explicit Jobs(FakeServer& server) : fake_(server) {}

    grpc::Status EnqueueJob(grpc::ServerContext* context, const v1::EnqueueJobRequest* request,
                            v1::EnqueueJobResponse* response) override {
      std::unique_lock lock(fake_.mutex_);
      const Trouble trouble = fake_.trouble("EnqueueJob");
      fake_.enqueues.push_back(*request);
      fake_.changed_.notify_all();
      if (auto status = before(fake_, lock, context, trouble)) return *status;
      auto [found, is_new] = fake_.enqueue_answers_.try_emplace(request->request_id());
      if (is_new) accept(request->job(), *found->second.mutable_job());
      *response = found->second;
      return after(trouble);
    }

    grpc::Status BulkEnqueueJobs(grpc::ServerContext* context,
                                 const v1::BulkEnqueueJobsRequest* request,
                                 v1::BulkEnqueueJobsResponse* response) override {
      std::unique_lock lock(fake_.mutex_);
      const Trouble trouble = fake_.trouble("BulkEnqueueJobs");
      fake_.bulks.push_back(*request);
      fake_.bulk_time_left.push_back(std::chrono::duration_cast<milliseconds>(
          context->deadline() - std::chrono::system_clock::now()));
      fake_.most_bulks_at_once = std::max(fake_.most_bulks_at_once, ++fake_.bulks_at_once);
      fake_.changed_.notify_all();
      const auto status = before(fake_, lock, context, trouble);
      --fake_.bulks_at_once;
      if (status) return *status;
      auto [found, is_new] = fake_.bulk_answers_.try_emplace(request->request_id());
      if (is_new) {
        for (const auto& job : request->jobs()) {
          auto* result = found->second.add_results();
          if (fake_.bad_kinds.contains(job.kind())) {
            result->mutable_error()->set_code(grpc::StatusCode::INVALID_ARGUMENT);
            result->mutable_error()->set_reason("INVALID_FIELD");
            result->mutable_error()->set_field("kind");
          } else {
            accept(job, *result->mutable_job());
          }
        }
      }
      *response = found->second;
      return after(trouble);
    }

    grpc::Status CancelJob(grpc::ServerContext* context, const v1::CancelJobRequest* request,
                           v1::CancelJobResponse* response) override {
      std::unique_lock lock(fake_.mutex_);
      fake_.cancels.push_back(request->job_id());
      fake_.most_cancels_at_once = std::max(fake_.most_cancels_at_once, ++fake_.cancels_at_once);
      fake_.changed_.notify_all();
      while (fake_.cancels.size() < fake_.cancels_answered_from && !fake_.stopping_ &&
             !context->IsCancelled()) {
        fake_.changed_.wait_for(lock, milliseconds(20));
      }
      --fake_.cancels_at_once;
      if (request->job_id().rfind("gone", 0) == 0) {
        return error(grpc::StatusCode::NOT_FOUND, "JOB_NOT_FOUND", "no such job");
      }
      response->set_state(v1::JOB_STATE_CANCELLED);
      return grpc::Status::OK;
    }

   private:
    void accept(const v1::JobSpec& job, v1::EnqueuedJob& answer) {
      fake_.accepted.push_back(job);
      answer.set_id("j" + std::to_string(++fake_.last_job_));
      answer.set_created(true);
      answer.set_state(v1::JOB_STATE_READY);
    }
    FakeServer& fake_;
  };

  class Workers final : public v1::WorkerService::Service {
   public:
    explicit Workers(FakeServer& server) : fake_(server) {}

    grpc::Status LeaseJobs(grpc::ServerContext* context, const v1::LeaseJobsRequest* request,
                           v1::LeaseJobsResponse* response) override {
      const auto received = std::chrono::steady_clock::now();
      std::unique_lock lock(fake_.mutex_);
      const Trouble trouble = fake_.trouble("LeaseJobs");
      fake_.lease_calls.push_back(*request);
      fake_.changed_.notify_all();
      if (auto status = before(fake_, lock, context, trouble)) return *status;
      if (!fake_.queue_exists) {
        return error(grpc::StatusCode::NOT_FOUND, "QUEUE_NOT_FOUND", "no queue 'q'");
      }
      const std::size_t my_number = fake_.lease_calls.size();
      if (request->outcomes_size() > 0) ++fake_.carried_calls;
      if (fake_.takes_outcomes) end_all(request->outcomes(), *response->mutable_finished());
      fake_.most_leases_at_once = std::max(fake_.most_leases_at_once, ++fake_.leases_at_once);
      const auto until = received + std::chrono::seconds(request->wait_duration().seconds()) +
                         std::chrono::nanoseconds(request->wait_duration().nanos());
      const auto replaced = [&] {
        for (std::size_t i = my_number; i < fake_.lease_calls.size(); ++i) {
          if (fake_.lease_calls[i].request_id() == request->request_id()) return true;
        }
        return false;
      };
      const bool repeat = fake_.grants_.contains(request->request_id());
      while (!repeat && fake_.waiting_.empty() && fake_.cancelled_by_lease_.empty() &&
             !fake_.stopping_ && !context->IsCancelled() && !replaced() &&
             std::chrono::steady_clock::now() < until) {
        fake_.changed_.wait_until(
            lock, std::min(until, std::chrono::steady_clock::now() + milliseconds(20)));
      }
      --fake_.leases_at_once;
      if (fake_.stopping_) return broken_connection();
      if (replaced()) return error(grpc::StatusCode::ABORTED, "POLL_REPLACED", "repeated");
      if (context->IsCancelled()) return grpc::Status::CANCELLED;
      if (repeat) {
        answer_again(*request, *response);
      } else {
        grant(*request, *response);
      }
      for (const std::int64_t token : fake_.cancelled_by_lease_) {
        response->add_cancelled_tokens(token);
      }
      fake_.cancelled_by_lease_.clear();
      set(*response->mutable_lease_ttl(), fake_.ttl_);
      set(*response->mutable_granted_after(),
          std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - received));
      fake_.changed_.notify_all();
      return after(trouble);
    }

    grpc::Status Heartbeat(grpc::ServerContext* context, const v1::HeartbeatRequest* request,
                           v1::HeartbeatResponse* response) override {
      std::unique_lock lock(fake_.mutex_);
      const Trouble trouble = fake_.trouble("Heartbeat");
      fake_.beats.push_back(*request);
      fake_.changed_.notify_all();
      if (auto status = before(fake_, lock, context, trouble)) return *status;
      for (const auto& lease : request->leases()) {
        auto* result = response->add_results();
        const bool is_live = fake_.live.contains(lease.fencing_token());
        result->set_status(is_live ? v1::HeartbeatResult::STATUS_RENEWED
                                   : v1::HeartbeatResult::STATUS_LOST);
        if (is_live) set(*result->mutable_renewed_for(), fake_.ttl_);
        result->set_cancel_requested(fake_.cancelled_.contains(lease.fencing_token()));
      }
      return after(trouble);
    }

    grpc::Status FinishJobs(grpc::ServerContext* context, const v1::FinishJobsRequest* request,
                            v1::FinishJobsResponse* response) override {
      std::unique_lock lock(fake_.mutex_);
      const Trouble trouble = fake_.trouble("FinishJobs");
      ++fake_.finish_calls;
      fake_.most_finishes_at_once = std::max(fake_.most_finishes_at_once, ++fake_.finishes_at_once);
      fake_.changed_.notify_all();
      const auto status = before(fake_, lock, context, trouble);
      --fake_.finishes_at_once;
      if (status) return *status;
      end_all(request->items(), *response->mutable_results());
      return after(trouble);
    }

   private:
    void end_all(const google::protobuf::RepeatedPtrField<v1::FinishItem>& items,
                 google::protobuf::RepeatedPtrField<v1::FinishResult>& results) {
      for (const auto& item : items) {
        const std::int64_t token = item.lease().fencing_token();
        auto* result = results.Add();
        if (fake_.live.erase(token) > 0) {
          fake_.finished.push_back(item);
          fake_.ended_by_finish_.insert(token);
          result->mutable_job()->set_state(v1::JOB_STATE_SUCCEEDED);
        } else if (fake_.ended_by_finish_.contains(token)) {
          result->mutable_job()->set_already_ended(true);
        } else {
          fake_.refused.push_back(item);
          result->mutable_error()->set_code(grpc::StatusCode::FAILED_PRECONDITION);
          result->mutable_error()->set_reason("LEASE_LOST");
        }
      }
      fake_.changed_.notify_all();
    }

    void grant(const v1::LeaseJobsRequest& request, v1::LeaseJobsResponse& response) {
      while (!fake_.waiting_.empty() && response.jobs_size() < request.max_jobs()) {
        v1::LeasedJob job = std::move(fake_.waiting_.front());
        fake_.waiting_.pop_front();
        job.set_fencing_token(++fake_.last_token_);
        fake_.grants_[request.request_id()].push_back(job.fencing_token());
        fake_.live[job.fencing_token()] = job;
        *response.add_jobs() = std::move(job);
      }
    }

    void answer_again(const v1::LeaseJobsRequest& request, v1::LeaseJobsResponse& response) {
      for (const std::int64_t token : fake_.grants_[request.request_id()]) {
        const auto found = fake_.live.find(token);
        if (found != fake_.live.end()) *response.add_jobs() = found->second;
      }
      response.set_request_spent(response.jobs_size() == 0);
    }

    FakeServer& fake_;
  };

  class Admin final : public v1::AdminService::Service {
   public:
    explicit Admin(FakeServer& server) : fake_(server) {}
    grpc::Status GetServerInfo(grpc::ServerContext* context, const v1::GetServerInfoRequest*,
                               v1::GetServerInfoResponse* response) override {
      std::unique_lock lock(fake_.mutex_);
      const Trouble trouble = fake_.trouble("GetServerInfo");
      if (auto status = before(fake_, lock, context, trouble)) return *status;
      response->mutable_server()->set_version("fake");
      return after(trouble);
    }

   private:
    FakeServer& fake_;
  };

  class Queues final : public v1::QueueService::Service {
   public:
    explicit Queues(FakeServer& server) : fake_(server) {}
    grpc::Status DeleteQueue(grpc::ServerContext* context, const v1::DeleteQueueRequest*,
                             v1::DeleteQueueResponse*) override {
      std::unique_lock lock(fake_.mutex_);
      const Trouble trouble = fake_.trouble("DeleteQueue");
      if (auto status = before(fake_, lock, context, trouble)) return *status;
      const bool existed = std::exchange(fake_.queue_exists, false);
      if (!existed) return error(grpc::StatusCode::NOT_FOUND, "QUEUE_NOT_FOUND", "no queue 'q'");
      return after(trouble);
    }

   private:
    FakeServer& fake_;
  };

  Jobs jobs;
  Workers workers;
  Admin admin;
  Queues queues;
};

FakeServer::FakeServer() : services_(std::make_unique<Services>(*this)) { start(); }

FakeServer::~FakeServer() { stop(); }

void FakeServer::start() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = false;
  }
  grpc::ServerBuilder builder;
  int port = 0;
  const std::string listen = address_.empty() ? "127.0.0.1:0" : address_;
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.SetMaxReceiveMessageSize(9 * 1024 * 1024);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.RegisterService(&services_->jobs);
  builder.RegisterService(&services_->workers);
  builder.RegisterService(&services_->admin);
  builder.RegisterService(&services_->queues);
  server_ = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

void FakeServer::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
}

void FakeServer::next(const std::string& method, Trouble trouble) {
  std::lock_guard lock(mutex_);
  next_[method].push_back(trouble);
}

void FakeServer::always(const std::string& method, Trouble trouble) {
  std::lock_guard lock(mutex_);
  always_[method] = trouble;
}

Trouble FakeServer::trouble(const std::string& method) {
  auto& queue = next_[method];
  if (queue.empty()) return always_[method];
  const Trouble trouble = queue.front();
  queue.pop_front();
  return trouble;
}

bool FakeServer::wait_until(const std::function<bool()>& done) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::unique_lock lock(mutex_);
  while (!done()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    changed_.wait_for(lock, milliseconds(10));  // `done` may look at more than this server
  }
  return true;
}

std::string FakeServer::give(const std::string& kind, const std::string& payload,
                             milliseconds attempt_timeout) {
  std::lock_guard lock(mutex_);
  v1::LeasedJob job;
  job.set_job_id("j" + std::to_string(++last_job_));
  job.set_queue("q");
  job.set_kind(kind);
  job.mutable_payload()->set_data(payload);
  job.set_attempt(1);
  job.set_max_attempts(5);
  job.set_idempotency_key(job.job_id());
  if (attempt_timeout.count() > 0) set(*job.mutable_attempt_time_left(), attempt_timeout);
  const std::string id = job.job_id();
  waiting_.push_back(std::move(job));
  changed_.notify_all();
  return id;
}

void FakeServer::give_again(std::int64_t token) {
  std::lock_guard lock(mutex_);
  const auto found = live.find(token);
  if (found == live.end()) return;
  v1::LeasedJob job = found->second;
  live.erase(found);
  job.set_attempt(job.attempt() + 1);
  waiting_.push_back(std::move(job));
  changed_.notify_all();
}

void FakeServer::cancel(std::int64_t token) {
  std::lock_guard lock(mutex_);
  cancelled_.insert(token);
}

void FakeServer::cancel_by_lease(std::int64_t token) {
  std::lock_guard lock(mutex_);
  cancelled_by_lease_.insert(token);
  changed_.notify_all();
}

void FakeServer::end_lease(std::int64_t token) {
  std::lock_guard lock(mutex_);
  live.erase(token);
}

void FakeServer::set_ttl(milliseconds ttl) {
  std::lock_guard lock(mutex_);
  ttl_ = ttl;
}

std::int64_t FakeServer::token_of(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  for (const auto& [token, job] : live) {
    if (job.job_id() == job_id) return token;
  }
  return 0;
}

}  // namespace rota::test
