// SPDX-License-Identifier: Apache-2.0
//
// From RocksDB's status to a failure, and the place where the first failure of a store is kept.
#pragma once

#include <rocksdb/status.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>

#include "store/failure.h"

namespace rota::store {

// `what` says what was being done; the status brings file and offset where RocksDB knows them.
Failure rocks_failure(const rocksdb::Status& status, std::string_view what);

// The state of one opened store: healthy, or failed for good. Any thread.
class Health {
 public:
  explicit Health(FatalFn on_fatal) : on_fatal_(std::move(on_fatal)) {}

  // Until then a failure is only kept, for the open in progress to report. Called once; one that
  // came after the open had looked is told now.
  void arm();
  // The first call decides; when armed it calls the fatal function on this thread.
  void fail(Failure failure);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::optional<Failure> first() const;

 private:
  void tell(const Failure& failure);

  const FatalFn on_fatal_;
  std::atomic<bool> told_{false};
  std::atomic<bool> armed_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Failure> first_;
};

}  // namespace rota::store
