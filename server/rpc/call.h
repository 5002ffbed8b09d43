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
void finish(Reactor* reactor, const base::Status& status);

// The engine's refusal, or a value of another kind than asked for, as an error.
base::Error unexpected_reply(const core::ReplyBody& body);

// Sends a command to the engine loop; `on_reply` runs on the loop thread and must finish the
// reactor, unless the loop refused the command, which finishes it here.
void submit(Context& context, const Caller& caller, core::CommandBody body, Reactor* reactor,
            std::function<void(core::Reply reply)> on_reply);

// Sends a command and fills the response from its reply: `fill(const ReplyType&, commit seq)`.
template <class ReplyType, class Fill>
Reactor* command(Context& context, grpc::CallbackServerContext* call, const Caller& caller,
                 core::CommandBody body, Fill fill) {
  auto* reactor = call->DefaultReactor();
  submit(context, caller, std::move(body), reactor,
         [reactor, fill = std::move(fill)](core::Reply reply) {
           auto* value = std::get_if<ReplyType>(&reply.body);
           if (value == nullptr) return finish(reactor, unexpected_reply(reply.body));
           fill(*value, static_cast<std::int64_t>(reply.seq));
           finish(reactor, {});
         });
  return reactor;
}

// The refusal of a query that finds no room in the line of the reader threads.
base::Error too_many_queries();

// Runs a query on a reader thread: `work()` fills the response and returns its status. OVERLOADED
// when too many wait.
Reactor* query(Context& context, grpc::CallbackServerContext* call,
               std::function<base::Status()> work);

// The same for the rest of a call whose command is done already: never refused for the number of
// those that wait.
void complete(Context& context, Reactor* reactor, std::function<base::Status()> work);

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
