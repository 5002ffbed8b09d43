// SPDX-License-Identifier: Apache-2.0
//
// The RocksDB part of opening, and open_store() over a given file system, which is where tests put
// their faults.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "store/log_replay.h"
#include "store/open.h"
#include "store/rocks_failure.h"
#include "store/rocks_watch.h"

namespace rota::store {

// An open database and what must outlive it. Destroying it writes nothing.
struct RocksDatabase {
  std::shared_ptr<Health> health;
  std::unique_ptr<rocksdb::Env> env;
  std::shared_ptr<RocksListener> listener;
  std::shared_ptr<LogReplay> replay;
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::ColumnFamilyHandle* state = nullptr;
  rocksdb::ColumnFamilyHandle* payload = nullptr;

  ~RocksDatabase();
  rocksdb::ColumnFamilyHandle* family(core::Keyspace keyspace) const;
  // The value of one of the store's own keys (store_record.h), at a snapshot or now.
  rocksdb::Status get_own(const std::string& key, const rocksdb::Snapshot* snapshot,
                          std::string* value) const;
  // All of them or none; synced. A commit record goes to both families.
  rocksdb::Status put_own(std::initializer_list<std::pair<std::string, std::string>> records);
  // How far a family has come; absent when it has no record. Corruption: it cannot be read as one.
  rocksdb::Status commit_of(rocksdb::ColumnFamilyHandle* family,
                            std::optional<CommitRecord>* commit) const;
  bool has_rows() const;
  // Whether writes are stopped or slowed down now. Any thread; cheap where they are not.
  rocksdb::WriteStallCondition stall() const;
};

// What becomes of a log that is damaged.
enum class LogMode {
  kStrict,      // the open is refused; a last batch cut off by the end of the file is left out
  kUpToDamage,  // what stands before the damage is replayed, all behind it is left out
  kNone,        // read-only: nothing is replayed, the tables alone are seen
};

struct RocksOpenOptions {
  std::string path;
  bool create = false;  // also finishes a creation that was cut short
  bool read_only = false;
  LogMode logs = LogMode::kStrict;
  StoreSizes sizes;
  FatalFn on_fatal;
  // Is told of every batch of the logs; also when the open fails. Unset: the logs are replayed as
  // RocksDB understands them.
  std::shared_ptr<LogReplay> replay;
};

// nullptr with *failure set. The health is not armed yet.
std::unique_ptr<RocksDatabase> open_rocks(const RocksOpenOptions& options,
                                          std::shared_ptr<rocksdb::FileSystem> file_system,
                                          std::optional<Failure>* failure);

OpenResult open_store_on(std::shared_ptr<rocksdb::FileSystem> file_system,
                         const OpenOptions& options, core::Executor& executor);

}  // namespace rota::store
