// SPDX-License-Identifier: Apache-2.0
//
// The store in memory, for tests of everything above the store: a disk that outlives the stores
// opened on it, with crashes and faults on demand. Nothing is written anywhere.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/store.h"

namespace rota::store {

class MemoryStore;

// What a commit is made to do instead of succeeding.
enum class CommitFault : std::uint8_t {
  kUnknownLost,     // outcome unknown, and the batch is not on the disk
  kUnknownApplied,  // outcome unknown, and the batch is on the disk
  kNotOwner,        // refused, as after a takeover
};

// Thread-safe. Holds what is committed, and what was submitted but has not been run by the executor
// yet ("pending": on a real disk such a batch may or may not survive a crash).
class MemoryDisk : public std::enable_shared_from_this<MemoryDisk> {
 public:
  static std::shared_ptr<MemoryDisk> create(core::ShardId shard = 0);

  // nullptr while a store that has neither been closed nor destroyed has the disk. Pending batches
  // of an earlier store that nobody decided about are lost. `executor` must outlive the store.
  std::unique_ptr<core::ShardStore> open(core::Executor& executor);
  // Opens although another store has the disk; from then on that one is answered kNotOwner.
  std::unique_ptr<core::ShardStore> take_over(core::Executor& executor);

  // After a crash (the store object destroyed with batches pending): the first `keep` of them reach
  // the disk in order, the rest never do. Returns how many were kept.
  std::size_t settle_pending(std::size_t keep);
  std::size_t pending() const;

  // The commit of batch `seq` ends with `fault`, once.
  void fail_commit(core::CommitSeq seq, CommitFault fault);
  // The read after `reads` more good ones fails, and with it the store.
  void fail_read_after(std::uint64_t reads);
  // Pages end early after this many rows, as a store may end them; 0 = never.
  void set_page_rows(std::uint32_t rows);
  void set_pressure(core::Pressure pressure);
  // Overwrites a row behind everybody's back, as a fault of the disk that no checksum caught would.
  void damage(core::Keyspace keyspace, const std::string& key, std::string value);
  // What a restore from backup does.
  void begin_incarnation();

  core::CommitSeq last_committed() const;
  std::size_t rows(core::Keyspace keyspace) const;

 private:
  friend class MemoryStore;
  struct Pending {
    core::CommitSeq seq = 0;
    std::shared_ptr<const core::Batch> batch;
  };
  using Rows = std::map<std::string, std::string, std::less<>>;

  std::unique_ptr<core::ShardStore> attach(core::Executor& executor);
  void apply(const core::Batch& batch, core::CommitSeq seq);
  core::Outcome run_commit(core::Epoch epoch, core::CommitSeq seq, std::string* detail);
  core::ReadError run_read(core::Epoch epoch, const core::ReadSpec& spec, core::ReadResult* result,
                           std::string* detail, std::uint64_t* largest_scan);
  // `stepped`: the rows of the page and the deleted ones in its range.
  core::ScanPage scan(const core::ScanSpec& spec, std::uint64_t* stepped) const;
  void detach(core::Epoch epoch);

  mutable std::mutex mutex_;
  core::ShardId shard_ = 0;
  std::uint32_t incarnation_ = 1;
  core::Epoch epoch_ = 0;
  bool open_ = false;
  core::CommitSeq committed_ = 0;
  std::array<Rows, model::kKeyspaceCount> rows_;
  // Deleted keys: never cleared away, as the worst real store would. Only counted.
  std::array<std::set<std::string, std::less<>>, model::kKeyspaceCount> deleted_;
  std::deque<Pending> pending_;
  bool broken_ = false;  // a batch of the store that has the disk did not commit
  std::map<core::CommitSeq, CommitFault> faults_;
  std::uint64_t good_reads_ = UINT64_MAX;
  std::uint32_t page_rows_ = 0;
  core::Pressure pressure_ = core::Pressure::kOk;
};

}  // namespace rota::store
