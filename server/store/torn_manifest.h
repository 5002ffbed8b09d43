// SPDX-License-Identifier: Apache-2.0
//
// The MANIFEST of a database lists its files, as a log of changes. RocksDB leaves out a last record
// that the file does not hold to its end, as after a crash, and refuses any wrong byte, also those
// of a last record whose pages never came to the disk. Such a record was never synced, so nothing
// that depends on it was done: no log was removed, no table.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "store/failure.h"
#include "store/log_scan.h"

namespace rota::store {

class TornManifest {
 public:
  // Nothing when the MANIFEST that CURRENT names is whole, or a whole record follows the damage.
  static std::optional<TornManifest> find(const std::string& database_path);

  // Ends the file before the damage; the whole of it is kept in kept_logs/torn-manifest below the
  // data directory. Whether the record had been synced all the same shows in the open that follows:
  // then it misses a log or a table, and the file is to be put back.
  std::optional<Failure> cut(const std::string& data_directory);
  std::optional<Failure> put_back();

  // For the operator: one sentence.
  std::string text() const;

 private:
  explicit TornManifest(LogDamage damage) : damage_(std::move(damage)) {}
  std::optional<Failure> replace_by(const std::string& bytes) const;

  LogDamage damage_;
  std::string kept_;
};

// The MANIFEST that CURRENT names; empty when it names none.
std::string current_manifest(const std::string& database_path);

}  // namespace rota::store
