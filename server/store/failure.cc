// SPDX-License-Identifier: Apache-2.0
#include "store/failure.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace rota::store {

std::string_view failure_name(FailureKind kind) {
  switch (kind) {
    case FailureKind::kDamage:
      return "damage";
    case FailureKind::kInUse:
      return "in use";
    case FailureKind::kDiskFull:
      return "disk full";
    case FailureKind::kIo:
      return "I/O error";
    case FailureKind::kConfig:
      return "configuration";
  }
  return "failure";
}

std::string_view failure_advice(FailureKind kind) {
  switch (kind) {
    case FailureKind::kDamage:
      return "keep the directory as it is, check the disk, and restore a backup; nothing was "
             "repaired or dropped";
    case FailureKind::kInUse:
      return "stop the other server before this one starts (rolling deploy: strategy Recreate, or "
             "a stateful set of one)";
    case FailureKind::kDiskFull:
      return "free space on this file system, then start again; every acknowledged write is kept";
    case FailureKind::kIo:
      return "check the disk and the kernel log, then start again; every acknowledged write is "
             "read back at the start";
    case FailureKind::kConfig:
      return "correct this and start again; nothing was changed";
  }
  return "";
}

std::string Failure::describe() const {
  std::string line(failure_name(kind));
  line.append(": ").append(text).append("; ").append(failure_advice(kind));
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return line;
}

Failure system_failure(int error_number, std::string_view what) {
  const bool full = error_number == ENOSPC || error_number == EDQUOT;
  std::string text(what);
  text.append(": ").append(std::generic_category().message(error_number));
  return {full ? FailureKind::kDiskFull : FailureKind::kIo, std::move(text)};
}

void programming_error(std::string_view text) {
  std::fprintf(stderr, "store: programming error: %.*s\n", static_cast<int>(text.size()),
               text.data());
  std::abort();
}

}  // namespace rota::store
