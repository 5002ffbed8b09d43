// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bin/group_guard.h"
#include "bin/spawner.h"
#include "rota/worker.h"
#include "src/line_budget.h"

namespace rota::worker {

// Runs one command for each job. Payload on standard input, the job's identity in ROTA_* variables.
// Exit code 0: succeeded, the first 256 KiB of standard output are the result. 75: snoozed.
// Anything else, or a signal: failed, retryable. When the job is to stop, its process group gets
// TERM, then KILL after the grace; what is left of the group when the command has ended gets KILL.
// Exit code 0 after TERM is a failure too: programs that shut down in order end so in the middle of
// their work. A command that cannot be started is no fault of the job: it is put off, for longer
// with each grant and at most a minute, and uses no attempt. Thread-safe.
class ExecHandler {
 public:
  // `grace`: between TERM and KILL, cut so that all is over when the lease is. Ignores SIGPIPE in
  // this process from here on. `environment`: NAME=VALUE, for the command of every job. `log`: gets
  // a warning for each job that is put off, within bounds. `guard`: sees to it that no command
  // outlives this process; it must outlive the handler.
  ExecHandler(std::vector<std::string> command, Millis grace,
              std::vector<std::string> environment = {}, internal::LogFunction log = {},
              const GroupGuard* guard = nullptr);
  ~ExecHandler() { warnings_.flush(); }

  Outcome operator()(Context& context);

 private:
  Outcome put_off(Context& context, const std::string& why);

  const std::vector<std::string> command_, environment_;
  const Millis grace_;
  const GroupGuard* const guard_;
  internal::LineBudget warnings_;
  Spawner spawner_;
};

// The ROTA_* variables of a job.
std::vector<std::string> environment_of(const Job& job);

}  // namespace rota::worker
