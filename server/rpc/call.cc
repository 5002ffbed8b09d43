// SPDX-License-Identifier: Apache-2.0
#include "rpc/call.h"

#include <exception>

#include "base/hash.h"
#include "base/names.h"
#include "rpc/page_token.h"
#include "rpc/status_map.h"

namespace rota::rpc {
namespace {

std::function<void()> reader_work(const OpenCall& open, std::function<base::Status()> work) {
  return [open, work = std::move(work)]() mutable {
    base::Status status;
    try {
      status = work();
    } catch (const std::exception& fault) {
      status = internal_error(fault.what());
    }
    work = nullptr;  // nothing of the call may outlive its end
    open.finish(status);
  };
}

}  // namespace

base::Error too_many_queries() {
  auto error = base::make_error(base::Reason::kOverloaded, "too many queries wait for an answer");
  error.retry_after_ms = 200;
  return error;
}

void OpenCall::finish(const base::Status& status) const {
  if (!status) return reactor_->Finish(to_status(status.error()));
  context_->replies.hand_over(call_, *response_);
  reactor_->Finish(grpc::Status::OK);
}

Reactor* refuse(grpc::CallbackServerContext* context, const base::Error& error) {
  auto* reactor = context->DefaultReactor();
  reactor->Finish(to_status(error));
  return reactor;
}

base::Error unexpected_reply(const core::ReplyBody& body) {
  if (const auto* error = std::get_if<base::Error>(&body)) return *error;
  return internal_error("a reply of kind " + std::to_string(body.index()) + " was not expected");
}

bool submit(const OpenCall& open, const Caller& caller, core::CommandBody body,
            std::function<void(core::Reply reply)> on_reply) {
  core::Command command;
  command.principal = caller.principal;
  command.name_space = caller.name_space;
  command.body = std::move(body);
  const auto accepted = open.context().server.loop.submit(
      std::move(command), [on_reply = std::move(on_reply)](core::Reply reply) {
        on_reply(std::move(reply));
        return runtime::Delivery::kTaken;
      });
  if (!accepted) open.finish(accepted.error());
  return accepted.has_value();
}

Reactor* query(const OpenCall& open, std::function<base::Status()> work) {
  auto unless_crowded = [open, work = std::move(work)]() -> base::Status {
    if (open.crowded()) return too_many_unread();
    return work();
  };
  if (!open.context().server.readers.submit(reader_work(open, std::move(unless_crowded)))) {
    open.finish(too_many_queries());
  }
  return open.reactor();
}

void complete(const OpenCall& open, std::function<base::Status()> work) {
  if (!open.context().server.readers.submit_first(reader_work(open, std::move(work)))) {
    open.finish(base::make_error(base::Reason::kDraining, "the server is stopping"));
  }
}

base::Result<core::RequestTag> request_tag(const std::string& request_id,
                                           const google::protobuf::MessageLite& body) {
  if (auto fault = base::check_request_id("request_id", request_id)) return *fault;
  const auto digest = base::hash_parts({stable_bytes(body)});
  return core::RequestTag{request_id, std::string(base::as_bytes(digest))};
}

}  // namespace rota::rpc
