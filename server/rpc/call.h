// SPDX-License-Identifier: Apache-2.0
//
// How an RPC is carried out. Reactors run on two threads for the whole process, so none of them may
// block: a command goes to the engine loop and a query to a reader thread, and the call is finished
// from there. Every call is finished exactly once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>

#include "base/error.h"
#include "core/command.h"
#include "core/effect.h"
#include "rpc/call_guard.h"
#include "rpc/context.h"

namespace rota::rpc {

using Reactor = grpc::ServerUnaryReactor;

// Finishes a call with an error.
Reactor* refuse(grpc::CallbackServerContext* context, const base::Error& error);

// A call that is to be answered. Copied freely; one of the copies finishes it, once.
class OpenCall {
 public:
  // `response` is the call's own.
  OpenCall(Context& context, grpc::CallbackServerContext* call,
           const google::protobuf::MessageLite* response)
      : context_(&context), call_(call), response_(response), reactor_(call->DefaultReactor()) {}

  Context& context() const { return *context_; }
  Reactor* reactor() const { return reactor_; }
  // With the response as it stands, or with the error.
  void finish(const base::Status& status) const;
  // Whether so many answers wait to be read that this one should be as small as it can be.
  bool crowded() const { return context_->replies.used_up(*call_); }

 private:
  Context* context_;
  grpc::CallbackServerContext* call_;
  const google::protobuf::MessageLite* response_;
  Reactor* reactor_;
};

// The engine's refusal, or a value of another kind than asked for, as an error.
base::Error unexpected_reply(const core::ReplyBody& body);

// Sends a command to the engine loop; `on_reply` runs on the loop thread and must finish the call.
// False: the loop refused the command, which has finished the call.
bool submit(const OpenCall& open, const Caller& caller, core::CommandBody body,
            std::function<void(core::Reply reply)> on_reply);

// Sends a command and fills the response from its reply: `fill(const ReplyType&, commit seq)`.
template <class ReplyType, class Fill>
Reactor* command(const OpenCall& open, const Caller& caller, core::CommandBody body, Fill fill) {
  submit(open, caller, std::move(body), [open, fill = std::move(fill)](core::Reply reply) {
    auto* value = std::get_if<ReplyType>(&reply.body);
    if (value == nullptr) return open.finish(unexpected_reply(reply.body));
    fill(*value, static_cast<std::int64_t>(reply.seq));
    open.finish({});
  });
  return open.reactor();
}

// The refusal of a query that finds no room in the line of the reader threads.
base::Error too_many_queries();

// Runs a query on a reader thread: `work()` fills the response and returns its status. OVERLOADED
// when too many wait in line, or too many answers to be read by the time it is its turn.
Reactor* query(const OpenCall& open, std::function<base::Status()> work);

// The same for the rest of a call whose command is done already: never refused for the number of
// those that wait.
void complete(const OpenCall& open, std::function<base::Status()> work);

// The tag of a call with a request id; INVALID_FIELD for an id of a bad form. Call it before
// anything is taken out of the request.
base::Result<core::RequestTag> request_tag(const std::string& request_id,
                                           const google::protobuf::MessageLite& body);

// A request's own message, to move large fields out of it. The library made it for this call alone
// and nobody else reads it, but hands it over as const.
template <class Request>
Request* take(const Request* request) {
  return const_cast<Request*>(request);
}

// The same for a request message that has the fields request_id and namespace. The id is taken out
// of the message for it.
template <class Request>
base::Result<core::RequestTag> tag_of(const Request* request) {
  if (request->request_id().empty()) return core::RequestTag{};
  Request* own = take(request);
  const std::string id = std::move(*own->mutable_request_id());
  own->clear_request_id();
  if (own->namespace_().empty()) own->set_namespace_("default");
  return request_tag(id, *own);
}

}  // namespace rota::rpc
