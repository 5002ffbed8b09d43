// SPDX-License-Identifier: Apache-2.0
#include "store/memory_store.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "store/failure.h"

namespace rota::store {

using core::Batch;
using core::CommitSeq;
using core::Epoch;
using core::Outcome;
using core::ReadError;

namespace {

constexpr std::uint64_t kSteppedMost = 10'000;  // by one page, deleted rows included

std::size_t index(core::Keyspace keyspace) { return static_cast<std::size_t>(keyspace); }

}  // namespace

class MemoryStore final : public core::ShardStore {
 public:
  MemoryStore(std::shared_ptr<MemoryDisk> disk, core::Executor& executor, core::ShardId shard,
              Epoch epoch, std::uint32_t incarnation, CommitSeq committed)
      : state_(std::make_shared<State>()), executor_(executor) {
    state_->disk = std::move(disk);
    state_->shard = shard;
    state_->epoch = epoch;
    state_->incarnation = incarnation;
    state_->committed = committed;
    submitted_ = committed;
  }
  // Pieces that the executor still holds find the state dead and do nothing.
  ~MemoryStore() override { leave(); }

  core::ShardId shard() const override { return state_->shard; }
  Epoch epoch() const override { return state_->epoch; }
  std::uint32_t incarnation() const override { return state_->incarnation; }
  CommitSeq last_committed() const override { return state_->committed; }

  void commit(std::shared_ptr<const Batch> batch, CommitSeq seq, CommitFn done) override;
  void read(core::ReadSpec spec, ReadFn done) override;
  ReadError snapshot_read(const core::ReadSpec& spec, core::ReadResult* result,
                          std::string* detail) const override;
  ReadError load(core::Keyspace keyspace, const LoadFn& row, std::string* detail) const override;

  void report_damage(const std::string&) const override { state_->read_failed = true; }

  core::Pressure pressure() const override {
    std::lock_guard lock(state_->disk->mutex_);
    return state_->disk->pressure_;
  }
  void close() override { leave(); }
  Stats stats() const override {
    Stats stats;
    stats.largest_scan_rows = state_->largest_scan;
    stats.commits = state_->commits;
    stats.commit_bytes = state_->commit_bytes;
    return stats;
  }

 private:
  struct State {
    std::shared_ptr<MemoryDisk> disk;
    core::ShardId shard = 0;
    Epoch epoch = 0;
    std::uint32_t incarnation = 0;
    std::atomic<bool> alive{true};
    std::atomic<bool> read_failed{false};
    // The first outcome other than committed, and what every later call is answered.
    std::atomic<Outcome> poison{Outcome::kCommitted};
    std::atomic<CommitSeq> committed{0};
    std::atomic<std::uint64_t> largest_scan{0};
    std::atomic<std::uint64_t> commits{0};
    std::atomic<std::uint64_t> commit_bytes{0};
  };

  void leave() {
    if (state_->alive.exchange(false)) state_->disk->detach(state_->epoch);
  }
  static ReadError read_now(State& state, const core::ReadSpec& spec, core::ReadResult* result,
                            std::string* detail);

