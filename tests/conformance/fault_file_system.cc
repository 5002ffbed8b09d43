// SPDX-License-Identifier: Apache-2.0
#include "conformance/fault_file_system.h"

#include <utility>

namespace rota::testing {

namespace {
bool ends_with(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}
}  // namespace

class FaultWritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultWritableFile(std::unique_ptr<rocksdb::FSWritableFile> file, FaultFileSystem* system,
                    bool log)
      : FSWritableFileOwnerWrapper(std::move(file)), system_(system), log_(log) {}

  using FSWritableFileOwnerWrapper::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* dbg) override {
    const auto fault = log_ ? system_->log_append_.load() : system_->table_write_.load();
    if (fault != FaultFileSystem::Fault::kNone) return system_->result(fault);
    return FSWritableFileOwnerWrapper::Append(data, options, dbg);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override {
    if (log_ && system_->log_sync_ != FaultFileSystem::Fault::kNone) {
      return system_->result(system_->log_sync_);
    }
    return FSWritableFileOwnerWrapper::Sync(options, dbg);
  }

 private:
  FaultFileSystem* system_;
  const bool log_;
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
  if (ends_with(name, ".log")) {
    *file = std::make_unique<FaultWritableFile>(std::move(*file), this, true);
  } else if (ends_with(name, ".sst")) {
    *file = std::make_unique<FaultWritableFile>(std::move(*file), this, false);
  }
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
