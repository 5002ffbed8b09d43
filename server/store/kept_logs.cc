// SPDX-License-Identifier: Apache-2.0
#include "store/kept_logs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace rota::store {

namespace fs = std::filesystem;

namespace {

Failure failed(const std::error_code& error, const std::string& what) {
  return system_failure(error.value(), what);
}

std::optional<Failure> sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_failure(errno, "open " + path);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0) return system_failure(error, "sync directory " + path);
  return std::nullopt;
}

}  // namespace

std::optional<Failure> keep_logs(const std::string& data_directory,
                                 const std::string& database_path, std::uint64_t first_log,
                                 const std::string& name) {
  const std::string all = data_directory + "/kept_logs";
  const std::string folder = all + "/" + name;
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) fs::create_directories(folder, error);
  if (error) return failed(error, "create " + folder);
  for (auto entry = fs::directory_iterator(database_path, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& log = entry->path();
    if (log.extension() != ".log") continue;
    if (std::strtoull(log.stem().c_str(), nullptr, 10) < first_log) continue;
    std::error_code linked;
    fs::create_hard_link(log, folder / log.filename(), linked);
    if (linked) return failed(linked, "keep " + log.string() + " in " + folder);
  }
  if (error) return failed(error, "list " + database_path);
  for (const std::string& path : {folder, all, data_directory}) {
    if (auto failure = sync_directory(path)) return failure;
  }
  return std::nullopt;
}

}  // namespace rota::store
