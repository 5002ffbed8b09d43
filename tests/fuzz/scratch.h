// SPDX-License-Identifier: Apache-2.0
//
// A folder for the targets whose decoders read files; one for the process, in memory where there is
// a file system in memory, and removed at its end.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace rota::fuzz {

class Scratch {
 public:
  Scratch() {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path memory = "/dev/shm";
    const fs::path above = fs::is_directory(memory, error) ? memory : fs::temp_directory_path();
    path_ = (above / ("rota-fuzz-" + std::to_string(::getpid()))).string();
    fs::create_directories(path_);
    fs::permissions(path_, fs::perms::owner_all);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream out(file(name), std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string path_;
};

}  // namespace rota::fuzz
