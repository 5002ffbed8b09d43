// SPDX-License-Identifier: Apache-2.0
#include "model/scheduler.h"

#include "model/bytes.h"
#include "model/fields.h"

namespace rota::model {
namespace {

constexpr std::uint8_t kSchedulerFormat = 1;

void put_template(Writer& w, const JobTemplate& t) {
  w.str(t.queue);
  w.str(t.kind);
  w.str(t.content_type);
  w.str(t.payload);
  w.u8(t.priority);
  w.svarint(t.start_within_ms);
  put_optional(w, t.attempt_timeout_ms);
  w.boolean(t.retry.has_value());
  if (t.retry) put_retry(w, *t.retry);
  w.str(t.key_scope);
  w.str(t.business_key);
  put_labels(w, t.labels);
}

JobTemplate get_template(Reader& r) {
  JobTemplate t;
  t.queue = r.str();
  t.kind = r.str();
  t.content_type = r.str();
  t.payload = r.str();
  t.priority = r.u8();
  t.start_within_ms = r.svarint();
  t.attempt_timeout_ms = get_optional(r);
  if (r.boolean()) t.retry = get_retry(r);
  t.key_scope = r.str();
  t.business_key = r.str();
  t.labels = get_labels(r);
  return t;
}

}  // namespace

std::string_view name_of(Overlap overlap) {
  switch (overlap) {
    case Overlap::kSkip:
      return "SKIP";
    case Overlap::kWaitOne:
      return "WAIT_ONE";
    case Overlap::kAllow:
      return "ALLOW";
  }
  return "UNKNOWN";
}

std::string_view name_of(CatchUp catch_up) {
  switch (catch_up) {
    case CatchUp::kNone:
      return "NONE";
    case CatchUp::kLatest:
      return "LATEST";
    case CatchUp::kAll:
      return "ALL";
  }
  return "UNKNOWN";
}

std::string_view name_of(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kFired:
      return "FIRED";
    case RunOutcome::kMerged:
      return "MERGED";
    case RunOutcome::kSkipped:
      return "SKIPPED";
    case RunOutcome::kMissed:
      return "MISSED";
  }
  return "UNKNOWN";
}

std::string encode(const Scheduler& v) {
  Writer w(kSchedulerFormat);
  w.str(v.name_space);
  w.str(v.id);
  w.varint(v.generation);
  w.svarint(v.revision);
  const SchedulerSettings& s = v.settings;
  w.str(s.spec.cron);
  w.svarint(s.spec.every_ms);
  w.svarint(s.spec.phase_ms);
  w.str(s.spec.time_zone);
  put_optional(w, s.spec.start_ms);
  put_optional(w, s.spec.end_ms);
  w.svarint(s.spec.business_day_offset);
  w.u8(static_cast<std::uint8_t>(s.overlap));
  w.u8(static_cast<std::uint8_t>(s.catch_up.mode));
  w.svarint(s.catch_up.window_ms);
  w.varint(s.catch_up.max_runs);
  put_template(w, s.job);
  w.str(s.owner);
  w.boolean(v.paused);
  w.str(v.pause_note);
  w.str(v.paused_by);
  w.svarint(v.paused_ms);
  w.svarint(v.created_ms);
  w.svarint(v.updated_ms);
  w.varint(v.version);
  return w.seal();
}

bool decode(std::string_view bytes, Scheduler* out) {
  Reader r = Reader::open(bytes, kSchedulerFormat);
  Scheduler v;
  v.name_space = r.str();
  v.id = r.str();
  v.generation = r.varint();
  v.revision = r.svarint();
  SchedulerSettings& s = v.settings;
  s.spec.cron = r.str();
  s.spec.every_ms = r.svarint();
  s.spec.phase_ms = r.svarint();
  s.spec.time_zone = r.str();
  s.spec.start_ms = get_optional(r);
  s.spec.end_ms = get_optional(r);
  s.spec.business_day_offset = r.svarint32();
  s.overlap = r.one_of(Overlap::kSkip, Overlap::kAllow);
  s.catch_up.mode = r.one_of(CatchUp::kNone, CatchUp::kAll);
  s.catch_up.window_ms = r.svarint();
  s.catch_up.max_runs = r.varint32();
  s.job = get_template(r);
  s.owner = r.str();
  v.paused = r.boolean();
  v.pause_note = r.str();
  v.paused_by = r.str();
  v.paused_ms = r.svarint();
  v.created_ms = r.svarint();
  v.updated_ms = r.svarint();
  v.version = r.varint();
  if (!r.at_end()) return false;
  *out = std::move(v);
  return true;
}

std::string encode(const SchedulerState& v) {
  Writer w(kSchedulerFormat);
  w.svarint(v.cursor_ms);
  w.varint(v.unfinished);
  put_key(w, v.waiting);
  put_key(w, v.last_job);
  w.svarint(v.last_nominal_ms);
  w.varint(v.runs);
  w.svarint(v.runs_swept_ms);
  return w.seal();
}

bool decode(std::string_view bytes, SchedulerState* out) {
  Reader r = Reader::open(bytes, kSchedulerFormat);
  SchedulerState v;
  v.cursor_ms = r.svarint();
  v.unfinished = r.varint();
  v.waiting = get_key(r);
  v.last_job = get_key(r);
  v.last_nominal_ms = r.svarint();
  v.runs = r.varint();
  v.runs_swept_ms = r.svarint();
  if (!r.at_end()) return false;
  *out = v;
  return true;
}

std::string encode(const RunRecord& v) {
  Writer w(kSchedulerFormat);
  w.varint(v.generation);
  w.svarint(v.first_nominal_ms);
  w.svarint(v.last_nominal_ms);
  w.varint(v.count);
  w.boolean(v.count_is_lower_bound);
  w.u8(static_cast<std::uint8_t>(v.outcome));
  w.str(v.reason);
  put_key(w, v.job);
  w.svarint(v.processed_ms);
  w.varint(v.seq);
  w.str(v.business_date);
  w.str(v.principal);
  return w.seal();
}

bool decode(std::string_view bytes, RunRecord* out) {
  Reader r = Reader::open(bytes, kSchedulerFormat);
  RunRecord v;
  v.generation = r.varint();
  v.first_nominal_ms = r.svarint();
  v.last_nominal_ms = r.svarint();
  v.count = r.varint();
  v.count_is_lower_bound = r.boolean();
  v.outcome = r.one_of(RunOutcome::kFired, RunOutcome::kMissed);
  v.reason = r.str();
  v.job = get_key(r);
  v.processed_ms = r.svarint();
  v.seq = r.varint();
  v.business_date = r.str();
  v.principal = r.str();
  if (!r.at_end()) return false;
  *out = std::move(v);
  return true;
}

}  // namespace rota::model
