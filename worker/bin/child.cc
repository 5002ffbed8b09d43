// SPDX-License-Identifier: Apache-2.0
#include "bin/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace rota::worker {
namespace {

struct Pipe {
  int read_end = -1, write_end = -1;
  ~Pipe() {
    if (read_end >= 0) close(read_end);
    if (write_end >= 0) close(write_end);
  }
  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  static int take(int& end) {
    const int taken = end;
    end = -1;
    return taken;
  }
};

// True: this machine is short of something; the command itself may be all right.
bool is_shortage(int number) {
  return number == EAGAIN || number == ENOMEM || number == EMFILE || number == ENFILE ||
         number == ETXTBSY;
}

Error failed(const std::string& command, int number) {
  Error error;
  error.code = is_shortage(number) ? Code::kUnavailable : Code::kInvalid;
  error.reason = "SPAWN_FAILED";
  error.message = "cannot start '" + command + "': " + std::strerror(number);
  return error;
}

std::string name_of(const std::string& variable) { return variable.substr(0, variable.find('=')); }

std::vector<std::string> merged_environment(const std::vector<std::string>& ours) {
  std::vector<std::string> merged = ours;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name = name_of(*variable);
    bool replaced = false;
    for (const std::string& own : ours) replaced = replaced || name_of(own) == name;
    if (!replaced) merged.emplace_back(*variable);
  }
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> raw;
  raw.reserve(texts.size() + 1);
  for (std::string& text : texts) raw.push_back(text.data());
  raw.push_back(nullptr);
  return raw;
}

int file_fault(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return errno;
  if (!S_ISREG(about.st_mode)) return EACCES;  // what exec says of a directory
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

// Between fork and exec in a process with threads: async-signal-safe calls only.
[[noreturn]] void become(char* const* arguments, char* const* environment, const GroupGuard* guard,
                         pid_t parent, int input, int output, int error, int report) {
  const auto give_up = [report] {
    const int number = errno;
    [[maybe_unused]] const ssize_t written = write(report, &number, sizeof(number));
    _exit(127);
  };
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The worker may have died before the signal was asked for.
  if (getppid() != parent) _exit(127);
  if (guard != nullptr) guard->began(getpid());
  if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(error, STDERR_FILENO) < 0) {
    give_up();
  }
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGHUP}) sigaction(number, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvpe(arguments[0], arguments, environment);
  give_up();
  _exit(127);
}

}  // namespace

Result<Child> spawn(const Command& command) {
  Pipe input, output, error, report;
  if (!input.open() || !output.open() || !error.open() || !report.open()) {
    return failed(command.arguments[0], errno);
  }
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = merged_environment(command.environment);
  const std::vector<char*> raw_arguments = pointers(arguments);
  const std::vector<char*> raw_environment = pointers(environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return failed(command.arguments[0], errno);
  if (pid == 0) {
    become(raw_arguments.data(), raw_environment.data(), command.guard, parent, input.read_end,
           output.write_end, error.write_end, report.write_end);
  }
  setpgid(pid, pid);  // here too: a signal to the group may come before the child gets to it
  close(Pipe::take(report.write_end));
  // Closed by a successful exec; else the child writes why not.
  int number = 0;
  ssize_t got = 0;
  while ((got = read(report.read_end, &number, sizeof(number))) < 0 && errno == EINTR) {
  }
  if (got > 0) {
    if (command.guard != nullptr) command.guard->ended(pid);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return failed(command.arguments[0], number);
  }
  Child child;
  child.pid = pid;
  child.pid_descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  child.input = Pipe::take(input.write_end);
  child.output = Pipe::take(output.read_end);
  child.error = Pipe::take(error.read_end);
  for (const int end : {child.input, child.output, child.error}) {
    fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK);
  }
  return child;
}

int command_fault(const std::string& name) {
  if (name.empty()) return ENOENT;
  if (name.find('/') != std::string::npos) return file_fault(name);
  const char* from_environment = std::getenv("PATH");
  const std::string path = from_environment != nullptr ? from_environment : "/bin:/usr/bin";
  int fault = ENOENT;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    const int here = file_fault(folder.empty() ? "./" + name : folder + "/" + name);
    if (here == 0) return 0;
    if (here == EACCES) fault = EACCES;  // one that is there says more than those that are not
    begin = end + 1;
  }
  return fault;
}

}  // namespace rota::worker
