// SPDX-License-Identifier: Apache-2.0
//
// Answers that were handed to the transport and that their callers have not read yet. A caller that
// never reads would otherwise be given the memory of the server, one answer after the other:
// nothing else bounds what waits in a connection. It is cut in the end, by the keepalive of the
// transport; until then its bytes count here, and the guard refuses calls.
//
// What is counted is what goes over the wire. In memory an answer takes about three times as much,
// since its message lives as long as its call; a page of a listing does not (page_rows.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>

namespace rota::rpc {

class ReplyBudget;

// What the library makes for each call, with what is counted of it. All services of the server get
// these: see ReplyBudget::contexts().
class CallContext final : public grpc::CallbackServerContext {
 private:
  friend class ReplyBudget;
  std::int64_t bytes_ = 0;
  std::string peer_;  // when they count for its connection as well
};

// Thread-safe. Outlives the server.
class ReplyBudget {
 public:
  // One connection may have a quarter of it, so that it takes several that do not read before
  // anybody else is refused.
  explicit ReplyBudget(std::int64_t max_bytes) : max_(max_bytes), share_(max_bytes / 4) {}
  ReplyBudget(const ReplyBudget&) = delete;
  ReplyBudget& operator=(const ReplyBudget&) = delete;

  // What the server must be built with. The allocator must not outlive this.
  std::unique_ptr<grpc::ContextAllocator> contexts();

  // Whether nothing more should be made for this caller now: all is used up, or the share of its
  // connection is.
  bool used_up(const grpc::ServerContextBase& call) const;

  // Right before Finish() with this response; `call` is a CallContext. Counts until the call is
  // over: its last byte has left, or its connection is gone.
  void hand_over(grpc::CallbackServerContext* call, const google::protobuf::MessageLite& response);

  std::int64_t bytes() const { return total_.load(std::memory_order_relaxed); }

 private:
  class Contexts;
  void over(const CallContext& call);

  const std::int64_t max_, share_;
  std::atomic<std::int64_t> total_{0};
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> by_peer_;  // of large answers only
};

}  // namespace rota::rpc
