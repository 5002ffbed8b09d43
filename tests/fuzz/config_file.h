// SPDX-License-Identifier: Apache-2.0
//
// For the two targets of the server's configuration.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "app/config.h"
#include "fuzz/fuzz.h"

namespace rota::fuzz {

// A file in memory that has a path.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("rota-fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0) std::abort();
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  void write(std::string_view bytes) const {
    if (ftruncate(fd_, 0) != 0) std::abort();
    if (pwrite(fd_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
  }

 private:
  int fd_;
};

// Whether it was read or refused, it must say so usefully; and what was read is printed so that it
// is read again as the same.
inline void check_config(const base::Result<app::Config>& config, const MemoryFile& printed) {
  if (!config) {
    const base::Error& error = config.error();
    FUZZ_CHECK(
        error.reason == base::Reason::kInvalidField || error.reason == base::Reason::kMissingField,
        base::to_string(error));
    FUZZ_CHECK(!error.field.empty() && !error.message.empty(), base::to_string(error));
    return;
  }
  if (config->mode == app::Mode::kHelp || config->mode == app::Mode::kVersion) return;
  const std::string text = app::print_config(*config);
  printed.write(text);
  const auto again = app::load_config({"--config", printed.path(), "--print-config"}, {});
  FUZZ_CHECK(again, base::to_string(again.error()) + "\n" + text);
  for (const base::OptionInfo& info : base::option_table()) {
    FUZZ_CHECK(base::option_text(again->options, info) == base::option_text(config->options, info),
               std::string(info.key) + " is not read back from\n" + text);
    FUZZ_CHECK(config->origins.contains(std::string(info.key)), "a value without an origin");
  }
}

}  // namespace rota::fuzz
