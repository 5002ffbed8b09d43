// SPDX-License-Identifier: Apache-2.0
//
// Listing a queue's jobs: first those that run, from the lease board; then those that wait, from
// the queue's own range in ready order; then those that have ended, state by state, from the
// retention index in the order of their end. A page examines a bounded number of rows and holds a
// bounded number of bytes, so it may be short or empty and still have a next one.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/limits.h"
#include "model/bytes.h"
#include "model/keys.h"
#include "model/records.h"
#include "rpc/job_reader.h"
#include "rpc/page_token.h"

namespace rota::rpc {
namespace {

using core::Keyspace;
using model::JobKey;
using model::JobState;
namespace keys = model::keys;
namespace limits = base::limits;

constexpr std::uint32_t kScanRowsMin = 200;  // most rows may be of other states
// Jobs read by their keys at a time: nothing but their number bounds the bytes of such a read.
constexpr std::size_t kJobsPerRead = 4;

}  // namespace

// The sections of a listing, in order.
enum class Section : std::uint8_t { kRunning = 1, kWaiting = 2, kFinal = 3, kEnd = 4 };

constexpr JobState kFinalOrder[] = {JobState::kSucceeded, JobState::kDead, JobState::kCancelled,
                                    JobState::kExpired};
constexpr std::size_t kFinalStates = std::size(kFinalOrder);

// Where a listing goes on: a section, for ended jobs the state, and a key of the section's range.
struct Position {
  Section section = Section::kRunning;
  std::uint8_t final_state = 0;  // index in kFinalOrder
  std::string key;               // go on from here; empty: from the start of the section
  std::uint32_t offset = 0;      // entries of an index row already listed

  std::string encode() const {
    model::Writer writer;
    writer.u8(static_cast<std::uint8_t>(section));
    writer.u8(final_state);
    writer.str(key);
    writer.u32(offset);
    return writer.take();
  }
  static bool decode(const std::string& bytes, Position* out) {
    model::Reader reader(bytes);
    out->section = static_cast<Section>(reader.u8());
    out->final_state = reader.u8();
    out->key = reader.str();
    out->offset = reader.u32();
    return reader.at_end() && out->section >= Section::kRunning &&
           out->section <= Section::kFinal && out->final_state < kFinalStates;
  }
};

namespace {

bool is_within(const std::string& key, const std::string& begin, const std::string& end) {
  return key >= begin && key < end;
}

// Whether the key is one of the section's range: a token of a queue that was deleted, or one that
// somebody made, would lead into other rows, and what stands there would be taken for damage.
bool is_of(std::uint32_t queue, const Position& position) {
  if (position.key.empty()) return true;
  switch (position.section) {
    case Section::kRunning: {
      const auto key = keys::parse_job(position.key);
      return key && key->queue == queue;
    }
    case Section::kWaiting:
      return is_within(position.key, keys::queue_begin(queue), keys::queue_end(queue));
    case Section::kFinal: {
      const JobState state = kFinalOrder[position.final_state];
      return is_within(position.key, keys::final_index_begin(queue, state, INT64_MIN),
                       keys::final_index_end(queue, state));
    }
    case Section::kEnd:
      break;
  }
  return false;
}

bool matches_text(const std::string& wanted, const std::string& found) {
  return wanted.empty() || wanted == found;
}

template <class Record>
bool matches_record(const v1::JobFilter& filter, const Record& record) {
  return matches_text(filter.kind(), record.kind) &&
         matches_text(filter.business_key(), record.business_key) &&
         matches_text(filter.scheduler_id(), record.scheduler_id);
}

// Whether the end that commit `seq` made is the job's last one: a job that was redriven and has
// died again stands in the index rows of both deaths, until retention takes the first.
bool ended_last_in(std::uint64_t seq, const JobRows& rows) {
  const std::vector<model::Attempt>* history = nullptr;
  if (rows.final_record) {
    history = &rows.final_record->history;
  } else if (rows.side) {
    history = &rows.side->history;
  }
  return history == nullptr || history->empty() || history->back().ended_seq <= seq;
}

bool matches(const v1::JobFilter& filter, const JobRows& rows) {
  if (rows.final_record) return matches_record(filter, *rows.final_record);
  return rows.body && matches_record(filter, *rows.body);
}

}  // namespace

class JobLister {
 public:
  JobLister(const JobReader& reader, QueueRows queue, const v1::JobFilter& filter, int page_size,
            const JobReader::Take& take)
      : reader_(reader),
        queue_(std::move(queue)),
        filter_(filter),
        take_(take),
        room_(static_cast<std::size_t>(page_size)) {
    for (const auto state : filter.states()) states_.insert(state_from_wire(state));
    page_.at = queue_.at;
  }

  base::Result<JobReader::Page> run(Position position) {
    position_ = std::move(position);
    while (position_.section != Section::kEnd && room_ > 0 && budget_ > 0) {
      if (auto done = step(); !done) return done.error();
    }
    page_.position = position_.section == Section::kEnd ? std::string() : position_.encode();
    return page_;
  }

 private:
  bool wants(JobState state) const { return states_.empty() || states_.contains(state); }

