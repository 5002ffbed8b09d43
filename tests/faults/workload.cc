// SPDX-License-Identifier: Apache-2.0
#include "faults/workload.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "store/rocks_open.h"

namespace rota::faults {

namespace fs = std::filesystem;
using core::Batch;
using core::CommitSeq;
using core::Keyspace;
using core::Outcome;
using core::ReadError;

namespace {

constexpr CommitSeq kLives = 11;  // batches that a job stays
constexpr int kBatchesAfterFailure = 3;

std::string text_of(CommitSeq n) {
  std::string text = std::to_string(n);
  return std::string(10 - text.size(), '0') + text;
}

// Bytes that no compression makes smaller.
std::string noise(std::uint64_t seed, std::uint64_t n, std::size_t size) {
  std::uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ULL ^ (n + 1) * 0xbf58476d1ce4e5b9ULL;
  std::string bytes;
  bytes.reserve(size + 8);
  while (bytes.size() < size) {
    x ^= x << 13U;
    x ^= x >> 7U;
    x ^= x << 17U;
    bytes.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  bytes.resize(size);
  return bytes;
}

template <std::size_t n>
void copy_text(const std::string& text, std::array<char, n>* to) {
  if ((*to)[0] != '\0') return;
  std::strncpy(to->data(), text.c_str(), n - 1);
}

std::string difference(const Rows& found, const Rows& expected) {
  for (const auto& [key, value] : expected) {
    const auto it = found.find(key);
    if (it == found.end())
      return std::string(model::name_of(key.first)) + " row " + key.second + " is lost";
    if (it->second != value) {
      return std::string(model::name_of(key.first)) + " row " + key.second + " has another value";
    }
  }
  for (const auto& [key, value] : found) {
    if (expected.count(key) == 0) {
      return std::string(model::name_of(key.first)) + " row " + key.second +
             " was never there or is deleted";
    }
  }
  return {};
}

constexpr std::array kKeyspaces{Keyspace::kMeta, Keyspace::kJob, Keyspace::kPayload};

// Every row by scans and again by gets. The detail of a failed read, or nothing.
std::optional<std::string> read_all(const core::ShardStore& store, const Rows& expected,
                                    Rows* found) {
  std::string detail;
  for (const Keyspace keyspace : kKeyspaces) {
    const ReadError error = store.load(
        keyspace,
        [&](std::string_view key, std::string_view value) {
          (*found)[{keyspace, std::string(key)}] = value;
          return true;
        },
        &detail);
    if (error != ReadError::kNone) return detail;
  }
  core::ReadSpec spec;
  for (const auto& [key, value] : expected) spec.gets.push_back({key.first, key.second});
  core::ReadResult result;
  if (store.snapshot_read(spec, &result, &detail) != ReadError::kNone) return detail;
  std::size_t i = 0;
  for (const auto& [key, value] : expected) {
    if (result.values[i] != value) (*found)[key] = result.values[i].value_or("(absent to a get)");
    ++i;
  }
  return std::nullopt;
}

std::uint64_t newest_log_bytes(const std::string& data) {
  std::string newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data + "/db", error)) {
    if (entry.path().extension() == ".log") newest = std::max(newest, entry.path().string());
  }
  return newest.empty() ? 0 : fs::file_size(newest, error);
}

// One process' work; `failed_` from the moment the store said so.
class Worker {
 public:
  Worker(const WorkOptions& options, std::shared_ptr<rocksdb::FileSystem> file_system,
         WorkFacts* facts)
      : options_(options), file_system_(std::move(file_system)), facts_(facts) {}

