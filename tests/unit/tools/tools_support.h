// SPDX-License-Identifier: Apache-2.0
// What the tests of the command line share.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "rota/command_line.h"

namespace rota::cli {

// A file that keeps what is written to it in memory.
class Capture {
 public:
  Capture() : file_(open_memstream(&data_, &size_)) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    std::fclose(file_);
    std::free(data_);
  }
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return {data_, size_};
  }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

struct Ran {
  int code = 0;
  std::string out, err;
};

inline Ran run(const std::vector<std::string>& words) {
  Capture out, err;
  Ran ran;
  ran.code = run_command_line(words, out.file(), err.file());
  ran.out = out.text();
  ran.err = err.text();
  return ran;
}

}  // namespace rota::cli
