// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bin/spawner.h"
#include "rota/worker.h"

namespace rota::worker {

// Runs one command for each job. Payload on standard input, the job's identity in ROTA_* variables.
// Exit code 0: succeeded, the first 256 KiB of standard output are the result. 75: snoozed.
// Anything else, a signal, or a command that cannot be started: failed, retryable. When the job is
// to stop, its process group gets TERM, then KILL after the grace; what is left of the group when
// the command has ended gets KILL. Thread-safe.
class ExecHandler {
 public:
  // `grace`: between TERM and KILL, cut so that all is over when the lease is. Ignores SIGPIPE in
  // this process from here on.
  ExecHandler(std::vector<std::string> command, Millis grace);

  Outcome operator()(Context& context);

 private:
  const std::vector<std::string> command_;
  const Millis grace_;
  Spawner spawner_;
};

// The ROTA_* variables of a job.
std::vector<std::string> environment_of(const Job& job);

}  // namespace rota::worker
