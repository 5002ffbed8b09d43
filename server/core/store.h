// SPDX-License-Identifier: Apache-2.0
//
// The store port: what the engine and the runtime need of a durable store. An ordered map of bytes
// per shard, ordered asynchronous batches and three outcomes; no notion of RocksDB or SQL.
//
// It is declared here, next to the engine, so that every implementation depends on the engine's
// needs and never the other way round. One conformance suite (tests/conformance) runs against all
// implementations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/keyspace.h"

namespace rota::core {

using model::Keyspace;
using ShardId = std::uint32_t;
using Epoch = std::uint64_t;
using CommitSeq = std::uint64_t;

// A set of changes that becomes durable as a whole or not at all.
// One operation per key: a later call for the same key replaces the earlier one.
class Batch {
 public:
  // nullopt = the key is deleted.
  using Change = std::optional<std::string>;
  using Key = std::pair<Keyspace, std::string>;
  // Finds a key without a copy of it.
  struct KeyLess {
    using is_transparent = void;
    using View = std::pair<Keyspace, std::string_view>;
    static View view(const Key& key) { return key; }
    static View view(const View& key) { return key; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return view(a) < view(b);
    }
  };
  using Map = std::pmr::map<Key, Change, KeyLess>;

  Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void put(Keyspace keyspace, std::string key, std::string value) {
    set(keyspace, std::move(key), std::move(value));
  }
  void del(Keyspace keyspace, std::string key) { set(keyspace, std::move(key), std::nullopt); }
  // Forgets a change of this batch, for a key that was both created and removed within it.
  void forget(Keyspace keyspace, const std::string& key) {
    if (auto it = changes_.find(KeyLess::View(keyspace, key)); it != changes_.end()) {
      changes_.erase(it);
    }
  }

  // nullptr when this batch does not touch the key.
  const Change* find(Keyspace keyspace, std::string_view key) const {
    auto it = changes_.find(KeyLess::View(keyspace, key));
    return it == changes_.end() ? nullptr : &it->second;
  }
  const Map& changes() const { return changes_; }
  std::size_t ops() const { return changes_.size(); }
  // Sum of key and value bytes put; grows only (an upper bound, used to close a batch in time).
  std::size_t bytes() const { return bytes_; }
  bool empty() const { return changes_.empty(); }

 private:
  static constexpr std::size_t kFirstNodesBytes = 4096;
  void set(Keyspace keyspace, std::string key, Change value) {
    bytes_ += key.size() + (value ? value->size() : 0) + 16;
    changes_.insert_or_assign({keyspace, std::move(key)}, std::move(value));
  }
  // The nodes of a batch lie side by side and go together: a batch only grows, then ends.
  std::pmr::monotonic_buffer_resource nodes_{kFirstNodesBytes};
  Map changes_{&nodes_};
  std::size_t bytes_ = 0;
};

enum class Outcome : std::uint8_t {
  kCommitted,  // durable by the provider's promise, visible to every later owner
  kNotOwner,   // nothing of it was or will be applied: another epoch or sequence exists
  kUnknown,    // may or may not be applied; only a new open() can tell
};

// How the store feels about more writes. Cheap to ask, once per loop.
enum class Pressure : std::uint8_t {
  kOk,
  kSlow,
  kRefuseNew,  // no room for more; what is there may be worked off
  kReadOnly,   // no room at all
  kFailed,     // a commit or read has failed: nothing can be written or read any more
};

using Row = std::pair<std::string, std::string>;  // key, value

// One range of keys: begin <= key < end, ascending. `end` must not be empty: a scan always has both
// bounds. Stops after `max_rows` rows or, having at least one row, when `max_bytes` is exceeded.
struct ScanSpec {
  Keyspace keyspace{};
  std::string begin;
  std::string end;
  std::uint32_t max_rows = 1000;
  std::size_t max_bytes = 1 << 20;
};
// A store may end a page early, even an empty one, when it has stepped over many deleted rows:
// `more` is then true and `next` says how far it came.
struct ScanPage {
  std::vector<Row> rows;
  bool more = false;  // the range may hold further rows: go on with begin = next
  std::string next;   // set when `more` is: no row below it is left to see at this read point
};

struct GetSpec {
  Keyspace keyspace{};
  std::string key;
};

// Several reads at one read point.
struct ReadSpec {
  std::vector<GetSpec> gets;
  std::vector<ScanSpec> scans;
};
struct ReadResult {
  CommitSeq at = 0;                                // the newest batch the read could see
  std::vector<std::optional<std::string>> values;  // one for each get, nullopt = absent
  std::vector<ScanPage> pages;                     // one for each scan
};

// Failed is fatal for the shard object (and, with the embedded store, for the process): a value
// that cannot be read or fails its checksum is never skipped.
enum class ReadError : std::uint8_t { kNone, kNotOwner, kFailed };

// Runs the store's work in the order given. The runtime chooses the place: on the calling thread,
// before execute() returns, or on a commit thread. Never two pieces at once.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void execute(std::function<void()> work) = 0;
  // From within a piece: the long half of a read, whose read point the piece has taken. In the
  // order given among its like, in no order to other pieces, which it does not hold up where there
  // is a thread for it.
  virtual void execute_read(std::function<void()> work) { work(); }
};

