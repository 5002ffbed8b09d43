// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "bin/child.h"

namespace rota::worker {

// Starts every child from one thread that lives as long as this object: the kernel sends a child
// its parent-death signal when the thread that forked it ends. Thread-safe; destroy it after the
// last child.
class Spawner {
 public:
  Spawner() : thread_([this] { run(); }) {}
  ~Spawner();

  Result<Child> start(const Command& command);

 private:
  struct Wish {
    const Command* command;
    std::promise<Result<Child>> answer{};
  };

  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Wish*> wishes_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace rota::worker
