// SPDX-License-Identifier: Apache-2.0
//
// Retention: what is kept of ended jobs, ledger entries and remembered requests goes when it is old
// enough or there is too much of it. One bounded read at a time, along the time-ordered indexes,
// each from where the last sweep ended.
#include <algorithm>

#include "base/limits.h"
#include "core/engine_impl.h"

namespace rota::core {

namespace keys = model::keys;

namespace {

constexpr std::int64_t kSweepEveryMs = 1'000;
constexpr std::uint32_t kIndexRowsPerSweep = 64;
constexpr std::size_t kJobsPerSweep = base::limits::kSweepRowsPerBatchMax;

std::int64_t keep_ms(const model::Retention& r, JobState group) {
  switch (group) {
    case JobState::kSucceeded:
      return r.succeeded_ms;
    case JobState::kDead:
      return r.dead_ms;
    default:
      return r.cancelled_ms;
  }
}

bool over_count(const QueueState& q, JobState group) {
  return group == JobState::kSucceeded &&
         q.counters.of(group) > q.queue.settings.retention.succeeded_count;
}

}  // namespace

void EngineImpl::run_retention() {
  if (retention_busy_ || now_.mono_ms < next_retention_mono_ms_) return;
  next_retention_mono_ms_ = now_.mono_ms + kSweepEveryMs;
  if (!dropped_.empty()) return sweep_dropped();
  if (deletions_held()) return;
  if (next_request_sweep_ms_ <= now_.wall_ms) {
    next_request_sweep_ms_ = now_.wall_ms + base::kMinuteMs;
    return sweep_expiry(Keyspace::kRequest, &meta_.requests_swept_ms);
  }
  if (next_ledger_sweep_ms_ <= now_.wall_ms) {
    next_ledger_sweep_ms_ = now_.wall_ms + base::kMinuteMs;
    return sweep_expiry(Keyspace::kLedger, &meta_.ledger_swept_ms);
  }
  book_.sweep_runs();
  if (retention_busy_) return;
  // Queues in turn, so that one with much to retire does not hold up the others.
  for (int pass = 0; pass < 2; ++pass) {
    auto it = pass == 0 ? next_sweep_ms_.upper_bound({retention_cursor_, JobState::kExpired})
                        : next_sweep_ms_.begin();
    for (; it != next_sweep_ms_.end(); ++it) {
      const auto& [number, group] = it->first;
      QueueState& q = *queues_.at(number);
      if (it->second > now_.wall_ms && !over_count(q, group)) continue;
      retention_cursor_ = number;
      return sweep_final(q, group);
    }
  }
}

void EngineImpl::sweep_final(QueueState& q, JobState group) {
  const std::uint32_t number = q.queue.number;
  ScanSpec scan;
  scan.keyspace = Keyspace::kFinal;
  scan.begin =
      keys::final_index_begin(number, group, q.counters.swept_ms[static_cast<std::size_t>(group)]);
  scan.end = keys::final_index_end(number, group);
  scan.max_rows = kIndexRowsPerSweep;
  ReadSpec spec;
  spec.scans.push_back(scan);
  retention_busy_ = true;
  issue_read(std::move(spec), [this, number, group](ReadResult& result, CommitSeq) {
    retention_busy_ = false;
    sweep_final_page(number, group, result);
  });
}

// The index rows are old news at most: each job is judged by its own record.
void EngineImpl::sweep_final_page(std::uint32_t number, JobState group, ReadResult& result) {
  auto found = queues_.find(number);
  if (found == queues_.end()) return;
  const std::int64_t keep = keep_ms(found->second->queue.settings.retention, group);
  struct Due {
    std::string index_key;
    std::int64_t ended_ms = 0;
    bool by_age = false;
    std::vector<JobKey> jobs;
    std::size_t from = 0;
  };
  if (result.pages[0].rows.empty() && result.pages[0].more) {
    // The page stepped over deleted rows only: the next one goes on behind them.
    const auto seen =
        keys::time_after(result.pages[0].next, keys::final_index_prefix(number, group));
    std::int64_t& swept = found->second->counters.swept_ms[static_cast<std::size_t>(group)];
    if (seen) swept = std::max(swept, *seen);
    touch(*found->second);
    next_retention_mono_ms_ = now_.mono_ms;
    return;
  }
  auto due = std::make_shared<std::vector<Due>>();
  std::size_t jobs = 0;
  std::int64_t next_ms = INT64_MAX;
  bool at_young = false;  // what follows in the index is not due yet
  const bool by_count = over_count(*found->second, group);
  for (const Row& row : result.pages[0].rows) {
    const auto index = keys::parse_final_index(row.first);
    if (!index) std::abort();
    const bool old = keep != model::kForever && index->ended_ms + keep <= now_.wall_ms;
    if (!old && !by_count) {
      at_young = true;
      if (keep != model::kForever) next_ms = index->ended_ms + keep;
      break;
    }
    if (jobs >= kJobsPerSweep) break;
    Due d{row.first, index->ended_ms, old, {}, 0};
    if (!model::decode_job_keys(row.second, &d.jobs)) std::abort();
    jobs += d.jobs.size();
    due->push_back(std::move(d));
  }
  const ScanPage& page = result.pages[0];
  if (due->empty() && page.rows.empty() && page.more) {  // only deleted rows so far
    std::string key = page.next;
    key.resize(keys::final_index(number, group, 0, 0).size(), '\0');
    if (const auto at = keys::parse_final_index(key)) {
      QueueState& q = *found->second;
      q.counters.swept_ms[static_cast<std::size_t>(group)] = at->ended_ms;
      touch(q);
    }
    next_retention_mono_ms_ = now_.mono_ms;
    return;
  }
  if (due->empty()) {
    next_sweep_ms_[{number, group}] = next_ms;
    return;
  }
  next_sweep_ms_[{number, group}] = at_young ? next_ms : now_.wall_ms;  // else there may be more
  retention_busy_ = true;
  start_task([this, number, group, due](Lookup& look) {
    auto it = queues_.find(number);
    if (it == queues_.end()) return retention_busy_ = false, true;
    QueueState& q = *it->second;
    struct Found {
      JobKey key;
      JobView view;
      bool by_age;
    };
    std::vector<Found> views;
    std::size_t asked = 0;
    for (const Due& d : *due) {
      for (const JobKey& key : d.jobs) {
        if (asked >= kJobsPerSweep) break;
        ++asked;
        Found f{key, {}, d.by_age};
        view_job(key, look, &f.view);
        if (f.view.state == group) views.push_back(std::move(f));
      }
    }
    if (!look.complete()) return false;
    retention_busy_ = false;
    std::size_t examined = 0;
    std::size_t next_view = 0;
    std::set<JobKey>
        gone;  // two rows name it when it died, was redriven and died in one millisecond
    for (Due& d : *due) {
      std::size_t i = 0;
      for (; i < d.jobs.size() && examined < asked; ++i) {
        const JobKey& key = d.jobs[i];
        ++examined;
        if (next_view >= views.size() || views[next_view].key != key) continue;
        const Found& f = views[next_view];
        if (!d.by_age && !over_count(q, group)) break;
        ++next_view;
        if (f.view.where == JobView::Where::kFinal) {
          if (f.view.final_record.ended_ms > d.ended_ms) continue;
          batch().del(Keyspace::kFinal, keys::final_record(key));
          leave(q, group, f.view.final_record.priority);
        } else {
          if (f.view.side->ended_ms > d.ended_ms) continue;  // redriven and dead again since
          if (!gone.insert(key).second) continue;
          remove_job(take_job(key, f.view), JobState::kDead);
        }
      }
      if (i == d.jobs.size()) {
        batch().del(Keyspace::kFinal, d.index_key);
        q.counters.swept_ms[static_cast<std::size_t>(group)] = d.ended_ms;
        touch(q);
      } else {
        d.jobs.erase(d.jobs.begin(), d.jobs.begin() + static_cast<std::ptrdiff_t>(i));
        batch().put(Keyspace::kFinal, d.index_key, model::encode_job_keys(d.jobs));
        break;
      }
    }
    next_retention_mono_ms_ = now_.mono_ms;  // go on at once while there is something to do
    return true;
  });
}

void EngineImpl::sweep_expiry(Keyspace keyspace, std::int64_t* swept_ms) {
  ScanSpec scan;
  scan.keyspace = keyspace;
  scan.begin = keys::expiry_begin(*swept_ms);
  scan.end = keys::expiry_begin(now_.wall_ms + 1);
  scan.max_rows = kIndexRowsPerSweep;
  ReadSpec spec;
  spec.scans.push_back(scan);
  retention_busy_ = true;
  const std::int64_t upto_ms = now_.wall_ms;
  issue_read(std::move(spec), [this, keyspace, swept_ms, upto_ms](ReadResult& result, CommitSeq) {
    auto rows = std::make_shared<std::vector<Row>>(std::move(result.pages[0].rows));
    const bool more = result.pages[0].more;
    if (rows->empty()) {
      // Nothing is left, or the page stepped over deleted rows only and the next goes on behind.
      retention_busy_ = false;
      const auto seen = keys::time_after(result.pages[0].next, keys::expiry_prefix());
      *swept_ms = std::max(*swept_ms, more ? seen.value_or(*swept_ms) : upto_ms);
      if (more) {
        next_retention_mono_ms_ = now_.mono_ms;
        (keyspace == Keyspace::kLedger ? next_ledger_sweep_ms_ : next_request_sweep_ms_) = 0;
      }
      return;
    }
    start_task([this, keyspace, swept_ms, rows, more](Lookup& look) {
      std::vector<std::string> gone;
      for (const auto& [index_key, value] : *rows) {
        std::vector<std::string> listed;
        if (!model::decode_strings(value, &listed)) std::abort();
        for (std::string& key : listed) {
          const std::string* row = nullptr;
          if (!look.get(keyspace, key, &row) || row == nullptr) continue;
          bool expired = true;
          if (keyspace == Keyspace::kLedger) {  // it may be another entry by now
            model::LedgerEntry entry;
            if (!model::decode(*row, &entry)) std::abort();
            expired = entry.state == model::LedgerState::kDone && entry.expires_ms <= now_.wall_ms;
          } else {
            model::RequestRecord record;
            if (!model::decode(*row, &record)) std::abort();
            expired = record.created_ms + options_.request_retention_ms <= now_.wall_ms;
          }
          if (expired) gone.push_back(std::move(key));
        }
      }
      if (!look.complete()) return false;
      retention_busy_ = false;
      for (const std::string& key : gone) batch().del(keyspace, key);
      for (const auto& [index_key, value] : *rows) {
        batch().del(keyspace, index_key);
        *swept_ms = std::max(*swept_ms, keys::parse_expiry(index_key).value_or(*swept_ms));
      }
      if (more) {  // the next slice at once
        next_retention_mono_ms_ = now_.mono_ms;
        (keyspace == Keyspace::kLedger ? next_ledger_sweep_ms_ : next_request_sweep_ms_) = 0;
      }
      return true;
    });
  });
}

// The rows of a deleted queue: final records, their index, DEAD jobs with their keys.
void EngineImpl::sweep_dropped() {
  const std::uint32_t number = *dropped_.begin();
  ReadSpec spec;
  const auto add = [&](Keyspace keyspace, std::string begin, std::string end) {
    ScanSpec scan;
    scan.keyspace = keyspace;
    scan.begin = std::move(begin);
    scan.end = std::move(end);
    scan.max_rows = 250;
    spec.scans.push_back(std::move(scan));
  };
  add(Keyspace::kJob, keys::queue_begin(number), keys::queue_end(number));
  add(Keyspace::kSide, keys::queue_begin(number), keys::queue_end(number));
  add(Keyspace::kPayload, keys::queue_begin(number), keys::queue_end(number));
  add(Keyspace::kFinal, keys::final_begin(number), keys::final_end(number));
  for (const JobState group :
       {JobState::kSucceeded, JobState::kDead, JobState::kCancelled, JobState::kExpired}) {
    add(Keyspace::kFinal, keys::final_index_begin(number, group, INT64_MIN),
        keys::final_index_end(number, group));
  }
  // Each range goes on from where its last page ended, so that deleted rows are crossed once.
  if (drop_cursors_.size() != spec.scans.size()) {
    drop_cursors_.clear();
    for (const ScanSpec& scan : spec.scans) drop_cursors_.push_back(scan.begin);
  }
  for (std::size_t i = 0; i < spec.scans.size(); ++i) spec.scans[i].begin = drop_cursors_[i];
  const std::vector<ScanSpec> scans = spec.scans;
  retention_busy_ = true;
  issue_read(std::move(spec), [this, number, scans](ReadResult& result, CommitSeq) {
    auto shared = std::make_shared<ReadResult>(std::move(result));
    start_task([this, number, scans, shared](Lookup& look) {
      const std::string* dropped_row = nullptr;
      look.get(Keyspace::kQueueState, keys::queue_dropped(number), &dropped_row);
      std::vector<std::string> held;
      if (dropped_row != nullptr) {
        model::Queue queue;
        if (!model::decode(*dropped_row, &queue)) std::abort();
        for (const auto& [key, row] : shared->pages[0].rows) {
          model::JobBody body;
          if (model::is_pointer(row) || !model::decode(row, &body)) continue;
          if (body.business_key.empty()) continue;
          std::string ledger_key =
              keys::ledger(queue.name_space, body.key_scope, body.business_key);
          const std::string* entry_row = nullptr;
          if (!look.get(Keyspace::kLedger, ledger_key, &entry_row) || entry_row == nullptr)
            continue;
          model::LedgerEntry entry;
          if (!model::decode(*entry_row, &entry)) std::abort();
          // Only what this job still owns.
          if (entry.state == model::LedgerState::kHeld && entry.job == *keys::parse_job(key)) {
            held.push_back(std::move(ledger_key));
          }
        }
      }
      if (!look.complete()) return false;
      retention_busy_ = false;
      bool more = false;
      for (std::size_t i = 0; i < scans.size(); ++i) {
        const ScanPage& page = shared->pages[i];
        for (const auto& [key, row] : page.rows) batch().del(scans[i].keyspace, key);
        drop_cursors_[i] = page.more ? page.next : scans[i].end;
        more = more || page.more;
      }
      for (std::string& key : held) batch().del(Keyspace::kLedger, std::move(key));
      if (!more) {
        batch().del(Keyspace::kQueueState, keys::queue_dropped(number));
        dropped_.erase(number);
        drop_cursors_.clear();
      }
      next_retention_mono_ms_ = now_.mono_ms;
      return true;
    });
  });
}

}  // namespace rota::core
