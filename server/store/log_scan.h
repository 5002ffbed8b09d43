// SPDX-License-Identifier: Apache-2.0
//
// Where a log of RocksDB is damaged, and what follows there. RocksDB says that one is, not where;
// whether the open may go on, and where an operator has to look, depends on the place. Reads the
// files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rota::store {

struct LogDamage {
  std::string file;
  std::uint64_t offset = 0;  // of the first physical record that fails its checksum or length
};

// A log or manifest, whose formats are the same. Nothing when every complete record is good; a
// record cut off by the end of the file is no damage, nor are zeros up to the end of the file.
std::optional<LogDamage> find_damage_in_log(const std::string& path);
// The first damaged one of the manifests and logs of a database, by name.
std::optional<LogDamage> find_damage_in_logs(const std::string& database_path);

// Where a manifest or log ends in a damage that no whole record follows, of whatever kind it is;
// also in zeros.
std::optional<LogDamage> torn_end_of(const std::string& path);

// The logs of a database from `first_log` on, in the order in which they were written.
std::vector<std::string> log_files(const std::string& database_path, std::uint64_t first_log);

struct LogVerdict {
  // Also zeros up to the end of the last log, which are the damage if a batch is cut off by them.
  LogDamage damage;
  std::uint64_t log_number = 0;      // of the damaged file
  std::uint64_t batches_before = 0;  // whole ones in that file, before the damage
  // A whole record behind it that begins a batch, in this log or a later one: then the damaged
  // batch had been synced before that one was begun. Without it the damage is the end of the last
  // batch, torn while nobody had been told of it; the middle and last parts of a batch that stands
  // in several records say nothing, they may have come to the disk before its first part did.
  std::optional<LogDamage> good_after;
};

struct LogLook {
  std::optional<LogVerdict> verdict;  // nothing when no log is damaged
  // Where the last batch begins, or the last piece of it, when the last log ends within it: a write
  // that was under way at a crash, as a rule, which RocksDB leaves out without a word.
  std::optional<LogDamage> cut_off;
};

// The logs of a database in the order in which they were written, from `first_log` on: what is
// older is no longer needed. Reads them whole; a file that cannot be read ends there.
LogLook look_at_logs(const std::string& database_path, std::uint64_t first_log);

}  // namespace rota::store
