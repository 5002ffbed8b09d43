// SPDX-License-Identifier: Apache-2.0
#include "rpc/reply_budget.h"

#include <memory>
#include <utility>

#include <grpcpp/generic/async_generic_service.h>

#include "absl/container/flat_hash_map.h"
#include "base/limits.h"

namespace rota::rpc {
namespace {

// Below it an answer counts for the server as a whole only: 1,024 of them, which is as many as a
// connection may have open, are less than its share. To know the connection costs more than to make
// such an answer.
constexpr std::int64_t kSmallReplyBytes = 4 * base::kKiB;
static_assert(kSmallReplyBytes * base::limits::kStreamsMax <= 16 * base::kMiB / 4,
              "at the least limits.reply_bytes");

}  // namespace

// The library gives back a context whose call was carried out, and only that: those that wait for a
// call when the server ends are freed here. That of a method which nobody serves comes back as one
// of the other kind.
class ReplyBudget::Contexts final : public grpc::ContextAllocator {
 public:
  explicit Contexts(ReplyBudget& budget) : budget_(budget) {}

  grpc::CallbackServerContext* NewCallbackServerContext() override {
    return add(std::make_unique<CallContext>());
  }
  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override {
    return add(std::make_unique<grpc::GenericCallbackServerContext>());
  }
  void Release(grpc::CallbackServerContext* context) override {
    if (const auto* call = dynamic_cast<CallContext*>(context)) budget_.over(*call);
    std::unique_ptr<grpc::CallbackServerContext> gone;  // outside the lock
    std::lock_guard lock(mutex_);
    const auto it = made_.find(context);
    gone = std::move(it->second);
    made_.erase(it);
  }
  void Release(grpc::GenericCallbackServerContext* context) override {
    Release(static_cast<grpc::CallbackServerContext*>(context));
  }

 private:
  template <class Made>
  Made* add(std::unique_ptr<Made> fresh) {
    Made* made = fresh.get();
    std::lock_guard lock(mutex_);
    made_.emplace(made, std::move(fresh));
    return made;
  }

  ReplyBudget& budget_;
  std::mutex mutex_;
  absl::flat_hash_map<grpc::CallbackServerContext*, std::unique_ptr<grpc::CallbackServerContext>>
      made_;
};

std::unique_ptr<grpc::ContextAllocator> ReplyBudget::contexts() {
  return std::make_unique<Contexts>(*this);
}

bool ReplyBudget::used_up(const grpc::ServerContextBase& call) const {
  const std::int64_t total = bytes();
  if (total >= max_) return true;
  if (total < share_) return false;
  const std::string peer = call.peer();
  std::lock_guard lock(mutex_);
  const auto own = by_peer_.find(peer);
  return own != by_peer_.end() && own->second >= share_;
}

void ReplyBudget::hand_over(grpc::CallbackServerContext* call,
                            const google::protobuf::MessageLite& response) {
  auto& context = *static_cast<CallContext*>(call);
  context.bytes_ = static_cast<std::int64_t>(response.ByteSizeLong());
  total_.fetch_add(context.bytes_, std::memory_order_relaxed);
  if (context.bytes_ < kSmallReplyBytes) return;
  context.peer_ = context.peer();
  std::lock_guard lock(mutex_);
  by_peer_[context.peer_] += context.bytes_;
}

void ReplyBudget::over(const CallContext& call) {
  if (call.bytes_ == 0) return;
  total_.fetch_sub(call.bytes_, std::memory_order_relaxed);
  if (call.peer_.empty()) return;
  std::lock_guard lock(mutex_);
  const auto own = by_peer_.find(call.peer_);
  if ((own->second -= call.bytes_) == 0) by_peer_.erase(own);
}

}  // namespace rota::rpc
