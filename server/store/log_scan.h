// SPDX-License-Identifier: Apache-2.0
//
// Where a log of RocksDB is damaged, and what follows there. RocksDB says that one is, not where;
// whether the open may go on, and where an operator has to look, depends on the place. Reads the
// files only.
#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/failure.h"

namespace rota::store {

struct LogDamage {
  std::string file;
  std::uint64_t offset = 0;  // of the first physical record that fails its checksum or length
};

// What was looked for in a file, or why nothing can be said of it.
struct LogPlace {
  std::optional<LogDamage> damage;
  std::optional<Failure> unreadable;
};

// The first damage of the manifests and logs of a database, by name, whose formats are the same.
// Nothing when every complete record is good; a record cut off by the end of a file is no damage,
// nor are zeros up to the end of a file.
LogPlace find_damage_in_logs(rocksdb::FileSystem& files, const std::string& database_path);

// Where a manifest or log ends in a damage that no whole record follows, of whatever kind it is;
// also in zeros.
LogPlace torn_end_of(rocksdb::FileSystem& files, const std::string& path);

// Where one is damaged although a whole record follows. RocksDB does not see that in a length,
// which it takes for the end of the file.
LogPlace damage_within(rocksdb::FileSystem& files, const std::string& path);

struct LogFiles {
  std::vector<std::string> paths;  // in the order in which they were written
  std::optional<Failure> failure;  // the directory could not be listed
};
// The logs of a database from `first_log` on.
LogFiles log_files(rocksdb::FileSystem& files, const std::string& database_path,
                   std::uint64_t first_log);

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
  // A file could not be read to its end. The rest says nothing then, least of all that a damage is
  // the end of the last batch.
  std::optional<Failure> unreadable;
};

// The logs of a database in the order in which they were written, from `first_log` on: what is
// older is no longer needed. Reads them whole.
LogLook look_at_logs(rocksdb::FileSystem& files, const std::string& database_path,
                     std::uint64_t first_log);

}  // namespace rota::store
