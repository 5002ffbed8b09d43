// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "rota/error.h"

namespace rota::worker {

// A process that outlives this one for a moment. When this one has died, in whatever way, it kills
// the process groups of the commands that were running: the parent-death signal reaches a command,
// but none of what that has started, and a job that runs on without a lease may run twice at once.
// What a command starts in a session or group of its own is not reached.
class GroupGuard {
 public:
  // To be called while the process has one thread. The guard takes no part in signals to the
  // process group or the terminal of the caller, and holds none of its files.
  static Result<GroupGuard> start();
  GroupGuard(GroupGuard&& other) noexcept;
  GroupGuard& operator=(GroupGuard&&) = delete;
  // Waits until the guard has ended.
  ~GroupGuard();

  // A group runs a command from now on. Async-signal-safe: the command's process says so itself
  // before it becomes the command, so that no death of this process comes in between.
  void began(pid_t group) const { tell(group); }
  // To be called while the number cannot be another group's yet. Thread-safe.
  void ended(pid_t group) const { tell(-group); }

 private:
  GroupGuard(pid_t pid, int descriptor) : pid_(pid), descriptor_(descriptor) {}
  void tell(pid_t what) const;

  pid_t pid_;
  int descriptor_;  // to the guard, which sees its end when nobody has it any more
};

}  // namespace rota::worker
