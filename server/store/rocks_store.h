// SPDX-License-Identifier: Apache-2.0
//
// The store port over RocksDB: one batch is one synced WriteBatch that also carries its number and
// the epoch; every read is bounded. Any failed write or read poisons the object and is fatal.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "core/store.h"
#include "store/data_directory.h"
#include "store/rocks_open.h"
#include "store/space_watch.h"
#include "store/store_record.h"
#include "store/witness.h"

namespace rota::store {

class RocksStore final : public core::ShardStore {
 public:
  struct Parts {
    DataDirectory directory;
    std::unique_ptr<RocksDatabase> database;
    AckedSeq acked;
    StoreRecord record;
    CommitRecord commit;  // as stored: the epoch is this open's
    bool read_only = false;
    SpaceWatch space;
    std::chrono::milliseconds witness_interval;
  };
  RocksStore(Parts parts, core::Executor& executor);
  ~RocksStore() override;

  core::ShardId shard() const override { return 0; }
  core::Epoch epoch() const override { return epoch_; }
  std::uint32_t incarnation() const override { return incarnation_; }
  core::CommitSeq last_committed() const override { return committed_.load(); }

  void commit(std::shared_ptr<const core::Batch> batch, core::CommitSeq seq,
              CommitFn done) override;
  void read(core::ReadSpec spec, ReadFn done) override;
  core::ReadError snapshot_read(const core::ReadSpec& spec, core::ReadResult* result,
                                std::string* detail) const override;
  core::ReadError load(core::Keyspace keyspace, const LoadFn& row,
                       std::string* detail) const override;
  void report_damage(const std::string& text) const override;
  core::Pressure pressure() const override;
  void close() override;
  Stats stats() const override;

 private:
  using Clock = std::chrono::steady_clock;

  void run_commit(const core::Batch& batch, core::CommitSeq seq, const CommitFn& done);
  rocksdb::Status write(const core::Batch& batch, core::CommitSeq seq);
  rocksdb::Status read_at(const rocksdb::Snapshot* snapshot, const core::ReadSpec& spec,
                          core::ReadResult* result) const;
  rocksdb::Status get_values(const rocksdb::Snapshot* snapshot, const core::ReadSpec& spec,
                             core::ReadResult* result) const;
  core::ReadError refuse_read(std::string* detail) const;
  core::ReadError fail_read(const rocksdb::Status& status, std::string* detail) const;
  void note_scan(std::uint64_t stepped) const;

  DataDirectory directory_;  // the lock goes last
  std::unique_ptr<RocksDatabase> database_;
  const bool read_only_;
  const core::Epoch epoch_;
  const std::uint32_t incarnation_;
  core::Executor& executor_;

  core::CommitSeq submitted_;  // the calling thread's
  std::atomic<core::CommitSeq> committed_;
  rocksdb::WriteBatch write_batch_;  // the executor's, kept for its memory

  std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> commit_bytes_{0};
  std::atomic<std::uint64_t> last_commit_us_{0};
  mutable std::atomic<std::uint64_t> largest_scan_{0};
  mutable SpaceWatch space_;
  std::unique_ptr<Witness> witness_;  // null when read-only; ends before what it uses
};

}  // namespace rota::store
