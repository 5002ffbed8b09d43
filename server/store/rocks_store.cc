// SPDX-License-Identifier: Apache-2.0
#include "store/rocks_store.h"

#include <rocksdb/convenience.h>

#include <algorithm>
#include <utility>

#include "base/fail_point.h"
#include "store/rocks_key.h"
#include "store/rocks_scan.h"

namespace rota::store {

using core::Batch;
using core::CommitSeq;
using core::Outcome;
using core::Pressure;
using core::ReadError;

namespace {

constexpr std::size_t kProtectionBytes = 8;        // per key, from here to the memtable
constexpr std::size_t kKeepBatchBytes = 4U << 20;  // a larger write batch is given back
constexpr std::size_t kQuickGetsMax = 8;           // read in place: a thread hop costs as much

rocksdb::WriteBatch new_write_batch() { return rocksdb::WriteBatch(0, 0, kProtectionBytes, 0); }

class SnapshotGuard {
 public:
  explicit SnapshotGuard(rocksdb::DB* db) : db_(db), snapshot_(db->GetSnapshot()) {}
  ~SnapshotGuard() { db_->ReleaseSnapshot(snapshot_); }
  SnapshotGuard(const SnapshotGuard&) = delete;
  SnapshotGuard& operator=(const SnapshotGuard&) = delete;
  const rocksdb::Snapshot* get() const { return snapshot_; }

 private:
  rocksdb::DB* db_;
  const rocksdb::Snapshot* snapshot_;
};

}  // namespace

RocksStore::RocksStore(Parts parts, core::Executor& executor)
    : directory_(std::move(parts.directory)),
      database_(std::move(parts.database)),
      read_only_(parts.read_only),
      epoch_(parts.commit.epoch),
      incarnation_(parts.record.incarnation),
      executor_(executor),
      submitted_(parts.commit.seq),
      committed_(parts.commit.seq),
      write_batch_(new_write_batch()),
      space_(std::move(parts.space)) {
  if (read_only_) return;
  Witness::Hooks hooks;
  hooks.committed = [this] { return committed_.load(); };
  // The batches are durable already, so a failure here takes nothing back; but a disk that refuses
  // this sync is not to be trusted with the next.
  hooks.failed = [this](Failure failure) { database_->health->fail(std::move(failure)); };
  // Without ballast a store works as well; the next open says so if it still cannot be made.
  hooks.each_second = [this] { (void)space_.tend_ballast(); };
  witness_ =
      std::make_unique<Witness>(std::move(parts.acked), parts.witness_interval, std::move(hooks));
}

RocksStore::~RocksStore() = default;

void RocksStore::commit(std::shared_ptr<const Batch> batch, CommitSeq seq, CommitFn done) {
  if (read_only_) programming_error("commit to a store opened read-only");
  if (seq != submitted_ + 1) {
    programming_error("commit of batch " + std::to_string(seq) + " after batch " +
                      std::to_string(submitted_));
  }
  submitted_ = seq;
  executor_.execute([this, batch = std::move(batch), seq, done = std::move(done)] {
    run_commit(*batch, seq, done);
  });
}

void RocksStore::run_commit(const Batch& batch, CommitSeq seq, const CommitFn& done) {
  Health& health = *database_->health;
  // Once failed nothing is written any more: what is on the disk stays a prefix of the batches.
  if (!health.failed()) {
    base::fail_point("store_before_commit");
    const auto begin = Clock::now();
    const rocksdb::Status status = write(batch, seq);
    if (status.ok()) {
      base::fail_point("store_after_commit");
      const auto took = Clock::now() - begin;
      last_commit_us_ = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(took).count());
      commit_bytes_ += batch.bytes();
      ++commits_;
      committed_.store(seq);
      done(seq, Outcome::kCommitted, {});
      return;
    }
    // Whatever the status says, the record may be on the disk and be replayed by the next open.
    health.fail(rocks_failure(status, "commit of batch " + std::to_string(seq)));
  }
  done(seq, Outcome::kUnknown, health.first()->text);
}

