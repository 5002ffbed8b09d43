// SPDX-License-Identifier: Apache-2.0
//
// A whole server in this process, on a free loopback port, over a store in memory. It serves many
// inputs, since a start costs as much as a hundred of them; so what an input finds may need those
// before it. After kInputsOfOneServer it is stopped, everything it stored is recounted, and a new
// one begins with nothing.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "app/server.h"
#include "fuzz/fuzz.h"
#include "store/memory_store.h"

namespace rota::fuzz {

class LiveServer {
 public:
  static constexpr int kInputsOfOneServer = 500;

  // The one of this process.
  static LiveServer& instance();

  // Before each input.
  void next_input();

  struct Answer {
    grpc::Status status;
    std::string bytes;
  };
  // `method` is "/rota.v1.JobService/GetJob".
  Answer call(const std::string& method, const std::string& request);

  int port() const { return port_; }

 private:
  LiveServer() = default;
  void start();
  void stop();

  std::shared_ptr<store::MemoryDisk> disk_;
  std::unique_ptr<app::Server> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
  int port_ = 0;
  int inputs_ = 0;
};

}  // namespace rota::fuzz
