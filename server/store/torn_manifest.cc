// SPDX-License-Identifier: Apache-2.0
#include "store/torn_manifest.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "store/data_directory.h"

namespace rota::store {

namespace fs = std::filesystem;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::optional<Failure> write_synced(const std::string& path, const std::string& bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return system_failure(errno, "create " + path);
  int error = 0;
  std::size_t done = 0;
  while (error == 0 && done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0) {
      error = errno;
    } else {
      done += static_cast<std::size_t>(n);
    }
  }
  if (error == 0 && ::fsync(fd) != 0) error = errno;
  ::close(fd);
  if (error != 0) return system_failure(error, "write " + path);
  return std::nullopt;
}

}  // namespace

std::string current_manifest(const std::string& database_path) {
  std::ifstream in(database_path + "/CURRENT", std::ios::binary);
  std::string name;
  std::getline(in, name);
  if (!in || in.eof() || name.rfind("MANIFEST-", 0) != 0) return {};
  if (name.find('/') != std::string::npos) return {};
  return database_path + "/" + name;
}

std::optional<TornManifest> TornManifest::find(const std::string& database_path) {
  const std::string path = current_manifest(database_path);
  if (path.empty()) return std::nullopt;
  const auto end = torn_end_of(path);
  if (!end) return std::nullopt;
  return TornManifest(*end);
}

std::optional<Failure> TornManifest::replace_by(const std::string& bytes) const {
  const std::string draft = damage_.file + ".new";
  if (auto failure = write_synced(draft, bytes)) return failure;
  if (::rename(draft.c_str(), damage_.file.c_str()) != 0) {
    return system_failure(errno, "rename " + draft);
  }
  return sync_directory(fs::path(damage_.file).parent_path().string());
}

std::optional<Failure> TornManifest::cut(const std::string& data_directory) {
  const std::string all = data_directory + "/kept_logs";
  const std::string folder = all + "/torn-manifest";
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) fs::create_directories(folder, error);
  if (error) return system_failure(error.value(), "create " + folder);
  kept_ = folder + "/" + fs::path(damage_.file).filename().string();
  std::string bytes = read_file(damage_.file);
  if (auto failure = write_synced(kept_, bytes)) return failure;
  for (const std::string& path : {folder, all, data_directory}) {
    if (auto failure = sync_directory(path)) return failure;
  }
  bytes.resize(std::min<std::size_t>(bytes.size(), damage_.offset));
  return replace_by(bytes);
}

std::optional<Failure> TornManifest::put_back() {
  if (auto failure = replace_by(read_file(kept_))) return failure;
  std::error_code ignored;
  fs::remove_all(fs::path(kept_).parent_path(), ignored);
  return std::nullopt;
}

std::string TornManifest::text() const {
  return "the file " + damage_.file + " ends at offset " + std::to_string(damage_.offset) +
         " in a torn record, which was never synced and is left out";
}

}  // namespace rota::store
