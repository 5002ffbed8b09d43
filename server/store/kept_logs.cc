// SPDX-License-Identifier: Apache-2.0
#include "store/kept_logs.h"

#include <filesystem>
#include <system_error>

#include "store/data_directory.h"

namespace rota::store {

namespace fs = std::filesystem;

namespace {

Failure failed(const std::error_code& error, const std::string& what) {
  return system_failure(error.value(), what);
}

}  // namespace

std::optional<Failure> keep_logs(const std::string& data_directory,
                                 const std::vector<std::string>& logs, const std::string& name) {
  const std::string all = data_directory + "/kept_logs";
  const fs::path folder = all + "/" + name;
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) fs::create_directories(folder, error);
  if (error) return failed(error, "create " + folder.string());
  for (const std::string& log : logs) {
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
