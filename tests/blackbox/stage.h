// SPDX-License-Identifier: Apache-2.0
//
// The processes of a round: the server, workers of the library, and the proxies between them and
// everybody else. Used from one thread, which must live as long: the processes die with it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blackbox/cutting_proxy.h"
#include "blackbox/history.h"
#include "blackbox/surroundings.h"
#include "driver/process.h"
#include "support/contradictions.h"

namespace rota::blackbox {

using support::Contradictions;

struct StageOptions {
  std::string server, worker;  // the programs
  std::string folder;          // of the round; made by the caller
  FarNetwork* far = nullptr;   // null: no such thing in this round
  SteppingClock* clock = nullptr;
  SmallDisk* disk = nullptr;
};

// Between the server and: clients, raw workers, workers of the library.
enum class Line { kClients, kRawWorkers, kWorkers };
inline constexpr std::size_t kLines = 3;

class Stage {
 public:
  static constexpr std::size_t kWorkers = 3;
  static constexpr std::size_t kFarWorker = 2;  // far away, where there is a far network

  Stage(const StageOptions& options, Contradictions* contradictions);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // The server, the proxies; false with a contradiction when they do not start.
  bool open();
  void start_workers();

  const StageOptions& options() const { return options_; }
  const std::string& server_address() const { return server_.address(); }
  const std::string& address_of(Line line) const { return proxy(line).address(); }
  CuttingProxy& proxy(Line line) const { return *proxies_[static_cast<std::size_t>(line)]; }
  std::string data() const;

  // --- the server
  bool server_runs() const { return server_up_; }
  void kill_server();
  // SIGTERM; it must end with exit code 0.
  void drain_server();
  // Starts it, perhaps to end at a fail point (base/fail_point.h), which it may do at once; a
  // server that does not start is a contradiction.
  void start_server(const std::string& fail_point = "");
  // It is to end by itself with this code, and is then not started again until start_server().
  void expect_exit(int code) { expected_exit_ = code; }
  bool waits_for_exit() const { return expected_exit_.has_value() && server_up_; }
  void forget_expected_exit() { expected_exit_.reset(); }
  std::int64_t expected_exits() const { return expected_exits_; }  // that were seen, so far
  void stop_server(bool stopped);                                  // SIGSTOP, SIGCONT
  std::int64_t server_memory_kib();
  std::int64_t most_memory_kib() const { return most_memory_kib_; }

  // --- workers of the library
  void kill_worker(std::size_t place);
  void drain_worker(std::size_t place);
  void suspend_worker(std::size_t place, bool suspended);
  void start_worker(std::size_t place);
  bool worker_runs(std::size_t place) const { return workers_[place].process.running(); }
  std::int64_t poisoned() const { return poisoned_; }

  // What ended by itself: expected or a contradiction; workers are started again. Call often.
  void notice_deaths();

  // All workers drain and end. Then what they noted is in the history.
  void end_workers(History* history);
  // Ends the server in good order and checks its data.
  void end_server();
  // Whatever still stands still goes on, and every line is as good as new.
  void heal();

 private:
  struct Worker {
    driver::Process process;
    std::string name;
    Ns suspended = 0;  // since
  };
  struct Ended {
    std::string name;
    Ns died = kNever;  // seen alive for the last time; kNever: it ended in good order
  };
  std::string log_of(const std::string& name) const { return options_.folder + "/" + name; }
  void contradict(std::string text) { contradictions_->add(std::move(text)); }
  void note_end(Worker& worker, Ns died);
  bool is_expected(const driver::Process::Change& change) const {
    return expected_exit_ && change.signal == 0 && change.exit_code == *expected_exit_;
  }

  const StageOptions options_;
  Contradictions* contradictions_;
  driver::ServerProcess server_;
  bool server_up_ = false;
  std::optional<int> expected_exit_;
  std::int64_t expected_exits_ = 0;
  std::int64_t most_memory_kib_ = 0;
  std::array<std::unique_ptr<CuttingProxy>, kLines> proxies_;
  std::array<Worker, kWorkers> workers_;
  std::vector<Ended> ended_;
  std::vector<Standstill> standstills_;
  int worker_names_ = 0;
  std::int64_t poisoned_ = 0;
  Ns looked_ = 0;  // for the end of workers
};

}  // namespace rota::blackbox
