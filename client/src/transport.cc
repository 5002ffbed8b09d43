// SPDX-License-Identifier: Apache-2.0
#include "src/transport.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cstdlib>

#include "base/limits.h"
#include "src/reply_limit.h"
#include "src/status.h"

namespace rota::internal {
namespace {

std::string address_of(const ClientOptions& options) {
  if (!options.address.empty()) return options.address;
  const char* from_environment = std::getenv("ROTA_ADDRESS");
  return from_environment != nullptr && *from_environment != '\0' ? from_environment
                                                                  : "127.0.0.1:7500";
}

bool is_host_and_port(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) return false;
  const std::string port = address.substr(colon + 1);
  if (port.size() > 5 ||
      !std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  const int number = std::atoi(port.c_str());
  return number >= 1 && number <= 65535;
}

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A server that restarts is back within seconds: look for it often, from the first failure on.
  // After a refused connection the name is looked up again before the next attempt; the default
  // would wait 30 s between look-ups.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 250);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  // Both the least time between attempts and the least time one may take.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  // Repeats are ours: they know about request ids, and stop at the caller's deadline.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A proxy for the web is none for a queue.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kReplyBytesMax);
  arguments.SetMaxSendMessageSize(-1);  // the server's limit answers, with a reason
  return arguments;
}

}  // namespace

Result<std::shared_ptr<Transport>> Transport::create(const ClientOptions& options) {
  const std::string address = address_of(options);
  if (!is_host_and_port(address)) {
    return invalid("address", "'" + address + "' is not HOST:PORT with a port of 1 to 65535");
  }
  if (options.timeout < Millis(1) || options.timeout > Millis(base::kHourMs)) {
    return invalid("timeout",
                   std::to_string(options.timeout.count()) + " ms, must be from 1 ms to 1 h");
  }
  return std::shared_ptr<Transport>(new Transport(options));
}

Transport::Transport(const ClientOptions& options)
    : address_(address_of(options)),
      name_space_(options.name_space),
      timeout_(options.timeout),
      log_(options.log ? options.log : [](int, std::string_view) {}),
      channel_(grpc::CreateCustomChannel("dns:///" + address_, grpc::InsecureChannelCredentials(),
                                         channel_arguments())),
      job_(v1::JobService::NewStub(channel_)),
      worker_(v1::WorkerService::NewStub(channel_)),
      queue_(v1::QueueService::NewStub(channel_)),
      scheduler_(v1::SchedulerService::NewStub(channel_)),
      admin_(v1::AdminService::NewStub(channel_)) {}

Transport::~Transport() { close(); }

bool Transport::enter(CallHandle* call) {
  std::lock_guard lock(mutex_);
  if (closed_) return false;
  calls_.insert(call);
  return true;
}

void Transport::leave(CallHandle* call) {
  std::lock_guard lock(mutex_);
  calls_.erase(call);
  if (closed_ && calls_.empty()) changed_.notify_all();
}

bool Transport::sleep(Millis pause) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, pause, [this] { return closed_; });
}

void Transport::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  // Under the lock a call cannot leave, so each pointer stays good while it is cancelled.
  for (CallHandle* call : calls_) call->cancel();
  changed_.wait(lock, [this] { return calls_.empty(); });
}

}  // namespace rota::internal
