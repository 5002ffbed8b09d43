// SPDX-License-Identifier: Apache-2.0
//
// The first statement of every RPC: who calls, in which namespace, by when, and whether the server
// takes this class of call now. Server interceptors of this gRPC cannot refuse a call, so the guard
// is a plain function; the table of methods makes sure that no RPC is without one.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "base/clock.h"
#include "base/error.h"
#include "rpc/reply_budget.h"

namespace rota::rpc {

enum class Method : std::uint8_t {
#define ROTA_METHOD(service, name, method_class) k##service##name,
#include "rpc/methods.inc"
};

enum class MethodClass : std::uint8_t { kQuery, kBrief, kOpening, kClosing };

struct MethodInfo {
  Method method;
  std::string_view service;  // "JobService"
  std::string_view name;     // "EnqueueJob"
  MethodClass method_class;
};

// All lines of the table in its order.
const std::vector<MethodInfo>& method_table();

// Who calls and by when.
struct Caller {
  std::string principal;
  std::string name_space;
  std::int64_t received_mono_ms = 0;
  std::int64_t deadline_mono_ms = INT64_MAX;  // none given: INT64_MAX

  std::int64_t time_left_ms(std::int64_t now_mono_ms) const {
    return deadline_mono_ms == INT64_MAX ? INT64_MAX : deadline_mono_ms - now_mono_ms;
  }
};

// The refusal of a call whose answer would have to wait with too many others.
base::Error too_many_unread();

// Thread-safe.
class CallGuard {
 public:
  CallGuard(const base::Clock& clock, const ReplyBudget& replies)
      : clock_(clock), replies_(replies) {}

  // NAMESPACE_NOT_FOUND for another namespace than `default` (or empty), INVALID_FIELD for text
  // that cannot be one, DRAINING for opening calls after drain(), OVERLOADED for queries and
  // opening calls while too many answers wait to be read.
  base::Result<Caller> admit(const grpc::ServerContextBase& context, Method method,
                             const std::string& name_space) const;

  // From now on opening calls are refused.
  void drain() { draining_.store(true, std::memory_order_release); }
  bool draining() const { return draining_.load(std::memory_order_acquire); }

 private:
  const base::Clock& clock_;
  const ReplyBudget& replies_;
  std::atomic<bool> draining_{false};
};

}  // namespace rota::rpc
