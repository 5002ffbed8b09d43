// SPDX-License-Identifier: Apache-2.0
#include "store/ballast.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "store/data_directory.h"

namespace rota::store {

namespace {

constexpr char kUnfinished[] = ".new";

}  // namespace

Ballast::Ballast(const std::string& data_directory, std::uint64_t bytes)
    : directory_(data_directory), path_(data_directory + "/ballast"), bytes_(bytes) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return;
  there_ = true;
  held_ = static_cast<std::uint64_t>(status.st_size);
}

std::optional<Failure> Ballast::make() {
  if (complete() || bytes_ == 0) return std::nullopt;
  // Under another name first: an empty file would say that ballast was given up.
  const std::string fresh = path_ + kUnfinished;
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return system_failure(errno, "create " + fresh);
  int error = 0;
  if (::fallocate(fd, 0, 0, static_cast<off_t>(bytes_)) != 0 || ::fsync(fd) != 0) error = errno;
  ::close(fd);
  if (error == 0 && ::rename(fresh.c_str(), path_.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(fresh.c_str());
    return system_failure(error, "reserve " + std::to_string(bytes_) + " bytes for " + path_);
  }
  held_ = bytes_;
  there_ = true;
  return sync_directory(directory_);
}

std::optional<Failure> Ballast::give_up() {
  const int fd = ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return system_failure(errno, "empty " + path_);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  held_ = 0;
  if (error != 0) return system_failure(error, "empty " + path_);
  return std::nullopt;
}

void Ballast::drop_unfinished() { ::unlink((path_ + kUnfinished).c_str()); }

std::optional<Failure> Ballast::remove() {
  if (!there_) return std::nullopt;
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
    return system_failure(errno, "remove " + path_);
  }
  there_ = false;
  held_ = 0;
  return sync_directory(directory_);
}

}  // namespace rota::store
