// SPDX-License-Identifier: Apache-2.0
//
// Keys of the keyspaces: what a parser takes is what the builder makes of it, keys sort as what
// they say sorts, and no two different names share a key. Input: one byte that says which, then a
// key, or the parts of two.
#include <compare>
#include <optional>
#include <tuple>

#include "fuzz/fuzz.h"
#include "model/blocker.h"
#include "model/keys.h"

namespace {

using namespace rota;
namespace keys = model::keys;
using model::JobKey;

void check_same(std::string_view key, const std::string& built) {
  FUZZ_CHECK(key == built, "read " + fuzz::hex(key) + "\nbut it is made as " + fuzz::hex(built));
}

void check_parsers(std::string_view key) {
  if (const auto job = keys::parse_job(key)) check_same(key, keys::job(*job));
  if (const auto timer = keys::parse_timer(key)) check_same(key, keys::timer(*timer));
  if (const auto job = keys::parse_final(key)) check_same(key, keys::final_record(*job));
  if (const auto index = keys::parse_final_index(key)) {
    FUZZ_CHECK(model::is_final(index->group), "an index of a state that is not final");
    check_same(key, keys::final_index(index->queue, index->group, index->ended_ms, index->seq));
  }
  if (const auto ms = keys::parse_expiry(key)) {
    check_same(key.substr(0, keys::expiry_begin(*ms).size()), keys::expiry_begin(*ms));
  }
  if (const auto ms = keys::time_after(key, keys::expiry_prefix())) {
    check_same(key.substr(0, keys::expiry_begin(*ms).size()), keys::expiry_begin(*ms));
  }
  const model::Blocker blocker{1, std::string(key)};
  if (const auto id = model::blocking_scheduler(blocker)) {
    FUZZ_CHECK(key.ends_with(*id), "another id than the one that stands there");
  }
  const std::string end = keys::after_prefix(std::string(key));
  FUZZ_CHECK(end.empty() || (end > key && !end.starts_with(key)), "not behind its prefix");
  FUZZ_CHECK(keys::after(std::string(key)) > key, "not behind the key");
}

// Where a page of timers ended: no whole key from there on lies below the limit.
void check_timer_limit(std::string_view from, std::string_view other) {
  const auto timer = keys::parse_timer(other);
  if (!timer || timer->job.seq == UINT64_MAX) return;
  const keys::TimerKey limit = keys::timer_limit(from);
  if (limit.job.seq == 0 && from.size() > 22) return;  // behind the last sequence number there is
  FUZZ_CHECK((other < from) == (*timer < limit), "a timer on the wrong side of a page's end");
}

JobKey job_of(fuzz::Input& input) {
  return {.queue = input.u32(), .priority = input.byte(), .seq = input.u64()};
}

// Also the order of job keys: queue, then higher priority, then sequence.
void check_order_of_jobs(fuzz::Input& input) {
  const JobKey a = job_of(input);
  const JobKey b = job_of(input);
  FUZZ_CHECK((keys::job(a) <=> keys::job(b)) == (a <=> b), "job keys do not sort as jobs do");
  FUZZ_CHECK(keys::parse_job(keys::job(a)) == a, "a job key is not read back");
  FUZZ_CHECK(keys::parse_final(keys::final_record(a)) == a, "a final key is not read back");
  if (a.queue != UINT32_MAX) {
    FUZZ_CHECK(
        keys::job(a) >= keys::queue_begin(a.queue) && keys::job(a) < keys::queue_end(a.queue),
        "a job outside its queue's range");
    FUZZ_CHECK(keys::job(a) < keys::level_end(a.queue, a.priority), "a job outside its level");
  }
  const std::int64_t ms_a = input.i64();
  const std::int64_t ms_b = input.i64();
  const keys::TimerKey first{ms_a, keys::TimerKind::kPromote, a};
  const keys::TimerKey second{ms_b, keys::TimerKind::kStartDeadline, b};
  FUZZ_CHECK((keys::timer(first) < keys::timer(second)) == (first < second),
             "timer keys do not sort as timers do");
  FUZZ_CHECK(keys::parse_timer(keys::timer(first)) == first, "a timer key is not read back");
  FUZZ_CHECK((keys::expiry(ms_a, a.seq) <=> keys::expiry(ms_b, b.seq)) ==
                 (std::tuple(ms_a, a.seq) <=> std::tuple(ms_b, b.seq)),
             "expiry keys do not sort as times do");
  FUZZ_CHECK((keys::spent_requests(ms_a, a.seq) <=> keys::spent_requests(ms_b, b.seq)) ==
                 (std::tuple(ms_b, b.seq) <=> std::tuple(ms_a, a.seq)),
             "spent requests do not sort newest first");
}

// Names are parts of keys: only the same names give the same key, and a range of one scheduler
// holds nothing of another.
void check_names(fuzz::Input& input) {
  const std::string_view ns_a = input.text(), id_a = input.text(), key_a = input.text();
  const std::string_view ns_b = input.text(), id_b = input.text(), key_b = input.text();
  const bool same = ns_a == ns_b && id_a == id_b;
  FUZZ_CHECK((keys::scheduler(ns_a, id_a) == keys::scheduler(ns_b, id_b)) == same,
             "two schedulers share a key");
  FUZZ_CHECK((keys::ledger(ns_a, id_a, key_a) == keys::ledger(ns_b, id_b, key_b)) ==
                 (same && key_a == key_b),
             "two business keys share a key");
  FUZZ_CHECK((keys::request(1, ns_a, id_a) == keys::request(1, ns_b, id_b)) == same,
             "two requests share a key");
  FUZZ_CHECK(keys::request(1, ns_a, id_a) != keys::request(2, ns_a, id_a),
             "two methods share a key");
  const std::int64_t ms = input.i64();
  const std::string run = keys::run(ns_b, id_b, ms, input.u64());
  const bool inside =
      run >= keys::run_begin(ns_a, id_a, INT64_MIN) && run < keys::run_end(ns_a, id_a);
  FUZZ_CHECK(inside == same, "a run in another scheduler's range");
  FUZZ_CHECK(keys::time_after(run, keys::run_prefix(ns_b, id_b)) == ms, "a run's time is not read");
  const model::Blocker blocker = model::scheduler_blocker(ns_a, id_a);
  FUZZ_CHECK(model::blocking_scheduler(blocker) == std::string(id_a), "a blocker is not read back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.byte() % 4) {
    case 0:
      check_parsers(input.rest());
      break;
    case 1: {
      const std::string_view from = input.text();
      check_timer_limit(from, input.rest());
      break;
    }
    case 2:
      check_order_of_jobs(input);
      break;
    default:
      check_names(input);
      break;
  }
  return 0;
}
