// SPDX-License-Identifier: Apache-2.0
#include "blackbox/stage.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/fail_point.h"
#include "blackbox/execution_log.h"
#include "blackbox/plan.h"

namespace rota::blackbox {
namespace {

constexpr std::int64_t kPatienceMs = 120'000;

std::string data_of(const StageOptions& options) {
  return (options.disk != nullptr ? options.disk->path() : options.folder) + "/data";
}

std::string listen_of(const StageOptions& options) {
  return std::string(options.far != nullptr ? FarNetwork::address() : "127.0.0.1") + ":0";
}

std::string what_of(const driver::Process::Change& change) {
  return "exit code " + std::to_string(change.exit_code) + ", signal " +
         std::to_string(change.signal);
}

}  // namespace

Stage::Stage(const StageOptions& options, Contradictions* contradictions)
    : options_(options),
      contradictions_(contradictions),
      server_(options.server, data_of(options), options.folder + "/server.log",
              listen_of(options)) {}

std::string Stage::data() const { return data_of(options_); }

bool Stage::open() {
  start_server();
  if (!server_up_) return false;
  for (auto& proxy : proxies_) {
    proxy = std::make_unique<CuttingProxy>("127.0.0.1", server_.address());
    if (!proxy->listens()) return contradict(proxy->why()), false;
  }
  return true;
}

void Stage::start_server(const std::string& fail_point) {
  if (server_up_) return;
  std::vector<std::string> more, environment;
  if (options_.far != nullptr) more.push_back("--allow-plaintext-private");
  if (options_.disk != nullptr) {
    for (std::string& word : options_.disk->server_options()) more.push_back(std::move(word));
  }
  if (options_.clock != nullptr) environment = options_.clock->environment();
  if (!fail_point.empty()) environment.push_back("ROTA_FAIL_POINT=" + fail_point);
  expected_exit_.reset();
  if (!fail_point.empty()) expected_exit_ = base::kFailPointExitCode;
  server_up_ = server_.start(true, more, environment);
  if (server_up_) return;
  if (server_.ended() && is_expected(*server_.ended())) {
    ++expected_exits_;
  } else {
    contradict(server_.error());
  }
  expected_exit_.reset();
}

void Stage::kill_server() {
  if (!server_up_) return;
  notice_deaths();  // it may have ended in the very moment
  if (!server_up_) return;
  stop_server(false);
  if (!server_.kill() && !expected_exit_) contradict("the server was not there to be killed");
  server_up_ = false;
  expected_exit_.reset();
}

void Stage::drain_server() {
  if (!server_up_) return;
  const auto code = server_.stop(kPatienceMs);
  if (expected_exit_ && code == expected_exit_) {
    ++expected_exits_;
  } else if (code != 0) {
    contradict(
        "after SIGTERM the server ended with " +
        (code ? "exit code " + std::to_string(*code) : std::string("a signal or not at all")));
  }
  server_up_ = false;
  expected_exit_.reset();
}

void Stage::stop_server(bool stopped) {
  if (server_up_) server_.process().signal(stopped ? SIGSTOP : SIGCONT);
}

std::int64_t Stage::server_memory_kib() {
  if (!server_up_) return 0;
  std::ifstream status("/proc/" + std::to_string(server_.process().pid()) + "/status");
  std::int64_t kib = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) kib = std::atoll(line.c_str() + 6);
  }
  most_memory_kib_ = std::max(most_memory_kib_, kib);
  return kib;
}

void Stage::start_workers() {
  for (std::size_t place = 0; place < kWorkers; ++place) start_worker(place);
}

void Stage::start_worker(std::size_t place) {
  Worker& worker = workers_[place];
  if (worker.process.running()) return;
  worker.name = "w" + std::to_string(++worker_names_);
  const bool far = place == kFarWorker && options_.far != nullptr;
  std::vector<std::string> command = far ? options_.far->prefix() : std::vector<std::string>();
  for (const std::string& word :
       {options_.worker, far ? server_.address() : address_of(Line::kWorkers), worker.name,
        log_of(worker.name + ".run")}) {
    command.push_back(word);
  }
  auto process = driver::Process::start(command, log_of(worker.name + ".log"), true);
  if (!process) return contradict("cannot start " + options_.worker);
  worker.process = std::move(*process);
}