rocksdb::Status RocksStore::write(const Batch& batch, CommitSeq seq) {
  write_batch_.Clear();
  rocksdb::Status status;
  for (const auto& [key, change] : batch.changes()) {
    const char tag = tag_of(key.first);
    const rocksdb::Slice key_slices[] = {rocksdb::Slice(&tag, 1), rocksdb::Slice(key.second)};
    const rocksdb::SliceParts key_parts(key_slices, 2);
    rocksdb::ColumnFamilyHandle* family = database_->family(key.first);
    if (change) {
      const rocksdb::Slice value(*change);
      status = write_batch_.Put(family, key_parts, rocksdb::SliceParts(&value, 1));
    } else {
      status = write_batch_.Delete(family, key_parts);
    }
    if (!status.ok()) return status;
  }
  const std::string commit = encode(CommitRecord{seq, epoch_});
  for (rocksdb::ColumnFamilyHandle* family : {database_->state, database_->payload}) {
    status = write_batch_.Put(family, commit_record_key(), commit);
    if (!status.ok()) return status;
  }
  rocksdb::WriteOptions options;
  options.sync = true;  // nothing switches this off
  status = database_->db->Write(options, &write_batch_);
  if (write_batch_.GetDataSize() > kKeepBatchBytes) write_batch_ = new_write_batch();
  return status;
}

void RocksStore::read(core::ReadSpec spec, ReadFn done) {
  executor_.execute([this, spec = std::move(spec), done = std::move(done)]() mutable {
    std::string detail;
    if (const ReadError error = refuse_read(&detail); error != ReadError::kNone) {
      return done(error, {}, std::move(detail));
    }
    // Nothing else writes while this piece runs, so now is the read point asked for.
    const bool quick = spec.scans.empty() && spec.gets.size() <= kQuickGetsMax;
    auto rest = [this, at = committed_.load(), spec = std::move(spec), done = std::move(done),
                 snapshot = std::make_shared<SnapshotGuard>(database_->db.get())]() mutable {
      core::ReadResult result;
      result.at = at;
      std::string fault;
      ReadError error = ReadError::kNone;
      const rocksdb::Status status = read_at(snapshot->get(), spec, &result);
      if (!status.ok()) error = fail_read(status, &fault);
      if (error != ReadError::kNone) result = {};
      snapshot = nullptr;
      done(error, std::move(result), std::move(fault));
    };
    if (quick) {
      rest();
    } else {
      executor_.execute_read(std::move(rest));
    }
  });
}

ReadError RocksStore::snapshot_read(const core::ReadSpec& spec, core::ReadResult* result,
                                    std::string* detail) const {
  *result = {};
  ReadError error = refuse_read(detail);
  if (error != ReadError::kNone) return error;
  const SnapshotGuard snapshot(database_->db.get());
  std::string bytes;
  rocksdb::Status status = database_->get_own(commit_record_key(), snapshot.get(), &bytes);
  if (status.ok()) {
    const auto record = decode_commit_record(bytes);
    if (record) {
      result->at = record->seq;
      status = read_at(snapshot.get(), spec, result);
    } else {
      status = rocksdb::Status::Corruption("the commit record fails its checksum");
    }
  }
  if (!status.ok()) {
    *result = {};
    error = fail_read(status, detail);
  }
  return error;
}

rocksdb::Status RocksStore::read_at(const rocksdb::Snapshot* snapshot, const core::ReadSpec& spec,
                                    core::ReadResult* result) const {
  rocksdb::Status status = get_values(snapshot, spec, result);
  if (!status.ok()) return status;
  result->pages.resize(spec.scans.size());
  for (std::size_t i = 0; i < spec.scans.size(); ++i) {
    const core::ScanSpec& scan = spec.scans[i];
    ScanSource source{database_->db.get(), database_->family(scan.keyspace), snapshot,
                      !in_payload_family(scan.keyspace)};
    std::uint64_t stepped = 0;
    status = scan_page(source, tag_of(scan.keyspace), scan, &result->pages[i], &stepped);
    if (!status.ok()) return status;
    note_scan(stepped);
  }
  return status;
}

