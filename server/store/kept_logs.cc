// SPDX-License-Identifier: Apache-2.0
#include "store/kept_logs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "store/log_scan.h"

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
  const fs::path folder = all + "/" + name;
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) fs::create_directories(folder, error);
  if (error) return failed(error, "create " + folder.string());
  for (const std::string& log : log_files(database_path, first_log)) {
    std::error_code linked;
    fs::create_hard_link(log, folder / fs::path(log).filename(), linked);
    if (linked) return failed(linked, "keep " + log + " in " + folder.string());
  }
  for (const std::string& path : {folder.string(), all, data_directory}) {
    if (auto failure = sync_directory(path)) return failure;
  }
  return std::nullopt;
}

}  // namespace rota::store
