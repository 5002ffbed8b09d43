// SPDX-License-Identifier: Apache-2.0
#include "driver/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

namespace rota::driver {
namespace {

// This process's environment with `more` on top. The strings stay where they are.
std::vector<char*> environment_with(const std::vector<std::string>& more) {
  std::vector<char*> all;
  for (const std::string& one : more) all.push_back(const_cast<char*>(one.c_str()));
  for (char** own = environ; own != nullptr && *own != nullptr; ++own) {
    const std::string_view text(*own);
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::any_of(more.begin(), more.end(), [&](const std::string& one) {
      return std::string_view(one).starts_with(name);
    });
    if (!replaced) all.push_back(*own);
  }
  all.push_back(nullptr);
  return all;
}

}  // namespace

std::int64_t wall_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::int64_t mono_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

bool wait_until(const std::function<bool()>& done, std::int64_t at_most_ms) {
  const std::int64_t end = mono_ms() + at_most_ms;
  while (!done()) {
    if (mono_ms() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

Process::Process(Process&& other) noexcept : pid_(other.pid_) { other.pid_ = -1; }

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

Process::~Process() {
  if (pid_ <= 0) return;
  signal(SIGCONT);
  signal(SIGKILL);
  wait(5'000);
}

std::optional<Process> Process::start(const std::vector<std::string>& command,
                                      const std::string& log, bool dies_with_parent,
                                      const std::vector<std::string>& environment) {
  std::vector<char*> envp = environment_with(environment);  // before the fork: it allocates
  std::vector<char*> argv;
  for (const std::string& arg : command) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return std::nullopt;
  if (pid == 0) {
    setpgid(0, 0);
    if (dies_with_parent) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(127);
    }
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  setpgid(pid, pid);  // as the child does: whichever comes first, the group is there now
  Process process;
  process.pid_ = pid;
  return process;
}

void Process::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

std::optional<Process::Change> Process::poll() {
  if (pid_ <= 0) return std::nullopt;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG | WUNTRACED) != pid_) return std::nullopt;
  Change change;
  if (WIFSTOPPED(status)) {
    change.stopped = true;
    return change;
  }
  change.ended = true;
  if (WIFSIGNALED(status)) change.signal = WTERMSIG(status);
  if (WIFEXITED(status)) change.exit_code = WEXITSTATUS(status);
  pid_ = -1;
  return change;
}

std::optional<Process::Change> Process::wait(std::int64_t at_most_ms) {
  std::optional<Change> change;
  const auto ended = [&] {
    change = poll();
    return pid_ <= 0;
  };
  if (wait_until(ended, at_most_ms)) return change;
  signal(SIGCONT);
  signal(SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return std::nullopt;
}

bool group_lives(pid_t pid) {
  if (pid <= 0) return false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    // "PID (NAME) STATE PARENT GROUP ..."; the name may hold anything.
    const std::string stat = read_file(entry.path() / "stat");
    const auto end_of_name = stat.rfind(')');
    if (end_of_name == std::string::npos) continue;  // gone meanwhile
    std::istringstream rest(stat.substr(end_of_name + 1));
    char state = 0;
    pid_t parent = 0, group = 0;
    rest >> state >> parent >> group;
    if (group == pid && state != 'Z' && state != 'X') return true;
  }
  return false;
}

bool ServerProcess::start(bool dies_with_parent, const std::vector<std::string>& more,
                          const std::vector<std::string>& environment) {
  struct stat info {};
  const std::size_t from =
      ::stat(log_.c_str(), &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
  // No ballast: many servers share one disk here, which may be memory.
  std::vector<std::string> command = {
      binary_, "--data", data_, "--listen", listen_, "--store-ballast-bytes", "0"};
  command.insert(command.end(), more.begin(), more.end());
  auto process = Process::start(command, log_, dies_with_parent, environment);
  if (!process) {
    error_ = "cannot start " + binary_;
    return false;
  }
  process_ = std::move(*process);
  ended_.reset();
  const bool up = wait_until(
      [&] {
        if (auto change = process_.poll(); change && change->ended) ended_ = change;
        const std::string text = read_file(log_, from);
        const std::string mark = "listening on ";
        const auto at = text.find(mark);
        const auto end =
            at == std::string::npos ? at : text.find_first_of(" \n\"", at + mark.size());
        if (end == std::string::npos) return ended_.has_value();
        address_ = text.substr(at + mark.size(), end - at - mark.size());
        return true;
      },
      kPatienceMs);
  if (!up || ended_) {
    error_ = "the server did not start:\n" + read_file(log_, from);
    return false;
  }
  listen_ = address_;
  return true;
}

bool ServerProcess::kill() {
  process_.signal(SIGKILL);
  const auto change = process_.wait(kPatienceMs);
  return change && change->signal == SIGKILL;
}

std::optional<int> ServerProcess::stop(std::int64_t at_most_ms) {
  process_.signal(SIGTERM);
  auto change = process_.wait(at_most_ms);
  if (!change || change->signal != 0) return std::nullopt;
  return change->exit_code;
}

std::string read_file(const std::string& path, std::size_t from) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(from));
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace rota::driver
