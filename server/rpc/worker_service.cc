// SPDX-License-Identifier: Apache-2.0
//
// WorkerService: heartbeats, outcomes and the list of workers. LeaseJobs is in lease_call.cc.
#include <algorithm>
#include <utility>

#include "base/names.h"
#include "model/job_id.h"
#include "rota/v1/worker_service.grpc.pb.h"
#include "rpc/arena_messages.h"
#include "rpc/call.h"
#include "rpc/convert_time.h"
#include "rpc/convert_worker.h"
#include "rpc/lease_call.h"
#include "rpc/outcomes.h"
#include "rpc/page_rows.h"
#include "rpc/page_token.h"
#include "rpc/services.h"

namespace rota::rpc {
namespace {

using grpc::CallbackServerContext;

constexpr std::size_t kLeasesShownMax = 100;  // of one worker
constexpr int kWorkersPerRead = 100;          // copied from the board at a time

class WorkerService final : public v1::WorkerService::CallbackService {
 public:
  explicit WorkerService(Context& context) : context_(context) {
    SetMessageAllocatorFor_LeaseJobs(&lease_messages_);
    SetMessageAllocatorFor_FinishJobs(&finish_messages_);
  }

  Reactor* LeaseJobs(CallbackServerContext* call, const v1::LeaseJobsRequest* request,
                     v1::LeaseJobsResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kWorkerServiceLeaseJobs, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    return lease_jobs(context_, call, *caller, *request, response);
  }

  Reactor* Heartbeat(CallbackServerContext* call, const v1::HeartbeatRequest* request,
                     v1::HeartbeatResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kWorkerServiceHeartbeat, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    auto beat = heartbeat_from_wire(*request);
    if (!beat) return refuse(call, beat.error());
    heard(request->session_id());
    return command<core::HeartbeatReply>(
        {context_, call, response}, *caller, *std::move(beat),
        [this, response](const core::HeartbeatReply& reply, std::int64_t seq) {
          heartbeat_to_wire(reply, response);
          response->set_server_epoch(epoch());
          response->set_commit_seq(seq);
        });
  }

  Reactor* FinishJobs(CallbackServerContext* call, const v1::FinishJobsRequest* request,
                      v1::FinishJobsResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kWorkerServiceFinishJobs, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    auto outcomes = finish_from_wire(take(request));
    if (!outcomes) return refuse(call, outcomes.error());
    heard(request->session_id());
    const OpenCall open(context_, call, response);
    auto parts = split(*std::move(outcomes));
    const auto on_reply = join(parts.size(), [this, open, response](core::Reply reply) {
      const auto* value = std::get_if<core::FinishReply>(&reply.body);
      if (value == nullptr) return open.finish(unexpected_reply(reply.body));
      finish_to_wire(*value, response->mutable_results());
      response->set_server_epoch(epoch());
      response->set_commit_seq(static_cast<std::int64_t>(reply.seq));
      open.finish({});
    });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!submit(open, *caller, std::move(parts[i]), on_reply[i])) break;
    }
    return open.reactor();
  }

  Reactor* ListWorkers(CallbackServerContext* call, const v1::ListWorkersRequest* request,
                       v1::ListWorkersResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kWorkerServiceListWorkers, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (!request->queue().empty()) {
      if (auto fault = base::check_name("queue", request->queue())) return refuse(call, *fault);
    }
    const auto page = page_of("ListWorkers", *request);
    if (!page) return refuse(call, page.error());
    return query(
        {context_, call, response},
        [this, request, response, page = *page, name_space = caller->name_space]() -> base::Status {
          list(name_space, request->queue(), page, response);
          return {};
        });
  }

 private:
  void list(const std::string& name_space, const std::string& queue, const Page& page,
            v1::ListWorkersResponse* response) const {
    PageRows<v1::Worker> rows(response, v1::ListWorkersResponse::kWorkersFieldNumber);
    std::string last = page.position;
    bool full = false;
    while (!full) {
      const int room = page.size - rows.size();
      const auto max = static_cast<std::size_t>(std::min(room, kWorkersPerRead));
      const auto found =
          context_.server.workers.page(name_space, queue, last, max, context_.mono_ms());
      for (const auto& seen : found) {
        full = !rows.add([&](v1::Worker* worker) { put(seen, worker); });
        if (full) break;
        last = seen.session_id;
      }
      if (found.size() < max) break;
      full = full || rows.size() == page.size;
    }
    if (full) response->set_next_page_token(page.token(last));
    response->set_commit_seq(static_cast<std::int64_t>(context_.server.leases.seq()));
    put_time(context_.wall_ms(), response->mutable_server_time());
  }

  void put(const runtime::WorkerSeen& seen, v1::Worker* worker) const {
    worker_to_wire(seen, worker);
    const auto leases = context_.server.leases.of_session(seen.session_id, kLeasesShownMax);
    worker->set_lease_count(static_cast<std::int32_t>(leases.count));
    for (const auto& [key, token] : leases.first) {
      auto* lease = worker->add_leases();
      lease->set_job_id(model::job_id(key));
      lease->set_fencing_token(static_cast<std::int64_t>(token));
    }
  }

  void heard(const std::string& session_id) {
    context_.server.workers.heard(session_id, context_.wall_ms(), context_.mono_ms());
  }
  std::int64_t epoch() const {
    return static_cast<std::int64_t>(context_.server.facts.server_epoch);
  }

  Context& context_;
  ArenaMessages<v1::LeaseJobsRequest, v1::LeaseJobsResponse> lease_messages_;
  ArenaMessages<v1::FinishJobsRequest, v1::FinishJobsResponse> finish_messages_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_worker_service(Context& context) {
  return std::make_unique<WorkerService>(context);
}

}  // namespace rota::rpc
