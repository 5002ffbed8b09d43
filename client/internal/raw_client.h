// SPDX-License-Identifier: Apache-2.0
// Every RPC of rota.v1 as one method over the generated messages, for the command line, the tests
// and the client itself: connection, deadlines, repeats and error details without any gRPC type.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rota/client.h"
#include "rota/error.h"
#include "rota/v1/admin_service.pb.h"
#include "rota/v1/job_service.pb.h"
#include "rota/v1/queue_service.pb.h"
#include "rota/v1/scheduler_service.pb.h"
#include "rota/v1/worker_service.pb.h"

namespace rota::internal {

class Transport;

struct CallOptions {
  std::optional<Millis> timeout{};  // of the call with all repeats; unset: ClientOptions::timeout
  // Whether a call that found the server away (UNAVAILABLE) is sent again, with the same request
  // id, until the timeout.
  bool repeat = true;
  // Whether that holds for a refused connection too; false: it is reported at once.
  bool repeat_refused = true;
};

// Thread-safe; copies share one connection. A request whose `request_id` is empty gets one, so that
// every repeat is safe; src/repeat.h has the table of what a repeat means for each method. Messages
// are taken as they are: the namespace is the caller's to fill.
class RawClient {
 public:
  // Does no I/O. kInvalid for options out of bounds.
  static Result<RawClient> create(const ClientOptions& options);
  explicit RawClient(std::shared_ptr<Transport> transport);
  RawClient(const RawClient&);
  RawClient& operator=(const RawClient&);
  RawClient(RawClient&&) noexcept;
  RawClient& operator=(RawClient&&) noexcept;
  ~RawClient();

  // Result<v1::GetJobResponse> get_job(v1::GetJobRequest, CallOptions), and so on. The _async form
  // calls `done` exactly once, on a thread of the transport; it must not block.
#define ROTA_RPC(Service, Method, name)                                                     \
  Result<v1::Method##Response> name(v1::Method##Request request, CallOptions options = {}); \
  void name##_async(v1::Method##Request request, CallOptions options,                       \
                    std::function<void(Result<v1::Method##Response>)> done);
#include "internal/rpcs.inc"
#undef ROTA_RPC

  // The standard health service: "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN" or "UNKNOWN".
  Result<std::string> health(const std::string& service, Millis timeout);

  // Ok as soon as the server answers, else the last error after `at_most`.
  Result<Ok> wait_for_server(Millis at_most);

  // HOST:PORT that is called.
  const std::string& address() const;

  // Ends what is in flight with kUnavailable, waits for its callbacks, and refuses what comes
  // later.
  void close();

  const std::shared_ptr<Transport>& transport() const { return transport_; }

 private:
  std::shared_ptr<Transport> transport_;
};

}  // namespace rota::internal
