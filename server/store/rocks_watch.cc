// SPDX-License-Identifier: Apache-2.0
#include "store/rocks_watch.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

#include "store/rocks_options.h"

namespace rota::store {

namespace {

std::string_view reason_name(rocksdb::BackgroundErrorReason reason) {
  using Reason = rocksdb::BackgroundErrorReason;
  switch (reason) {
    case Reason::kFlush:
      return "flush";
    case Reason::kCompaction:
      return "compaction";
    case Reason::kWriteCallback:
      return "write";
    case Reason::kMemTable:
      return "memtable";
    case Reason::kManifestWrite:
      return "manifest write";
    case Reason::kFlushNoWAL:
      return "flush";
    case Reason::kManifestWriteNoWAL:
      return "manifest write";
  }
  return "background work";
}

}  // namespace

void RocksListener::OnBackgroundError(rocksdb::BackgroundErrorReason reason,
                                      rocksdb::Status* error) {
  health_->fail(rocks_failure(*error, reason_name(reason)));
}

void RocksListener::OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason,
                                         rocksdb::Status error, bool* auto_recovery) {
  *auto_recovery = false;
  health_->fail(rocks_failure(error, reason_name(reason)));
}

void RocksListener::OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) {
  (info.cf_name == kPayloadFamily ? payload_ : state_).store(info.condition.cur);
}

rocksdb::WriteStallCondition RocksListener::stall() const {
  using Condition = rocksdb::WriteStallCondition;
  const Condition state = state_.load(std::memory_order_relaxed);
  const Condition payload = payload_.load(std::memory_order_relaxed);
  if (state == Condition::kStopped || payload == Condition::kStopped) return Condition::kStopped;
  if (state == Condition::kDelayed || payload == Condition::kDelayed) return Condition::kDelayed;
  return Condition::kNormal;
}

DamageLogger::DamageLogger(std::shared_ptr<rocksdb::Logger> target)
    : rocksdb::Logger(target->GetInfoLogLevel()), target_(std::move(target)) {}

void DamageLogger::Logv(const char* format, va_list ap) {
  Logv(rocksdb::InfoLogLevel::INFO_LEVEL, format, ap);
}

void DamageLogger::Logv(rocksdb::InfoLogLevel level, const char* format, va_list ap) {
  if (level == rocksdb::InfoLogLevel::WARN_LEVEL || level == rocksdb::InfoLogLevel::ERROR_LEVEL) {
    char line[1024];
    va_list copy;
    va_copy(copy, ap);
    std::vsnprintf(line, sizeof line, format, copy);
    va_end(copy);
    if (std::strstr(line, ": dropping ") != nullptr) {
      // Without the place in RocksDB's own sources, "[db/db_impl/db_impl_open.cc:982] ".
      const char* text = std::strstr(line, "] ");
      std::lock_guard lock(mutex_);
      if (damage_.empty()) damage_ = text == nullptr ? line : text + 2;
    }
  }
  target_->Logv(level, format, ap);
}

std::string DamageLogger::damage() const {
  std::lock_guard lock(mutex_);
  return damage_;
}

}  // namespace rota::store
