// SPDX-License-Identifier: Apache-2.0
#include "store/kept_logs.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace rota::store {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kTornFoldersMax = 4;

Failure failed(const std::error_code& error, const std::string& what) {
  return system_failure(error.value(), what);
}

std::error_code result_of(int call) {
  return call == 0 ? std::error_code() : std::error_code(errno, std::generic_category());
}

// Whatever is in there goes with it; nothing to do where there is nothing.
std::error_code remove_tree(OwnFiles& files, const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (!fs::exists(status)) return fs::status_known(status) ? std::error_code() : error;
  if (!fs::is_directory(status)) return result_of(files.unlink(path));
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (const auto kept = remove_tree(files, entry.path())) return kept;
  }
  return error ? error : result_of(files.rmdir(path));
}

std::error_code make_folder(OwnFiles& files, const fs::path& path) {
  const std::error_code error = result_of(files.mkdir(path, 0777));
  std::error_code unknown;
  return error == std::errc::file_exists && fs::is_directory(path, unknown) ? unknown : error;
}

// The oldest go: each can be as large as all logs.
std::error_code leave_newest(OwnFiles& files, const fs::path& all, const std::string& prefix) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(all, error)) {
    if (entry.path().filename().string().rfind(prefix, 0) == 0) {
      found.emplace_back(entry.last_write_time(error), entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  for (std::size_t i = 0; !error && i + kTornFoldersMax < found.size(); ++i) {
    error = remove_tree(files, found[i].second);
  }
  return error;
}

}  // namespace

std::optional<Failure> keep_logs(const std::string& data_directory,
                                 const std::vector<std::string>& logs, const std::string& name,
                                 const std::shared_ptr<OwnFiles>& files) {
  const std::string all = data_directory + "/kept_logs";
  const fs::path folder = all + "/" + name;
  std::error_code error = remove_tree(*files, folder);
  if (!error) error = make_folder(*files, all);
  if (!error) error = make_folder(*files, folder);
  if (error) return failed(error, "create " + folder.string());
  for (const std::string& log : logs) {
    const auto linked = result_of(files->link(log, folder / fs::path(log).filename()));
    if (linked) return failed(linked, "keep " + log + " in " + folder.string());
  }
  if (name.rfind(kTornPrefix, 0) == 0) error = leave_newest(*files, all, kTornPrefix);
  if (error) return failed(error, "remove an old folder of " + all);
  for (const std::string& path : {folder.string(), all, data_directory}) {
    if (auto failure = sync_directory(files, path)) return failure;
  }
  return std::nullopt;
}

}  // namespace rota::store
