// SPDX-License-Identifier: Apache-2.0
#include "model/keys.h"

#include "model/bytes.h"
#include "model/fields.h"

namespace rota::model::keys {
namespace {

std::string tagged_u32(char tag, std::uint32_t v) {
  Writer w;
  w.u8(static_cast<std::uint8_t>(tag));
  w.u32(v);
  return w.take();
}

std::string tagged_u64(char tag, std::uint64_t v) {
  Writer w;
  w.u8(static_cast<std::uint8_t>(tag));
  w.u64(v);
  return w.take();
}

std::string job_bytes(std::uint32_t queue, std::uint8_t priority, std::uint64_t seq) {
  Writer w;
  w.reserve(13);
  put_key(w, JobKey{queue, priority, seq});
  return w.take();
}

Writer names(char tag, std::string_view a, std::string_view b) {
  Writer w;
  if (tag != 0) w.u8(static_cast<std::uint8_t>(tag));
  w.str(a);
  w.str(b);
  return w;
}

}  // namespace

std::string engine_meta() { return "engine"; }

std::string operation(std::uint64_t number) { return tagged_u64('o', number); }
std::string overdue_grant(std::uint64_t number) { return tagged_u64('g', number); }

std::string queue_settings(std::uint32_t queue) { return tagged_u32('q', queue); }
std::string queue_counters(std::uint32_t queue) { return tagged_u32('c', queue); }
bool is_queue_counters(std::string_view key) { return key.size() == 5 && key.front() == 'c'; }

std::string queue_dropped(std::uint32_t queue) { return tagged_u32('d', queue); }

std::string grant(std::uint64_t number) {
  Writer w;
  w.u64(number);
  return w.take();
}

std::string job(const JobKey& key) { return job_bytes(key.queue, key.priority, key.seq); }
std::string ready(const JobKey& key, std::uint8_t priority) {
  return job_bytes(key.queue, priority, key.seq);
}

std::optional<JobKey> parse_job(std::string_view key) {
  Reader r(key);
  const JobKey k = get_key(r);
  if (!r.at_end()) return std::nullopt;
  return k;
}

std::string queue_begin(std::uint32_t queue) { return job_bytes(queue, 255, 0); }
std::string queue_end(std::uint32_t queue) { return job_bytes(queue + 1, 255, 0); }
std::string level_end(std::uint32_t queue, std::uint8_t priority) {
  return priority == 0 ? queue_end(queue)
                       : job_bytes(queue, static_cast<std::uint8_t>(priority - 1), 0);
}

std::string timer(const TimerKey& key) {
  Writer w;
  w.time_key(key.due_ms);
  w.u8(static_cast<std::uint8_t>(key.kind));
  put_key(w, key.job);
  return w.take();
}

std::optional<TimerKey> parse_timer(std::string_view key) {
  Reader r(key);
  TimerKey t;
  t.due_ms = r.time_key();
  t.kind = r.one_of(TimerKind::kPromote, TimerKind::kStartDeadline);
  t.job = get_key(r);
  if (!r.at_end()) return std::nullopt;
  return t;
}

TimerKey timer_limit(std::string_view bytes) {
  constexpr std::size_t kKeyBytes = 22;
  std::string whole(bytes.substr(0, kKeyBytes));
  whole.resize(kKeyBytes, '\0');
  Reader r(whole);
  TimerKey limit;
  limit.due_ms = r.time_key();
  limit.kind = static_cast<TimerKind>(r.u8());
  limit.job = get_key(r);
  if (bytes.size() > kKeyBytes) ++limit.job.seq;
  return limit;
}

std::string timer_begin(std::int64_t due_ms) {
  Writer w;
  w.time_key(due_ms);
  return w.take();
}

std::string blocked_begin(const Blocker& blocker) {
  Writer w;
  w.u8(blocker.kind);
  w.str(blocker.id);
  return w.take();
}

std::string blocked(const Blocker& blocker, const JobKey& key) {
  return blocked_begin(blocker) + job(key);
}
std::string blocked_end(const Blocker& blocker) { return after_prefix(blocked_begin(blocker)); }

std::string final_record(const JobKey& key) { return "j" + job(key); }
std::string final_begin(std::uint32_t queue) { return "j" + queue_begin(queue); }
std::string final_end(std::uint32_t queue) { return "j" + queue_end(queue); }
std::optional<JobKey> parse_final(std::string_view key) {
  if (key.empty() || key.front() != 'j') return std::nullopt;
  return parse_job(key.substr(1));
}

std::string final_index_begin(std::uint32_t queue, JobState group, std::int64_t ended_ms) {
  Writer w;
  w.u8('t');
  w.u32(queue);
  w.u8(static_cast<std::uint8_t>(group));
  w.time_key(ended_ms);
  return w.take();
}

std::string final_index(std::uint32_t queue, JobState group, std::int64_t ended_ms,
                        std::uint64_t seq) {
  Writer w;
  w.raw(final_index_begin(queue, group, ended_ms));
  w.u64(seq);
  return w.take();
}

std::string final_index_end(std::uint32_t queue, JobState group) {
  Writer w;
  w.u8('t');
  w.u32(queue);
  w.u8(static_cast<std::uint8_t>(group));
  return after_prefix(w.take());
}

std::optional<FinalIndexKey> parse_final_index(std::string_view key) {
  Reader r(key);
  FinalIndexKey k;
  if (r.u8() != 't') return std::nullopt;
  k.queue = r.u32();
  k.group = r.one_of(JobState::kSucceeded, JobState::kExpired);
  k.ended_ms = r.time_key();
  k.seq = r.u64();
  if (!r.at_end()) return std::nullopt;
  return k;
}

std::string scheduler(std::string_view ns, std::string_view id) {
  return names('s', ns, id).take();
}
std::string scheduler_state(std::string_view ns, std::string_view id) {
  return names('u', ns, id).take();
}

std::string run_begin(std::string_view ns, std::string_view id, std::int64_t nominal_ms) {
  Writer w = names(0, ns, id);
  w.time_key(nominal_ms);
  return w.take();
}

std::string run(std::string_view ns, std::string_view id, std::int64_t nominal_ms,
                std::uint64_t generation) {
  Writer w = names(0, ns, id);
  w.time_key(nominal_ms);
  w.u64(generation);
  return w.take();
}

std::string run_end(std::string_view ns, std::string_view id) {
  return after_prefix(names(0, ns, id).take());
}

std::string ledger(std::string_view ns, std::string_view scope, std::string_view key) {
  Writer w = names('e', ns, scope);
  w.str(key);
  return w.take();
}

std::string request(std::uint8_t method, std::string_view ns, std::string_view request_id) {
  Writer w;
  w.u8('r');
  w.u8(method);
  w.str(ns);
  w.str(request_id);
  return w.take();
}

std::string expiry_begin(std::int64_t ms) {
  Writer w;
  w.u8('t');
  w.time_key(ms);
  return w.take();
}

std::string expiry(std::int64_t ms, std::uint64_t seq) {
  Writer w;
  w.raw(expiry_begin(ms));
  w.u64(seq);
  return w.take();
}

std::string spent_requests(std::int64_t ms, std::uint64_t seq) {
  Writer w;
  w.u8('s');
  w.time_key(-1 - ms);  // never overflows, and the later the smaller
  w.u64(~seq);
  return w.take();
}
std::string spent_begin() { return "s"; }
std::string spent_end(std::int64_t since_ms) { return after(spent_requests(since_ms, 0)); }

std::string expiry_end() { return after_prefix("t"); }

std::optional<std::int64_t> parse_expiry(std::string_view key) {
  Reader r(key);
  if (r.u8() != 't') return std::nullopt;
  const std::int64_t ms = r.time_key();
  r.u64();
  if (!r.at_end()) return std::nullopt;
  return ms;
}

std::optional<std::int64_t> time_after(std::string_view key, std::string_view prefix) {
  if (key.substr(0, prefix.size()) != prefix) return std::nullopt;
  Reader r(key.substr(prefix.size()));
  const std::int64_t ms = r.time_key();
  if (!r.ok()) return std::nullopt;
  return ms;
}

std::string final_index_prefix(std::uint32_t queue, JobState group) {
  Writer w;
  w.u8('t');
  w.u32(queue);
  w.u8(static_cast<std::uint8_t>(group));
  return w.take();
}

std::string run_prefix(std::string_view ns, std::string_view id) { return names(0, ns, id).take(); }

std::string expiry_prefix() { return "t"; }

std::string after_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<std::uint8_t>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty())
    prefix.back() = static_cast<char>(static_cast<std::uint8_t>(prefix.back()) + 1);
  return prefix;
}

std::string after(std::string key) {
  key.push_back('\0');
  return key;
}

}  // namespace rota::model::keys
