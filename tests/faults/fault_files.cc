// SPDX-License-Identifier: Apache-2.0
#include "faults/fault_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace rota::faults {

namespace fs = std::filesystem;
using rocksdb::IOStatus;

namespace {

bool exists(const std::string& name) {
  struct stat status {};
  return ::lstat(name.c_str(), &status) == 0;
}

std::string bytes_at(int fd, off_t offset, std::size_t n) {
  std::string bytes(n, '\0');
  const ssize_t got = ::pread(fd, bytes.data(), n, offset);
  bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return bytes;
}

std::uint64_t size_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

class FaultFiles final : public store::OwnFiles {
 public:
  explicit FaultFiles(std::shared_ptr<FaultDisk> disk) : disk_(std::move(disk)) {}

  int open(const std::string& path, int flags, mode_t mode) override {
    std::lock_guard lock(disk_->mutex_);
    const bool makes = (flags & O_CREAT) != 0 && !exists(path);
    if (refused(makes ? Op::kCreate : Op::kOpen, path)) return -1;
    FaultDisk::Patch emptied;
    if ((flags & O_TRUNC) != 0 && !makes) {
      const int former = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      emptied.size_before = size_of(former);
      emptied.before = bytes_at(former, 0, emptied.size_before);
      ::close(former);
    }
    const int fd = OwnFiles::open(path, flags, mode);
    if (fd < 0) return fd;
    if (makes) disk_->entries_.push_back({FaultDisk::Entry::Kind::kCreated, path, {}, {}});
    if (!emptied.before.empty()) disk_->patched_[path].unsynced.push_back(std::move(emptied));
    std::lock_guard names(names_mutex_);
    names_[fd] = {path, (flags & O_DIRECTORY) != 0};
    return fd;
  }
  // Not one of the disk's calls: it comes also after the power went, from those who clean up.
  int close(int fd) override {
    std::lock_guard names(names_mutex_);
    names_.erase(fd);
    return OwnFiles::close(fd);
  }
  ssize_t pread(int fd, void* bytes, std::size_t n, off_t offset) override {
    std::lock_guard lock(disk_->mutex_);
    if (refused(Op::kRead, name_of(fd).path)) return -1;
    return OwnFiles::pread(fd, bytes, n, offset);
  }
  ssize_t pwrite(int fd, const void* bytes, std::size_t n, off_t offset) override {
    std::lock_guard lock(disk_->mutex_);
    const std::string path = name_of(fd).path;
    const bool fails = refused(Op::kAppend, path);
    const int error = errno;
    // A write that fails may have written a part.
    const std::size_t part = fails ? disk_->random() % (n + 1) : n;
    FaultDisk::Patch patch{static_cast<std::uint64_t>(offset), bytes_at(fd, offset, part),
                           std::string(static_cast<const char*>(bytes), part), size_of(fd)};
    const ssize_t written = OwnFiles::pwrite(fd, bytes, part, offset);
    if (written < 0) return written;
    disk_->patched_[path].unsynced.push_back(std::move(patch));
    errno = error;
    return fails ? -1 : written;
  }
  int fdatasync(int fd) override { return sync(fd); }
  int fsync(int fd) override { return sync(fd); }

  int rename(const std::string& from, const std::string& to) override {
    std::lock_guard lock(disk_->mutex_);
    if (refused(Op::kRename, from)) return -1;
    const std::string saved = disk_->bury(to, /*keep_name=*/true);
    if (const int failed = OwnFiles::rename(from, to); failed != 0) return failed;
    disk_->entries_.push_back({FaultDisk::Entry::Kind::kRenamed, from, to, saved});
    // Bytes of what stood there before are gone with it, or come back synced.
    disk_->patched_.erase(to);
    if (auto moved = disk_->patched_.extract(from)) {
      moved.key() = to;
      disk_->patched_.insert(std::move(moved));
    }
    return 0;
  }
  int link(const std::string& from, const std::string& to) override {
    std::lock_guard lock(disk_->mutex_);
    if (refused(Op::kCreate, to)) return -1;
    return created(to, OwnFiles::link(from, to));
  }
  int mkdir(const std::string& path, mode_t mode) override {
    std::lock_guard lock(disk_->mutex_);
    // For a folder that is there nothing is done to the disk.
    if (!exists(path) && refused(Op::kCreate, path)) return -1;
    return created(path, OwnFiles::mkdir(path, mode));
  }
  int unlink(const std::string& path) override {
    std::lock_guard lock(disk_->mutex_);
    if (refused(Op::kDelete, path)) return -1;
    return exists(path) ? removed(path) : OwnFiles::unlink(path);
  }
  int rmdir(const std::string& path) override {
    std::lock_guard lock(disk_->mutex_);
    if (refused(Op::kDelete, path)) return -1;
    std::error_code unknown;
    const bool empty = fs::is_directory(path, unknown) && fs::is_empty(path, unknown);
    return empty ? removed(path) : OwnFiles::rmdir(path);
  }

 private:
  struct Name {
    std::string path;
    bool directory = false;
  };

  Name name_of(int fd) {
    std::lock_guard names(names_mutex_);
    return names_.at(fd);
  }
  // All below hold the disk's mutex. With errno when it is true.
  bool refused(Op op, const std::string& path) {
    const IOStatus status = disk_->step(op, path);
    if (status.ok()) return false;
    errno = status.IsNoSpace() ? ENOSPC : EIO;
    return true;
  }
  int created(const std::string& path, int result) {
    if (result == 0) {
      disk_->entries_.push_back({FaultDisk::Entry::Kind::kCreated, path, {}, {}});
    }
    return result;
  }
  int removed(const std::string& path) {
    disk_->entries_.push_back(
        {FaultDisk::Entry::Kind::kDeleted, path, {}, disk_->bury(path, /*keep_name=*/false)});
    return 0;
  }

  int sync(int fd) {
    const Name name = name_of(fd);
    if (name.directory) {
      const IOStatus status = disk_->sync_directory(name.path, nullptr, {}, nullptr);
      if (status.ok()) return 0;
      errno = status.IsNoSpace() ? ENOSPC : EIO;
      return -1;
    }
    std::lock_guard lock(disk_->mutex_);
    FaultDisk::PatchedFile& file = disk_->patched_[name.path];
    if (file.sync_failed) {
      ++disk_->facts_->second_syncs;
      return 0;  // what Linux answers; the pages are lost all the same
    }
    if (refused(Op::kSync, name.path)) {
      file.sync_failed = true;
      return -1;
    }
    file.unsynced.clear();  // the machine keeps its power
    return 0;
  }

  const std::shared_ptr<FaultDisk> disk_;
  std::mutex names_mutex_;
  std::map<int, Name> names_;
};

std::shared_ptr<store::OwnFiles> own_files(std::shared_ptr<FaultDisk> disk) {
  return std::make_shared<FaultFiles>(std::move(disk));
}

}  // namespace rota::faults
