// SPDX-License-Identifier: Apache-2.0
//
// Looks at every batch that RocksDB replays from its logs, since RocksDB can go on behind a hole:
// it takes a log that lost its end for one torn in a crash although a later log exists, and a page
// of zeros for padding, which it steps over without a word. So the logs are read before they are
// replayed, nothing behind a damage is replayed, and the batches must be numbered without a gap.
//
// The first of them must follow what the tables hold: the flush of a family notes it in the list of
// files and then lets old logs go, so a list that lost its end, or a log that is missing, leaves a
// hole there.
#pragma once

#include <rocksdb/file_system.h>
#include <rocksdb/wal_filter.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "store/log_scan.h"
#include "store/store_record.h"

namespace rota::store {

// One open of a database; used on the opening thread only.
class LogReplay final : public rocksdb::WalFilter {
 public:
  // Reads the logs through `files`.
  LogReplay(std::shared_ptr<rocksdb::FileSystem> files, std::string database_path)
      : file_system_(std::move(files)), path_(std::move(database_path)) {}
  const char* Name() const override { return "rota.log_replay"; }

  // In the next open the logs are looked at, and nothing of them is replayed.
  void stop_at_once() { stops_at_once_ = true; }
  // In the next open what comes after `tables` is replayed: the tables of both families hold all up
  // to there; nothing when those of one hold nothing. The logs are not looked at once more.
  void go_on_after(std::optional<CommitRecord> tables) {
    tables_ = tables;
    stops_at_once_ = false;
  }

  void ColumnFamilyLogNumberMap(const std::map<std::uint32_t, std::uint64_t>& log_numbers,
                                const std::map<std::string, std::uint32_t>& ids) override;
  WalProcessingOption LogRecordFound(unsigned long long log_number, const std::string& file,
                                     const rocksdb::WriteBatch& batch,
                                     rocksdb::WriteBatch* new_batch, bool* batch_changed) override;

  // The oldest log that is still needed.
  std::uint64_t first_log() const { return first_log_; }
  // What is wrong with the order of the batches; empty when nothing is. The replay ended there.
  const std::string& gap() const { return gap_; }
  // The gap lies before all that the logs hold: no state before it can be told from the files.
  bool begin_is_missing() const { return begin_is_missing_; }
  // The logs that are needed, with their sizes, for a sentence; empty when there are none.
  const std::string& files() const { return files_; }
  // What the logs look like from first_log() on.
  const std::optional<LogVerdict>& verdict() const { return look_.verdict; }
  const std::optional<LogDamage>& cut_off() const { return look_.cut_off; }
  // The logs could not be looked at: nothing else here is to be relied on, nor is the open.
  const std::optional<Failure>& unreadable() const { return look_.unreadable; }

 private:
  bool behind_damage(std::uint64_t log_number);
  bool may_be_next(const CommitRecord& next) const;

  const std::shared_ptr<rocksdb::FileSystem> file_system_;
  const std::string path_;
  std::optional<CommitRecord> tables_;
  std::uint64_t first_log_ = 0;
  std::string files_;
  LogLook look_;
  std::uint64_t batches_in_damaged_ = 0;
  bool stops_at_once_ = false;
  bool looked_ = false;
  bool begin_is_missing_ = false;
  std::optional<CommitRecord> last_;
  std::string last_file_;
  std::string gap_;
};

}  // namespace rota::store
