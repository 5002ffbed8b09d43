// SPDX-License-Identifier: Apache-2.0
//
// A file system that fails on demand, for the error policy of the RocksDB store.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <string>

namespace rota::testing {

// Names are matched by their end (".log", ".sst"). Thread-safe.
class FaultFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  FaultFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "rota.fault"; }

  enum class Fault { kNone, kIo, kNoSpace };
  void fail_log_sync(Fault fault) { log_sync_ = fault; }
  void fail_log_append(Fault fault) { log_append_ = fault; }
  void fail_table_write(Fault fault) { table_write_ = fault; }
  void fail_table_read(Fault fault) { table_read_ = fault; }
  // The process ends, as by SIGKILL, in place of the Nth sync of a file from here on.
  static constexpr int kDeathCode = 3;
  void die_at_sync(int nth) { syncs_left_ = nth; }
  // How often a failing call was made: shows whether anything was tried again.
  int failures() const { return failures_; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override;

 private:
  friend class FaultWritableFile;
  friend class FaultRandomFile;
  rocksdb::IOStatus result(Fault fault);

  std::atomic<Fault> log_sync_{Fault::kNone};
  std::atomic<Fault> log_append_{Fault::kNone};
  std::atomic<Fault> table_write_{Fault::kNone};
  std::atomic<Fault> table_read_{Fault::kNone};
  std::atomic<int> failures_{0};
  std::atomic<int> syncs_left_{0};  // 0: no death
};

}  // namespace rota::testing
