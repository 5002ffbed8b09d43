// SPDX-License-Identifier: Apache-2.0
#include "rpc/scheduler_reader.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/utf8.h"
#include "model/keys.h"
#include "rpc/queue_directory.h"

namespace rota::rpc {
namespace {

using core::Keyspace;
namespace keys = model::keys;
namespace limits = base::limits;

constexpr int kPrefixRowsMin = 100;  // most may be none of the prefix

}  // namespace

base::Error scheduler_not_found(const std::string& id) {
  auto error = base::make_error(base::Reason::kSchedulerNotFound,
                                "no scheduler " + base::quoted(id), "scheduler_id");
  error.meta["schedulerId"] = id;
  return error;
}

base::Result<SchedulerReader::Rows> SchedulerReader::rows(const std::string& name_space,
                                                          const std::string& id) const {
  Rows rows{.keys = {keys::scheduler(name_space, id), keys::scheduler_state(name_space, id)},
            .read = {}};
  core::ReadSpec spec;
  for (const std::string& key : rows.keys) spec.gets.push_back({Keyspace::kScheduler, key});
  std::string detail;
  if (store_.snapshot_read(spec, &rows.read, &detail) != core::ReadError::kNone) {
    return read_failed(detail);
  }
  return rows;
}

base::Result<SchedulerRead> SchedulerReader::get(const std::string& name_space,
                                                 const std::string& id) const {
  const base::Result<Rows> rows = this->rows(name_space, id);
  if (!rows) return rows.error();
  const std::optional<std::string>& declared = rows->read.values[0];
  const std::optional<std::string>& state = rows->read.values[1];
  if (!declared) return scheduler_not_found(id);
  SchedulerRead read;
  read.at = rows->read.at;
  if (!model::decode(*declared, &read.scheduler)) {
    return damaged_row(store_, Keyspace::kScheduler, rows->keys[0]);
  }
  if (state && !model::decode(*state, &read.state)) {
    return damaged_row(store_, Keyspace::kScheduler, rows->keys[1]);
  }
  return read;
}

base::Status SchedulerReader::read_states(std::vector<SchedulerRead>* reads) const {
  core::ReadSpec spec;
  for (const auto& read : *reads) {
    spec.gets.push_back({Keyspace::kScheduler,
                         keys::scheduler_state(read.scheduler.name_space, read.scheduler.id)});
  }
  core::ReadResult result;
  std::string detail;
  if (store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
    return read_failed(detail);
  }
  for (std::size_t i = 0; i < reads->size(); ++i) {
    if (result.values[i] && !model::decode(*result.values[i], &(*reads)[i].state)) {
      return damaged_row(store_, Keyspace::kScheduler, spec.gets[i].key);
    }
  }
  return {};
}

base::Result<SchedulerReader::Page> SchedulerReader::list(const std::string& name_space,
                                                          const std::string& prefix,
                                                          const std::string& after, int page_size,
                                                          const Take& take) const {
  // Keys hold the id length-prefixed, so ids come by length, then by their bytes; all that matters
  // is that the order is always the same.
  Page page;
  const std::string first = keys::scheduler(name_space, "");
  // The namespace's part of the key, without the id's own length.
  const std::string range = first.substr(0, first.size() - 1);
  std::string begin = after.empty() ? range : keys::after(keys::scheduler(name_space, after));
  page.last = after;
  page.more = true;
  int room = page_size;
  for (int budget = limits::kPageRowsExaminedMax; page.more && budget > 0 && room > 0; --budget) {
    core::ReadResult result;
    std::string detail;
    const auto rows = static_cast<std::uint32_t>(
        std::clamp(room, kPrefixRowsMin, static_cast<int>(limits::kReadRowsMax)));
    const core::ReadSpec spec{.gets = {},
                              .scans = {{Keyspace::kScheduler, begin, keys::after_prefix(range),
                                         rows, limits::kReadBytesMax}}};
    if (store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
      return read_failed(detail);
    }
    page.at = result.at;
    page.more = result.pages[0].more;
    begin = std::move(result.pages[0].next);
    std::vector<SchedulerRead> reads;
    std::string last_seen = page.last;
    for (const auto& [key, value] : result.pages[0].rows) {
      if (static_cast<int>(reads.size()) == room) {
        page.more = true;
        break;
      }
      SchedulerRead read;
      if (!model::decode(value, &read.scheduler)) {
        return damaged_row(store_, Keyspace::kScheduler, key);
      }
      --budget;
      last_seen = read.scheduler.id;
      if (read.scheduler.id.compare(0, prefix.size(), prefix) == 0) {
        reads.push_back(std::move(read));
      }
    }
    if (auto done = read_states(&reads); !done) return done.error();
    for (const auto& read : reads) {
      if (!take(read)) {
        page.more = true;
        return page;
      }
      page.last = read.scheduler.id;
      --room;
    }
    page.last = std::move(last_seen);
  }
  return page;
}

}  // namespace rota::rpc
