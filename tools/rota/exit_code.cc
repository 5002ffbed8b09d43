// SPDX-License-Identifier: Apache-2.0
#include "rota/exit_code.h"

namespace rota::cli {

int exit_code(const Error& error) {
  switch (error.code) {
    case Code::kInvalid:
      return kExitUsage;
    case Code::kNotFound:
      return kExitNotFound;
    case Code::kConflict:
    case Code::kPrecondition:
      return kExitConflict;
    case Code::kDenied:
      return kExitDenied;
    case Code::kExhausted:
    case Code::kUnavailable:
    case Code::kTimeout:
      return kExitUnavailable;
    case Code::kInternal:
      return kExitOther;
  }
  return kExitOther;
}

Code code_of_status(int grpc_code) {
  switch (grpc_code) {
    case 3:   // INVALID_ARGUMENT
    case 11:  // OUT_OF_RANGE
      return Code::kInvalid;
    case 4:
      return Code::kTimeout;  // DEADLINE_EXCEEDED
    case 5:
      return Code::kNotFound;  // NOT_FOUND
    case 6:                    // ALREADY_EXISTS
    case 10:
      return Code::kConflict;  // ABORTED
    case 7:                    // PERMISSION_DENIED
    case 16:
      return Code::kDenied;  // UNAUTHENTICATED
    case 8:
      return Code::kExhausted;  // RESOURCE_EXHAUSTED
    case 9:
      return Code::kPrecondition;  // FAILED_PRECONDITION
    case 1:                        // CANCELLED
    case 14:
      return Code::kUnavailable;  // UNAVAILABLE
    default:
      return Code::kInternal;
  }
}

}  // namespace rota::cli
