// SPDX-License-Identifier: Apache-2.0
//
// The smaller records: grants, ledger entries, remembered requests, operations, engine counters,
// and the lists of keys that the retention indexes hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job.h"

namespace rota::model {

// Tokens, generations and grant numbers come from one counter. They survive SQL bigint, JSON and
// JavaScript.
inline constexpr std::uint64_t kMaxToken = (1ULL << 53U) - 1;

struct EngineMeta {
  std::uint64_t next_token = 1;  // fencing tokens and scheduler generations
  std::uint32_t next_queue = 1;
  std::uint64_t next_operation = 1;
  std::int64_t now_ms = 0;           // the newest batch's time; time never goes back
  std::int64_t timers_swept_ms = 0;  // no timer row lies before it
  std::int64_t ledger_swept_ms = 0;
  std::int64_t requests_swept_ms = 0;
  // Since then deletions are held back after a jump of the clock (format 2); 0: they are not.
  std::int64_t deletions_held_ms = 0;
  // The rows of the retention index that this commit and later ones made name no job that is gone,
  // but for DEAD ones (format 3); earlier rows were written by a server that did not see to it.
  std::uint64_t index_exact_from_seq = 0;
};
inline constexpr std::uint64_t kIndexNeverExact = UINT64_MAX;

// What a lease occupies until it ends; end_attempt returns exactly these.
enum PermitBits : std::uint32_t { kPermitQueue = 1U << 0U };

struct GrantEntry {
  JobKey job;
  std::uint32_t attempt = 0;
  std::uint64_t token = 0;
  std::uint32_t permits = kPermitQueue;
  // The attempt timeout as it was at the grant, kNoTimeout for none (format 2). Unset: granted by a
  // server that did not store it.
  std::optional<std::int64_t> attempt_timeout_ms = std::nullopt;
};

// A grant that was overdue at a start of the server: held for longer than its attempts may last,
// or for many a lease's time. That start extends it, and later ones do no more until its worker is
// heard of; else a server that keeps crashing would keep the jobs of dead workers for ever.
struct OverdueGrant {
  std::int64_t ends_ms = 0;  // by the engine's wall time
};

// One per lease reply: who holds what since when. Removed when its last attempt has ended.
struct Grant {
  std::string session_id;
  std::string worker_id;
  std::string principal;
  std::string request_hash;  // of (session, request id); empty when none was given
  std::int64_t ttl_ms = 0;
  std::int64_t granted_ms = 0;
  std::uint64_t granted_seq = 0;
  std::vector<GrantEntry> entries;
};

enum class LedgerState : std::uint8_t {
  kHeld = 1,  // by the job, from enqueue until its end; also while it is DEAD
  kDone = 2,
  // 3 and 4 belong to claims inside a job: CLAIMED and UNCERTAIN
};

struct LedgerEntry {
  LedgerState state = LedgerState::kHeld;
  JobKey job;
  std::string kind;  // these three are the fingerprint
  std::string content_type;
  std::string payload_hash;  // SHA-256
  std::string result;        // kDone
  std::int64_t done_ms = 0;
  std::int64_t expires_ms = 0;  // kForever: never
};

// A remembered answer of a call with a request id.
struct RequestRecord {
  std::string body_hash;
  std::int64_t created_ms = 0;
  std::uint64_t seq = 0;  // the commit it was answered with
  std::string answer;     // method's own encoding
};

enum class OperationKind : std::uint8_t { kPurge = 1 };
struct Operation {
  std::uint64_t number = 0;
  OperationKind kind = OperationKind::kPurge;
  std::string name_space;
  std::uint32_t queue = 0;
  std::string queue_name;
  std::uint64_t barrier = 0;  // purge: jobs waiting since before this commit go
  std::string cursor;         // the key to go on from
  std::uint64_t removed = 0;
  bool done = false;
  bool cancelled = false;
  std::string principal;
  std::int64_t created_ms = 0;
  std::int64_t ended_ms = 0;
};

std::string encode(const EngineMeta& v);
bool decode(std::string_view bytes, EngineMeta* v);
std::string encode(const Grant& v);
bool decode(std::string_view bytes, Grant* v);
std::string encode(const OverdueGrant& v);
bool decode(std::string_view bytes, OverdueGrant* v);
std::string encode(const LedgerEntry& v);
bool decode(std::string_view bytes, LedgerEntry* v);
std::string encode(const RequestRecord& v);
bool decode(std::string_view bytes, RequestRecord* v);
std::string encode(const Operation& v);
bool decode(std::string_view bytes, Operation* v);

std::string encode_job_keys(const std::vector<JobKey>& keys);
bool decode_job_keys(std::string_view bytes, std::vector<JobKey>* keys);
std::string encode_strings(const std::vector<std::string>& strings);
bool decode_strings(std::string_view bytes, std::vector<std::string>* strings);

}  // namespace rota::model
