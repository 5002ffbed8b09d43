// SPDX-License-Identifier: Apache-2.0
#include "model/queue.h"

#include "model/bytes.h"
#include "model/fields.h"

namespace rota::model {
namespace {
constexpr std::uint8_t kQueueFormat = 1;
constexpr std::uint8_t kCountersFormat = 1;
}  // namespace

bool QueueCounters::conserved() const {
  std::uint64_t sum = removed;
  for (const std::uint64_t n : in_state) sum += n;
  return sum == created;
}

std::string encode(const Queue& q) {
  Writer w(kQueueFormat);
  w.u32(q.number);
  w.str(q.name_space);
  w.str(q.name);
  const QueueSettings& s = q.settings;
  w.boolean(s.concurrency_limit.has_value());
  w.varint(s.concurrency_limit.value_or(0));
  w.boolean(s.max_waiting.has_value());
  w.varint(s.max_waiting.value_or(0));
  put_retry(w, s.retry);
  w.svarint(s.attempt_timeout_ms);
  w.svarint(s.retention.succeeded_ms);
  w.varint(s.retention.succeeded_count);
  w.svarint(s.retention.cancelled_ms);
  w.svarint(s.retention.dead_ms);
  w.svarint(s.retention.ledger_ms);
  w.boolean(q.paused);
  w.str(q.pause_note);
  w.str(q.paused_by);
  w.svarint(q.paused_ms);
  w.svarint(q.created_ms);
  w.svarint(q.updated_ms);
  w.varint(q.version);
  return w.seal();
}

bool decode(std::string_view bytes, Queue* out) {
  Reader r = Reader::open(bytes, kQueueFormat);
  Queue q;
  q.number = r.u32();
  q.name_space = r.str();
  q.name = r.str();
  QueueSettings& s = q.settings;
  // An unset limit is written as 0.
  if (r.boolean()) {
    s.concurrency_limit = r.varint32();
  } else if (r.varint() != 0) {
    r.fail();
  }
  if (r.boolean()) {
    s.max_waiting = r.varint();
  } else if (r.varint() != 0) {
    r.fail();
  }
  s.retry = get_retry(r);
  s.attempt_timeout_ms = r.svarint();
  s.retention.succeeded_ms = r.svarint();
  s.retention.succeeded_count = r.varint();
  s.retention.cancelled_ms = r.svarint();
  s.retention.dead_ms = r.svarint();
  s.retention.ledger_ms = r.svarint();
  q.paused = r.boolean();
  q.pause_note = r.str();
  q.paused_by = r.str();
  q.paused_ms = r.svarint();
  q.created_ms = r.svarint();
  q.updated_ms = r.svarint();
  q.version = r.varint();
  if (!r.at_end()) return false;
  *out = std::move(q);
  return true;
}

std::string encode(const QueueCounters& c) {
  Writer w(kCountersFormat);
  w.varint(c.created);
  w.varint(c.removed);
  for (const std::uint64_t n : c.in_state) w.varint(n);
  w.varint(c.next_seq);
  w.varint(c.levels.size());
  for (const auto& [priority, level] : c.levels) {
    w.u8(priority);
    w.varint(level.ready);
    w.varint(level.head);
  }
  for (const std::int64_t t : c.swept_ms) w.svarint(t);
  return w.seal();
}

bool decode(std::string_view bytes, QueueCounters* out) {
  Reader r = Reader::open(bytes, kCountersFormat);
  QueueCounters c;
  c.created = r.varint();
  c.removed = r.varint();
  for (std::uint64_t& n : c.in_state) n = r.varint();
  c.next_seq = r.varint();
  const std::uint64_t levels = r.count();
  for (std::uint64_t i = 0; i < levels && r.ok(); ++i) {
    const std::uint8_t priority = r.u8();
    if (!c.levels.empty() && priority >= c.levels.rbegin()->first) r.fail();  // highest first
    Level level;
    level.ready = r.varint();
    level.head = r.varint();
    c.levels.emplace(priority, level);
  }
  for (std::int64_t& t : c.swept_ms) t = r.svarint();
  if (!r.at_end()) return false;
  *out = std::move(c);
  return true;
}

}  // namespace rota::model
