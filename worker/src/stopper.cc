// SPDX-License-Identifier: Apache-2.0
#include "src/stopper.h"

namespace rota::internal {

Stopper::Stopper() : thread_([this] { run(); }) {}

Stopper::~Stopper() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Stopper::stop(const LeasePtr& lease, StopReason cause) {
  if (!lease->set_cause(cause)) return;
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(lease);
  }
  changed_.notify_one();
}

void Stopper::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const LeasePtr lease = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    lease->request_stop();
    lock.lock();
  }
}

}  // namespace rota::internal
