// SPDX-License-Identifier: Apache-2.0
#include "rpc/reply_budget.h"

#include <utility>

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
// call when the server ends are freed here.
class ReplyBudget::Contexts final : public grpc::ContextAllocator {
 public:
  explicit Contexts(ReplyBudget& budget) : budget_(budget) {}
  ~Contexts() override {
    while (first_ != nullptr) delete std::exchange(first_, first_->after_);
  }

  grpc::CallbackServerContext* NewCallbackServerContext() override {
    auto* fresh = new CallContext;
    std::lock_guard lock(mutex_);
    fresh->after_ = first_;
    if (first_ != nullptr) first_->before_ = fresh;
    first_ = fresh;
    return fresh;
  }

  void Release(grpc::CallbackServerContext* context) override {
    auto* call = static_cast<CallContext*>(context);
    budget_.over(*call);
    {
      std::lock_guard lock(mutex_);
      (call->before_ != nullptr ? call->before_->after_ : first_) = call->after_;
      if (call->after_ != nullptr) call->after_->before_ = call->before_;
    }
    delete call;
  }
  void Release(grpc::GenericCallbackServerContext* /*none is made*/) override {}

 private:
  ReplyBudget& budget_;
  std::mutex mutex_;
  CallContext* first_ = nullptr;
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
