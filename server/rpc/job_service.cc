// SPDX-License-Identifier: Apache-2.0
//
// JobService: submit jobs, look at them, change and end them. WaitJob is in wait_job.cc.
#include <utility>

#include "base/limits.h"
#include "base/names.h"
#include "model/job_id.h"
#include "rota/v1/job_service.grpc.pb.h"
#include "rpc/arena_messages.h"
#include "rpc/call.h"
#include "rpc/convert_job.h"
#include "rpc/page_rows.h"
#include "rpc/page_token.h"
#include "rpc/services.h"
#include "rpc/status_map.h"
#include "rpc/wait_job.h"

namespace rota::rpc {
namespace {

namespace limits = base::limits;
using grpc::CallbackServerContext;

std::optional<base::Error> check_bulk_size(const v1::BulkEnqueueJobsRequest& request) {
  if (request.jobs_size() == 0) {
    return base::make_error(base::Reason::kMissingField, "at least one", "jobs");
  }
  if (request.jobs_size() > limits::kCallItemsMax) {
    return base::make_error(base::Reason::kTooManyItems,
                            std::to_string(request.jobs_size()) + " jobs, limit " +
                                std::to_string(limits::kCallItemsMax) + " a call; split it",
                            "jobs");
  }
  const auto bytes = static_cast<std::int64_t>(request.ByteSizeLong());
  if (bytes <= limits::kCallBytesMax) return std::nullopt;
  return base::make_error(base::Reason::kTooManyItems,
                          base::format_bytes(bytes) + ", limit " +
                              base::format_bytes(limits::kCallBytesMax) + " a call; split it",
                          "jobs");
}

// The text of a cancel goes to people and into records.
std::optional<base::Error> check_reason(const std::string& reason) {
  return base::check_text("reason", reason, limits::kNoteBytesMax);
}

class JobService final : public v1::JobService::CallbackService {
 public:
  explicit JobService(Context& context) : context_(context) {
    SetMessageAllocatorFor_BulkEnqueueJobs(&bulk_messages_);
  }

  Reactor* EnqueueJob(CallbackServerContext* call, const v1::EnqueueJobRequest* request,
                      v1::EnqueueJobResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kJobServiceEnqueueJob, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    auto tag = tag_of(request);
    if (!tag) return refuse(call, tag.error());
    core::EnqueueJobs enqueue;
    auto job = job_from_wire(take(request)->mutable_job(), context_.wall_ms(),
                             context_.server.limits.payload_bytes);
    // A repeat is answered with the first answer even if its times have passed meanwhile.
    if (!job && tag->id.empty()) return refuse(call, job.error());
    enqueue.jobs.push_back(job ? *std::move(job) : core::JobRequest{.invalid = job.error()});
    enqueue.request = *std::move(tag);
    const OpenCall open(context_, call, response);
    submit(open, *caller, std::move(enqueue), [open, response](core::Reply reply) {
      auto* value = std::get_if<core::EnqueueReply>(&reply.body);
      if (value == nullptr) return open.finish(unexpected_reply(reply.body));
      const auto& item = value->items.at(0);
      if (const auto* error = std::get_if<base::Error>(&item)) return open.finish(*error);
      const auto& enqueued = std::get<core::EnqueuedJob>(item);
      // Sent again it has the same answer, with its result.
      if (enqueued.result && open.crowded()) return open.finish(too_many_unread());
      enqueued_to_wire(enqueued, /*with_result=*/true, response->mutable_job());
      response->set_commit_seq(static_cast<std::int64_t>(reply.seq));
      open.finish({});
    });
    return open.reactor();
  }

