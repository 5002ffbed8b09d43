// SPDX-License-Identifier: Apache-2.0
#include "rpc/grpc_server.h"

#include <charconv>
#include <chrono>
#include <utility>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include "base/limits.h"
#include "rpc/services.h"

namespace rota::rpc {
namespace {

namespace limits = base::limits;

constexpr const char* kServiceNames[] = {"rota.v1.JobService", "rota.v1.WorkerService",
                                         "rota.v1.QueueService", "rota.v1.SchedulerService",
                                         "rota.v1.AdminService"};

constexpr int kMetadataBytesMax = 16 * 1024;
constexpr int kKeepaliveMs = 30'000;  // own pings, so that a dead connection is found
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr int kClientPingMsMin = 10'000;  // clients may ping this often, also without a call
constexpr int kPingStrikesMax = 2;
constexpr int kConnectionIdleMs = 600'000;
constexpr int kConnectionAgeMs = 1'800'000;  // then a friendly GOAWAY: spreads clients again
constexpr int kConnectionAgeGraceMs = 300'000;
// A message is held whole before its size is looked at: this bounds what one bad client can take.
constexpr std::size_t kTransportMemoryMax = 192U << 20U;

void set_limits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits::kReceiveBytesMax));
  // A lease reply may hold the largest call's bytes, and what belongs to each job besides.
  builder.SetMaxSendMessageSize(static_cast<int>(2 * limits::kReceiveBytesMax));
  // Two servers on one port would share its connections without a word.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits::kStreamsMax);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kClientPingMsMin);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kPingStrikesMax);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kConnectionIdleMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kConnectionAgeMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kConnectionAgeGraceMs);
  // A small compressed message could unfold to a large one; payloads are the users' to compress.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  grpc::ResourceQuota quota("rota");
  quota.Resize(kTransportMemoryMax);
  builder.SetResourceQuota(quota);
}

// For the whole process: every server that is built later has it too.
void switch_reflection_on() {
  [[maybe_unused]] static const bool done = [] {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
}

}  // namespace

std::string host_of(const std::string& address, int* port) {
  const auto colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (port != nullptr) {
    *port = -1;
    if (colon != std::string::npos) {
      const char* end = address.data() + address.size();
      int value = 0;
      const auto [stop, fault] = std::from_chars(address.data() + colon + 1, end, value);
      if (fault == std::errc() && stop == end && value >= 0 && value <= 65'535) *port = value;
    }
  }
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

base::Result<std::unique_ptr<GrpcServer>> GrpcServer::start(Context& context,
                                                            const GrpcServerOptions& options) {
  grpc::EnableDefaultHealthCheckService(true);
  if (options.reflection) switch_reflection_on();
  std::unique_ptr<GrpcServer> self(new GrpcServer(context));
  grpc::ServerBuilder builder;
  set_limits(builder);
  builder.SetContextAllocator(context.replies.contexts());
  std::vector<int> ports(options.addresses.size(), 0);
  for (std::size_t i = 0; i < options.addresses.size(); ++i) {
    builder.AddListeningPort(options.addresses[i], grpc::InsecureServerCredentials(), &ports[i]);
  }
  self->services_.push_back(make_job_service(context));
  self->services_.push_back(make_worker_service(context));
  self->services_.push_back(make_queue_service(context));
  self->services_.push_back(make_scheduler_service(context));
  self->services_.push_back(make_admin_service(context));
  for (const auto& service : self->services_) builder.RegisterService(service.get());
  self->server_ = builder.BuildAndStart();
  for (std::size_t i = 0; i < options.addresses.size(); ++i) {
    const auto& address = options.addresses[i];
    if (self->server_ == nullptr || ports[i] <= 0) {
      return base::make_error(base::Reason::kInternal,
                              "cannot listen on " + address +
                                  ": in use by another process, or not an address of this host");
    }
    const auto colon = address.rfind(':');
    self->addresses_.push_back(address.substr(0, colon) + ":" + std::to_string(ports[i]));
  }
  if (self->server_ == nullptr) {
    return base::make_error(base::Reason::kInternal, "the listener could not be started");
  }
  self->set_serving(false);
  return self;
}

GrpcServer::~GrpcServer() { shutdown(0); }

void GrpcServer::set_serving(bool serving) {
  auto* health = server_->GetHealthCheckService();
  if (health == nullptr) return;
  for (const char* name : kServiceNames) health->SetServingStatus(name, serving);
  health->SetServingStatus("", serving);
}

void GrpcServer::drain() {
  context_.guard.drain();
  if (server_ != nullptr) set_serving(false);
}

void GrpcServer::shutdown(std::int64_t timeout_ms) {
  if (server_ == nullptr || down_.exchange(true)) return;
  drain();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms));
  server_->Wait();
}

}  // namespace rota::rpc
