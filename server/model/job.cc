// SPDX-License-Identifier: Apache-2.0
#include "model/job.h"

#include <array>

#include "model/bytes.h"
#include "model/fields.h"

namespace rota::model {
namespace {

// Format bytes of the job keyspace share one space: a row says itself which kind it is. To change a
// format: give it the next free byte, keep the decoder of every older one, and let encode() write
// the new one only.
constexpr std::uint8_t kBodyFormat = 1;
constexpr std::uint8_t kPointerFormat = 2;
constexpr std::uint8_t kSideFormat = 1;
constexpr std::uint8_t kFinalFormat = 1;

void put_attempt(Writer& w, const Attempt& a) {
  w.varint(a.number);
  w.varint(a.token);
  w.str(a.worker_id);
  w.str(a.session_id);
  w.svarint(a.granted_ms);
  w.varint(a.granted_seq);
  w.svarint(a.ended_ms);
  w.varint(a.ended_seq);
  w.u8(static_cast<std::uint8_t>(a.outcome));
  w.u8(static_cast<std::uint8_t>((a.by_finish ? 1U : 0U) | (a.result_truncated ? 2U : 0U)));
  put_failure(w, a.failure);
  w.str(a.release_reason);
  w.str(a.log_tail);
}

Attempt get_attempt(Reader& r) {
  Attempt a;
  a.number = r.varint32();
  a.token = r.varint();
  a.worker_id = r.str();
  a.session_id = r.str();
  a.granted_ms = r.svarint();
  a.granted_seq = r.varint();
  a.ended_ms = r.svarint();
  a.ended_seq = r.varint();
  a.outcome = r.one_of(AttemptOutcome::kRunning, AttemptOutcome::kCancelled);
  const std::uint8_t flags = r.u8_to(3);
  a.by_finish = (flags & 1U) != 0;
  a.result_truncated = (flags & 2U) != 0;
  a.failure = get_failure(r);
  a.release_reason = r.str();
  a.log_tail = r.str();
  return a;
}

void put_history(Writer& w, const std::vector<Attempt>& history) {
  w.varint(history.size());
  for (const Attempt& a : history) put_attempt(w, a);
}

std::vector<Attempt> get_history(Reader& r) {
  std::vector<Attempt> out;
  const std::uint64_t n = r.count();
  for (std::uint64_t i = 0; i < n && r.ok(); ++i) out.push_back(get_attempt(r));
  return out;
}

// Presence bits of a body's optional parts, so that a plain job costs few bytes.
enum BodyBits : std::uint32_t {
  kHasLabels = 1U << 0U,
  kHasKey = 1U << 1U,
  kHasTimeout = 1U << 2U,
  kHasRetry = 1U << 3U,
  kHasRunAt = 1U << 4U,
  kHasStartDeadline = 1U << 5U,
  kHasScheduler = 1U << 6U,
  kPayloadApart = 1U << 7U,
};

std::uint32_t parts_of(const JobBody& b) {
  return (b.labels.empty() ? 0U : kHasLabels) | (b.business_key.empty() ? 0U : kHasKey) |
         (b.attempt_timeout_ms ? kHasTimeout : 0U) | (b.retry ? kHasRetry : 0U) |
         (b.run_at_ms != 0 ? kHasRunAt : 0U) | (b.start_deadline_ms != 0 ? kHasStartDeadline : 0U) |
         (b.scheduler_id.empty() ? 0U : kHasScheduler) | (b.payload_apart ? kPayloadApart : 0U);
}

}  // namespace

bool is_final(JobState s) {
  return s == JobState::kSucceeded || s == JobState::kDead || s == JobState::kCancelled ||
         s == JobState::kExpired;
}

std::string_view name_of(JobState s) {
  static constexpr std::array<std::string_view, kJobStateCount> kNames = {
      "UNKNOWN",   "SCHEDULED", "BLOCKED",   "READY",  "RUNNING",
      "SUCCEEDED", "DEAD",      "CANCELLED", "EXPIRED"};
  const auto i = static_cast<std::size_t>(s);
  return i < kNames.size() ? kNames[i] : kNames[0];
}

std::string_view name_of(AttemptOutcome o) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "LOST", "RELEASED", "SNOOZED", "CANCELLED"};
  const auto i = static_cast<std::size_t>(o);
  return i < kNames.size() ? kNames[i] : kNames[0];
}

bool transition_allowed(JobState from, JobState to) {
  using S = JobState;
  switch (from) {
    case S::kUnknown:
      return to == S::kScheduled || to == S::kBlocked || to == S::kReady;
    case S::kScheduled:
    case S::kBlocked:
      return to == S::kReady || to == S::kScheduled || to == S::kBlocked || to == S::kCancelled ||
             to == S::kExpired || to == S::kUnknown;
    case S::kReady:
      return to == S::kRunning || to == S::kScheduled || to == S::kCancelled || to == S::kExpired ||
             to == S::kUnknown;
    case S::kRunning:
      return to == S::kReady || to == S::kScheduled || to == S::kSucceeded || to == S::kDead ||
             to == S::kCancelled;
    case S::kDead:
      return to == S::kReady || to == S::kUnknown;
    case S::kSucceeded:
    case S::kCancelled:
    case S::kExpired:
      return to == S::kUnknown;
  }
  return false;
}