rocksdb::Status RocksStore::get_values(const rocksdb::Snapshot* snapshot,
                                       const core::ReadSpec& spec, core::ReadResult* result) const {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  result->values.resize(spec.gets.size());
  for (std::size_t i = 0; i < spec.gets.size(); ++i) {
    const core::GetSpec& get = spec.gets[i];
    // A payload is read once: it would only push more useful blocks out of the cache.
    options.fill_cache = !in_payload_family(get.keyspace);
    std::string value;
    rocksdb::Status status = database_->db->Get(options, database_->family(get.keyspace),
                                                tagged_key(tag_of(get.keyspace), get.key), &value);
    if (status.IsNotFound()) continue;
    if (!status.ok()) return status;
    result->values[i] = std::move(value);
  }
  return rocksdb::Status::OK();
}

ReadError RocksStore::load(core::Keyspace keyspace, const LoadFn& row, std::string* detail) const {
  const ReadError error = refuse_read(detail);
  if (error != ReadError::kNone) return error;
  const SnapshotGuard snapshot(database_->db.get());
  const ScanSource source{database_->db.get(), database_->family(keyspace), snapshot.get(), false};
  std::uint64_t stepped = 0;
  const rocksdb::Status status = scan_all(source, tag_of(keyspace), row, &stepped);
  if (!status.ok()) return fail_read(status, detail);
  note_scan(stepped);
  return ReadError::kNone;
}

ReadError RocksStore::refuse_read(std::string* detail) const {
  if (!database_->health->failed()) return ReadError::kNone;
  *detail = database_->health->first()->text;
  return ReadError::kFailed;
}

ReadError RocksStore::fail_read(const rocksdb::Status& status, std::string* detail) const {
  Failure failure = rocks_failure(status, "read from " + directory_.database_path());
  *detail = failure.text;
  database_->health->fail(std::move(failure));
  return ReadError::kFailed;
}

void RocksStore::note_scan(std::uint64_t stepped) const {
  std::uint64_t largest = largest_scan_.load();
  while (stepped > largest && !largest_scan_.compare_exchange_weak(largest, stepped)) {
  }
}

void RocksStore::report_damage(const std::string& text) const {
  database_->health->fail({FailureKind::kDamage, text});
}

Pressure RocksStore::pressure() const {
  if (database_->health->failed()) return Pressure::kFailed;
  Pressure pressure = space_.pressure(database_->listener->flushes());
  switch (database_->stall()) {
    case rocksdb::WriteStallCondition::kStopped:
      pressure = std::max(pressure, Pressure::kRefuseNew);
      break;
    case rocksdb::WriteStallCondition::kDelayed:
      pressure = std::max(pressure, Pressure::kSlow);
      break;
    default:
      break;
  }
  return pressure;
}

void RocksStore::close() {
  if (database_ == nullptr) return;
  if (witness_) {
    witness_->end();
    if (!database_->health->failed()) {
      if (auto failure = witness_->close(committed_.load())) {
        database_->health->fail(std::move(*failure));
      }
    }
  }
  rocksdb::CancelAllBackgroundWork(database_->db.get(), /*wait=*/true);
  database_.reset();
}

core::ShardStore::Stats RocksStore::stats() const {
  Stats stats;
  stats.largest_scan_rows = largest_scan_.load();
  stats.commits = commits_.load();
  stats.commit_bytes = commit_bytes_.load();
  stats.last_commit_us = last_commit_us_.load();
  return stats;
}

}  // namespace rota::store
