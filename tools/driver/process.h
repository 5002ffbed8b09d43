// SPDX-License-Identifier: Apache-2.0
//
// Processes started by the drivers (quickstart, soak): each in a process group of its own, its
// output in a file, and none left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rota::driver {

std::int64_t wall_ms();
std::int64_t mono_ms();

// Looks every 20 ms until `done` is true or the time is over.
bool wait_until(const std::function<bool()>& done, std::int64_t at_most_ms);

// Move-only; the destructor kills what still runs, unless it was let go.
class Process {
 public:
  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  // Standard output and error are appended to `log`. With `dies_with_parent` the kernel kills it
  // when the starting thread ends. `environment`: "NAME=value" each, on top of this process's own,
  // which no thread may change meanwhile.
  static std::optional<Process> start(const std::vector<std::string>& command,
                                      const std::string& log, bool dies_with_parent,
                                      const std::vector<std::string>& environment = {});

  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0; }
  void signal(int number) const;
  // Stopped, ended by a signal, ended: what has happened since the last look.
  struct Change {
    bool stopped = false;
    bool ended = false;
    int signal = 0;  // that ended it; 0: it exited
    int exit_code = 0;
  };
  std::optional<Change> poll();
  // Waits for the end; kills after `at_most_ms`. nullopt: it had to be killed.
  std::optional<Change> wait(std::int64_t at_most_ms);
  void let_go() { pid_ = -1; }

 private:
  pid_t pid_ = -1;
};

// Whether anything runs of the group that a started process began: it, or what it started itself.
// What has ended and only waits to be noticed does not count: an orphan's new parent may never
// look.
bool group_lives(pid_t pid);

// A rota-server with its data directory, restarted on the port it was first given.
class ServerProcess {
 public:
  // Only what hangs takes so long: a start on a loaded machine has a log to read back, and a killed
  // process is gone no sooner than the sync of the disk that it waits for.
  static constexpr std::int64_t kPatienceMs = 120'000;

  ServerProcess(std::string binary, std::string data, std::string log, std::string listen)
      : binary_(std::move(binary)),
        data_(std::move(data)),
        log_(std::move(log)),
        listen_(std::move(listen)) {}

  // Returns when it listens; false (with error()) when it has not after kPatienceMs. `more`:
  // options of the server; `environment`: see Process::start.
  bool start(bool dies_with_parent, const std::vector<std::string>& more = {},
             const std::vector<std::string>& environment = {});
  // SIGKILL, and waits; false when it had not run, ended in another way, or is still not gone after
  // kPatienceMs.
  bool kill();
  std::optional<int> stop(std::int64_t at_most_ms);  // SIGTERM; its exit code
  const std::string& address() const { return address_; }
  const std::string& error() const { return error_; }
  // How it ended, where start() returned false because it had.
  const std::optional<Process::Change>& ended() const { return ended_; }
  Process& process() { return process_; }

 private:
  std::string binary_, data_, log_, listen_, address_, error_;
  Process process_;
  std::optional<Process::Change> ended_;
};

// The file's text from byte `from` on; empty when there is none.
std::string read_file(const std::string& path, std::size_t from = 0);

}  // namespace rota::driver
