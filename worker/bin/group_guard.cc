// SPDX-License-Identifier: Apache-2.0
#include "bin/group_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

namespace rota::worker {
namespace {

// Messages are numbers of groups, negative when one has ended; a pipe takes each as a whole.
[[noreturn]] void watch_over_groups() {
  std::set<pid_t> groups;
  pid_t message = 0;
  while (true) {
    const ssize_t got = read(STDIN_FILENO, &message, sizeof(message));
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof(message)) break;
    if (message > 0) {
      groups.insert(message);
    } else {
      groups.erase(-message);
    }
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  _exit(0);
}

[[noreturn]] void become_guard(int messages) {
  setsid();
  prctl(PR_SET_NAME, "rota-guard");
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(number, SIG_IGN);
  const int nothing = open("/dev/null", O_RDWR);
  if (dup2(messages, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
      dup2(nothing, STDERR_FILENO) < 0) {
    _exit(1);
  }
  close_range(STDERR_FILENO + 1, ~0U, 0);
  watch_over_groups();
}

Error failed(int number) {
  Error error;
  error.code = Code::kUnavailable;
  error.reason = "SPAWN_FAILED";
  error.message = std::string("cannot start the guard of the commands: ") + std::strerror(number);
  return error;
}

}  // namespace

Result<GroupGuard> GroupGuard::start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failed(errno);
  // A guard that somebody has stopped must not stop the worker.
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const pid_t pid = fork();
  if (pid == 0) become_guard(ends[0]);
  const int number = errno;
  close(ends[0]);
  if (pid < 0) {
    close(ends[1]);
    return failed(number);
  }
  return GroupGuard(pid, ends[1]);
}

GroupGuard::GroupGuard(GroupGuard&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), descriptor_(std::exchange(other.descriptor_, -1)) {}

GroupGuard::~GroupGuard() {
  if (pid_ < 0) return;
  close(descriptor_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void GroupGuard::tell(pid_t what) const {
  [[maybe_unused]] const ssize_t written = write(descriptor_, &what, sizeof(what));
}

}  // namespace rota::worker
