// SPDX-License-Identifier: Apache-2.0
#include "store/own_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace rota::store {

int OwnFiles::open(const std::string& path, int flags, mode_t mode) {
  return ::open(path.c_str(), flags, mode);
}
int OwnFiles::close(int fd) { return ::close(fd); }
ssize_t OwnFiles::pread(int fd, void* bytes, std::size_t n, off_t offset) {
  return ::pread(fd, bytes, n, offset);
}
ssize_t OwnFiles::pwrite(int fd, const void* bytes, std::size_t n, off_t offset) {
  return ::pwrite(fd, bytes, n, offset);
}
int OwnFiles::fdatasync(int fd) { return ::fdatasync(fd); }
int OwnFiles::fsync(int fd) { return ::fsync(fd); }
int OwnFiles::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str());
}
int OwnFiles::link(const std::string& from, const std::string& to) {
  return ::link(from.c_str(), to.c_str());
}
int OwnFiles::unlink(const std::string& path) { return ::unlink(path.c_str()); }
int OwnFiles::mkdir(const std::string& path, mode_t mode) { return ::mkdir(path.c_str(), mode); }
int OwnFiles::rmdir(const std::string& path) { return ::rmdir(path.c_str()); }

const std::shared_ptr<OwnFiles>& system_files() {
  static const std::shared_ptr<OwnFiles> files = std::make_shared<OwnFiles>();
  return files;
}

std::optional<Failure> sync_directory(const std::shared_ptr<OwnFiles>& files,
                                      const std::string& path) {
  const OwnFile directory(files, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!directory.ok()) return system_failure(errno, "open " + path);
  if (files->fsync(directory.fd()) != 0) return system_failure(errno, "sync directory " + path);
  return std::nullopt;
}

}  // namespace rota::store
