// SPDX-License-Identifier: Apache-2.0
#include "bin/spawner.h"

namespace rota::worker {

Spawner::~Spawner() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Result<Child> Spawner::start(const Command& command) {
  Wish wish{&command};
  auto answer = wish.answer.get_future();
  {
    std::lock_guard lock(mutex_);
    wishes_.push_back(&wish);
  }
  changed_.notify_one();
  return answer.get();
}

void Spawner::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !wishes_.empty(); });
    if (wishes_.empty()) return;
    Wish* wish = wishes_.front();
    wishes_.pop_front();
    lock.unlock();
    wish->answer.set_value(spawn(*wish->command));
    lock.lock();
  }
}

}  // namespace rota::worker
