// SPDX-License-Identifier: Apache-2.0
// The exit codes of `rota`. They are part of its interface: scripts branch on them.
#pragma once

#include "rota/error.h"

namespace rota::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitOther = 1,          // any other failure
  kExitUsage = 2,          // wrong usage, or the server found an argument wrong
  kExitNotFound = 3,       // no such queue, job, scheduler
  kExitConflict = 4,       // it exists already, or its state does not allow it
  kExitDenied = 5,         // not authenticated, or not allowed
  kExitUnavailable = 6,    // unreachable, too late, or a limit of the server is reached
  kExitNotSucceeded = 7,   // `job wait`: the job ended otherwise than SUCCEEDED
  kExitInterrupted = 130,  // SIGINT
  kExitTerminated = 143,   // SIGTERM
};

// The code for an error of a call.
int exit_code(const Error& error);

// The client's class of a google.rpc.Code number, as an item of a bulk call carries it.
Code code_of_status(int grpc_code);

// Several items in one command: the code of the first that was refused, 0 when none was.
class FirstFailure {
 public:
  void add(int code) {
    if (code_ == kExitOk) code_ = code;
  }
  int code() const { return code_; }

 private:
  int code_ = kExitOk;
};

}  // namespace rota::cli
