// SPDX-License-Identifier: Apache-2.0
//
// Where a log of RocksDB is damaged. RocksDB says that one is, not where; an operator who looks at
// a disk needs the place. Reads the files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rota::store {

struct LogDamage {
  std::string file;
  std::uint64_t offset = 0;  // of the first physical record that fails its checksum or length
};

// A log or manifest, whose formats are the same. Nothing when every complete record is good; a
// record cut off by the end of the file is no damage.
std::optional<LogDamage> find_damage_in_log(const std::string& path);
// The first damaged one of the manifests and logs of a database, by name.
std::optional<LogDamage> find_damage_in_logs(const std::string& database_path);

}  // namespace rota::store
