// SPDX-License-Identifier: Apache-2.0
//
// How the store reports what it cannot get over: a kind that decides the exit code of the process,
// and a sentence for the operator. Such a failure is never retried: after a failed sync the kernel
// has forgotten which pages are missing, so only a new open, which reads the disk, can tell.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace rota::store {

// The value is the exit code of the server.
enum class FailureKind : int {
  kDamage = 65,    // stored data is not what was written
  kInUse = 69,     // another process holds the data directory
  kDiskFull = 73,  // no space, or the quota is used up
  kIo = 74,        // the device or the file system failed
  kConfig = 78,    // a start option, the directory or the version does not fit
};

struct Failure {
  FailureKind kind{};
  std::string text;  // what happened and where: file, offset, system error

  int exit_code() const { return static_cast<int>(kind); }
  // One line: the kind, what happened, what to do.
  std::string describe() const;
};

// Called at most once per opened store, on whatever thread found the failure, with no lock of the
// store held. The server writes one line and ends with the exit code, without closing the store.
using FatalFn = std::function<void(const Failure&)>;

std::string_view failure_name(FailureKind kind);
// What an operator does about it: one sentence.
std::string_view failure_advice(FailureKind kind);

// Failure of a system call: `what` names the call's object ("write /data/acked_seq").
Failure system_failure(int error_number, std::string_view what);

// A caller broke the port's contract. Prints the text and aborts: going on would write a history
// that nobody can explain afterwards.
[[noreturn]] void programming_error(std::string_view text);

}  // namespace rota::store
