// SPDX-License-Identifier: Apache-2.0
//
// Workers of the library in processes of their own: rota-bench starts itself. They say what they
// saw on a Board.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/board.h"
#include "bench/report.h"
#include "driver/process.h"

namespace rota::bench {

struct WorkersWish {
  std::vector<std::string> queues{};
  int processes = 1;
  int workers = 1;        // in each process
  int concurrency = 100;  // of each worker
  // Handlers of jobs of a scheduler count the time from their nominal time, those of others the one
  // from when they were sent.
  bool nominal = false;
};

// What a worker process is given on its command line, and its program.
struct WorkerArguments {
  std::string board, server, queues;  // queues: joined by commas
  int slot = 0, workers = 1, concurrency = 1;
  bool nominal = false;
};
// Returns the exit code of the process.
int run_worker_process(const WorkerArguments& arguments);

// Ends its processes in the destructor.
class Workers {
 public:
  // Starts them; they wait. `jobs`: of the whole measurement. The board and the logs are made in
  // `folder`. Throws Failed.
  Workers(const std::string& self, const std::string& folder, const std::string& server,
          const WorkersWish& wish, std::uint64_t jobs);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // They begin to ask for jobs; wait_target() waits until `target` jobs have had effect.
  void go(std::uint64_t target);
  // Throws Failed when a process ends before, or when it takes longer.
  void wait_target(std::int64_t at_most_ms);
  // Stops and waits until each has reported what it had. Throws Failed when one fails, or when a
  // job had effect twice.
  void stop();

  // After stop(), of all processes: from the first lease call to the last outcome answered.
  double seconds() const;
  std::int64_t ended_ns() const;
  double cpu_s() const;
  Board& board() { return *board_; }

 private:
  void require_running();

  const WorkersWish wish_;
  const std::string folder_;
  std::unique_ptr<Board> board_;
  std::vector<driver::Process> processes_;
};

}  // namespace rota::bench
