// SPDX-License-Identifier: Apache-2.0
// From a gRPC status with its google.rpc details to an Error, and what it means for a repeat.
#pragma once

#include <grpcpp/support/status.h>

#include "rota/error.h"
#include "rota/v1/common.pb.h"

namespace rota::internal {

struct Fault {
  Error error{};
  bool from_server = false;  // the server said so itself; else it comes from the transport
  bool never_sent = false;   // there was no connection to send on
  bool may_repeat = false;   // the server is away: worth sending again
  bool unknown = false;      // sent, and not known whether it was carried out
  std::string state{};       // of the job, where the server's refusal names one: "CANCELLED"
};

// `status` must not be OK.
Fault to_fault(const grpc::Status& status);

Error to_error(const v1::ItemError& error);

// The request was wrong before anything was sent.
Error invalid(std::string field, std::string message);
Error closed_error();
// Of a bulk call that was answered with another number of results than it had jobs.
Error unknown_answer();

}  // namespace rota::internal
