// SPDX-License-Identifier: Apache-2.0
//
// What RocksDB tells from its own threads: background errors, write stalls, and the warnings it
// writes while it opens. All of it ends in a Health or in a counter. What its files tell:
// watched_files.h.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/listener.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "store/rocks_failure.h"

namespace rota::store {

// Turns any background error into a failure and forbids RocksDB's own recovery from it: resuming
// would repeat a failed sync, whose second success proves nothing.
class RocksListener final : public rocksdb::EventListener {
 public:
  explicit RocksListener(std::shared_ptr<Health> health) : health_(std::move(health)) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override;
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status error,
                            bool* auto_recovery) override;
  void OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override;
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) override;

  // The worst stall condition of the families, as told last; may outlast the stall, see
  // RocksDatabase::stall().
  rocksdb::WriteStallCondition stall() const;
  // Table files written from memory so far.
  std::uint64_t flushes() const { return flushes_.load(std::memory_order_relaxed); }

 private:
  const std::shared_ptr<Health> health_;
  std::atomic<rocksdb::WriteStallCondition> state_{rocksdb::WriteStallCondition::kNormal};
  std::atomic<std::uint64_t> flushes_{0};
  std::atomic<rocksdb::WriteStallCondition> payload_{rocksdb::WriteStallCondition::kNormal};
};

// Writes to RocksDB's LOG file and keeps the last warnings about damage: the status of a failed
// open names neither the log file nor the place, the warning before it does.
class DamageLogger final : public rocksdb::Logger {
 public:
  explicit DamageLogger(std::shared_ptr<rocksdb::Logger> target);

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list ap) override;
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list ap) override;
  void LogHeader(const char* format, va_list ap) override { target_->LogHeader(format, ap); }
  void Flush() override { target_->Flush(); }
  std::size_t GetLogFileSize() const override { return target_->GetLogFileSize(); }

  // The first warning about damage; empty when there was none.
  std::string damage() const;

 private:
  rocksdb::Status CloseImpl() override { return target_->Close(); }

  const std::shared_ptr<rocksdb::Logger> target_;
  mutable std::mutex mutex_;
  std::string damage_;
};

}  // namespace rota::store
