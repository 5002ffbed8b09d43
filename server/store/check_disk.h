// SPDX-License-Identifier: Apache-2.0
//
// What a synced write costs in a directory, and which rates that allows: the measurement behind
// `rota-server --check-disk DIR`. It does to a file what the log of the database does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "store/failure.h"

namespace rota::store {

struct DiskCheckOptions {
  std::int64_t total_ms = 2000;
  std::size_t job_bytes =
      400;  // log bytes of one enqueued job of 200 bytes payload, grown a little
};

struct DiskSample {
  std::uint32_t batch = 0;  // jobs a sync makes durable
  std::uint64_t syncs = 0;
  double p50_us = 0;
  double p99_us = 0;
  double max_us = 0;
  double jobs_per_s = 0;  // batch times measured syncs a second
};

struct DiskCheck {
  std::string directory;
  std::string file_system;  // "NFS" when it is a network one, else empty
  std::vector<DiskSample> samples;
  // A sync that is faster than any device: something on the way does not wait for the disk.
  bool too_fast = false;
};

// Blocking, for about total_ms. Writes a file in `directory` and removes it. kConfig when the
// directory does not exist or cannot be written.
std::variant<DiskCheck, Failure> check_disk(const std::string& directory,
                                            const DiskCheckOptions& options = {});

// What a person reads: a table and its meaning, several lines.
std::string to_text(const DiskCheck& check);

}  // namespace rota::store
