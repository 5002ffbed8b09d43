// SPDX-License-Identifier: Apache-2.0
#include "model/records.h"

#include "model/bytes.h"
#include "model/fields.h"

namespace rota::model {
namespace {
// Each record has formats of its own. See job.cc for how to change one.
constexpr std::uint8_t kRecordFormat = 1;
constexpr std::uint8_t kEngineMetaFormat = 3;
constexpr std::uint8_t kGrantFormat = 2;
}  // namespace

std::string encode(const EngineMeta& v) {
  Writer w(kEngineMetaFormat);
  w.varint(v.next_token);
  w.varint(v.next_queue);
  w.varint(v.next_operation);
  w.svarint(v.now_ms);
  w.svarint(v.timers_swept_ms);
  w.svarint(v.ledger_swept_ms);
  w.svarint(v.requests_swept_ms);
  w.svarint(v.deletions_held_ms);
  w.varint(v.index_exact_from_seq);
  return w.seal();
}

bool decode(std::string_view bytes, EngineMeta* out) {
  Reader r = Reader::open(bytes, kEngineMetaFormat);
  EngineMeta v;
  v.next_token = r.varint();
  v.next_queue = r.varint32();
  v.next_operation = r.varint();
  v.now_ms = r.svarint();
  v.timers_swept_ms = r.svarint();
  v.ledger_swept_ms = r.svarint();
  v.requests_swept_ms = r.svarint();
  if (r.format() >= 2) v.deletions_held_ms = r.svarint();
  v.index_exact_from_seq = r.format() >= 3 ? r.varint() : kIndexNeverExact;
  if (!r.at_end()) return false;
  *out = v;
  return true;
}

std::string encode(const Grant& v) {
  Writer w(kGrantFormat);
  w.str(v.session_id);
  w.str(v.worker_id);
  w.str(v.principal);
  w.str(v.request_hash);
  w.svarint(v.ttl_ms);
  w.svarint(v.granted_ms);
  w.varint(v.granted_seq);
  w.varint(v.entries.size());
  for (const GrantEntry& e : v.entries) {
    put_key(w, e.job);
    w.varint(e.attempt);
    w.varint(e.token);
    w.varint(e.permits);
    w.boolean(e.attempt_timeout_ms.has_value());
    if (e.attempt_timeout_ms) w.svarint(*e.attempt_timeout_ms);
  }
  return w.seal();
}

bool decode(std::string_view bytes, Grant* out) {
  Reader r = Reader::open(bytes, kGrantFormat);
  Grant v;
  v.session_id = r.str();
  v.worker_id = r.str();
  v.principal = r.str();
  v.request_hash = r.str();
  v.ttl_ms = r.svarint();
  v.granted_ms = r.svarint();
  v.granted_seq = r.varint();
  const std::uint64_t n = r.count();
  for (std::uint64_t i = 0; i < n && r.ok(); ++i) {
    GrantEntry e;
    e.job = get_key(r);
    e.attempt = r.varint32();
    e.token = r.varint();
    e.permits = r.varint32();
    if (r.format() >= 2 && r.boolean()) e.attempt_timeout_ms = r.svarint();
    v.entries.push_back(e);
  }
  if (!r.at_end()) return false;
  *out = std::move(v);
  return true;
}

std::string encode(const OverdueGrant& v) {
  Writer w(kRecordFormat);
  w.svarint(v.ends_ms);
  return w.seal();
}

bool decode(std::string_view bytes, OverdueGrant* out) {
  Reader r = Reader::open(bytes, kRecordFormat);
  OverdueGrant v;
  v.ends_ms = r.svarint();
  if (!r.at_end()) return false;
  *out = v;
  return true;
}

std::string encode(const LedgerEntry& v) {
  Writer w(kRecordFormat);
  w.u8(static_cast<std::uint8_t>(v.state));
  put_key(w, v.job);
  w.str(v.kind);
  w.str(v.content_type);
  w.str(v.payload_hash);
  w.str(v.result);
  w.svarint(v.done_ms);
  w.svarint(v.expires_ms);
  return w.seal();
}

bool decode(std::string_view bytes, LedgerEntry* out) {
  Reader r = Reader::open(bytes, kRecordFormat);
  LedgerEntry v;
  v.state = r.one_of(LedgerState::kHeld, LedgerState::kDone);
  v.job = get_key(r);
  v.kind = r.str();
  v.content_type = r.str();
  v.payload_hash = r.str();
  v.result = r.str();
  v.done_ms = r.svarint();
  v.expires_ms = r.svarint();
  if (!r.at_end()) return false;
  *out = std::move(v);
  return true;
}

std::string encode(const RequestRecord& v) {
  Writer w(kRecordFormat);
  w.str(v.body_hash);
  w.svarint(v.created_ms);
  w.varint(v.seq);
  w.str(v.answer);
  return w.seal();
}

bool decode(std::string_view bytes, RequestRecord* out) {
  Reader r = Reader::open(bytes, kRecordFormat);
  RequestRecord v;
  v.body_hash = r.str();
  v.created_ms = r.svarint();
  v.seq = r.varint();
  v.answer = r.str();
  if (!r.at_end()) return false;
  *out = std::move(v);
  return true;
}

std::string encode(const Operation& v) {
  Writer w(kRecordFormat);
  w.varint(v.number);
  w.u8(static_cast<std::uint8_t>(v.kind));
  w.str(v.name_space);
  w.varint(v.queue);
  w.str(v.queue_name);
  w.varint(v.barrier);
  w.str(v.cursor);
  w.varint(v.removed);
  w.boolean(v.done);
  w.boolean(v.cancelled);
  w.str(v.principal);
  w.svarint(v.created_ms);
  w.svarint(v.ended_ms);
  return w.seal();
}

bool decode(std::string_view bytes, Operation* out) {
  Reader r = Reader::open(bytes, kRecordFormat);
  Operation v;
  v.number = r.varint();
  v.kind = r.one_of(OperationKind::kPurge, OperationKind::kPurge);
  v.name_space = r.str();
  v.queue = r.varint32();
  v.queue_name = r.str();
  v.barrier = r.varint();
  v.cursor = r.str();
  v.removed = r.varint();
  v.done = r.boolean();
  v.cancelled = r.boolean();
  v.principal = r.str();
  v.created_ms = r.svarint();
  v.ended_ms = r.svarint();
  if (!r.at_end()) return false;
  *out = std::move(v);
  return true;
}

std::string encode_job_keys(const std::vector<JobKey>& keys) {
  Writer w(kRecordFormat);
  w.varint(keys.size());
  for (const JobKey& k : keys) put_key(w, k);
  return w.seal();
}

bool decode_job_keys(std::string_view bytes, std::vector<JobKey>* out) {
  Reader r = Reader::open(bytes, kRecordFormat);
  out->clear();
  const std::uint64_t n = r.count();
  for (std::uint64_t i = 0; i < n && r.ok(); ++i) out->push_back(get_key(r));
  return r.at_end();
}

std::string encode_strings(const std::vector<std::string>& strings) {
  Writer w(kRecordFormat);
  w.varint(strings.size());
  for (const std::string& s : strings) w.str(s);
  return w.seal();
}

bool decode_strings(std::string_view bytes, std::vector<std::string>* out) {
  Reader r = Reader::open(bytes, kRecordFormat);
  out->clear();
  const std::uint64_t n = r.count();
  for (std::uint64_t i = 0; i < n && r.ok(); ++i) out->push_back(r.str());
  return r.at_end();
}

}  // namespace rota::model