  int run() {
    for (int session = 1; session <= options_.sessions; ++session) {
      const bool last = session == options_.sessions;
      auto opened = store::open_store_on(file_system_, open_options(), executor_);
      if (opened.failure) return end(*opened.failure);
      facts_->opened = true;
      check_recovered(opened.info.recovered_seq);
      for (int i = 0; i < options_.batches && !failed_; ++i) {
        if (last && i == options_.batches - 1) {
          facts_->log_bytes_before_last = newest_log_bytes(options_.data);
        }
        commit(*opened.store);
        if (i % 10 == 9 && !failed_) check(*opened.store);
      }
      if (failed_) return go_on_against(std::move(opened.store));
      if (last && !options_.close_last) ::_exit(0);
      opened.store->close();
      if (failed_) return lose_power();
    }
    facts_->finished = facts_->disk.fired == 0;
    return 0;
  }

 private:
  store::OpenOptions open_options() {
    store::OpenOptions options;
    options.directory = options_.data;
    options.sizes = small_sizes();
    options.on_fatal = [this](const store::Failure& failure) {
      facts_->say_failure(failure.describe());
      code_ = failure.exit_code();
      if (options_.exits) {
        if (options_.disk != nullptr) options_.disk->cut_power();
        ::_exit(code_);
      }
      failed_ = true;
    };
    return options;
  }

  int end(const store::Failure& failure) {
    facts_->say_failure(failure.describe());
    if (options_.disk != nullptr) options_.disk->cut_power();
    return failure.exit_code();
  }

  void commit(core::ShardStore& store) {
    const bool begun_failed = failed_;
    const CommitSeq seq = ++seq_;
    auto batch = std::make_shared<Batch>();
    fill(options_.seed, seq, batch.get());
    if (!begun_failed) facts_->submitted = seq;
    store.commit(batch, seq, [&](CommitSeq, Outcome outcome, const std::string&) {
      if (outcome != Outcome::kCommitted) return;
      if (begun_failed) {
        ++facts_->acks_after_failure;
      } else {
        facts_->acked = seq;
      }
    });
  }

  void check_recovered(CommitSeq found) {
    if (found != seq_) {
      facts_->say_wrong("reopened at batch " + std::to_string(found) + " after a clean close at " +
                        std::to_string(seq_));
    }
    seq_ = found;
  }

  void check(const core::ShardStore& store) {
    const Rows expected = rows_after(options_.seed, seq_);
    Rows found;
    if (read_all(store, expected, &found)) return;  // the store has failed, and says so itself
    if (failed_) return;
    const std::string text = difference(found, expected);
    if (!text.empty()) facts_->say_wrong("while working: " + text);
  }

  // The store has failed and the process lives on, which no server does: nothing may be
  // acknowledged, read, or written any more.
  int go_on_against(std::unique_ptr<core::ShardStore> store) {
    for (int i = 0; i < kBatchesAfterFailure; ++i) commit(*store);
    core::ReadResult result;
    std::string detail;
    if (store->snapshot_read({{{Keyspace::kMeta, "newest"}}, {}}, &result, &detail) ==
        ReadError::kNone) {
      facts_->say_wrong("a store that has failed answered a read");
    }
    if (store->pressure() != core::Pressure::kFailed) {
      facts_->say_wrong("a store that has failed takes more work");
    }
    store.reset();
    return lose_power();
  }

  int lose_power() {
    if (options_.disk != nullptr) options_.disk->cut_power();
    return code_;
  }

  const WorkOptions options_;
  const std::shared_ptr<rocksdb::FileSystem> file_system_;
  WorkFacts* const facts_;
  core::InlineExecutor executor_;
  CommitSeq seq_ = 0;
  std::atomic<bool> failed_{false};
  std::atomic<int> code_{0};
};

}  // namespace

void WorkFacts::say_wrong(const std::string& text) { copy_text(text, &wrong); }
void WorkFacts::say_failure(const std::string& text) { copy_text(text, &failure); }

