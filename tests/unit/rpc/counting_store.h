// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "core/store.h"

namespace rota::rpc {

// Counts what snapshot_read() reads through it. For one thread.
class CountingStore final : public core::ShardStore {
 public:
  explicit CountingStore(core::ShardStore& store) : store_(store) {}
  core::ShardId shard() const override { return store_.shard(); }
  core::Epoch epoch() const override { return store_.epoch(); }
  std::uint32_t incarnation() const override { return store_.incarnation(); }
  core::CommitSeq last_committed() const override { return store_.last_committed(); }
  void commit(std::shared_ptr<const core::Batch> batch, core::CommitSeq seq,
              CommitFn done) override {
    store_.commit(std::move(batch), seq, std::move(done));
  }
  void read(core::ReadSpec spec, ReadFn done) override {
    store_.read(std::move(spec), std::move(done));
  }
  core::ReadError snapshot_read(const core::ReadSpec& spec, core::ReadResult* result,
                                std::string* detail) const override {
    const auto error = store_.snapshot_read(spec, result, detail);
    ++reads;
    std::size_t bytes = 0;
    for (const auto& value : result->values) bytes += value ? value->size() : 0;
    for (const auto& page : result->pages) {
      rows += page.rows.size();
      for (const auto& [key, value] : page.rows) bytes += key.size() + value.size();
    }
    most_bytes = std::max(most_bytes, bytes);
    return error;
  }
  core::ReadError load(core::Keyspace keyspace, const LoadFn& row,
                       std::string* detail) const override {
    return store_.load(keyspace, row, detail);
  }
  void report_damage(const std::string& text) const override { store_.report_damage(text); }
  core::Pressure pressure() const override { return store_.pressure(); }
  void close() override { store_.close(); }
  Stats stats() const override { return store_.stats(); }

  mutable std::size_t rows = 0;  // of scans
  mutable std::size_t reads = 0;
  mutable std::size_t most_bytes = 0;  // of one read

 private:
  core::ShardStore& store_;
};

}  // namespace rota::rpc
