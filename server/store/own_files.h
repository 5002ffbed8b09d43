// SPDX-License-Identifier: Apache-2.0
//
// The system calls behind the files that are the store's own and not RocksDB's: the lock, store_id,
// acked_seq, and the folders of kept_logs. A server makes the calls as they are; the disks of tests
// refuse some of them, and forget what was not synced.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "store/failure.h"

namespace rota::store {

// Each function is the system call of its name: what it returns, and errno. Any thread.
class OwnFiles {
 public:
  OwnFiles() = default;
  virtual ~OwnFiles() = default;
  OwnFiles(const OwnFiles&) = delete;
  OwnFiles& operator=(const OwnFiles&) = delete;

  virtual int open(const std::string& path, int flags, mode_t mode);
  virtual int close(int fd);
  virtual ssize_t pread(int fd, void* bytes, std::size_t n, off_t offset);
  virtual ssize_t pwrite(int fd, const void* bytes, std::size_t n, off_t offset);
  virtual int fdatasync(int fd);
  virtual int fsync(int fd);  // of a directory: its entries
  virtual int rename(const std::string& from, const std::string& to);
  virtual int link(const std::string& from, const std::string& to);
  virtual int unlink(const std::string& path);
  virtual int mkdir(const std::string& path, mode_t mode);
  virtual int rmdir(const std::string& path);
};

// Those of the system.
const std::shared_ptr<OwnFiles>& system_files();

// An open file or directory, closed when it goes. Movable.
class OwnFile {
 public:
  // With errno when it is not ok() then.
  OwnFile(std::shared_ptr<OwnFiles> files, const std::string& path, int flags, mode_t mode = 0)
      : files_(std::move(files)), fd_(files_->open(path, flags, mode)) {}
  OwnFile(OwnFile&& other) noexcept
      : files_(std::move(other.files_)), fd_(std::exchange(other.fd_, -1)) {}
  OwnFile& operator=(OwnFile&&) = delete;
  ~OwnFile() {
    if (fd_ >= 0) files_->close(fd_);
  }

  bool ok() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  OwnFiles& files() const { return *files_; }

 private:
  std::shared_ptr<OwnFiles> files_;
  int fd_;
};

// Makes entries of a directory durable that were created, renamed or removed.
std::optional<Failure> sync_directory(const std::shared_ptr<OwnFiles>& files,
                                      const std::string& path);

}  // namespace rota::store