  std::shared_ptr<State> state_;
  core::Executor& executor_;
  CommitSeq submitted_ = 0;
};

void MemoryStore::commit(std::shared_ptr<const Batch> batch, CommitSeq seq, CommitFn done) {
  if (seq != submitted_ + 1) {
    programming_error("commit of batch " + std::to_string(seq) + " after batch " +
                      std::to_string(submitted_));
  }
  submitted_ = seq;
  const std::uint64_t bytes = batch->bytes();
  {
    std::lock_guard lock(state_->disk->mutex_);
    if (!state_->disk->broken_) state_->disk->pending_.push_back({seq, std::move(batch)});
  }
  executor_.execute([state = state_, seq, bytes, done = std::move(done)] {
    if (!state->alive) return;
    Outcome outcome = state->poison;
    std::string detail = "an earlier batch did not commit";
    if (outcome == Outcome::kCommitted && state->read_failed) {
      outcome = Outcome::kUnknown;
      detail = "an earlier read failed";
    }
    if (outcome == Outcome::kCommitted) {
      detail.clear();
      outcome = state->disk->run_commit(state->epoch, seq, &detail);
      if (outcome == Outcome::kCommitted) {
        state->committed = seq;
        ++state->commits;
        state->commit_bytes += bytes;
      }
    }
    if (outcome != Outcome::kCommitted) state->poison = outcome;
    done(seq, outcome, std::move(detail));
  });
}

ReadError MemoryStore::read_now(State& state, const core::ReadSpec& spec, core::ReadResult* result,
                                std::string* detail) {
  if (state.read_failed || state.poison != Outcome::kCommitted) {
    *detail = "the store has failed before";
    return state.poison == Outcome::kNotOwner ? ReadError::kNotOwner : ReadError::kFailed;
  }
  std::uint64_t largest = state.largest_scan;
  const ReadError error = state.disk->run_read(state.epoch, spec, result, detail, &largest);
  if (largest > state.largest_scan) state.largest_scan = largest;
  if (error != ReadError::kNone) state.read_failed = true;
  return error;
}

void MemoryStore::read(core::ReadSpec spec, ReadFn done) {
  executor_.execute([state = state_, spec = std::move(spec), done = std::move(done)] {
    if (!state->alive) return;
    core::ReadResult result;
    std::string detail;
    const ReadError error = read_now(*state, spec, &result, &detail);
    if (error != ReadError::kNone) result = {};
    done(error, std::move(result), std::move(detail));
  });
}

ReadError MemoryStore::snapshot_read(const core::ReadSpec& spec, core::ReadResult* result,
                                     std::string* detail) const {
  *result = {};
  const ReadError error = read_now(*state_, spec, result, detail);
  if (error != ReadError::kNone) *result = {};
  return error;
}

ReadError MemoryStore::load(core::Keyspace keyspace, const LoadFn& row, std::string* detail) const {
  core::ReadResult probe;
  const ReadError error = read_now(*state_, {}, &probe, detail);
  if (error != ReadError::kNone) return error;
  MemoryDisk::Rows rows;
  {
    std::lock_guard lock(state_->disk->mutex_);
    rows = state_->disk->rows_[index(keyspace)];
  }
  for (const auto& [key, value] : rows) {
    if (!row(key, value)) break;
  }
  return ReadError::kNone;
}

std::shared_ptr<MemoryDisk> MemoryDisk::create(core::ShardId shard) {
  auto disk = std::make_shared<MemoryDisk>();
  disk->shard_ = shard;
  return disk;
}

std::unique_ptr<core::ShardStore> MemoryDisk::open(core::Executor& executor) {
  std::lock_guard lock(mutex_);
  if (open_) return nullptr;
  return attach(executor);
}

std::unique_ptr<core::ShardStore> MemoryDisk::take_over(core::Executor& executor) {
  std::lock_guard lock(mutex_);
  return attach(executor);
}

std::unique_ptr<core::ShardStore> MemoryDisk::attach(core::Executor& executor) {
  pending_.clear();
  broken_ = false;
  faults_.clear();
  good_reads_ = UINT64_MAX;
  open_ = true;
  ++epoch_;
  return std::make_unique<MemoryStore>(shared_from_this(), executor, shard_, epoch_, incarnation_,
                                       committed_);
}

void MemoryDisk::detach(Epoch epoch) {
  std::lock_guard lock(mutex_);
  if (epoch == epoch_) open_ = false;
}

std::size_t MemoryDisk::settle_pending(std::size_t keep) {
  std::lock_guard lock(mutex_);
  if (open_) programming_error("settle_pending() while a store has the disk");
  std::size_t kept = 0;
  for (; kept < keep && !pending_.empty(); ++kept) {
    apply(*pending_.front().batch, pending_.front().seq);
    pending_.pop_front();
  }
  pending_.clear();
  return kept;
}

std::size_t MemoryDisk::pending() const {
  std::lock_guard lock(mutex_);
  return pending_.size();
}

void MemoryDisk::fail_commit(CommitSeq seq, CommitFault fault) {
  std::lock_guard lock(mutex_);
  faults_[seq] = fault;
}

void MemoryDisk::fail_read_after(std::uint64_t reads) {
  std::lock_guard lock(mutex_);
  good_reads_ = reads;
}

void MemoryDisk::set_page_rows(std::uint32_t rows) {
  std::lock_guard lock(mutex_);
  page_rows_ = rows;
}

void MemoryDisk::set_pressure(core::Pressure pressure) {
  std::lock_guard lock(mutex_);
  pressure_ = pressure;
}

void MemoryDisk::damage(core::Keyspace keyspace, const std::string& key, std::string value) {
  std::lock_guard lock(mutex_);
  rows_[index(keyspace)].insert_or_assign(key, std::move(value));
}

void MemoryDisk::begin_incarnation() {
  std::lock_guard lock(mutex_);
  ++incarnation_;
}

CommitSeq MemoryDisk::last_committed() const {
  std::lock_guard lock(mutex_);
  return committed_;
}

std::size_t MemoryDisk::rows(core::Keyspace keyspace) const {
  std::lock_guard lock(mutex_);
  return rows_[index(keyspace)].size();
}

void MemoryDisk::apply(const Batch& batch, CommitSeq seq) {
  for (const auto& [key, change] : batch.changes()) {
    Rows& rows = rows_[index(key.first)];
    if (change) {
      rows.insert_or_assign(key.second, *change);
      deleted_[index(key.first)].erase(key.second);
    } else if (rows.erase(key.second) > 0) {
      deleted_[index(key.first)].insert(key.second);
    }
  }
  committed_ = seq;
}

Outcome MemoryDisk::run_commit(Epoch epoch, CommitSeq seq, std::string* detail) {
  std::lock_guard lock(mutex_);
  if (epoch != epoch_) {
    *detail = "epoch " + std::to_string(epoch_) + " has taken over";
    return Outcome::kNotOwner;
  }
  if (pending_.empty() || pending_.front().seq != seq) {
    programming_error("batch " + std::to_string(seq) + " run out of order");
  }
  const Pending front = std::move(pending_.front());
  pending_.pop_front();
  const auto fault = faults_.find(seq);
  if (fault == faults_.end()) {
    apply(*front.batch, seq);
    return Outcome::kCommitted;
  }
  // Nothing behind a batch that did not commit may ever reach the disk: what is there is a prefix.
  broken_ = true;
  pending_.clear();
  if (fault->second == CommitFault::kNotOwner) {
    *detail = "injected: not owner";
    return Outcome::kNotOwner;
  }
  if (fault->second == CommitFault::kUnknownApplied) apply(*front.batch, seq);
  *detail = "injected: outcome unknown";
  return Outcome::kUnknown;
}

ReadError MemoryDisk::run_read(Epoch epoch, const core::ReadSpec& spec, core::ReadResult* result,
                               std::string* detail, std::uint64_t* largest_scan) {
  std::lock_guard lock(mutex_);
  if (epoch != epoch_) {
    *detail = "epoch " + std::to_string(epoch_) + " has taken over";
    return ReadError::kNotOwner;
  }
  if (good_reads_ != UINT64_MAX && good_reads_-- == 0) {
    good_reads_ = UINT64_MAX;
    *detail = "injected: read failed";
    return ReadError::kFailed;
  }
  result->at = committed_;
  for (const core::GetSpec& get : spec.gets) {
    const Rows& rows = rows_[index(get.keyspace)];
    const auto it = rows.find(get.key);
    result->values.push_back(it == rows.end() ? std::nullopt : std::optional(it->second));
  }
  for (const core::ScanSpec& one : spec.scans) {
    std::uint64_t stepped = 0;
    result->pages.push_back(scan(one, &stepped));
    *largest_scan = std::max(*largest_scan, stepped);
  }
  return ReadError::kNone;
}

core::ScanPage MemoryDisk::scan(const core::ScanSpec& spec, std::uint64_t* stepped) const {
  if (spec.end.empty()) programming_error("a scan without an upper bound");
  core::ScanPage page;
  *stepped = 0;
  const Rows& rows = rows_[index(spec.keyspace)];
  const auto& deleted = deleted_[index(spec.keyspace)];
  std::uint32_t most = std::max(spec.max_rows, 1U);
  if (page_rows_ != 0) most = std::min(most, page_rows_);
  std::size_t bytes = 0;
  auto gone = deleted.lower_bound(spec.begin);
  const auto end_at = [&](const std::string& next) {
    page.more = true;
    page.next = next;
    return page;
  };
  // Deleted rows that lie before `key` are stepped over, as far as one page goes.
  const auto step_over = [&](const std::string& key) {
    for (; gone != deleted.end() && *gone < key && *stepped < kSteppedMost; ++gone) ++*stepped;
    return gone == deleted.end() || *gone >= key;
  };
  for (auto it = rows.lower_bound(spec.begin); it != rows.end() && it->first < spec.end; ++it) {
    if (!step_over(it->first)) return end_at(*gone);
    bytes += it->first.size() + it->second.size();
    if (page.rows.size() >= most || (!page.rows.empty() && bytes > spec.max_bytes) ||
        *stepped >= kSteppedMost) {
      return end_at(it->first);
    }
    page.rows.emplace_back(it->first, it->second);
    ++*stepped;
  }
  if (!step_over(spec.end)) return end_at(*gone);
  return page;
}

}  // namespace rota::store