std::size_t JobBody::memory_bytes() const {
  std::size_t n = sizeof(JobBody) + kind.size() + content_type.size() + payload.size() +
                  business_key.size() + key_scope.size() + payload_hash.size() +
                  scheduler_id.size() + business_date.size() + principal.size() +
                  nominal_ms.size() * sizeof(std::int64_t);
  for (const auto& [k, v] : labels) n += k.size() + v.size() + 64;
  return n;
}

namespace {

std::size_t text_bytes(const Attempt& a) {
  return a.worker_id.size() + a.session_id.size() + a.failure.type.size() +
         a.failure.message.size() + a.failure.detail.size() + a.release_reason.size() +
         a.log_tail.size();
}

}  // namespace

void Side::remember(Attempt attempt) {
  history.push_back(std::move(attempt));
  if (history.size() > static_cast<std::size_t>(base::limits::kAttemptHistoryMax)) {
    history.erase(history.begin());
  }
  std::size_t bytes = 0;
  for (const Attempt& a : history) bytes += text_bytes(a);
  const auto drop = [&bytes](std::string& text) {
    bytes -= text.size();
    text = std::string();
  };
  constexpr auto kMost = static_cast<std::size_t>(base::limits::kAttemptHistoryBytesMax);
  for (std::size_t i = 0; bytes > kMost && i + 1 < history.size(); ++i) {
    drop(history[i].failure.detail);
    drop(history[i].log_tail);
  }
  for (std::size_t i = 0; bytes > kMost && i + 1 < history.size(); ++i) {
    drop(history[i].failure.message);
  }
}

std::size_t Side::memory_bytes() const {
  std::size_t n = sizeof(Side) + blocker.id.size() + dead_reason.size() + cancel_reason.size();
  for (const Attempt& a : history) n += sizeof(Attempt) + text_bytes(a);
  return n;
}

std::string encode(const JobBody& b) {
  Writer w(kBodyFormat);
  w.reserve(64 + b.kind.size() + b.content_type.size() + b.payload.size());
  const std::uint32_t bits = parts_of(b);
  w.varint(bits);
  w.str(b.kind);
  w.str(b.content_type);
  w.svarint(b.created_ms);
  w.varint(b.created_seq);
  w.str(b.principal);
  if (bits & kHasLabels) put_labels(w, b.labels);
  if (bits & kHasKey) {
    w.str(b.key_scope);
    w.str(b.business_key);
    w.str(b.payload_hash);
  }
  if (bits & kHasTimeout) w.svarint(*b.attempt_timeout_ms);
  if (bits & kHasRetry) put_retry(w, *b.retry);
  if (bits & kHasRunAt) w.svarint(b.run_at_ms);
  if (bits & kHasStartDeadline) w.svarint(b.start_deadline_ms);
  if (bits & kHasScheduler) {
    w.str(b.scheduler_id);
    w.varint(b.generation);
    put_times(w, b.nominal_ms);
    w.str(b.business_date);
  }
  w.varint(b.payload_bytes);
  w.str(b.payload);
  return w.seal();
}

bool decode(std::string_view bytes, JobBody* out) {
  Reader r = Reader::open(bytes, kBodyFormat);
  JobBody& b = *out;  // read in place: every job of a page comes through here
  b = JobBody{};
  const std::uint32_t bits = r.varint32();
  b.kind = r.str();
  b.content_type = r.str();
  b.created_ms = r.svarint();
  b.created_seq = r.varint();
  b.principal = r.str();
  if (bits & kHasLabels) b.labels = get_labels(r);
  if (bits & kHasKey) {
    b.key_scope = r.str();
    b.business_key = r.str();
    b.payload_hash = r.str();
  }
  if (bits & kHasTimeout) b.attempt_timeout_ms = r.svarint();
  if (bits & kHasRetry) b.retry = get_retry(r);
  if (bits & kHasRunAt) b.run_at_ms = r.svarint();
  if (bits & kHasStartDeadline) b.start_deadline_ms = r.svarint();
  if (bits & kHasScheduler) {
    b.scheduler_id = r.str();
    b.generation = r.varint();
    b.nominal_ms = get_times(r);
    b.business_date = r.str();
  }
  b.payload_apart = (bits & kPayloadApart) != 0;
  b.payload_bytes = r.varint();
  b.payload = r.str();
  return r.at_end() && bits == parts_of(b);
}

