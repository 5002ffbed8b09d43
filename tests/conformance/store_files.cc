// SPDX-License-Identifier: Apache-2.0
#include "conformance/store_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace rota::testing {

namespace fs = std::filesystem;

TempDirectory::TempDirectory() {
  std::string pattern = (fs::temp_directory_path() / "rota-store-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
  path_ = pattern;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> files_ending(const std::string& directory, const std::string& suffix) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().string();
    if (name.size() >= suffix.size() &&
        name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
      found.push_back(name);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string newest_log(const std::string& store_directory) {
  const auto logs = files_ending(store_directory + "/db", ".log");
  if (logs.empty()) {
    ADD_FAILURE() << "no log in " << store_directory;
    return {};
  }
  return logs.back();
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
}

void flip_bit(const std::string& path, std::size_t offset) {
  std::string bytes = read_file(path);
  ASSERT_LT(offset, bytes.size()) << path;
  bytes[offset] = static_cast<char>(bytes[offset] ^ 0x10);
  write_file(path, bytes);
}

void truncate_file(const std::string& path, std::size_t size) { fs::resize_file(path, size); }

std::size_t file_size(const std::string& path) { return fs::file_size(path); }

}  // namespace rota::testing
