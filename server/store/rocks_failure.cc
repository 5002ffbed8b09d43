// SPDX-License-Identifier: Apache-2.0
#include "store/rocks_failure.h"

#include <string>

namespace rota::store {

namespace {

FailureKind kind_of(const rocksdb::Status& status) {
  if (status.IsCorruption()) return FailureKind::kDamage;
  if (status.IsNoSpace()) return FailureKind::kDiskFull;
  const std::string text = status.ToString();
  // RocksDB knows ENOSPC only; a quota that is used up is the same to an operator.
  if (text.find("Disk quota exceeded") != std::string::npos) return FailureKind::kDiskFull;
  if (status.IsInvalidArgument() || status.IsNotSupported()) return FailureKind::kConfig;
  if (status.IsIOError() && text.find("lock ") != std::string::npos &&
      text.find("/LOCK") != std::string::npos) {
    return FailureKind::kInUse;
  }
  return FailureKind::kIo;
}

}  // namespace

Failure rocks_failure(const rocksdb::Status& status, std::string_view what) {
  std::string text(what);
  text.append(": ").append(status.ToString());
  return {kind_of(status), std::move(text)};
}

void Health::tell(const Failure& failure) {
  if (on_fatal_ && !told_.exchange(true)) on_fatal_(failure);
}

void Health::arm() {
  armed_ = true;
  if (const auto failure = first()) tell(*failure);
}

void Health::fail(Failure failure) {
  {
    std::lock_guard lock(mutex_);
    if (first_) return;
    first_ = failure;
    failed_.store(true, std::memory_order_release);
  }
  if (armed_) tell(failure);
}

std::optional<Failure> Health::first() const {
  std::lock_guard lock(mutex_);
  return first_;
}

}  // namespace rota::store