std::string encode(const Side& s) {
  Writer w(kSideFormat);
  w.u8(static_cast<std::uint8_t>(s.claim));
  w.svarint(s.due_ms);
  w.u8(static_cast<std::uint8_t>((s.retry_wait ? 1U : 0U) | (s.priority_changed ? 2U : 0U) |
                                 (s.run_at_ms ? 4U : 0U) | (s.start_deadline_ms ? 8U : 0U) |
                                 (s.cancel_requested ? 16U : 0U)));
  w.u8(s.blocker.kind);
  w.str(s.blocker.id);
  w.varint(s.waiting_seq);
  w.u8(s.priority);
  if (s.run_at_ms) w.svarint(*s.run_at_ms);
  if (s.start_deadline_ms) w.svarint(*s.start_deadline_ms);
  w.varint(s.attempts);
  w.varint(s.attempts_used);
  w.varint(s.releases);
  w.varint(s.handlerless);
  w.varint(s.redrives);
  w.varint(s.last_token);
  w.svarint(s.first_granted_ms);
  w.svarint(s.ended_ms);
  w.str(s.dead_reason);
  w.str(s.cancel_reason);
  put_history(w, s.history);
  return w.seal();
}

bool decode(std::string_view bytes, Side* out) {
  Reader r = Reader::open(bytes, kSideFormat);
  Side s;
  s.claim = r.one_of(Claim::kNone, Claim::kMoved);
  s.due_ms = r.svarint();
  const std::uint8_t flags = r.u8_to(31);
  s.retry_wait = (flags & 1U) != 0;
  s.priority_changed = (flags & 2U) != 0;
  s.cancel_requested = (flags & 16U) != 0;
  s.blocker.kind = r.u8();
  s.blocker.id = r.str();
  s.waiting_seq = r.varint();
  s.priority = r.u8();
  if (flags & 4U) s.run_at_ms = r.svarint();
  if (flags & 8U) s.start_deadline_ms = r.svarint();
  s.attempts = r.varint32();
  s.attempts_used = r.varint32();
  s.releases = r.varint32();
  s.handlerless = r.varint32();
  s.redrives = r.varint32();
  s.last_token = r.varint();
  s.first_granted_ms = r.svarint();
  s.ended_ms = r.svarint();
  s.dead_reason = r.str();
  s.cancel_reason = r.str();
  s.history = get_history(r);
  if (!r.at_end()) return false;
  *out = std::move(s);
  return true;
}

std::string encode_final(const JobBody& body, const Side& side, const JobEnd& end) {
  Writer w(kFinalFormat);
  w.u8(static_cast<std::uint8_t>(end.state));
  w.str(body.kind);
  w.str(body.content_type);
  put_labels(w, body.labels);
  w.str(body.key_scope);
  w.str(body.business_key);
  w.u8(end.priority);
  w.str(body.scheduler_id);
  w.varint(body.generation);
  put_times(w, body.nominal_ms);
  w.str(body.business_date);
  w.svarint(body.created_ms);
  w.svarint(end.ended_ms);
  w.varint(end.ended_seq);
  w.varint(side.attempts);
  w.varint(side.attempts_used);
  w.varint(side.redrives);
  w.boolean(side.cancel_requested);
  w.str(end.reason);
  w.str(end.result);
  w.str(body.principal);
  put_history(w, side.history);
  return w.seal();
}

bool decode(std::string_view bytes, FinalRecord* out) {
  Reader r = Reader::open(bytes, kFinalFormat);
  FinalRecord f;
  f.state = r.one_of(JobState::kSucceeded, JobState::kExpired);
  f.kind = r.str();
  f.content_type = r.str();
  f.labels = get_labels(r);
  f.key_scope = r.str();
  f.business_key = r.str();
  f.priority = r.u8();
  f.scheduler_id = r.str();
  f.generation = r.varint();
  f.nominal_ms = get_times(r);
  f.business_date = r.str();
  f.created_ms = r.svarint();
  f.ended_ms = r.svarint();
  f.ended_seq = r.varint();
  f.attempts = r.varint32();
  f.attempts_used = r.varint32();
  f.redrives = r.varint32();
  f.cancel_requested = r.boolean();
  f.reason = r.str();
  f.result = r.str();
  f.principal = r.str();
  f.history = get_history(r);
  if (!r.at_end()) return false;
  *out = std::move(f);
  return true;
}

std::string encode(const Pointer& p) {
  Writer w(kPointerFormat);
  w.u8(p.first_priority);
  w.str(p.side);
  w.str(p.body);
  return w.seal();
}

bool decode(std::string_view bytes, Pointer* out) {
  Reader r = Reader::open(bytes, kPointerFormat);
  if (r.format() != kPointerFormat) return false;
  Pointer p;
  p.first_priority = r.u8();
  p.side = r.str();
  p.body = r.str();
  if (!r.at_end()) return false;
  *out = std::move(p);
  return true;
}

bool is_pointer(std::string_view row) {
  return !row.empty() && static_cast<std::uint8_t>(row.front()) == kPointerFormat;
}

}  // namespace rota::model
