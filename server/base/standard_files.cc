// SPDX-License-Identifier: Apache-2.0
#include "base/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <initializer_list>

namespace rota::base {

void occupy_standard_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is `fd`, since all below it are in use.
    const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode) != fd) std::abort();
  }
}

namespace {

// Before the static objects of libraries in the same program: one of gRPC's opens a descriptor.
[[gnu::constructor(101)]] void occupy_early() { occupy_standard_files(); }

}  // namespace
}  // namespace rota::base
