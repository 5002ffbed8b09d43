// SPDX-License-Identifier: Apache-2.0
#include "rpc/queue_directory.h"

#include <algorithm>

#include "base/utf8.h"
#include "core/damage.h"
#include "model/keys.h"

namespace rota::rpc {
namespace {

using core::Keyspace;
namespace keys = model::keys;

constexpr std::uint32_t kPageRows = 1'000;

base::Error damaged(const core::ShardStore& store, const std::string& text) {
  store.report_damage(text);
  return base::make_error(base::Reason::kStoreFailed, text);
}

}  // namespace

base::Error queue_not_found(const std::string& name) {
  auto error = base::make_error(
      base::Reason::kQueueNotFound,
      "no queue " + base::quoted(name) + "; queues are created explicitly (rota queue set NAME)",
      "queue");
  error.meta["queue"] = name;
  return error;
}

base::Error read_failed(const std::string& detail) {
  return base::make_error(base::Reason::kInternal, "a read of the store failed: " + detail);
}

base::Error damaged_row(const core::ShardStore& store, core::Keyspace keyspace,
                        std::string_view key) {
  return damaged(store, core::damage_text(keyspace, key));
}

base::Error missing_row(const core::ShardStore& store, core::Keyspace keyspace,
                        std::string_view key) {
  return damaged(store, core::missing_text(keyspace, key));
}

std::uint32_t QueueDirectory::known(const Name& name) const {
  std::lock_guard lock(mutex_);
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? 0 : found->second;
}

base::Status QueueDirectory::learn_new() {
  std::uint32_t after = 0;
  {
    std::lock_guard lock(mutex_);
    after = learned_to_;
  }
  std::string begin = keys::queue_settings(after + 1);
  const std::string end = keys::after(keys::queue_settings(UINT32_MAX));
  for (bool more = true; more;) {
    core::ReadResult result;
    std::string detail;
    const core::ReadSpec spec{.gets = {},
                              .scans = {{Keyspace::kQueueState, begin, end, kPageRows, 1U << 20U}}};
    if (store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
      return read_failed(detail);
    }
    std::lock_guard lock(mutex_);
    for (const auto& [key, value] : result.pages[0].rows) {
      model::Queue queue;
      if (!model::decode(value, &queue)) return damaged_row(store_, Keyspace::kQueueState, key);
      numbers_[{queue.name_space, queue.name}] = queue.number;
      learned_to_ = std::max(learned_to_, queue.number);
    }
    more = result.pages[0].more;
    begin = result.pages[0].next;
  }
  return {};
}

base::Result<std::optional<QueueRows>> QueueDirectory::by_number(const std::string& name_space,
                                                                 std::uint32_t number) const {
  core::ReadResult result;
  std::string detail;
  const core::ReadSpec spec{.gets = {{Keyspace::kQueueState, keys::queue_settings(number)},
                                     {Keyspace::kQueueState, keys::queue_counters(number)}},
                            .scans = {}};
  if (store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
    return read_failed(detail);
  }
  if (!result.values[0]) return std::optional<QueueRows>();
  QueueRows rows;
  rows.at = result.at;
  if (!model::decode(*result.values[0], &rows.queue)) {
    return damaged_row(store_, Keyspace::kQueueState, keys::queue_settings(number));
  }
  if (result.values[1] && !model::decode(*result.values[1], &rows.counters)) {
    return damaged_row(store_, Keyspace::kQueueState, keys::queue_counters(number));
  }
  if (rows.queue.name_space != name_space) return std::optional<QueueRows>();
  return std::optional<QueueRows>(std::move(rows));
}

base::Result<QueueRows> QueueDirectory::find(const std::string& name_space,
                                             const std::string& name) {
  const Name wanted{name_space, name};
  for (int round = 0; round < 2; ++round) {
    if (const auto number = known(wanted); number != 0) {
      auto rows = by_number(name_space, number);
      if (!rows) return rows.error();
      if (*rows && (*rows)->queue.name == name) return *std::move(*rows);
      // Deleted; a queue of the same name made later has a higher number.
      std::lock_guard lock(mutex_);
      const auto found = numbers_.find(wanted);
      if (found != numbers_.end() && found->second == number) numbers_.erase(found);
    }
    if (round == 0) {
      if (auto learned = learn_new(); !learned) return learned.error();
    }
  }
  return queue_not_found(name);
}

}  // namespace rota::rpc
