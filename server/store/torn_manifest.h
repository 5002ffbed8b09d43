// SPDX-License-Identifier: Apache-2.0
//
// The MANIFEST of a database lists its files, as a log of changes. RocksDB leaves out a last record
// that the file does not hold to its end, as after a crash, and refuses any wrong byte, also those
// of a last record whose pages never came to the disk. Such a record was never synced, so nothing
// that depends on it was done: no log was removed, no table.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "store/failure.h"
#include "store/log_scan.h"

namespace rota::store {

class TornManifest {
 public:
  // Nothing when the MANIFEST that CURRENT names is whole, or a whole record follows the damage;
  // also, with *unreadable set, when it cannot be read to its end.
  static std::optional<TornManifest> find(rocksdb::FileSystem& files,
                                          const std::string& database_path,
                                          std::optional<Failure>* unreadable);

  // `base` as if the file ended before the damage; the file itself stays as it is. Whether the
  // record had been synced all the same shows in an open on it that only looks: that misses a log
  // or a table. An open that writes begins a MANIFEST of its own and only then removes this one, so
  // whenever it ends, the next open finds either this one as it was or one that is whole.
  std::shared_ptr<rocksdb::FileSystem> shortened(std::shared_ptr<rocksdb::FileSystem> base) const;

  const std::string& file() const { return damage_.file; }
  // For the operator: one sentence.
  std::string text() const;

 private:
  explicit TornManifest(LogDamage damage) : damage_(std::move(damage)) {}

  LogDamage damage_;
};

// The MANIFEST that CURRENT names; empty when it names none.
std::string current_manifest(const std::string& database_path);

}  // namespace rota::store
