// SPDX-License-Identifier: Apache-2.0
#include "store/kept_logs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "store/data_directory.h"

namespace rota::store {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kTornFoldersMax = 4;

Failure failed(const std::error_code& error, const std::string& what) {
  return system_failure(error.value(), what);
}

// The oldest go: each can be as large as all logs.
std::error_code leave_newest(const fs::path& all, const std::string& prefix) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(all, error)) {
    if (entry.path().filename().string().rfind(prefix, 0) == 0) {
      found.emplace_back(entry.last_write_time(error), entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  for (std::size_t i = 0; !error && i + kTornFoldersMax < found.size(); ++i) {
    fs::remove_all(found[i].second, error);
  }
  return error;
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
  if (name.rfind(kTornPrefix, 0) == 0) error = leave_newest(all, kTornPrefix);
  if (error) return failed(error, "remove an old folder of " + all);
  for (const std::string& path : {folder.string(), all, data_directory}) {
    if (auto failure = sync_directory(path)) return failure;
  }
  return std::nullopt;
}

}  // namespace rota::store
