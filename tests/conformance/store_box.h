// SPDX-License-Identifier: Apache-2.0
//
// What the conformance suite needs of an implementation: a disk that outlives the stores opened on
// it. A new implementation joins the suite by adding a box here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/store.h"

namespace rota::testing {

class StoreBox {
 public:
  virtual ~StoreBox() = default;
  // nullptr when another store has the disk; fails the test on anything else.
  virtual std::unique_ptr<core::ShardStore> open(core::Executor& executor) = 0;
  // The store's next commit has an unknown outcome.
  virtual void break_next_commit(core::ShardStore& store) = 0;
  // Called after the store broke, before it is opened again.
  virtual void repair() = 0;
};

std::unique_ptr<StoreBox> memory_box();
std::unique_ptr<StoreBox> rocks_box();

// Drives one store from one thread, waiting for each answer; the executor may be any that runs
// its pieces by itself.
class Driver {
 public:
  explicit Driver(core::ShardStore& store) : store_(store), seq_(store.last_committed()) {}

  // Commits what `fill` puts in and returns the outcome.
  core::Outcome commit(const std::function<void(core::Batch&)>& fill);
  core::CommitSeq seq() const { return seq_; }
  core::ReadResult read(core::ReadSpec spec);
  std::optional<std::string> get(core::Keyspace keyspace, const std::string& key);
  core::ScanPage scan(core::ScanSpec spec);
  // Every row of the range, page by page; fails the test when a page does not advance.
  std::vector<core::Row> scan_all(core::ScanSpec spec, int* pages = nullptr);
  std::vector<core::Row> load(core::Keyspace keyspace);

 private:
  core::ShardStore& store_;
  core::CommitSeq seq_;
};

inline std::string padded(std::uint64_t n) {
  std::string text = std::to_string(n);
  return std::string(8 - text.size(), '0') + text;
}

}  // namespace rota::testing
