// SPDX-License-Identifier: Apache-2.0
//
// Helpers for tests that look at the files of a store: a directory that goes with the test, and
// the ways a disk damages a file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rota::testing {

class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Files of `directory` whose name ends so, by name.
std::vector<std::string> files_ending(const std::string& directory, const std::string& suffix);
// The newest log of the database of a store; fails the test when there is none.
std::string newest_log(const std::string& store_directory);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);
void flip_bit(const std::string& path, std::size_t offset);
void truncate_file(const std::string& path, std::size_t size);
std::size_t file_size(const std::string& path);

}  // namespace rota::testing