void Stage::note_end(Worker& worker, Ns died) {
  if (worker.suspended != 0) {
    standstills_.push_back({.worker = worker.name, .from = worker.suspended, .to = mono_ns()});
    worker.suspended = 0;
  }
  ended_.push_back({worker.name, died});
}

void Stage::kill_worker(std::size_t place) {
  Worker& worker = workers_[place];
  if (!worker.process.running()) return;
  worker.process.signal(SIGKILL);
  worker.process.wait(kPatienceMs);
  note_end(worker, mono_ns());
}

void Stage::drain_worker(std::size_t place) {
  Worker& worker = workers_[place];
  if (!worker.process.running()) return;
  suspend_worker(place, false);
  worker.process.signal(SIGTERM);
  const auto change = worker.process.wait(kPatienceMs);
  const bool poisoned = change && change->exit_code == kPoisonExitCode;
  poisoned_ += poisoned ? 1 : 0;
  if (!change || change->signal != 0 || (change->exit_code != 0 && !poisoned)) {
    contradict("after SIGTERM worker " + worker.name + " ended with " +
               (change ? what_of(*change) : std::string("nothing but SIGKILL")));
  }
  note_end(worker, change && change->exit_code == 0 ? kNever : mono_ns());
}

void Stage::suspend_worker(std::size_t place, bool suspended) {
  Worker& worker = workers_[place];
  if (!worker.process.running() || suspended == (worker.suspended != 0)) return;
  worker.process.signal(suspended ? SIGSTOP : SIGCONT);
  if (suspended) {
    worker.suspended = mono_ns();
  } else {
    standstills_.push_back({.worker = worker.name, .from = worker.suspended, .to = mono_ns()});
    worker.suspended = 0;
  }
}

void Stage::notice_deaths() {
  if (server_up_) {
    if (const auto change = server_.process().poll(); change && change->ended) {
      server_up_ = false;
      if (is_expected(*change)) {
        ++expected_exits_;
      } else {
        contradict("the server ended by itself: " + what_of(*change));
      }
      expected_exit_.reset();
    }
  }
  const Ns looked_before = std::exchange(looked_, mono_ns());
  for (std::size_t place = 0; place < kWorkers; ++place) {
    Worker& worker = workers_[place];
    const auto change = worker.process.poll();
    if (!change || !change->ended) continue;
    if (change->signal != 0 || change->exit_code != kPoisonExitCode) {
      contradict("worker " + worker.name + " ended by itself: " + what_of(*change));
    } else {
      ++poisoned_;
    }
    // This thread may have waited for a server meanwhile: the last look was certainly before its
    // end.
    note_end(worker, looked_before);
    start_worker(place);
  }
}

void Stage::heal() {
  for (auto& proxy : proxies_) {
    proxy->refuse(false);
    for (const Direction direction : {Direction::kToServer, Direction::kToClient}) {
      proxy->hold(direction, false);
      proxy->delay(direction, 0);
    }
    proxy->cut();
  }
  if (options_.far != nullptr && !options_.far->set_link(true)) contradict("the link stays down");
  if (options_.disk != nullptr) options_.disk->clear();
  stop_server(false);
  start_server();
  for (std::size_t place = 0; place < kWorkers; ++place) {
    suspend_worker(place, false);
    start_worker(place);
  }
}

void Stage::end_workers(History* history) {
  for (std::size_t place = 0; place < kWorkers; ++place) drain_worker(place);
  for (const Ended& one : ended_) {
    std::string why;
    if (!read_execution_log(driver::read_file(log_of(one.name + ".run")), one.name, one.died,
                            history, &why)) {
      contradict(why);
    }
  }
  for (Standstill& one : standstills_) history->standstills.push_back(std::move(one));
  standstills_.clear();
}

void Stage::end_server() {
  drain_server();
  const std::string log = log_of("check.log");
  auto check = driver::Process::start({options_.server, "--check", data()}, log, true);
  if (!check) return contradict("cannot start " + options_.server);
  const auto change = check->wait(2 * kPatienceMs);
  if (!change || change->signal != 0 || change->exit_code != 0) {
    contradict("rota-server --check finds contradictions:\n" + driver::read_file(log));
  }
}

}  // namespace rota::blackbox
