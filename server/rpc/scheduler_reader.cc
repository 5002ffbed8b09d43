// SPDX-License-Identifier: Apache-2.0
#include "rpc/scheduler_reader.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/limits.h"
#include "base/utf8.h"
#include "model/keys.h"
#include "rpc/convert_scheduler.h"
#include "rpc/page_token.h"
#include "rpc/queue_directory.h"

namespace rota::rpc {
namespace {

using core::Keyspace;
namespace keys = model::keys;
namespace limits = base::limits;

bool wanted(const RunFilter& filter, const model::RunRecord& run) {
  // A range of ticks is listed when any of it lies within the bounds.
  if (run.last_nominal_ms < filter.from_ms || run.first_nominal_ms >= filter.to_ms) return false;
  if (!filter.business_date.empty() && filter.business_date != run.business_date) return false;
  if (filter.outcomes.empty()) return true;
  const int outcome = run_outcome_to_wire(run.outcome);
  return std::find(filter.outcomes.begin(), filter.outcomes.end(), outcome) !=
         filter.outcomes.end();
}

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

base::Status SchedulerReader::check_known(const std::string& name_space,
                                          const std::string& id) const {
  const base::Result<Rows> rows = this->rows(name_space, id);
  if (!rows) return rows.error();
  if (!rows->read.values[0] && !rows->read.values[1]) return scheduler_not_found(id);
  return {};
}

base::Result<SchedulerReader::Page> SchedulerReader::list(const std::string& name_space,
                                                          const std::string& prefix,
                                                          const std::string& after,
                                                          int page_size) const {
  // Keys hold the id length-prefixed, so ids come by length, then by their bytes; all that matters
  // is that the order is always the same.
  Page page;
  const std::string first = keys::scheduler(name_space, "");
  // The namespace's part of the key, without the id's own length.
  const std::string range = first.substr(0, first.size() - 1);
  std::string begin = after.empty() ? range : keys::after(keys::scheduler(name_space, after));
  int budget = limits::kPageRowsExaminedMax;
  for (bool more = true; more && budget > 0 && static_cast<int>(page.schedulers.size()) < page_size;
       --budget) {
    core::ReadResult result;
    std::string detail;
    const core::ReadSpec spec{.gets = {},
                              .scans = {{Keyspace::kScheduler, begin, keys::after_prefix(range),
                                         limits::kReadRowsMax, limits::kReadBytesMax}}};
    if (store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
      return read_failed(detail);
    }
    page.at = result.at;
    more = result.pages[0].more;
    begin = result.pages[0].next;
    for (const auto& [key, value] : result.pages[0].rows) {
      if (static_cast<int>(page.schedulers.size()) == page_size) {
        more = true;
        break;
      }
      SchedulerRead read;
      if (!model::decode(value, &read.scheduler)) {
        return damaged_row(store_, Keyspace::kScheduler, key);
      }
      --budget;
      page.last = read.scheduler.id;
      if (read.scheduler.id.compare(0, prefix.size(), prefix) != 0) continue;
      page.schedulers.push_back(std::move(read));
    }
    page.more = more;
  }
  core::ReadSpec states;
  for (const auto& read : page.schedulers) {
    states.gets.push_back(
        {Keyspace::kScheduler, keys::scheduler_state(name_space, read.scheduler.id)});
  }
  core::ReadResult result;
  std::string detail;
  if (store_.snapshot_read(states, &result, &detail) != core::ReadError::kNone) {
    return read_failed(detail);
  }
  for (std::size_t i = 0; i < page.schedulers.size(); ++i) {
    if (result.values[i] && !model::decode(*result.values[i], &page.schedulers[i].state)) {
      return damaged_row(store_, Keyspace::kScheduler, states.gets[i].key);
    }
  }
  return page;
}

// The store reads upwards only and a scheduler keeps a bounded number of records, so the newest are
// found by walking from the lower bound and keeping the last ones.
base::Result<SchedulerReader::Runs> SchedulerReader::runs(const std::string& name_space,
                                                          const RunFilter& filter,
                                                          const std::string& before,
                                                          int page_size) const {
  const std::string of_this = keys::run_prefix(name_space, filter.scheduler_id);
  if (!before.empty() && !keys::time_after(before, of_this)) return not_of_this_listing();
  Runs out;
  std::deque<std::pair<std::string, model::RunRecord>> newest;
  bool older = false;
  std::string begin = keys::run_begin(name_space, filter.scheduler_id, INT64_MIN);
  const std::string end = before.empty() ? keys::run_end(name_space, filter.scheduler_id) : before;
  for (bool more = begin < end; more;) {
    core::ReadResult result;
    std::string detail;
    const core::ReadSpec spec{
        .gets = {},
        .scans = {{Keyspace::kRun, begin, end, limits::kReadRowsMax, limits::kReadBytesMax}}};
    if (store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
      return read_failed(detail);
    }
    out.at = result.at;
    for (auto& [key, value] : result.pages[0].rows) {
      model::RunRecord run;
      if (!model::decode(value, &run)) return damaged_row(store_, Keyspace::kRun, key);
      if (!wanted(filter, run)) continue;
      newest.emplace_back(std::move(key), std::move(run));
      if (static_cast<int>(newest.size()) > page_size) {
        newest.pop_front();
        older = true;
      }
    }
    more = result.pages[0].more;
    begin = result.pages[0].next;
  }
  if (newest.empty() && before.empty()) {
    if (auto known = check_known(name_space, filter.scheduler_id); !known) return known.error();
  }
  if (older) out.position = newest.front().first;
  for (auto run = newest.rbegin(); run != newest.rend(); ++run) {
    out.runs.push_back(std::move(run->second));
  }
  return out;
}

}  // namespace rota::rpc
