// SPDX-License-Identifier: Apache-2.0
//
// Keeps the file acked_seq at most a second behind what was acknowledged, also when nothing more is
// committed: on a thread of its own, so that no commit waits for this sync.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "store/acked_seq.h"

namespace rota::store {

class Witness {
 public:
  struct Hooks {
    std::function<core::CommitSeq()> committed{};  // the newest durable batch
    std::function<void(Failure)> failed{};         // the file could not be written; the last call
    std::function<void()> each_second{};           // after it was looked at, news or not
  };
  // The hooks are called on the thread, until this is closed or destroyed.
  Witness(AckedSeq acked, std::chrono::milliseconds interval, Hooks hooks);
  // Ends without writing, as a crash would.
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // Ends the thread. Idempotent.
  void end();
  // Ends, and writes the last number where it is not less than the one there. Not called after a
  // failure.
  std::optional<Failure> close(core::CommitSeq seq);

 private:
  void run();

  AckedSeq acked_;  // under the mutex
  const std::chrono::milliseconds interval_;
  const Hooks hooks_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace rota::store
