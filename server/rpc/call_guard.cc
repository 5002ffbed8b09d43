// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_guard.h"

#include <chrono>

#include "base/names.h"

namespace rota::rpc {
namespace {

constexpr MethodInfo kMethods[] = {
#define ROTA_METHOD(service, name, method_class) \
  {Method::k##service##name, #service, #name, MethodClass::method_class},
#include "rpc/methods.inc"
};

constexpr std::int64_t kRetryWhileDrainingMs = 500;
constexpr std::int64_t kRetryWhileUnreadMs = 200;

// The deadline comes as an instant of the system clock; what counts is the time left.
std::int64_t deadline_mono_ms(const grpc::ServerContextBase& context, std::int64_t now_mono_ms) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return INT64_MAX;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::system_clock::now());
  constexpr std::int64_t kFarMs = 366LL * 24 * 3600 * 1000;
  return left.count() > kFarMs ? INT64_MAX : now_mono_ms + left.count();
}

}  // namespace

const std::vector<MethodInfo>& method_table() {
  static const std::vector<MethodInfo> table(std::begin(kMethods), std::end(kMethods));
  return table;
}

base::Error too_many_unread() {
  auto error = base::make_error(base::Reason::kOverloaded,
                                "too many answers wait for their callers to read them");
  error.retry_after_ms = kRetryWhileUnreadMs;
  return error;
}

base::Result<Caller> CallGuard::admit(const grpc::ServerContextBase& context, Method method,
                                      const std::string& name_space) const {
  if (!name_space.empty() && name_space != "default") {
    if (auto fault = base::check_name("namespace", name_space)) return *fault;
    auto error = base::make_error(base::Reason::kNamespaceNotFound,
                                  "no namespace '" + name_space + "'", "namespace");
    error.meta["namespace"] = name_space;
    return error;
  }
  const auto& info = kMethods[static_cast<std::size_t>(method)];
  if (info.method_class == MethodClass::kOpening && draining()) {
    auto error = base::make_error(base::Reason::kDraining, "the server is shutting down");
    error.retry_after_ms = kRetryWhileDrainingMs;
    return error;
  }
  const bool may_be_refused =
      info.method_class == MethodClass::kQuery || info.method_class == MethodClass::kOpening;
  if (may_be_refused && replies_.used_up(context)) return too_many_unread();
  const std::int64_t now = clock_.mono_ms();
  return Caller{.principal = "local",
                .name_space = "default",
                .received_mono_ms = now,
                .deadline_mono_ms = deadline_mono_ms(context, now)};
}

}  // namespace rota::rpc
