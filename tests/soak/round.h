// SPDX-License-Identifier: Apache-2.0
//
// One round of chaos: a fresh server, clients, workers, kills, and the verdict.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver/process.h"
#include "soak/plan.h"
#include "soak/submitter.h"
#include "soak/verdict.h"

namespace rota::soak {

struct RoundOptions {
  std::string server, worker;  // the programs
  std::string folder;          // of this round; made by the caller
  std::uint64_t seed = 0;
  int jobs = 10'000;  // acknowledged enqueues
};

class Round {
 public:
  explicit Round(RoundOptions options);
  ~Round();
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  // On the calling thread, which must live as long as the round. False: contradictions() says why.
  bool play();

  const Contradictions& contradictions() const { return contradictions_; }
  std::string summary() const;

 private:
  struct Client {
    std::unique_ptr<Submitter> submitter;
    std::thread thread;
    std::atomic<bool> done{false};
  };

  bool set_up();
  void start_clients();
  void start_worker(std::size_t place);
  void run_to_the_end();
  void look();  // asks the server how far it is
  void kill_what_is_due();
  void kill_server(const Kill& kill);
  void kill_worker(const Kill& kill);
  void notice_deaths();
  bool clients_done() const;
  void stop_clients();
  void stop_workers();
  void judge_all();
  void check_offline();
  void fault(std::string text) { contradictions_.add(std::move(text)); }

  const RoundOptions options_;
  Random random_;
  std::vector<Kill> kills_;
  std::size_t next_kill_ = 0;
  driver::ServerProcess server_;
  std::vector<driver::Process> workers_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<internal::RawClient> watch_;
  Progress progress_;
  std::int64_t unfinished_ = 0;  // jobs, as the server counted last
  int worker_names_ = 0;
  std::int64_t began_ms_ = 0, took_ms_ = 0;
  Contradictions contradictions_;
  Figures figures_;
  Conduct conduct_;
};

}  // namespace rota::soak
