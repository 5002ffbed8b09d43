// SPDX-License-Identifier: Apache-2.0
//
// Retention: what is kept of ended jobs, ledger entries and remembered requests goes when it is old
// enough or there is too much of it. One bounded read at a time, along the time-ordered indexes,
// each from where the last sweep ended, and only where something is due.
#include <algorithm>

#include "base/limits.h"
#include "base/mutation.h"
#include "core/damage.h"
#include "core/engine_impl.h"

namespace rota::core {

namespace keys = model::keys;

namespace {

constexpr std::uint32_t kIndexRowsPerSweep = 64;

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

enum Sweep : int { kDropped, kRequests, kLedger, kRuns, kFinals, kSweepKinds };

}  // namespace

// An index row whose jobs are due, or the first of them.
struct EngineImpl::DueRow {
  std::string index_key;
  std::int64_t ended_ms = 0;
  bool by_age = false;
  // Its jobs are as it says. Else each is judged by its own record: a DEAD one may be gone, or
  // redriven; others only where the row is older than the care taken for that.
  bool exact = false;
  std::vector<JobKey> jobs;
};

// The kinds take turns, so that one with much to do holds up none of the others.
void EngineImpl::run_retention() {
  if (retention_busy_) return;
  for (int i = 0; i < kSweepKinds; ++i) {
    const int kind = (retention_turn_ + i) % kSweepKinds;
    if (!start_sweep(kind)) continue;
    retention_turn_ = kind + 1;
    return;
  }
}

// False: nothing of this kind is due.
bool EngineImpl::start_sweep(int kind) {
  if (kind == kDropped) {
    if (dropped_.empty()) return false;
    sweep_dropped();
    return true;
  }
  if (deletions_held()) return false;
  switch (kind) {
    case kRequests:
      if (next_request_sweep_ms_ > now_.wall_ms) return false;
      sweep_expiry(Keyspace::kRequest, &meta_.requests_swept_ms, &next_request_sweep_ms_);
      return true;
    case kLedger:
      if (next_ledger_sweep_ms_ > now_.wall_ms) return false;
      sweep_expiry(Keyspace::kLedger, &meta_.ledger_swept_ms, &next_ledger_sweep_ms_);
      return true;
    case kRuns:
      return book_.sweep_runs();
    default:
      break;
  }
  RetentionGroup group;
  if (!final_plan_.take_due(now_.wall_ms, &group)) return false;
  sweep_final(*queues_.at(group.first), group.second);
  return true;
}

// When something is due next; INT64_MAX while a sweep is under way, since its end wakes us.
std::int64_t EngineImpl::next_retention_ms() const {
  if (retention_busy_) return INT64_MAX;
  if (!dropped_.empty()) return now_.wall_ms;
  if (deletions_held()) return INT64_MAX;
  return std::min({next_request_sweep_ms_, next_ledger_sweep_ms_, final_plan_.next_ms(),
                   book_.next_sweep_ms()});
}

// Jobs of the group have just ended: they are due when they are old, or at once when there are too
// many. The clock may have jumped since they ended, within one turn.
void EngineImpl::plan_retention(const QueueState& q, JobState group, std::int64_t ended_ms) {
  const std::int64_t keep = keep_ms(q.queue.settings.retention, group);
  const std::int64_t old_ms = keep == model::kForever ? INT64_MAX : ended_ms + keep;
  final_plan_.plan({q.queue.number, group}, over_count(q, group) ? now_.wall_ms : old_ms);
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
  ++sweeps_;
  issue_read(std::move(spec), [this, number, group](ReadResult& result, CommitSeq) {
    retention_busy_ = false;
    sweep_final_page(number, group, result);
  });
}

void EngineImpl::sweep_final_page(std::uint32_t number, JobState group, ReadResult& result) {
  auto found = queues_.find(number);
  if (found == queues_.end()) return;
  QueueState& q = *found->second;
  const ScanPage& page = result.pages[0];
  if (deletions_held()) {  // the clock has jumped since the page was asked for
    final_plan_.plan({number, group}, now_.wall_ms);
    return;
  }
  if (page.rows.empty() && page.more) {
    // The page stepped over deleted rows only: the next one goes on behind them.
    const auto seen = keys::time_after(page.next, keys::final_index_prefix(number, group));
    std::int64_t& swept = q.counters.swept_ms[static_cast<std::size_t>(group)];
    if (seen) swept = std::max(swept, *seen);
    touch(q);
    final_plan_.plan({number, group}, now_.wall_ms);
    return;
  }
  const std::int64_t keep = keep_ms(q.queue.settings.retention, group);
  const bool by_count = over_count(q, group);
  auto due = std::make_shared<std::vector<DueRow>>();
  std::size_t jobs = 0;
  std::int64_t next_ms = page.more ? now_.wall_ms : INT64_MAX;
  for (const Row& row : page.rows) {
    const auto index = keys::parse_final_index(row.first);
    if (!index) damaged_row(Keyspace::kFinal, row.first);
    const bool old = keep != model::kForever && index->ended_ms + keep <= now_.wall_ms;
    if (!old && !by_count) {  // what follows in the index is not due yet
      next_ms = keep == model::kForever ? INT64_MAX : index->ended_ms + keep;
      break;
    }
    if (jobs >= base::limits::kSweepRowsPerBatchMax) {
      next_ms = now_.wall_ms;
      break;
    }
    const bool exact = group != JobState::kDead && index->seq >= meta_.index_exact_from_seq;
    DueRow d{row.first, index->ended_ms, old, exact, {}};
    if (!model::decode_job_keys(row.second, &d.jobs)) damaged_row(Keyspace::kFinal, row.first);
    jobs += d.jobs.size();
    due->push_back(std::move(d));
  }
  final_plan_.plan({number, group}, next_ms);
  if (due->empty()) return;
  retention_busy_ = true;
  start_task([this, number, group, due](Lookup& look) {
    if (!retire(number, group, *due, look)) return false;
    retention_busy_ = false;
    return true;
  });
}

// False: rows are missing.
bool EngineImpl::retire(std::uint32_t number, JobState group, std::vector<DueRow>& due,
                        Lookup& look) {
  auto it = queues_.find(number);
  if (it == queues_.end()) return true;
  QueueState& q = *it->second;
  // A job may have been deleted by hand since the page was read: an exact row is read again.
  for (DueRow& d : due) {
    const std::string* row = nullptr;
    if (!d.exact || !look.get(Keyspace::kFinal, d.index_key, &row)) continue;
    d.jobs.clear();
    if (row != nullptr && !model::decode_job_keys(*row, &d.jobs)) {
      damaged_row(Keyspace::kFinal, d.index_key);
    }
  }
  std::vector<std::size_t> counts(due.size());          // jobs of the row that this slice may take
  std::vector<std::vector<JobView>> views(due.size());  // empty where the row says enough
  std::size_t left = base::limits::kSweepRowsPerBatchMax;
  std::size_t left_to_read = final_slice_.rows();
  for (std::size_t i = 0; i < due.size(); ++i) {
    const DueRow& d = due[i];
    const std::size_t count =
        std::min(d.exact ? left : std::min(left, left_to_read), d.jobs.size());
    left -= count;
    counts[i] = count;
    if (d.exact) continue;
    left_to_read -= count;
    views[i].resize(count);
    for (std::size_t j = 0; j < count; ++j) view_job(d.jobs[j], look, &views[i][j]);
  }
  if (!look.complete()) return false;
  if (deletions_held()) {  // as sweep_final_page()
    final_plan_.plan({number, group}, now_.wall_ms);
    return true;
  }
  if (!due.front().exact) final_slice_.brought(look.fetched_bytes());
  // The queue's settings may be others than when the page came.
  const std::int64_t keep = keep_ms(q.queue.settings.retention, group);
  for (DueRow& d : due) {
    d.by_age = keep != model::kForever && d.ended_ms + keep <= now_.wall_ms;
  }
  std::set<JobKey> gone;  // two rows name it when it died, was redriven and died in one millisecond
  for (std::size_t i = 0; i < due.size(); ++i) {
    DueRow& d = due[i];
    std::size_t done = 0;
    for (; done < counts[i] && (d.by_age || over_count(q, group)); ++done) {
      const JobKey& key = d.jobs[done];
      if (!d.exact && views[i][done].state != group) continue;
      if (group == JobState::kDead) {  // never exact
        JobView& view = views[i][done];
        if (view.side->ended_ms > d.ended_ms) continue;  // redriven and dead again since
        if (!gone.insert(key).second) continue;
        remove_job(take_job(key, view), JobState::kDead);
      } else {
        batch().del(Keyspace::kFinal, keys::final_record(key));
        leave(q, group, key.priority);
      }
    }
    if (done < d.jobs.size()) {
      if (done > 0) {
        d.jobs.erase(d.jobs.begin(), d.jobs.begin() + static_cast<std::ptrdiff_t>(done));
        batch().put(Keyspace::kFinal, d.index_key, model::encode_job_keys(d.jobs));
      }
      // More of it is due now, or what is left waits for its age.
      const bool more = d.by_age || over_count(q, group);
      final_plan_.plan({number, group}, more                      ? now_.wall_ms
                                        : keep == model::kForever ? INT64_MAX
                                                                  : d.ended_ms + keep);
      break;
    }
    batch().del(Keyspace::kFinal, d.index_key);
    q.counters.swept_ms[static_cast<std::size_t>(group)] = d.ended_ms;
    touch(q);
  }
  return true;
}

void EngineImpl::sweep_expiry(Keyspace keyspace, std::int64_t* swept_ms, std::int64_t* next_ms) {
  ScanSpec scan;
  scan.keyspace = keyspace;
  scan.begin = keys::expiry_begin(*swept_ms);
  scan.end = keys::expiry_begin(now_.wall_ms + 1);
  scan.max_rows = kIndexRowsPerSweep;
  ReadSpec spec;
  spec.scans.push_back(scan);
  retention_busy_ = true;
  ++sweeps_;
  // What is written from now on lowers it; what is stored already is looked for each minute.
  *next_ms = now_.wall_ms + base::kMinuteMs;
  issue_read(std::move(spec), [this, keyspace, swept_ms, next_ms, upto_ms = now_.wall_ms](
                                  ReadResult& result, CommitSeq) {
    if (!result.pages[0].rows.empty()) {
      return sweep_expiry_page(keyspace, swept_ms, next_ms, result);
    }
    // Nothing is left, or the page stepped over deleted rows only and the next goes on behind.
    retention_busy_ = false;
    const bool more = result.pages[0].more;
    const auto seen = keys::time_after(result.pages[0].next, keys::expiry_prefix());
    *swept_ms = std::max(*swept_ms, more ? seen.value_or(*swept_ms) : upto_ms);
    if (more) *next_ms = now_.wall_ms;
  });
}

void EngineImpl::sweep_expiry_page(Keyspace keyspace, std::int64_t* swept_ms, std::int64_t* next_ms,
                                   ReadResult& result) {
  struct Listed {
    std::string index_key;
    std::vector<std::string> now;    // looked at in this slice
    std::vector<std::string> later;  // what the slice has no room for
  };
  auto slice = std::make_shared<std::vector<Listed>>();
  bool more = result.pages[0].more;
  std::size_t left = expiry_slice_.rows();
  for (const auto& [index_key, value] : result.pages[0].rows) {
    if (left == 0) {
      more = true;
      break;
    }
    Listed listed{index_key, {}, {}};
    if (!model::decode_strings(value, &listed.now)) damaged_row(keyspace, index_key);
    if (listed.now.size() > left) {
      const auto cut = listed.now.begin() + static_cast<std::ptrdiff_t>(left);
      listed.later.assign(std::make_move_iterator(cut), std::make_move_iterator(listed.now.end()));
      listed.now.erase(cut, listed.now.end());
      more = true;
    }
    left -= listed.now.size();
    slice->push_back(std::move(listed));
  }
  start_task([this, keyspace, swept_ms, next_ms, slice, more](Lookup& look) {
    std::vector<const std::string*> gone;
    for (const Listed& listed : *slice) {
      for (const std::string& key : listed.now) {
        const std::string* row = nullptr;
        if (!look.get(keyspace, key, &row) || row == nullptr) continue;
        bool expired = true;
        if (keyspace == Keyspace::kLedger) {  // it may be another entry by now
          model::LedgerEntry entry;
          if (!model::decode(*row, &entry)) damaged_row(keyspace, key);
          expired = entry.state == model::LedgerState::kDone && entry.expires_ms <= now_.wall_ms;
        } else {
          model::RequestRecord record;
          if (!model::decode(*row, &record)) damaged_row(keyspace, key);
          expired = record.created_ms + options_.request_retention_ms <= now_.wall_ms;
        }
        if (expired) gone.push_back(&key);
      }
    }
    if (!look.complete()) return false;
    retention_busy_ = false;
    if (deletions_held()) {  // the clock has jumped since the page was asked for
      *next_ms = now_.wall_ms;
      return true;
    }
    expiry_slice_.brought(look.fetched_bytes());
    for (const std::string* key : gone) batch().del(keyspace, *key);
    for (const Listed& listed : *slice) {
      if (!listed.later.empty()) {
        batch().put(keyspace, listed.index_key, model::encode_strings(listed.later));
        continue;  // the last one
      }
      batch().del(keyspace, listed.index_key);
      *swept_ms = std::max(*swept_ms, keys::parse_expiry(listed.index_key).value_or(*swept_ms));
    }
    if (more) *next_ms = now_.wall_ms;  // the next slice at once
    return true;
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
  for (const JobState group : model::kFinalStates) {
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
  ++sweeps_;
  issue_read(std::move(spec), [this, number, scans](ReadResult& result, CommitSeq) {
    auto shared = std::make_shared<ReadResult>(std::move(result));
    start_task([this, number, scans, shared](Lookup& look) {
      const std::string* dropped_row = nullptr;
      look.get(Keyspace::kQueueState, keys::queue_dropped(number), &dropped_row);
      std::vector<std::string> held;
      if (dropped_row != nullptr) {
        model::Queue queue;
        if (!model::decode(*dropped_row, &queue)) {
          damaged_row(Keyspace::kQueueState, keys::queue_dropped(number));
        }
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
          if (!model::decode(*entry_row, &entry)) damaged_row(Keyspace::kLedger, ledger_key);
          // Only what this job still owns.
          const bool own =
              entry.job == *keys::parse_job(key) || planted(base::Mistake::kFreeForeignKey);
          if (entry.state == model::LedgerState::kHeld && own) {
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
      return true;
    });
  });
}

}  // namespace rota::core
