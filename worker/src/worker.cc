// SPDX-License-Identifier: Apache-2.0
#include "rota/worker.h"

#include <utility>

#include "internal/access.h"
#include "internal/worker_port.h"
#include "src/worker_core.h"

namespace rota {

Worker::Worker(Client& client, WorkerOptions options)
    : core_(std::make_unique<internal::WorkerCore>(
          std::move(options),
          [&client](internal::WorkerIdentity identity) {
            return internal::make_worker_port(client, std::move(identity));
          },
          internal::client_log(client))) {}

Worker::~Worker() = default;

Worker& Worker::handle(std::string kind, Handler handler) {
  core_->handle(std::move(kind), std::move(handler));
  return *this;
}

Worker& Worker::handle_any(Handler handler) {
  core_->handle_any(std::move(handler));
  return *this;
}

Result<Ok> Worker::run() { return core_->run(); }

void Worker::stop() { core_->stop(); }

}  // namespace rota