  Reactor* BulkEnqueueJobs(CallbackServerContext* call, const v1::BulkEnqueueJobsRequest* request,
                           v1::BulkEnqueueJobsResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kJobServiceBulkEnqueueJobs, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = check_bulk_size(*request)) return refuse(call, *fault);
    auto tag = tag_of(request);
    if (!tag) return refuse(call, tag.error());
    core::EnqueueJobs enqueue;
    enqueue.bulk = true;
    enqueue.request = *std::move(tag);
    enqueue.jobs.reserve(static_cast<std::size_t>(request->jobs_size()));
    const std::int64_t now = context_.wall_ms();
    for (auto& wire : *take(request)->mutable_jobs()) {
      auto job = job_from_wire(&wire, now, context_.server.limits.payload_bytes);
      enqueue.jobs.push_back(job ? *std::move(job) : core::JobRequest{.invalid = job.error()});
    }
    const OpenCall open(context_, call, response);
    return command<core::EnqueueReply>(
        open, *caller, std::move(enqueue),
        [open, response](const core::EnqueueReply& reply, std::int64_t seq) {
          const bool with_results = !open.crowded();
          response->mutable_results()->Reserve(static_cast<int>(reply.items.size()));
          for (const auto& item : reply.items) {
            auto* result = response->add_results();
            if (const auto* error = std::get_if<base::Error>(&item)) {
              put_item_error(*error, result->mutable_error());
            } else {
              enqueued_to_wire(std::get<core::EnqueuedJob>(item), with_results,
                               result->mutable_job());
            }
          }
          response->set_commit_seq(seq);
        });
  }

  Reactor* GetJob(CallbackServerContext* call, const v1::GetJobRequest* request,
                  v1::GetJobResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kJobServiceGetJob, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    const auto key = job_key_from_wire(request->job_id());
    if (!key) return refuse(call, key.error());
    const bool with_payload = request->include_payload();
    return query({context_, call, response},
                 [this, response, key = *key, with_payload,
                  name_space = caller->name_space]() -> base::Status {
                   const auto read = context_.jobs.get(name_space, key, with_payload);
                   if (!read) return read.error();
                   job_to_wire(read->rows, with_payload, response->mutable_job());
                   response->set_commit_seq(static_cast<std::int64_t>(read->at));
                   return {};
                 });
  }

  Reactor* ListJobs(CallbackServerContext* call, const v1::ListJobsRequest* request,
                    v1::ListJobsResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kJobServiceListJobs, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = check_filter(request->filter())) return refuse(call, *fault);
    const auto page = page_of("ListJobs", *request);
    if (!page) return refuse(call, page.error());
    return query(
        {context_, call, response},
        [this, request, response, page = *page, name_space = caller->name_space]() -> base::Status {
          PageRows<v1::Job> rows(response, v1::ListJobsResponse::kJobsFieldNumber);
          const auto read = context_.jobs.list(
              name_space, request->filter(), page.position, page.size, [&](const JobRead& job) {
                return rows.add(
                    [&](v1::Job* wire) { job_to_wire(job.rows, /*with_payload=*/false, wire); });
              });
          if (!read) return read.error();
          if (!read->position.empty()) {
            response->set_next_page_token(page.token(read->position));
          }
          response->set_commit_seq(static_cast<std::int64_t>(read->at));
          return {};
        });
  }

  Reactor* WaitJob(CallbackServerContext* call, const v1::WaitJobRequest* request,
                   v1::WaitJobResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kJobServiceWaitJob, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    return wait_job(context_, call, *caller, *request, response);
  }

  Reactor* UpdateJob(CallbackServerContext* call, const v1::UpdateJobRequest* request,
                     v1::UpdateJobResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kJobServiceUpdateJob, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    auto update = update_from_wire(*request, context_.wall_ms());
    if (!update) return refuse(call, update.error());
    const OpenCall open(context_, call, response);
    submit(open, *caller, *update,
           [this, open, response, name_space = caller->name_space](core::Reply reply) {
             const auto* value = std::get_if<core::JobReply>(&reply.body);
             if (value == nullptr) return open.finish(unexpected_reply(reply.body));
             response->set_commit_seq(static_cast<std::int64_t>(reply.seq));
             // The answer shows the job as it is: read after the commit, on a reader thread.
             complete(open, [this, response, name_space, key = value->key]() -> base::Status {
               const auto read = context_.jobs.get(name_space, key, false);
               if (!read) return read.error();
               job_to_wire(read->rows, false, response->mutable_job());
               return {};
             });
           });
    return open.reactor();
  }

