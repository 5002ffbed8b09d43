// SPDX-License-Identifier: Apache-2.0
//
// Listing what became of a scheduler's ticks, newest first. The store reads upwards only, and
// records are ordered by nominal time; so they are read in spans of time, each below the one
// before. A span with few records is followed by a wider one, and one with more than a read gives
// is read again in a narrower piece: a page costs about its own rows, however many there are below
// it and whatever the schedule. A page examines a bounded number of rows, so it may be short or
// empty and still have a next one.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "model/keys.h"
#include "rpc/convert_scheduler.h"
#include "rpc/page_token.h"
#include "rpc/queue_directory.h"
#include "rpc/scheduler_reader.h"

namespace rota::rpc {
namespace {

using core::Keyspace;
namespace keys = model::keys;
namespace limits = base::limits;

// The narrowest span: with a tick a second, the most a schedule can have, one read holds it.
constexpr std::int64_t kFirstSpanMs = base::kMinuteMs;
constexpr std::int64_t kLastSpanMs = 10 * base::kYearMs;
constexpr std::int64_t kSpanFactor = 4;
static_assert(kFirstSpanMs / limits::kIntervalMsMin <= limits::kReadRowsMax);

bool wanted(const RunFilter& filter, const model::RunRecord& run) {
  // A range of ticks is listed when any of it lies within the bounds.
  if (run.last_nominal_ms < filter.from_ms || run.first_nominal_ms >= filter.to_ms) return false;
  if (!filter.business_date.empty() && filter.business_date != run.business_date) return false;
  if (filter.outcomes.empty()) return true;
  const int outcome = run_outcome_to_wire(run.outcome);
  return std::find(filter.outcomes.begin(), filter.outcomes.end(), outcome) !=
         filter.outcomes.end();
}

class RunLister {
 public:
  RunLister(const core::ShardStore& store, const std::string& name_space, const RunFilter& filter,
            int page_size, const SchedulerReader::TakeRun& take)
      : store_(store), name_space_(name_space), filter_(filter), take_(take), room_(page_size) {}

  // `state` bounds the records: what is older has been swept, nothing is newer than its cursor.
  base::Result<SchedulerReader::Runs> run(const model::SchedulerState& state,
                                          const std::string& before) {
    oldest_ms_ = state.runs_swept_ms;
    std::int64_t end_ms = filter_.to_ms;
    if (!before.empty()) {
      const auto ms = keys::time_after(before, keys::run_prefix(name_space_, id()));
      if (!ms) return not_of_this_listing();
      end_ms = *ms;
      end_ = before;
    } else {
      end_ = end_ms == INT64_MAX ? keys::run_end(name_space_, id()) : begin_of(end_ms);
    }
    end_ms_ = std::min(end_ms, state.cursor_ms);
    bool more = true;
    while (more) {
      auto done = step();
      if (!done) return done.error();
      more = *done;
    }
    return std::move(out_);
  }

 private:
  const std::string& id() const { return filter_.scheduler_id; }
  std::string begin_of(std::int64_t nominal_ms) const {
    return keys::run_begin(name_space_, id(), nominal_ms);
  }

  // Lists what the next span holds. False when the page has ended.
  base::Result<bool> step() {
    const bool is_last = end_ms_ <= oldest_ms_ || end_ms_ - oldest_ms_ <= span_ms_;
    const std::int64_t begin_ms = is_last ? oldest_ms_ : end_ms_ - span_ms_;
    std::string begin = begin_of(begin_ms);
    if (begin >= end_) return false;
    auto whole = read(begin);
    if (!whole) return whole.error();
    if (!*whole) {
      span_ms_ /= kSpanFactor;
      return go_on();
    }
    for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) {
      auto listed = take_row(row->first, row->second);
      if (!listed || !*listed) return listed;
    }
    if (is_last) return false;
    end_ = std::move(begin);
    end_ms_ = begin_ms;
    if (rows_.size() * kSpanFactor < limits::kReadRowsMax) {
      span_ms_ = std::min(span_ms_ * kSpanFactor, kLastSpanMs);
    }
    return go_on();
  }

  bool go_on() {
    if (budget_ > 0) return true;
    out_.position = end_;
    return false;
  }

  // The rows from `begin` to the end of the span, in ascending order. False when they are more than
  // one read gives; the narrowest span is read to its end.
  base::Result<bool> read(std::string begin) {
    rows_.clear();
    for (bool more = true; more;) {
      core::ReadResult result;
      std::string detail;
      const core::ReadSpec spec{
          .gets = {},
          .scans = {{Keyspace::kRun, begin, end_, limits::kReadRowsMax, limits::kReadBytesMax}}};
      if (store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
        return read_failed(detail);
      }
      out_.at = result.at;
      core::ScanPage& page = result.pages[0];
      budget_ -= std::max(1, static_cast<int>(page.rows.size()));
      more = page.more;
      if (more && span_ms_ > kFirstSpanMs) return false;
      begin = std::move(page.next);
      std::move(page.rows.begin(), page.rows.end(), std::back_inserter(rows_));
    }
    return true;
  }

  // False when the page has ended.
  base::Result<bool> take_row(const std::string& key, const std::string& value) {
    model::RunRecord run;
    if (!model::decode(value, &run)) return damaged_row(store_, Keyspace::kRun, key);
    // Records follow each other in time: those below this one end before it begins.
    if (run.last_nominal_ms < filter_.from_ms) return false;
    if (!wanted(filter_, run)) return true;
    if (room_ > 0 && take_(run)) {
      --room_;
      return true;
    }
    out_.position = keys::after(key);  // the next page begins with it
    return false;
  }

  const core::ShardStore& store_;
  const std::string& name_space_;
  const RunFilter& filter_;
  const SchedulerReader::TakeRun& take_;
  int room_;
  int budget_ = limits::kPageRowsExaminedMax;
  std::int64_t oldest_ms_ = 0;
  std::string end_;          // what is not listed yet lies below this key
  std::int64_t end_ms_ = 0;  // and below this time, or above all records
  std::int64_t span_ms_ = kFirstSpanMs;
  std::vector<core::Row> rows_;
  SchedulerReader::Runs out_;
};

}  // namespace

base::Result<SchedulerReader::Runs> SchedulerReader::runs(const std::string& name_space,
                                                          const RunFilter& filter,
                                                          const std::string& before, int page_size,
                                                          const TakeRun& take) const {
  const base::Result<Rows> rows = this->rows(name_space, filter.scheduler_id);
  if (!rows) return rows.error();
  const std::optional<std::string>& declared = rows->read.values[0];
  const std::optional<std::string>& state = rows->read.values[1];
  // The state of a deleted scheduler stays as long as it has run records or unfinished jobs.
  if (!declared && !state && before.empty()) return scheduler_not_found(filter.scheduler_id);
  model::SchedulerState kept;
  if (state && !model::decode(*state, &kept)) {
    return damaged_row(store_, Keyspace::kScheduler, rows->keys[1]);
  }
  auto runs = RunLister(store_, name_space, filter, page_size, take).run(kept, before);
  if (runs) runs->at = std::max(runs->at, rows->read.at);
  return runs;
}

}  // namespace rota::rpc