// Runs everything on the caller's thread.
class InlineExecutor final : public Executor {
 public:
  void execute(std::function<void()> work) override { work(); }
};

// One opened shard. commit() and read() are called from one thread (the engine loop); completions
// run on whichever thread the executor uses, those of commits in the order of the calls.
// snapshot_read() may be called from any thread.
class ShardStore {
 public:
  // Destroys without releasing anything: like a crash.
  virtual ~ShardStore() = default;
  virtual ShardId shard() const = 0;
  // Strictly larger than at any earlier open of this shard.
  virtual Epoch epoch() const = 0;
  // Changes only by a restore from backup.
  virtual std::uint32_t incarnation() const = 0;
  // The last committed batch; safe from any thread.
  virtual CommitSeq last_committed() const = 0;

  // `seq` must be the last submitted + 1. At most caps().max_inflight calls may be open. After the
  // first outcome other than kCommitted every open and later call completes with the same or a
  // worse outcome: the object is poisoned. The batch is shared, not copied: the engine keeps it
  // readable while it has an older read open.
  using CommitFn = std::function<void(CommitSeq, Outcome, std::string detail)>;
  virtual void commit(std::shared_ptr<const Batch> batch, CommitSeq seq, CommitFn done) = 0;

  // Sees exactly the batches submitted before the call, no more, no fewer; the result names that
  // commit_seq. On error the result is empty and `detail` says what and where. Completes after the
  // batches it sees; one that takes long may complete after later calls.
  using ReadFn = std::function<void(ReadError, ReadResult, std::string detail)>;
  virtual void read(ReadSpec spec, ReadFn done) = 0;

  // Blocking read of committed data, for queries that bypass the loop and for start-up. The result
  // names the commit_seq it was read at (at least every batch completed before the call). Any
  // thread.
  virtual ReadError snapshot_read(const ReadSpec& spec, ReadResult* result,
                                  std::string* detail) const = 0;

  // Blocking, in key order, until `row` returns false; for start-up (small keyspaces) and for the
  // offline recount.
  using LoadFn = std::function<bool(std::string_view key, std::string_view value)>;
  virtual ReadError load(Keyspace keyspace, const LoadFn& row, std::string* detail) const = 0;

  // A reader found a row that cannot be decoded, and says which: the store has failed, as after a
  // failed read. Any thread.
  virtual void report_damage(const std::string& text) const = 0;

  virtual Pressure pressure() const = 0;
  // After the last completion: writes what makes the next open clean, then closes.
  virtual void close() = 0;

  struct Stats {
    std::uint64_t largest_scan_rows = 0;  // most rows one scan has stepped over since open,
                                          // deleted ones included
    std::uint64_t commits = 0;
    std::uint64_t commit_bytes = 0;
    std::uint64_t last_commit_us = 0;
  };
  virtual Stats stats() const = 0;
};

struct Caps {
  std::size_t max_batch_bytes = 16U << 20;
  std::size_t max_batch_ops = 100'000;
  std::uint32_t max_inflight = 1;
};

}  // namespace rota::core
