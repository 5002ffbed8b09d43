// SPDX-License-Identifier: Apache-2.0
#include "model/fields.h"

#include <bit>

namespace rota::model {

void put_labels(Writer& w, const Labels& labels) {
  w.varint(labels.size());
  for (const auto& [k, v] : labels) {
    w.str(k);
    w.str(v);
  }
}

Labels get_labels(Reader& r) {
  Labels out;
  const std::uint64_t n = r.count();
  for (std::uint64_t i = 0; i < n && r.ok(); ++i) {
    std::string k = r.str();
    if (!out.empty() && k <= out.rbegin()->first) r.fail();  // out of order, or there already
    out.insert_or_assign(std::move(k), r.str());
  }
  return out;
}

void put_times(Writer& w, const std::vector<std::int64_t>& times) {
  w.varint(times.size());
  for (const std::int64_t t : times) w.svarint(t);
}

std::vector<std::int64_t> get_times(Reader& r) {
  std::vector<std::int64_t> out;
  const std::uint64_t n = r.count();
  for (std::uint64_t i = 0; i < n && r.ok(); ++i) out.push_back(r.svarint());
  return out;
}

void put_failure(Writer& w, const Failure& f) {
  w.str(f.type);
  w.str(f.message);
  w.str(f.detail);
}

Failure get_failure(Reader& r) {
  Failure f;
  f.type = r.str();
  f.message = r.str();
  f.detail = r.str();
  return f;
}

void put_double(Writer& w, double v) { w.u64(std::bit_cast<std::uint64_t>(v)); }
double get_double(Reader& r) { return std::bit_cast<double>(r.u64()); }

void put_retry(Writer& w, const RetryPolicy& p) {
  w.varint(p.max_attempts);
  w.svarint(p.first_ms);
  put_double(w, p.factor);
  w.svarint(p.cap_ms);
  put_double(w, p.jitter);
  put_times(w, p.delays_ms);
  w.svarint(p.give_up_after_ms);
}

RetryPolicy get_retry(Reader& r) {
  RetryPolicy p;
  p.max_attempts = r.varint32();
  p.first_ms = r.svarint();
  p.factor = get_double(r);
  p.cap_ms = r.svarint();
  p.jitter = get_double(r);
  p.delays_ms = get_times(r);
  p.give_up_after_ms = r.svarint();
  return p;
}

void put_key(Writer& w, const JobKey& key) {
  w.u32(key.queue);
  w.u8(static_cast<std::uint8_t>(255 - key.priority));
  w.u64(key.seq);
}

JobKey get_key(Reader& r) {
  JobKey k;
  k.queue = r.u32();
  k.priority = static_cast<std::uint8_t>(255 - r.u8());
  k.seq = r.u64();
  return k;
}

void put_optional(Writer& w, const std::optional<std::int64_t>& v) {
  w.boolean(v.has_value());
  if (v) w.svarint(*v);
}

std::optional<std::int64_t> get_optional(Reader& r) {
  if (!r.boolean()) return std::nullopt;
  return r.svarint();
}

}  // namespace rota::model
