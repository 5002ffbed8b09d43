// SPDX-License-Identifier: Apache-2.0
//
// Request and response of one call on one arena, for calls with many items: their hundreds of small
// messages are allocated in a few blocks and freed at once when the call is done.
#pragma once

#include <google/protobuf/arena.h>
#include <grpcpp/support/message_allocator.h>

namespace rota::rpc {

// Give it to SetMessageAllocatorFor_X() of the service that owns it, before the server starts.
// Thread-safe.
template <class Request, class Response>
class ArenaMessages final : public grpc::MessageAllocator<Request, Response> {
 public:
  grpc::MessageHolder<Request, Response>* AllocateMessages() override { return new Holder; }

 private:
  class Holder final : public grpc::MessageHolder<Request, Response> {
   public:
    Holder() {
      this->set_request(google::protobuf::Arena::CreateMessage<Request>(&arena_));
      this->set_response(google::protobuf::Arena::CreateMessage<Response>(&arena_));
    }
    void Release() override { delete this; }

   private:
    google::protobuf::Arena arena_;
  };
};

}  // namespace rota::rpc
