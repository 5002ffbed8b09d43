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

namespace {

void note_read(Health& health, const rocksdb::IOStatus& status, const std::string& file,
               std::uint64_t offset) {
  if (!status.IsIOError()) return;
  health.fail(rocks_failure(status, "read " + file + " at offset " + std::to_string(offset)));
}

class WatchedRandomFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  WatchedRandomFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, std::string name,
                    std::shared_ptr<Health> health)
      : FSRandomAccessFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        health_(std::move(health)) {}

  rocksdb::IOStatus Read(std::uint64_t offset, std::size_t n, const rocksdb::IOOptions& options,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* dbg) const override {
    auto status = target()->Read(offset, n, options, result, scratch, dbg);
    note_read(*health_, status, name_, offset);
    return status;
  }
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, std::size_t count,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* dbg) override {
    auto status = target()->MultiRead(requests, count, options, dbg);
    for (std::size_t i = 0; i < count; ++i) {
      note_read(*health_, requests[i].status, name_, requests[i].offset);
    }
    return status;
  }

 private:
  const std::string name_;
  const std::shared_ptr<Health> health_;
};

class WatchedSequentialFile final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  WatchedSequentialFile(std::unique_ptr<rocksdb::FSSequentialFile> file, std::string name,
                        std::shared_ptr<Health> health)
      : FSSequentialFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        health_(std::move(health)) {}

  rocksdb::IOStatus Read(std::size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext* dbg) override {
    auto status = target()->Read(n, options, result, scratch, dbg);
    note_read(*health_, status, name_, offset_);
    offset_ += result->size();
    return status;
  }
  rocksdb::IOStatus Skip(std::uint64_t n) override {
    offset_ += n;
    return target()->Skip(n);
  }

 private:
  const std::string name_;
  const std::shared_ptr<Health> health_;
  std::uint64_t offset_ = 0;
};

class WatchedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  WatchedFileSystem(std::shared_ptr<rocksdb::FileSystem> base, std::shared_ptr<Health> health)
      : FileSystemWrapper(std::move(base)), health_(std::move(health)) {}

  const char* Name() const override { return "rota.watched"; }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override {
    auto status = target()->NewRandomAccessFile(name, options, file, dbg);
    if (status.ok()) {
      *file = std::make_unique<WatchedRandomFile>(std::move(*file), name, health_);
    }
    return status;
  }
  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* dbg) override {
    auto status = target()->NewSequentialFile(name, options, file, dbg);
    if (status.ok()) {
      *file = std::make_unique<WatchedSequentialFile>(std::move(*file), name, health_);
    }
    return status;
  }

 private:
  const std::shared_ptr<Health> health_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> watch_reads(std::shared_ptr<rocksdb::FileSystem> base,
                                                 std::shared_ptr<Health> health) {
  return std::make_shared<WatchedFileSystem>(std::move(base), std::move(health));
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