  base::Status step() {
    switch (position_.section) {
      case Section::kRunning:
        return list_running();
      case Section::kWaiting:
        return list_waiting();
      case Section::kFinal:
        return list_final();
      case Section::kEnd:
        break;
    }
    return {};
  }

  void next_section(Section section) { position_ = Position{.section = section}; }

  // False: the page has no room for the job, and ends before it.
  bool add(const JobRead& job) {
    page_.at = std::max(page_.at, job.at);
    if (!matches(filter_, job.rows)) return true;
    const bool taken = take_(job);
    room_ = taken ? room_ - 1 : 0;
    return taken;
  }

  base::Status list_running() {
    if (!wants(JobState::kRunning)) return next_section(Section::kWaiting), base::Status();
    const auto after = keys::parse_job(position_.key).value_or(JobKey{});
    const auto running =
        reader_.leases_.page(queue_.queue.number, after, std::min(room_, kJobsPerRead));
    if (running.empty()) return next_section(Section::kWaiting), base::Status();
    std::vector<JobKey> wanted;
    for (const auto& attempt : running) wanted.push_back(attempt.key);
    budget_ -= static_cast<int>(wanted.size());
    auto jobs = reader_.get_many(queue_.queue, wanted);
    if (!jobs) return jobs.error();
    for (const auto& job : *jobs) {
      if (state_of(job.rows) == JobState::kRunning && !add(job)) return {};
      position_.key = keys::job(job.rows.key);
    }
    position_.key = keys::job(wanted.back());
    return {};
  }

  bool wants_waiting() const {
    return wants(JobState::kScheduled) || wants(JobState::kBlocked) || wants(JobState::kReady);
  }

  // Bodies and side records of one stretch of the queue's range, at one read point. The board is
  // asked first for as many running jobs as the stretch can hold.
  base::Status list_waiting() {
    if (!wants_waiting()) return next_section(Section::kFinal), base::Status();
    const std::string begin =
        position_.key.empty() ? keys::queue_begin(queue_.queue.number) : position_.key;
    const std::string end = keys::queue_end(queue_.queue.number);
    const auto rows = static_cast<std::uint32_t>(
        std::min<std::size_t>(std::clamp<std::size_t>(room_, kScanRowsMin, limits::kReadRowsMax),
                              static_cast<std::size_t>(budget_)));
    std::set<JobKey> running;
    for (const auto& attempt : reader_.leases_.page(queue_.queue.number, before(begin), rows + 2)) {
      running.insert(attempt.key);
    }
    core::ReadResult result;
    std::string detail;
    const core::ReadSpec spec{
        .gets = {},
        .scans = {{Keyspace::kJob, begin, end, rows, limits::kReadBytesMax},
                  {Keyspace::kSide, begin, end, rows, limits::kReadBytesMax}}};
    if (reader_.store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
      return read_failed(detail);
    }
    page_.at = std::max(page_.at, result.at);
    return take_stretch(result, running);
  }

  // A key that lies before the stretch, and close to it. `begin` is a key, or follows right after
  // one.
  static JobKey before(const std::string& begin) {
    constexpr std::size_t kJobKeyBytes = 13;
    auto key = keys::parse_job(std::string_view(begin).substr(0, kJobKeyBytes));
    if (!key || key->seq == 0) return JobKey{};
    --key->seq;
    return *key;
  }

  // Lists the part of the stretch that both scans cover.
  base::Status take_stretch(core::ReadResult& result, const std::set<JobKey>& running) {
    auto& bodies = result.pages[0];
    auto& sides = result.pages[1];
    std::map<std::string, std::string> side_of;
    for (auto& [key, value] : sides.rows) side_of.emplace(std::move(key), std::move(value));
    const std::string covered = sides.more ? sides.next : std::string();
    for (const auto& [key, value] : bodies.rows) {
      if (room_ == 0 || (!covered.empty() && key >= covered)) return go_on(key);
      --budget_;
      const auto side = side_of.find(key);
      const auto taken =
          take_row(key, value, side == side_of.end() ? nullptr : &side->second, running, result.at);
      if (!taken) return taken.error();
      if (!*taken) return go_on(key);
    }
    if (bodies.more) return go_on(bodies.next);
    next_section(Section::kFinal);
    return {};
  }

  base::Status go_on(std::string key) {
    // A stretch that covers nothing still costs, so that a page ends.
    --budget_;
    position_.key = std::move(key);
    return {};
  }

  // False: the page has no room for it.
  base::Result<bool> take_row(const std::string& key, const std::string& value,
                              const std::string* side, const std::set<JobKey>& running,
                              core::CommitSeq at) {
    const auto job_key = keys::parse_job(key);
    if (!job_key) return damaged_row(reader_.store_, Keyspace::kJob, key);
    if (model::is_pointer(value)) return take_pointer(*job_key, value);
    JobRead job;
    job.at = at;
    job.rows.key = *job_key;
    job.rows.queue = queue_.queue.name;
    job.rows.body.emplace();
    if (!model::decode(value, &*job.rows.body))
      return damaged_row(reader_.store_, Keyspace::kJob, key);
    if (side != nullptr) {
      job.rows.side.emplace();
      if (!model::decode(*side, &*job.rows.side))
        return damaged_row(reader_.store_, Keyspace::kSide, key);
      if (job.rows.side->claim == model::Claim::kMoved) return true;  // listed at its pointer
    }
    const auto state = state_of(job.rows);
    if (state == JobState::kDead || !wants(state)) return true;
    if (state == JobState::kReady && running.contains(*job_key)) return true;
    return add(job);
  }

