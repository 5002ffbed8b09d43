// SPDX-License-Identifier: Apache-2.0
//
// What a process has used so far, by /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace rota::bench {

struct Usage {
  double cpu_s = 0;                 // user and system, of all its threads
  std::int64_t rss_bytes = 0;       // now
  std::int64_t peak_rss_bytes = 0;  // since its start
  std::int64_t written_bytes = 0;   // that it caused to be written to disks since its start
};

// Throws Failed when the process is gone or belongs to somebody else.
Usage usage_of(pid_t pid);

// Of this process, and the CPU time alone: cheap enough to be read often.
double own_cpu_s();

// CLOCK_MONOTONIC, which all processes of the machine read alike.
std::int64_t now_ns();
// Of the wall clock: nominal times are compared with it.
std::int64_t wall_ns();

}  // namespace rota::bench
