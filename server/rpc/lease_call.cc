// SPDX-License-Identifier: Apache-2.0
#include "rpc/lease_call.h"

#include <atomic>
#include <memory>
#include <utility>

#include "rpc/convert_worker.h"
#include "rpc/status_map.h"

namespace rota::rpc {
namespace {

// The answer and the cancellation of one call race; whoever claims it first finishes it. The loop
// holds `Shared` only, so that the reactor may be gone when its answer comes.
class LeaseReactor final : public grpc::ServerUnaryReactor {
 public:
  LeaseReactor(Context& context, const Caller& caller, std::string session_id,
               v1::LeaseJobsResponse* response)
      : shared_(std::make_shared<Shared>(context, caller.name_space, std::move(session_id), this,
                                         response)) {}

  void start(const Caller& caller, core::LeaseJobs lease, runtime::WorkerSeen seen) {
    auto& server = shared_->context.server;
    server.workers.lease_call_began(std::move(seen), shared_->context.wall_ms(),
                                    caller.received_mono_ms);
    core::Command command;
    command.call = shared_->call;
    command.principal = caller.principal;
    command.name_space = caller.name_space;
    command.body = std::move(lease);
    const auto accepted = server.loop.submit(
        std::move(command),
        [shared = shared_](core::Reply reply) { return shared->answer(std::move(reply)); });
    if (!accepted) shared_->end(to_status(accepted.error()));
  }

  void OnCancel() override {
    if (shared_->end(grpc::Status::CANCELLED)) {
      // Forgets the parked call; an answer that is on its way meets the claim and goes back.
      shared_->context.server.loop.cancel(shared_->call);
    }
  }
  void OnDone() override { delete this; }

 private:
  struct Shared {
    Shared(Context& context_of_all, std::string names, std::string session, LeaseReactor* owner,
           v1::LeaseJobsResponse* answer_to)
        : context(context_of_all),
          name_space(std::move(names)),
          session_id(std::move(session)),
          call(context.server.loop.next_call()),
          reactor(owner),
          response(answer_to) {}

    // True for exactly one caller, who may then touch reactor and response.
    bool claim() {
      if (claimed.exchange(true)) return false;
      context.server.workers.lease_call_ended(session_id);
      return true;
    }
    bool end(grpc::Status status) {
      if (!claim()) return false;
      reactor->Finish(std::move(status));
      return true;
    }
    runtime::Delivery answer(core::Reply reply) {
      if (!claim()) return runtime::Delivery::kCallerGone;
      auto* value = std::get_if<core::LeaseReply>(&reply.body);
      if (value == nullptr) {
        reactor->Finish(to_status(unexpected_reply(reply.body)));
        return runtime::Delivery::kTaken;
      }
      const auto& facts = context.server.facts;
      lease_to_wire(*value, facts.store_id, name_space, response);
      response->set_server_epoch(static_cast<std::int64_t>(facts.server_epoch));
      response->set_commit_seq(static_cast<std::int64_t>(reply.seq));
      reactor->Finish(grpc::Status::OK);
      return runtime::Delivery::kTaken;
    }

    Context& context;
    const std::string name_space;
    const std::string session_id;
    const core::CallId call;
    LeaseReactor* const reactor;
    v1::LeaseJobsResponse* const response;
    std::atomic<bool> claimed{false};
  };

  const std::shared_ptr<Shared> shared_;
};

}  // namespace

Reactor* lease_jobs(Context& context, grpc::CallbackServerContext* call, const Caller& caller,
                    const v1::LeaseJobsRequest& request, v1::LeaseJobsResponse* response) {
  auto lease = lease_from_wire(request, caller, context.mono_ms());
  if (!lease) return refuse(call, lease.error());
  auto seen = worker_from_wire(request, caller);
  if (!seen) return refuse(call, seen.error());
  auto* reactor = new LeaseReactor(context, caller, request.session_id(), response);
  reactor->start(caller, *std::move(lease), *std::move(seen));
  return reactor;
}

}  // namespace rota::rpc
