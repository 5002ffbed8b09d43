// SPDX-License-Identifier: Apache-2.0
//
// The listener: ports, limits of the transport, health, reflection, and the services.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/service_type.h>

#include "base/error.h"
#include "rpc/context.h"

namespace rota::rpc {

struct GrpcServerOptions {
  std::vector<std::string> addresses;  // HOST:PORT; port 0 takes any free one
  bool reflection = false;
};

class GrpcServer {
 public:
  // Listens and serves, health NOT_SERVING until set_serving(). `context` must outlive the object.
  // An error says which address could not be bound.
  static base::Result<std::unique_ptr<GrpcServer>> start(Context& context,
                                                         const GrpcServerOptions& options);
  // Shuts down at once if shutdown() was not called.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  // HOST:PORT with the ports that were bound.
  const std::vector<std::string>& addresses() const { return addresses_; }

  // The health of the empty name and of each service's.
  void set_serving(bool serving);

  // Health NOT_SERVING, and opening calls are refused from now on. What is in flight goes on.
  void drain();

  // Takes no more calls, lets those in flight end until the deadline, then ends them. Blocks.
  // Idempotent.
  void shutdown(std::int64_t timeout_ms);

 private:
  explicit GrpcServer(Context& context) : context_(context) {}

  Context& context_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::vector<std::string> addresses_;
  std::unique_ptr<grpc::Server> server_;
  std::atomic<bool> down_{false};
};

// "127.0.0.1" of "127.0.0.1:7500", "::1" of "[::1]:7500"; the port goes to `port` (-1: none).
std::string host_of(const std::string& address, int* port = nullptr);

}  // namespace rota::rpc
