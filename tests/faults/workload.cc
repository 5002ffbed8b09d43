// SPDX-License-Identifier: Apache-2.0
#include "faults/workload.h"

#include <unistd.h>

#include <rocksdb/env.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "faults/fault_files.h"
#include "store/acked_seq.h"
#include "store/rocks_open.h"

namespace rota::faults {

namespace fs = std::filesystem;
using core::Batch;
using core::CommitSeq;
using core::Keyspace;
using core::Outcome;
using core::ReadError;

namespace {

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

std::string name_of(const Key& key) {
  return std::string(model::name_of(key.first)) + " row " + key.second;
}

// What two ways to read the same rows gave.
struct Found {
  Rows by_scan;
  Rows by_get;  // of the rows that must be there
};

// The first difference as a sentence, or nothing.
std::string difference(const Found& found, const Rows& expected) {
  for (const auto& [key, value] : expected) {
    const auto scanned = found.by_scan.find(key);
    const auto got = found.by_get.find(key);
    const bool by_scan = scanned != found.by_scan.end();
    const bool by_get = got != found.by_get.end();
    if (!by_scan && !by_get) return name_of(key) + " is lost";
    if (!by_get) return name_of(key) + " is lost to a get, a scan finds it";
    if (!by_scan) return name_of(key) + " is lost to a scan, a get finds it";
    if (scanned->second != value || got->second != value) {
      return name_of(key) + " has another value";
    }
  }
  for (const auto& [key, value] : found.by_scan) {
    if (expected.count(key) == 0) return name_of(key) + " was never there or is deleted";
  }
  return {};
}

constexpr std::array kKeyspaces{Keyspace::kMeta, Keyspace::kJob, Keyspace::kPayload};

// Every row by scans and again by gets. The detail of a failed read, or nothing.
std::optional<std::string> read_all(const core::ShardStore& store, const Rows& expected,
                                    Found* found) {
  std::string detail;
  for (const Keyspace keyspace : kKeyspaces) {
    const ReadError error = store.load(
        keyspace,
        [&](std::string_view key, std::string_view value) {
          found->by_scan[{keyspace, std::string(key)}] = value;
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
  for (const auto& row : expected) {
    if (result.values[i]) found->by_get[row.first] = *result.values[i];
    ++i;
  }
  return std::nullopt;
}

struct LogEnd {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
};

LogEnd newest_log(const std::string& data) {
  LogEnd newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data + "/db", error)) {
    if (entry.path().extension() != ".log") continue;
    const std::uint64_t number = std::strtoull(entry.path().stem().c_str(), nullptr, 10);
    if (number >= newest.number) newest = {number, entry.file_size(error)};
  }
  return newest;
}

// Returns when every thread of RocksDB has come to a piece of work that waits for all the others:
// what was queued before is done then.
void meet_threads(rocksdb::Env::Priority priority) {
  struct Meeting {
    std::mutex mutex;
    std::condition_variable changed;
    int missing = 0;  // threads
    int inside = 0;
  } meeting;
  meeting.missing = meeting.inside = rocksdb::Env::Default()->GetBackgroundThreads(priority);
  const auto attend = [](void* all) {
    auto& here = *static_cast<Meeting*>(all);
    std::unique_lock lock(here.mutex);
    --here.missing;
    here.changed.notify_all();
    here.changed.wait(lock, [&] { return here.missing == 0; });
    --here.inside;
    here.changed.notify_all();
  };
  const int threads = meeting.missing;
  for (int i = 0; i < threads; ++i) {
    rocksdb::Env::Default()->Schedule(attend, &meeting, priority);
  }
  std::unique_lock lock(meeting.mutex);
  meeting.changed.wait(lock, [&] { return meeting.inside == 0; });
}

// A flush may ask for a compaction, and that for another one.
void settle() {
  for (int i = 0; i < 3; ++i) {
    meet_threads(rocksdb::Env::Priority::HIGH);
    meet_threads(rocksdb::Env::Priority::LOW);
  }
}

// One process' work; `failed_` from the moment the store said so.
class Worker {
 public:
  Worker(const WorkOptions& options, std::shared_ptr<rocksdb::FileSystem> file_system,
         WorkFacts* facts)
      : options_(options),
        file_system_(std::move(file_system)),
        facts_(facts),
        story_(options.seed, options.loses ? options.after : UINT64_MAX),
        seq_(options.after) {}

  int run() {
    for (int session = 1; session <= options_.sessions; ++session) {
      const bool last = session == options_.sessions;
      auto opened = store::open_store_on(file_system_, open_options(), executor_);
      if (opened.failure) return end(*opened.failure);
      facts_->opened = true;
      if (options_.settles) settle();
      check_recovered(opened.info.recovered_seq);
      for (int i = 0; i < options_.batches && !failed_; ++i) {
        commit(*opened.store);
        if (options_.followed) await_witness();
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
    options.sizes = small_sizes(options_.seed);
    if (options_.disk != nullptr) options.own_files = own_files(options_.disk);
    if (options_.followed) options.witness_interval = std::chrono::milliseconds(1);
    if (options_.loses) options.accept_loss_after = options_.after;
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
    fill(story_, seq, batch.get());
    if (!begun_failed) facts_->submitted = seq;
    const LogEnd before = newest_log(options_.data);
    store.commit(batch, seq, [&](CommitSeq, Outcome outcome, const std::string&) {
      if (outcome != Outcome::kCommitted) return;
      if (begun_failed) {
        ++facts_->acks_after_failure;
      } else {
        facts_->acked = seq;
        note_place(seq, before);
      }
    });
    if (options_.settles) settle();
  }

  // The child's alarm ends a wait that has none.
  void await_witness() const {
    const CommitSeq acked = facts_->acked;
    for (CommitSeq seen = 0; seen < acked && !failed_; std::this_thread::yield()) {
      const auto witness = store::AckedSeq::open(options_.data + "/acked_seq", /*create=*/false);
      if (const auto* file = std::get_if<store::AckedSeq>(&witness)) seen = file->value();
    }
  }

  void note_place(CommitSeq seq, const LogEnd& before) {
    if (facts_->place_count == kPlacesMax) return;
    const LogEnd after = newest_log(options_.data);
    const std::uint64_t begin = after.number == before.number ? before.bytes : 0;
    facts_->places[facts_->place_count++] = {seq, after.number, begin, after.bytes};
  }

  void check_recovered(CommitSeq found) {
    // Of a loss that is given up once more a part may have been settled.
    if (options_.loses ? found < seq_ : found != seq_) {
      facts_->say_wrong("reopened at batch " + std::to_string(found) + ", left at " +
                        std::to_string(seq_));
    }
    seq_ = found;
  }

  void check(const core::ShardStore& store) {
    const Rows expected = rows_after(story_, seq_);
    Found found;
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
  const Story story_;
  CommitSeq seq_;
  std::atomic<bool> failed_{false};
  std::atomic<int> code_{0};
};

}  // namespace

void WorkFacts::say_wrong(const std::string& text) { copy_text(text, &wrong); }
void WorkFacts::say_failure(const std::string& text) { copy_text(text, &failure); }

std::uint64_t drawn(std::uint64_t seed, std::string_view purpose, std::uint64_t n,
                    std::uint64_t least, std::uint64_t most) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + n;
  for (const char c : purpose) x = (x ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return least + (x ^ (x >> 31U)) % (most - least + 1);
}

void fill(const Story& story, CommitSeq seq, Batch* batch) {
  // Only what they hold differs, not which rows there are.
  const std::uint64_t seed = story.seed;
  const std::uint64_t content = seq > story.lost_after ? ~seed : seed;
  const auto jobs_of = [&](CommitSeq n) { return drawn(seed, "jobs of a batch", n, 2, 5); };
  const std::uint64_t payload_every = drawn(seed, "payload every", 0, 2, 5);
  batch->put(Keyspace::kMeta, "newest", text_of(seq));
  for (std::uint64_t k = 0; k < jobs_of(seq); ++k) {
    batch->put(Keyspace::kJob, text_of(seq) + "/" + std::to_string(k),
               noise(content, seq * 8 + k, drawn(seed, "job", seq * 8 + k, 200, 1'500)));
  }
  if (seq % payload_every == 0) {
    // Some are larger than a block of a log.
    const std::uint64_t most = drawn(seed, "large payload", seq, 0, 9) == 0 ? 40'000 : 7'000;
    batch->put(Keyspace::kPayload, text_of(seq),
               noise(content, seq * 8 + 7, drawn(seed, "payload", seq, 1'500, most)));
  }
  const CommitSeq lives = drawn(seed, "lives", 0, 5, 15);  // batches that a job stays
  if (seq <= lives) return;
  const CommitSeq ended = seq - lives;
  for (std::uint64_t k = 0; k + 1 < jobs_of(ended); ++k) {
    batch->del(Keyspace::kJob, text_of(ended) + "/" + std::to_string(k));
  }
  if (ended % (2 * payload_every) == 0) batch->del(Keyspace::kPayload, text_of(ended));
}

Rows rows_after(const Story& story, CommitSeq seq) {
  Rows rows;
  for (CommitSeq n = 1; n <= seq; ++n) {
    Batch batch;
    fill(story, n, &batch);
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

store::StoreSizes small_sizes(std::uint64_t seed) {
  store::StoreSizes sizes;
  sizes.write_buffers_bytes = drawn(seed, "write buffers", 0, 64U << 10, 112U << 10);
  sizes.block_cache_bytes = 1U << 20;
  sizes.wal_bytes = drawn(seed, "log bytes", 0, 128U << 10, 1U << 20);
  sizes.low_space_bytes = 0;
  sizes.no_space_bytes = 0;
  sizes.open_space_bytes = 0;
  return sizes;
}

int work(const WorkOptions& options, std::shared_ptr<rocksdb::FileSystem> file_system,
         WorkFacts* facts) {
  return Worker(options, std::move(file_system), facts).run();
}

int reopen(const std::string& data, std::uint64_t seed, const std::shared_ptr<FaultDisk>& disk,
           WorkFacts* facts) {
  core::InlineExecutor executor;
  store::OpenOptions options;
  options.directory = data;
  options.sizes = small_sizes(seed);
  options.own_files = own_files(disk);
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

int recover(const std::string& data, const Story& story, bool consent, WorkFacts* facts) {
  core::InlineExecutor executor;
  store::OpenOptions options;
  options.directory = data;
  options.sizes = small_sizes(story.seed);
  if (consent) options.accept_loss_after = story.lost_after;
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
  const Rows expected = rows_after(story, seq);
  Found found;
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
  fill(story, seq + 1, batch.get());
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
