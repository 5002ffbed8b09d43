// SPDX-License-Identifier: Apache-2.0
//
// The changes that a read may not have seen: the batch being built, and every sealed batch newer
// than the oldest read still open. They are kept, not copied, so a hot path without reads pays
// nothing. Whatever a read brings is overlaid with them before use, last write wins.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/store.h"

namespace rota::core {

class Overlay {
 public:
  Batch& open() { return *open_; }
  const Batch& open() const { return *open_; }

  // Closes the batch being built as `seq` and starts a new one. Null when it was empty.
  std::shared_ptr<const Batch> seal(CommitSeq seq);

  // A read at `point` is open until unpin(point): batches after it stay readable.
  void pin(CommitSeq point) { pins_.insert(point); }
  void unpin(CommitSeq point);

  // The newest change of the key that is still kept; nullptr when none touches it.
  const Batch::Change* find(Keyspace keyspace, const std::string& key) const;

  // The kept changes of [begin, end), the newest of each key. They live as long as their batches.
  using Changes = std::map<std::string_view, const Batch::Change*>;
  Changes changes(Keyspace keyspace, const std::string& begin, const std::string& end) const;
  // Writes them over `rows`.
  void overlay(Keyspace keyspace, const std::string& begin, const std::string& end,
               std::map<std::string, std::string>* rows) const;

  std::size_t kept() const { return kept_.size(); }
  std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  struct Kept {
    CommitSeq seq;
    std::shared_ptr<const Batch> batch;
  };
  void drop_unneeded();

  std::shared_ptr<Batch> open_ = std::make_shared<Batch>();
  std::deque<Kept> kept_;  // oldest first
  std::size_t kept_bytes_ = 0;
  std::multiset<CommitSeq> pins_;
};

// Rows that a command has read so far, by key.
struct Fetched {
  std::map<Batch::Key, std::optional<std::string>> rows;
  std::vector<CommitSeq> points;  // pinned in the overlay until the command is done
};

// What a command sees of the store: kept changes first, then what was fetched for it. A key that
// neither holds is noted as missing; the command then stops before it changes anything, and runs
// again from its start when the read has come.
class Lookup {
 public:
  Lookup(const Overlay& overlay, const Fetched& fetched) : overlay_(overlay), fetched_(fetched) {}

  // False: not known yet. True: *value is the row, or null when there is none; valid until the next
  // change of the open batch.
  bool get(Keyspace keyspace, const std::string& key, const std::string** value);

  bool complete() const { return missing_.empty(); }
  std::vector<GetSpec> take_missing() { return std::move(missing_); }
  // Of the values that were read for the command.
  std::size_t fetched_bytes() const;

 private:
  const Overlay& overlay_;
  const Fetched& fetched_;
  std::vector<GetSpec> missing_;
};

}  // namespace rota::core