  Reactor* CancelJob(CallbackServerContext* call, const v1::CancelJobRequest* request,
                     v1::CancelJobResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kJobServiceCancelJob, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    const auto key = job_key_from_wire(request->job_id());
    if (!key) return refuse(call, key.error());
    if (auto fault = check_reason(request->reason())) return refuse(call, *fault);
    return command<core::JobReply>({context_, call, response}, *caller,
                                   core::CancelJob{*key, request->reason()},
                                   [response](const core::JobReply& reply, std::int64_t seq) {
                                     response->set_state(state_to_wire(reply.state));
                                     response->set_commit_seq(seq);
                                   });
  }

  Reactor* RedriveJob(CallbackServerContext* call, const v1::RedriveJobRequest* request,
                      v1::RedriveJobResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kJobServiceRedriveJob, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    const auto key = job_key_from_wire(request->job_id());
    if (!key) return refuse(call, key.error());
    auto tag = tag_of(request);
    if (!tag) return refuse(call, tag.error());
    return command<core::JobReply>({context_, call, response}, *caller,
                                   core::RedriveJob{*key, *std::move(tag)},
                                   [response](const core::JobReply& reply, std::int64_t seq) {
                                     response->set_state(state_to_wire(reply.state));
                                     response->set_commit_seq(seq);
                                   });
  }

  Reactor* DeleteJob(CallbackServerContext* call, const v1::DeleteJobRequest* request,
                     v1::DeleteJobResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kJobServiceDeleteJob, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    const auto key = job_key_from_wire(request->job_id());
    if (!key) return refuse(call, key.error());
    return command<core::JobReply>(
        {context_, call, response}, *caller, core::DeleteJob{*key},
        [response](const core::JobReply&, std::int64_t seq) { response->set_commit_seq(seq); });
  }

  Reactor* ExplainJob(CallbackServerContext* call, const v1::ExplainJobRequest* request,
                      v1::ExplainJobResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kJobServiceExplainJob, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    const auto key = job_key_from_wire(request->job_id());
    if (!key) return refuse(call, key.error());
    return command<core::ExplainReply>(
        {context_, call, response}, *caller, core::ExplainJob{.key = *key},
        [response](const core::ExplainReply& reply, std::int64_t seq) {
          explanation_to_wire(reply, response->mutable_explanation());
          response->set_commit_seq(seq);
        });
  }

 private:
  static std::optional<base::Error> check_filter(const v1::JobFilter& filter) {
    if (auto fault = base::check_name("filter.queue", filter.queue())) return fault;
    if (!filter.kind().empty()) {
      if (auto fault = base::check_name("filter.kind", filter.kind())) return fault;
    }
    if (!filter.scheduler_id().empty()) {
      if (auto fault = base::check_name("filter.scheduler_id", filter.scheduler_id())) return fault;
    }
    if (!filter.business_key().empty()) {
      if (auto fault = base::check_text_key("filter.business_key", filter.business_key())) {
        return fault;
      }
    }
    for (const auto state : filter.states()) {
      if (state_from_wire(state) == model::JobState::kUnknown) {
        return base::invalid_field("filter.states", "unknown state " + std::to_string(state));
      }
    }
    return std::nullopt;
  }

  Context& context_;
  ArenaMessages<v1::BulkEnqueueJobsRequest, v1::BulkEnqueueJobsResponse> bulk_messages_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_job_service(Context& context) {
  return std::make_unique<JobService>(context);
}

}  // namespace rota::rpc
