// SPDX-License-Identifier: Apache-2.0
#include "rpc/lease_call.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "rpc/convert_worker.h"
#include "rpc/outcomes.h"
#include "rpc/status_map.h"

namespace rota::rpc {
namespace {

// The answers and the cancellation of one call race; whoever ends it finishes it. The loop holds
// `Shared` only, so that the reactor may be gone when its answers come.
//
// A call that carries outcomes is two commands or more with an answer each, those of the outcomes
// joined; it is finished with both. They come in any order and on different threads: a repeated
// outcome needs a read, a grant may need its payloads.
class LeaseReactor final : public grpc::ServerUnaryReactor {
 public:
  LeaseReactor(Context& context, grpc::CallbackServerContext* call, const Caller& caller,
               std::string session_id, v1::LeaseJobsResponse* response)
      : shared_(std::make_shared<Shared>(context, call, caller.name_space, std::move(session_id),
                                         this, response)) {}

  void start(const Caller& caller, std::optional<core::FinishJobs> outcomes, core::LeaseJobs lease,
             runtime::WorkerSeen seen) {
    auto& server = shared_->context.server;
    server.workers.lease_call_began(std::move(seen), shared_->context.wall_ms(),
                                    caller.received_mono_ms);
    core::Command ask = command_of(caller, std::move(lease));
    ask.call = shared_->call;
    runtime::ReplyFn on_grants = [shared = shared_](core::Reply reply) {
      return shared->leased(std::move(reply));
    };
    if (!outcomes) {
      const auto accepted = server.loop.submit(std::move(ask), std::move(on_grants));
      if (!accepted) shared_->end(to_status(accepted.error()));
      return;
    }
    shared_->carries = true;
    auto parts = split(*std::move(outcomes));
    const auto on_results = join(parts.size(), [shared = shared_](core::Reply reply) {
      shared->finished(std::move(reply));
    });
    const auto on_part = [&](std::size_t i) -> runtime::ReplyFn {
      return [on_reply = on_results[i]](core::Reply reply) {
        on_reply(std::move(reply));
        return runtime::Delivery::kTaken;
      };
    };
    const std::size_t last = parts.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      const auto accepted = server.loop.submit(command_of(caller, std::move(parts[i])), on_part(i));
      if (!accepted) return void(shared_->end(to_status(accepted.error())));
    }
    const auto accepted =
        server.loop.submit_both(command_of(caller, std::move(parts[last])), on_part(last),
                                std::move(ask), std::move(on_grants));
    if (!accepted) shared_->end(to_status(accepted.error()));
  }

  void OnCancel() override {
    if (shared_->end(grpc::Status::CANCELLED)) {
      // Forgets the parked call; an answer that is on its way meets the end and goes back.
      shared_->context.server.loop.cancel(shared_->call);
    }
  }
  void OnDone() override { delete this; }

 private:
  struct Shared {
    Shared(Context& context_of_all, grpc::CallbackServerContext* transport, std::string names,
           std::string session, LeaseReactor* owner, v1::LeaseJobsResponse* answer_to)
        : context(context_of_all),
          transport_call(transport),
          name_space(std::move(names)),
          session_id(std::move(session)),
          call(context.server.loop.next_call()),
          reactor(owner),
          response(answer_to) {}

    // False when it had ended. A grant that waited for the other half goes back.
    bool end(grpc::Status status) {
      if (!claim()) return false;
      finish(std::move(status));
      if (grants) give_back(*grants);
      return true;
    }

    runtime::Delivery leased(core::Reply reply) {
      const bool refused = !std::holds_alternative<core::LeaseReply>(reply.body);
      {
        std::lock_guard lock(mutex);
        if (ended) return runtime::Delivery::kCallerGone;
        if (carries && !results && !refused) {
          grants = std::move(reply);
          return runtime::Delivery::kTaken;
        }
        ended = true;
      }
      if (refused) {
        finish(to_status(unexpected_reply(reply.body)));
      } else {
        answer(std::move(reply));
      }
      return runtime::Delivery::kTaken;
    }

    void finished(core::Reply reply) {
      if (!std::holds_alternative<core::FinishReply>(reply.body)) {
        if (end(to_status(unexpected_reply(reply.body)))) context.server.loop.cancel(call);
        return;
      }
      {
        std::lock_guard lock(mutex);
        if (ended) return;
        results = std::move(reply);
        if (!grants) return;
        ended = true;
      }
      answer(*std::move(grants));
    }

    // True for exactly one caller, who may then touch the halves, the reactor and the response.
    bool claim() {
      std::lock_guard lock(mutex);
      return !std::exchange(ended, true);
    }

    void answer(core::Reply reply) {
      const auto& facts = context.server.facts;
      lease_to_wire(std::get<core::LeaseReply>(reply.body), facts.store_id, name_space, response);
      if (results) {
        finish_to_wire(std::get<core::FinishReply>(results->body), response->mutable_finished());
        reply.seq = std::max(reply.seq, results->seq);
      }
      response->set_server_epoch(static_cast<std::int64_t>(facts.server_epoch));
      response->set_commit_seq(static_cast<std::int64_t>(reply.seq));
      context.replies.hand_over(transport_call, *response);
      finish(grpc::Status::OK);
    }

    void finish(grpc::Status status) {
      context.server.workers.lease_call_ended(session_id);
      reactor->Finish(std::move(status));
    }

    void give_back(const core::Reply& reply) {
      std::vector<core::LeaseRef> leases;
      for (const core::GrantedJob& job : std::get<core::LeaseReply>(reply.body).jobs) {
        leases.push_back({job.key, job.token});
      }
      context.server.loop.take_back(session_id, std::move(leases));
    }

    Context& context;
    grpc::CallbackServerContext* const transport_call;
    const std::string name_space;
    const std::string session_id;
    const core::CallId call;  // of the lease command
    LeaseReactor* const reactor;
    v1::LeaseJobsResponse* const response;
    bool carries = false;  // outcomes; set before the commands leave

    std::mutex mutex;
    bool ended = false;
    std::optional<core::Reply> grants;   // while they wait for the results
    std::optional<core::Reply> results;  // of the outcomes
  };

  static core::Command command_of(const Caller& caller, core::CommandBody body) {
    core::Command command;
    command.principal = caller.principal;
    command.name_space = caller.name_space;
    command.body = std::move(body);
    return command;
  }

  const std::shared_ptr<Shared> shared_;
};

}  // namespace

Reactor* lease_jobs(Context& context, grpc::CallbackServerContext* call, const Caller& caller,
                    const v1::LeaseJobsRequest& request, v1::LeaseJobsResponse* response) {
  auto lease = lease_from_wire(request, caller, context.mono_ms());
  if (!lease) return refuse(call, lease.error());
  auto seen = worker_from_wire(request, caller);
  if (!seen) return refuse(call, seen.error());
  std::optional<core::FinishJobs> outcomes;
  if (request.outcomes_size() > 0) {
    auto taken = finish_from_wire(take(&request));
    if (!taken) return refuse(call, taken.error());
    outcomes = *std::move(taken);
  }
  auto* reactor = new LeaseReactor(context, call, caller, request.session_id(), response);
  reactor->start(caller, std::move(outcomes), *std::move(lease), *std::move(seen));
  return reactor;
}

}  // namespace rota::rpc
