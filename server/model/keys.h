// SPDX-License-Identifier: Apache-2.0
//
// The keys of every keyspace: the only place that knows their bytes. Numbers are big-endian, times
// sort as they pass, names are length-prefixed, so no two different tuples share a key.
//
//   kMeta        "engine"                                     engine counters
//                'o' | operation number u64                   operation
//                'g' | grant number u64                       a grant that is overdue
//   kQueueState  'q' | queue u32                              settings
//                'c' | queue u32                              counters
//                'd' | queue u32                              dropped: its rows are being removed
//   kGrant       grant number u64 (its first token)           grant record
//   kJob, kSide, kPayload
//                queue u32 | 255 - priority u8 | seq u64      body or pointer, side record, payload
//   kTimer       due time | kind u8 | job key                 (empty value)
//   kBlocked     blocker kind u8 | blocker id | job key       (empty value)
//   kFinal       'j' | job key                                final record
//                't' | queue u32 | group u8 | time | commit   job keys to retire
//   kScheduler   's' | namespace | id                         scheduler
//                'u' | namespace | id                         its state
//   kRun         namespace | id | nominal time | generation   run record
//   kLedger      'e' | namespace | scope | key                ledger entry
//                't' | time | commit u64                      entries to retire
//   kRequest     'r' | method u8 | namespace | request id     remembered answer
//                's' | time, newest first | commit            ids of lease calls that are spent
//                't' | time | commit u64                      rows of both to forget
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/job.h"

namespace rota::model::keys {

std::string engine_meta();
std::string operation(std::uint64_t number);
std::string overdue_grant(std::uint64_t number);
std::string queue_settings(std::uint32_t queue);
std::string queue_counters(std::uint32_t queue);
bool is_queue_counters(std::string_view key);
std::string queue_dropped(std::uint32_t queue);
std::string grant(std::uint64_t number);

std::string job(const JobKey& key);
// The ready key of a job: its own key with the priority it has now.
std::string ready(const JobKey& key, std::uint8_t priority);
std::optional<JobKey> parse_job(std::string_view key);
// Bounds of a queue's range, and of one priority level in it; end is exclusive.
std::string queue_begin(std::uint32_t queue);
std::string queue_end(std::uint32_t queue);
std::string level_end(std::uint32_t queue, std::uint8_t priority);

enum class TimerKind : std::uint8_t { kPromote = 1, kStartDeadline = 2 };
struct TimerKey {
  std::int64_t due_ms = 0;
  TimerKind kind{};
  JobKey job;
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const TimerKey&, const TimerKey&) = default;
};
std::string timer(const TimerKey& key);
std::optional<TimerKey> parse_timer(std::string_view key);
// The first whole timer key that is not below `bytes`, which may be any: where a page of a scan
// ended. Its kind may be none that exists.
TimerKey timer_limit(std::string_view bytes);
std::string timer_begin(std::int64_t due_ms);

std::string blocked(const Blocker& blocker, const JobKey& key);
std::string blocked_begin(const Blocker& blocker);
std::string blocked_end(const Blocker& blocker);

std::string final_record(const JobKey& key);
std::string final_begin(std::uint32_t queue);  // of the records of a queue
std::string final_end(std::uint32_t queue);
std::optional<JobKey> parse_final(std::string_view key);
// Retention groups: the final state itself.
std::string final_index(std::uint32_t queue, JobState group, std::int64_t ended_ms,
                        std::uint64_t seq);
std::string final_index_begin(std::uint32_t queue, JobState group, std::int64_t ended_ms);
std::string final_index_end(std::uint32_t queue, JobState group);
struct FinalIndexKey {
  std::uint32_t queue = 0;
  JobState group = JobState::kUnknown;
  std::int64_t ended_ms = 0;
  std::uint64_t seq = 0;
};
std::optional<FinalIndexKey> parse_final_index(std::string_view key);

std::string scheduler(std::string_view name_space, std::string_view id);
std::string scheduler_state(std::string_view name_space, std::string_view id);
std::string run(std::string_view name_space, std::string_view id, std::int64_t nominal_ms,
                std::uint64_t generation);
std::string run_begin(std::string_view name_space, std::string_view id, std::int64_t nominal_ms);
std::string run_end(std::string_view name_space, std::string_view id);

std::string ledger(std::string_view name_space, std::string_view scope, std::string_view key);
std::string request(std::uint8_t method, std::string_view name_space, std::string_view request_id);
// Of the lease calls that ended in one commit; later ones lie first. The range of those since a
// time, which is inclusive: begin to end.
std::string spent_requests(std::int64_t ms, std::uint64_t seq);
std::string spent_begin();
std::string spent_end(std::int64_t since_ms);
// The expiry index of ledger and request keyspaces.
std::string expiry(std::int64_t ms, std::uint64_t seq);
std::string expiry_begin(std::int64_t ms);
std::string expiry_end();
std::optional<std::int64_t> parse_expiry(std::string_view key);
// The time in a key of a time-ordered range, or in any string that begins as one (where a page of a
// scan ended): `prefix` is what stands before the time. nullopt when it is cut before its end.
std::optional<std::int64_t> time_after(std::string_view key, std::string_view prefix);
std::string final_index_prefix(std::uint32_t queue, JobState group);
std::string run_prefix(std::string_view name_space, std::string_view id);
std::string expiry_prefix();

// The smallest key larger than every key that begins with `prefix`.
std::string after_prefix(std::string prefix);
// The smallest key larger than `key`.
std::string after(std::string key);

}  // namespace rota::model::keys
