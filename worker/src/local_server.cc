// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "internal/clock.h"
#include "rota/testing.h"

namespace rota::testing {
namespace {

using internal::BootClock;
using internal::BootTime;

constexpr std::string_view kListening = "listening on ";

Error failed(std::string reason, std::string message) {
  Error error;
  error.code = Code::kUnavailable;
  error.reason = std::move(reason);
  error.message = std::move(message);
  return error;
}

std::string binary_of(const LocalServerOptions& options) {
  if (!options.binary.empty()) return options.binary;
  const char* from_environment = std::getenv("ROTA_SERVER_BINARY");
  return from_environment != nullptr && *from_environment != '\0' ? from_environment
                                                                  : "rota-server";
}

std::string make_directory() {
  const char* root = std::getenv("TMPDIR");
  std::string path = std::string(root != nullptr && *root != '\0' ? root : "/tmp") + "/rota-XXXXXX";
  return mkdtemp(path.data()) != nullptr ? path : std::string();
}

}  // namespace

struct LocalServer::State {
  LocalServerOptions options;
  std::string binary, data, address;
  bool owns_data = false;
  pid_t pid = 0;
  int output = -1;      // what the server prints
  std::string printed;  // until it listens
  std::thread reader;   // afterwards: takes what the server prints, so that it never waits for us

  ~State() {
    end(SIGKILL);
    std::error_code ignored;
    if (owns_data) std::filesystem::remove_all(data, ignored);
  }

  int end(int signal_number) {
    if (pid <= 0) return 0;
    ::kill(pid, signal_number);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    pid = 0;
    close_output();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void close_output() {
    if (reader.joinable()) reader.join();
    if (output >= 0) close(output);
    output = -1;
  }

  Result<Ok> spawn(const std::string& listen);
  Result<Ok> wait_until_listening();
};

Result<Ok> LocalServer::State::spawn(const std::string& listen) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return failed("SPAWN_FAILED", std::strerror(errno));
  std::vector<std::string> arguments = {binary, "--data", data, "--listen", listen};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> raw;
  for (auto& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  const pid_t parent = getpid();
  pid = fork();
  if (pid < 0) {
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    pid = 0;
    return failed("SPAWN_FAILED", std::strerror(errno));
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    // Both streams: logs go to standard error, and the line looked for to either.
    dup2(pipe_ends[1], STDOUT_FILENO);
    dup2(pipe_ends[1], STDERR_FILENO);
    execvp(raw[0], raw.data());
    _exit(127);
  }
  close(pipe_ends[1]);
  output = pipe_ends[0];
  return wait_until_listening();
}

Result<Ok> LocalServer::State::wait_until_listening() {
  const BootTime deadline = BootClock::now() + options.start_within;
  printed.clear();
  while (true) {
    const auto left = std::chrono::ceil<Millis>(deadline - BootClock::now());
    if (left <= Millis(0)) break;
    pollfd wait = {output, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(left.count())) <= 0) continue;
    char buffer[4096];
    const ssize_t got = read(output, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const int code = end(SIGKILL);
      return failed("SERVER_ENDED", "'" + binary + "' ended with code " + std::to_string(code) +
                                        " before it listened: " + printed);
    }
    printed.append(buffer, static_cast<std::size_t>(got));
    const auto found = printed.find(kListening);
    if (found == std::string::npos) continue;
    const auto begin = found + kListening.size();
    const auto stop = printed.find_first_not_of("0123456789.:abcdefABCDEF[]%", begin);
    if (stop == std::string::npos) continue;  // the line is not whole yet
    address = printed.substr(begin, stop - begin);
    reader = std::thread([descriptor = output] {
      char sink[4096];
      ssize_t count = 0;
      while ((count = read(descriptor, sink, sizeof(sink))) > 0 || (count < 0 && errno == EINTR)) {
      }
    });
    return Ok{};
  }
  end(SIGKILL);
  return failed("SERVER_SLOW", "'" + binary + "' does not listen: " + printed);
}

Result<LocalServer> LocalServer::start(LocalServerOptions options) {
  auto state = std::make_unique<State>();
  state->binary = binary_of(options);
  state->data = options.data;
  state->options = std::move(options);
  if (state->data.empty()) {
    state->data = make_directory();
    if (state->data.empty()) return failed("SPAWN_FAILED", "cannot make a temporary directory");
    state->owns_data = true;
  }
  if (auto ok = state->spawn("127.0.0.1:0"); !ok) return std::move(ok).error();
  return LocalServer(std::move(state));
}

LocalServer::LocalServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
LocalServer::LocalServer(LocalServer&&) noexcept = default;
LocalServer& LocalServer::operator=(LocalServer&&) noexcept = default;
LocalServer::~LocalServer() = default;

const std::string& LocalServer::address() const { return state_->address; }
const std::string& LocalServer::data() const { return state_->data; }
int LocalServer::pid() const { return state_->pid; }
void LocalServer::kill() { state_->end(SIGKILL); }
int LocalServer::terminate() { return state_->end(SIGTERM); }

Result<Ok> LocalServer::restart() {
  if (state_->pid > 0) state_->end(SIGKILL);
  return state_->spawn(state_->address);
}

}  // namespace rota::testing
