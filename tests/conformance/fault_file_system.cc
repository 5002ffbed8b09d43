// SPDX-License-Identifier: Apache-2.0
#include "conformance/fault_file_system.h"

#include <unistd.h>

#include <utility>

namespace rota::testing {

namespace {
bool ends_with(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}
}  // namespace

class FaultWritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  enum class Kind { kLog, kTable, kOther };
  FaultWritableFile(std::unique_ptr<rocksdb::FSWritableFile> file, FaultFileSystem* system,
                    Kind kind)
      : FSWritableFileOwnerWrapper(std::move(file)), system_(system), kind_(kind) {}

  using FSWritableFileOwnerWrapper::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* dbg) override {
    auto fault = FaultFileSystem::Fault::kNone;
    if (kind_ == Kind::kLog) fault = system_->log_append_;
    if (kind_ == Kind::kTable) fault = system_->table_write_;
    if (fault != FaultFileSystem::Fault::kNone) return system_->result(fault);
    return FSWritableFileOwnerWrapper::Append(data, options, dbg);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override {
    if (system_->syncs_left_ > 0 && system_->syncs_left_.fetch_sub(1) == 1) {
      ::_exit(FaultFileSystem::kDeathCode);
    }
    if (kind_ == Kind::kLog && system_->log_sync_ != FaultFileSystem::Fault::kNone) {
      return system_->result(system_->log_sync_);
    }
    return FSWritableFileOwnerWrapper::Sync(options, dbg);
  }

 private:
  FaultFileSystem* system_;
  const Kind kind_;
};

class FaultRandomFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultRandomFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, FaultFileSystem* system)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), system_(system) {}

  rocksdb::IOStatus Read(std::uint64_t offset, std::size_t n, const rocksdb::IOOptions& options,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* dbg) const override {
    if (system_->table_read_ != FaultFileSystem::Fault::kNone) {
      return system_->result(system_->table_read_);
    }
    return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, dbg);
  }

 private:
  FaultFileSystem* system_;
};

rocksdb::IOStatus FaultFileSystem::result(Fault fault) {
  ++failures_;
  return fault == Fault::kNoSpace ? rocksdb::IOStatus::NoSpace("injected: no space")
                                  : rocksdb::IOStatus::IOError("injected: input/output error");
}

rocksdb::IOStatus FaultFileSystem::NewWritableFile(const std::string& name,
                                                   const rocksdb::FileOptions& options,
                                                   std::unique_ptr<rocksdb::FSWritableFile>* file,
                                                   rocksdb::IODebugContext* dbg) {
  auto status = target()->NewWritableFile(name, options, file, dbg);
  if (!status.ok()) return status;
  auto kind = FaultWritableFile::Kind::kOther;
  if (ends_with(name, ".log")) kind = FaultWritableFile::Kind::kLog;
  if (ends_with(name, ".sst")) kind = FaultWritableFile::Kind::kTable;
  *file = std::make_unique<FaultWritableFile>(std::move(*file), this, kind);
  return status;
}

rocksdb::IOStatus FaultFileSystem::NewRandomAccessFile(
    const std::string& name, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSRandomAccessFile>* file, rocksdb::IODebugContext* dbg) {
  auto status = target()->NewRandomAccessFile(name, options, file, dbg);
  if (status.ok() && ends_with(name, ".sst")) {
    *file = std::make_unique<FaultRandomFile>(std::move(*file), this);
  }
  return status;
}

}  // namespace rota::testing
