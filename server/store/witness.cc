// SPDX-License-Identifier: Apache-2.0
#include "store/witness.h"

#include <pthread.h>

#include <utility>

namespace rota::store {

Witness::Witness(AckedSeq acked, std::chrono::milliseconds interval, Hooks hooks)
    : acked_(std::move(acked)),
      interval_(interval),
      hooks_(std::move(hooks)),
      thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), "rota-witness");
}

Witness::~Witness() { end(); }

void Witness::end() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::optional<Failure> Witness::close(core::CommitSeq seq) {
  end();
  // Less: batches were given up, and none has followed that settles it.
  if (seq < acked_.value()) return std::nullopt;
  return acked_.write(seq);
}

void Witness::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval_, [this] { return ending_; })) {
    const core::CommitSeq seq = hooks_.committed();
    if (seq > acked_.value()) {
      if (auto failure = acked_.write(seq)) {
        lock.unlock();
        return hooks_.failed(std::move(*failure));
      }
    }
    hooks_.each_second();
  }
}

}  // namespace rota::store
