// SPDX-License-Identifier: Apache-2.0
#include "store/ballast.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "store/data_directory.h"

namespace rota::store {

Ballast::Ballast(const std::string& data_directory, std::uint64_t bytes)
    : directory_(data_directory), path_(data_directory + "/ballast"), bytes_(bytes) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0) held_ = static_cast<std::uint64_t>(status.st_size);
}

std::optional<Failure> Ballast::make() {
  if (complete()) return std::nullopt;
  if (held_ != 0) {
    if (auto failure = give_up()) return failure;
  }
  if (bytes_ == 0) return std::nullopt;
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return system_failure(errno, "create " + path_);
  int error = 0;
  if (::fallocate(fd, 0, 0, static_cast<off_t>(bytes_)) != 0 || ::fsync(fd) != 0) error = errno;
  ::close(fd);
  if (error != 0) {
    ::unlink(path_.c_str());
    return system_failure(error, "reserve " + std::to_string(bytes_) + " bytes for " + path_);
  }
  held_ = bytes_;
  return sync_directory(directory_);
}

std::optional<Failure> Ballast::give_up() {
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
    return system_failure(errno, "remove " + path_);
  }
  held_ = 0;
  return sync_directory(directory_);
}

}  // namespace rota::store