  // A job whose priority was changed stands at its pointer; the rest of it lies elsewhere.
  base::Result<bool> take_pointer(const JobKey& ready_key, const std::string& value) {
    if (!wants(JobState::kReady)) return true;
    model::Pointer pointer;
    if (!model::decode(value, &pointer)) {
      return damaged_row(reader_.store_, Keyspace::kJob, keys::job(ready_key));
    }
    const JobKey key{ready_key.queue, pointer.first_priority, ready_key.seq};
    auto jobs = reader_.get_many(queue_.queue, {key});
    if (!jobs) return jobs.error();
    return jobs->empty() || state_of(jobs->front().rows) != JobState::kReady || add(jobs->front());
  }

  base::Status list_final() {
    const JobState state = kFinalOrder[position_.final_state];
    if (!wants(state)) return next_final_state(), base::Status();
    const auto number = queue_.queue.number;
    core::ReadResult result;
    std::string detail;
    const core::ReadSpec spec{
        .gets = {},
        .scans = {{Keyspace::kFinal,
                   position_.key.empty() ? keys::final_index_begin(number, state, INT64_MIN)
                                         : position_.key,
                   keys::final_index_end(number, state),
                   static_cast<std::uint32_t>(std::min<std::size_t>(room_, limits::kReadRowsMax)),
                   limits::kReadBytesMax}}};
    if (reader_.store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
      return read_failed(detail);
    }
    page_.at = std::max(page_.at, result.at);
    for (const auto& [key, value] : result.pages[0].rows) {
      if (room_ == 0 || budget_ <= 0) {
        position_.key = key;
        position_.offset = 0;
        return {};
      }
      auto whole = take_index_row(state, key, value);
      if (!whole) return whole.error();
      if (!*whole) return {};
    }
    if (!result.pages[0].more) return next_final_state(), base::Status();
    position_.key = result.pages[0].next;
    position_.offset = 0;
    --budget_;
    return {};
  }

  void next_final_state() {
    const auto next = static_cast<std::uint8_t>(position_.final_state + 1);
    if (next >= kFinalStates) return next_section(Section::kEnd);
    position_ = Position{.section = Section::kFinal, .final_state = next};
  }

  // The jobs that ended in one commit. False when the page is full within them.
  base::Result<bool> take_index_row(JobState state, const std::string& key,
                                    const std::string& value) {
    std::vector<JobKey> ended;
    const auto index = keys::parse_final_index(key);
    if (!index || !model::decode_job_keys(value, &ended))
      return damaged_row(reader_.store_, Keyspace::kFinal, key);
    const std::size_t first = position_.key == key ? position_.offset : 0;
    position_.key = key;
    std::size_t at = std::min(first, ended.size());
    while (at < ended.size()) {
      if (room_ == 0 || budget_ <= 0) {
        position_.offset = static_cast<std::uint32_t>(at);
        return false;
      }
      const std::size_t count = std::min({room_, ended.size() - at, kJobsPerRead});
      const std::vector<JobKey> wanted(ended.begin() + static_cast<std::ptrdiff_t>(at),
                                       ended.begin() + static_cast<std::ptrdiff_t>(at + count));
      auto jobs = reader_.get_many(queue_.queue, wanted);
      if (!jobs) return jobs.error();
      budget_ -= static_cast<int>(count);
      for (const auto& job : *jobs) {
        // A redriven job has left the state; its index row goes by retention.
        if (state_of(job.rows) != state || !ended_last_in(index->seq, job.rows)) continue;
        if (add(job)) continue;
        while (!(ended[at] == job.rows.key)) ++at;
        position_.offset = static_cast<std::uint32_t>(at);
        return false;
      }
      at += count;
    }
    position_.offset = 0;
    return true;
  }

  const JobReader& reader_;
  const QueueRows queue_;
  const v1::JobFilter& filter_;
  const JobReader::Take& take_;
  std::size_t room_;  // jobs that the page still takes; 0 as well once one did not fit
  std::set<JobState> states_;
  Position position_;
  int budget_ = limits::kPageRowsExaminedMax;
  JobReader::Page page_;
};

base::Result<JobReader::Page> JobReader::list(const std::string& name_space,
                                              const v1::JobFilter& filter,
                                              const std::string& position, int page_size,
                                              const Take& take) const {
  auto queue = queues_.find(name_space, filter.queue());
  if (!queue) return queue.error();
  Position start;
  if (!position.empty() &&
      !(Position::decode(position, &start) && is_of(queue->queue.number, start))) {
    return not_of_this_listing();
  }
  return JobLister(*this, *std::move(queue), filter, page_size, take).run(std::move(start));
}

}  // namespace rota::rpc
