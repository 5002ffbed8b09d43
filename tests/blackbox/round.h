// SPDX-License-Identifier: Apache-2.0
//
// One round of the black box: a fresh server, everybody who calls it, faults, and the judgement.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "blackbox/checker.h"
#include "blackbox/nemesis.h"
#include "blackbox/raw_worker.h"
#include "blackbox/stage.h"
#include "blackbox/submitter.h"

namespace rota::blackbox {

struct RoundOptions {
  StageOptions stage{};
  std::vector<Fault> faults{};  // that may be struck
  std::vector<Fault> first{};   // before the others
  std::uint64_t seed = 0;
  // Then all is healed and everything must end. At most a minute longer until each kind was struck.
  std::int64_t fault_ms = 75'000;
};

class Round {
 public:
  explicit Round(const RoundOptions& options);
  ~Round();
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  // On the calling thread, which must live as long. False: contradictions() says why.
  bool play();

  const Contradictions& contradictions() const { return contradictions_; }
  const Figures& figures() const { return figures_; }
  const Operations& operations() const { return operations_; }
  const FaultCounts& struck() const { return nemesis_.struck(); }
  const PointCounts& points() const { return nemesis_.points(); }
  const std::vector<std::string>& notes() const { return nemesis_.notes(); }
  std::int64_t most_memory_kib() const { return stage_.most_memory_kib(); }
  std::string summary() const;

 private:
  struct Player {
    std::unique_ptr<Actor> actor;
    std::thread thread;
    std::atomic<bool> done{false};
  };

  bool set_up();
  void start_actors();
  void start(std::unique_ptr<Actor> actor);
  bool done_but_raw_workers() const;
  void run_faults();
  void run_to_the_end();
  // Waits, and notices what dies meanwhile; a contradiction when it takes too long.
  void wait_for(const std::function<bool()>& over, const std::string& what);
  void join_all();
  bool all_ended();
  bool all_tick();
  void end_edited();
  void take_parts();
  // False with a contradiction when the server does not answer: then there is nothing to judge by.
  bool list_everything();
  bool look_up(const std::string& operation);

  const RoundOptions options_;
  Contradictions contradictions_;
  Shared shared_;
  Stage stage_;
  Nemesis nemesis_;
  std::unique_ptr<internal::RawClient> watch_;
  std::deque<Player> players_;        // the raw workers last
  Controller* controller_ = nullptr;  // the first of them
  History history_;
  Figures figures_;
  Operations operations_;
  std::int64_t began_ms_ = 0, took_ms_ = 0, looked_ms_ = 0, unfinished_ = 0;
};

}  // namespace rota::blackbox
