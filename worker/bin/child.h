// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "bin/group_guard.h"
#include "rota/error.h"

namespace rota::worker {

struct Command {
  std::vector<std::string> arguments{};    // the first is looked for on the PATH
  std::vector<std::string> environment{};  // NAME=VALUE, on top of the worker's own
  const GroupGuard* guard = nullptr;       // is told of the command's group; it must outlive it
};

// A running command. Standard input, output and error are pipes that do not block.
struct Child {
  pid_t pid = 0;
  int pid_descriptor = -1;
  int input = -1, output = -1, error = -1;
};

// Starts a command in a process group of its own. When this worker dies in whatever way, the kernel
// kills the command, and the guard its whole group: the parent-death signal is tied to the calling
// thread, so call it from one that lives as long as the process. An error says why the command
// could not be started: kUnavailable while the machine is short of processes, memory or
// descriptors, else kInvalid: it is not there, must not be executed, or its arguments and
// environment are too large.
Result<Child> spawn(const Command& command);

// Why a command of this name cannot be started, as an errno (ENOENT, EACCES, ENOTDIR, ...); 0 when
// it is there, looked for as spawn() does. No promise: it may go, and what interprets it be
// missing.
int command_fault(const std::string& name);

}  // namespace rota::worker