void fill(std::uint64_t seed, CommitSeq seq, Batch* batch) {
  batch->put(Keyspace::kMeta, "newest", text_of(seq));
  for (std::uint64_t k = 0; k < 3; ++k) {
    batch->put(Keyspace::kJob, text_of(seq) + "/" + std::to_string(k),
               noise(seed, seq * 8 + k, 300 + (seq * 131 + k * 37) % 900));
  }
  if (seq % 2 == 0) {
    batch->put(Keyspace::kPayload, text_of(seq), noise(seed, seq * 8 + 7, 4'200 + seq % 700));
  }
  if (seq <= kLives) return;
  const CommitSeq ended = seq - kLives;
  for (std::uint64_t k = 0; k < 2; ++k) {
    batch->del(Keyspace::kJob, text_of(ended) + "/" + std::to_string(k));
  }
  if (ended % 4 == 0) batch->del(Keyspace::kPayload, text_of(ended));
}

Rows rows_after(std::uint64_t seed, CommitSeq seq) {
  Rows rows;
  for (CommitSeq n = 1; n <= seq; ++n) {
    Batch batch;
    fill(seed, n, &batch);
    for (const auto& [key, change] : batch.changes()) {
      if (change) {
        rows[{key.first, key.second}] = *change;
      } else {
        rows.erase({key.first, key.second});
      }
    }
  }
  return rows;
}

store::StoreSizes small_sizes() {
  store::StoreSizes sizes;
  sizes.write_buffers_bytes = 96U << 10;
  sizes.block_cache_bytes = 1U << 20;
  sizes.wal_bytes = 1U << 20;
  sizes.low_space_bytes = 0;
  sizes.no_space_bytes = 0;
  sizes.open_space_bytes = 0;
  return sizes;
}

int work(const WorkOptions& options, std::shared_ptr<rocksdb::FileSystem> file_system,
         WorkFacts* facts) {
  return Worker(options, std::move(file_system), facts).run();
}

int reopen(const std::string& data, const std::shared_ptr<FaultDisk>& disk, WorkFacts* facts) {
  core::InlineExecutor executor;
  store::OpenOptions options;
  options.directory = data;
  options.sizes = small_sizes();
  options.on_fatal = [&](const store::Failure& failure) {
    facts->say_failure(failure.describe());
    disk->cut_power();
    ::_exit(failure.exit_code());
  };
  auto opened = store::open_store_on(disk, options, executor);
  disk->cut_power();
  if (!opened.failure) ::_exit(0);
  facts->say_failure(opened.failure->describe());
  ::_exit(opened.failure->exit_code());
}

int recover(const std::string& data, std::uint64_t seed, WorkFacts* facts) {
  core::InlineExecutor executor;
  store::OpenOptions options;
  options.directory = data;
  options.sizes = small_sizes();
  int code = 0;
  options.on_fatal = [&](const store::Failure& failure) {
    facts->say_failure(failure.describe());
    code = failure.exit_code();
  };
  auto opened = store::open_store(options, executor);
  if (opened.failure) {
    facts->say_failure(opened.failure->describe());
    return opened.failure->exit_code();
  }
  const CommitSeq seq = opened.info.recovered_seq;
  facts->recovered = seq;
  facts->opened = true;
  const Rows expected = rows_after(seed, seq);
  Rows found;
  const auto detail = read_all(*opened.store, expected, &found);
  if (detail) {
    if (code == 0) facts->say_wrong("a read failed and the store lives on: " + *detail);
    return code;
  }
  if (const std::string text = difference(found, expected); !text.empty()) {
    facts->say_wrong("after batch " + std::to_string(seq) + ": " + text);
    return 0;
  }
  auto batch = std::make_shared<Batch>();
  fill(seed, seq + 1, batch.get());
  Outcome outcome = Outcome::kUnknown;
  opened.store->commit(batch, seq + 1,
                       [&](CommitSeq, Outcome result, const std::string&) { outcome = result; });
  if (outcome != Outcome::kCommitted) {
    if (code == 0) facts->say_wrong("the recovered store takes no batch");
    return code;
  }
  opened.store->close();
  return code;
}

}  // namespace rota::faults
