// SPDX-License-Identifier: Apache-2.0
#include "sim/profile.h"

#include <algorithm>
#include <cstdio>

namespace rota::sim {
namespace {

constexpr std::string_view kFaultNames[kFaults] = {
    "lose-request", "lose-answer",  "duplicate-request", "duplicate-answer",
    "slow-network", "caller-gone",  "undelivered",       "crash",
    "unknown-lost", "unknown-kept", "not-owner",         "slow-commit",
    "failed-read",  "late-read",    "short-pages",       "stall",
    "restart",      "hold-ticks",   "wall-back",         "wall-forward",
    "wall-leap",    "worker-death", "worker-suspend",    "beat-late",
    "beat-never",   "wall-month",   "wall-decade",       "wall-return"};
constexpr std::string_view kPointNames[kCrashPoints] = {"before-submit",    "submitted-lost",
                                                        "submitted-kept",   "committed-unanswered",
                                                        "answered-in-part", "during-load"};
constexpr std::string_view kFeatureNames[kFeatures] = {
    "bulk",        "business-keys", "priorities",    "delayed",    "deadlines",
    "timeouts",    "job-retries",   "big-payloads",  "updates",    "cancels",
    "redrives",    "deletes",       "purges",        "pauses",     "limits",
    "max-waiting", "retention",     "queue-deletes", "schedulers", "explain"};

// Rates: the least and the most likely of a kind, by how often its occasion comes.
struct Range {
  double lo;
  double hi;
};
Range range_of(Fault fault) {
  switch (fault) {
    case Fault::kLoseRequest:
    case Fault::kLoseAnswer:
    case Fault::kDuplicateRequest:
    case Fault::kDuplicateAnswer:
    case Fault::kSlowNetwork:
      return {0.003, 0.3};  // of each message
    case Fault::kCallerGone:
    case Fault::kUndelivered:
      return {0.003, 0.2};  // of each lease call
    case Fault::kUnknownLost:
    case Fault::kUnknownKept:
    case Fault::kNotOwner:
      return {0.0003, 0.01};  // of each commit
    case Fault::kSlowCommit:
    case Fault::kLateRead:
      return {0.003, 0.3};
    case Fault::kFailedRead:
      return {0.0003, 0.01};
    case Fault::kShortPages:
      return {1.0, 1.0};  // it is on or off
    case Fault::kBeatLate:
    case Fault::kBeatNever:
      return {0.003, 0.1};
    case Fault::kWallReturn:
      return {0.02, 0.5};  // of each look while the clock is ahead
    default:
      return {0.002, 0.05};  // of each look of the chaos that comes every 500 ms or so
  }
}

template <std::size_t N>
std::optional<std::size_t> find(const std::string_view (&names)[N], std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return i;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Fault fault) { return kFaultNames[static_cast<std::size_t>(fault)]; }
std::string_view name_of(CrashPoint point) { return kPointNames[static_cast<std::size_t>(point)]; }
std::string_view name_of(Feature f) { return kFeatureNames[static_cast<std::size_t>(f)]; }

std::string arguments_of(const Reduction& reduction) {
  std::string out;
  if (reduction.steps) out += " --steps " + std::to_string(*reduction.steps);
  std::string dropped;
  const auto add = [&](std::string_view name) {
    dropped += (dropped.empty() ? "" : ",") + std::string(name);
  };
  for (std::size_t i = 0; i < kFaults; ++i) {
    if ((reduction.faults >> i & 1U) != 0) add(kFaultNames[i]);
  }
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if ((reduction.features >> i & 1U) != 0) add(kFeatureNames[i]);
  }
  if (!dropped.empty()) out += " --drop " + dropped;
  if (reduction.clients) out += " --clients " + std::to_string(*reduction.clients);
  if (reduction.workers) out += " --workers " + std::to_string(*reduction.workers);
  return out;
}

bool add_dropped(std::string_view list, Reduction* reduction) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (const auto fault = find(kFaultNames, name)) {
      reduction->faults |= 1ULL << *fault;
    } else if (const auto feature = find(kFeatureNames, name)) {
      reduction->features |= 1ULL << *feature;
    } else {
      return false;
    }
  }
  return true;
}

Profile Profile::draw(std::uint64_t seed, const Reduction& reduction) {
  Rng rng = Rng(seed).split("profile");
  Profile p;
  p.seed = seed;
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if (rng.chance(0.6)) p.features |= 1ULL << i;
  }
  const double share = rng.chance(0.1) ? 0.0 : rng.unit();  // some runs meet no fault at all
  // The great leaps have a stream of their own: a seed without them is the run that it was before
  // they came. They are in fewer runs than others, since not much happens after some of them.
  Rng leaps = Rng(seed).split("leaps");
  for (std::size_t i = 0; i < kFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    const bool leap = fault >= Fault::kWallMonth;
    Rng& from = leap ? leaps : rng;
    const Range range = range_of(fault);
    const double rate = from.log_uniform(range.lo, range.hi);
    if (from.chance(leap ? share / 2 : share)) p.rate[i] = rate;
  }
  for (double& chance : p.crash) chance = rng.chance(0.5) ? rng.log_uniform(0.0002, 0.01) : 0.0;
  // A start is a rare occasion.
  double& loading = p.crash[static_cast<std::size_t>(CrashPoint::kDuringLoad)];
  loading = std::min(0.5, loading * 50);
  const auto pick = [&](std::int64_t lo, std::int64_t hi) {
    return static_cast<std::uint32_t>(rng.between(lo, hi));
  };
  p.steps = static_cast<std::uint64_t>(rng.log_uniform(1'500, 20'000));
  p.queues = pick(2, 5);
  p.clients = pick(1, 4);
  p.workers = pick(1, 5);
  p.slots = pick(1, 4);
  p.think_ms = static_cast<std::int64_t>(rng.log_uniform(20, 1'500));
  p.work_ms = static_cast<std::int64_t>(rng.log_uniform(20, 6'000));
  p.ttl_lo_ms = 5'000;
  p.ttl_hi_ms = rng.between(5'000, 15'000);
  p.network_ms = static_cast<std::int64_t>(rng.log_uniform(1, 100));
  p.commit_ms = static_cast<std::int64_t>(rng.log_uniform(1, 60));
  p.read_ms = static_cast<std::int64_t>(rng.log_uniform(1, 60));
  p.window_rows = pick(1, 8);
  p.timer_window_rows = pick(1, 8);
  p.page_rows = pick(1, 8);
  const bool tight = rng.chance(0.5);  // tiny budgets of a turn
  if (tight) {
    p.turn_commands = pick(1, 8);
    p.max_grants = pick(1, 8);
    p.max_timers = pick(1, 8);
    p.max_ticks = pick(1, 8);
    p.max_ticks_per_scheduler = pick(1, 8);
    p.max_expiries = pick(1, 8);
    p.head_advance_rows = pick(1, 20);
  } else {
    p.turn_commands = 64;
  }
  if (rng.chance(0.3)) p.max_scheduler_runs = static_cast<std::uint64_t>(pick(3, 20));
  p.full_check_every = pick(50, 600);
  if (rng.chance(0.3)) p.window_bytes = static_cast<std::uint64_t>(pick(1, 20'000));
  // Timers beyond what a refill looks at.
  if (rng.chance(0.15)) p.far_ms = static_cast<std::int64_t>(rng.log_uniform(10'000, 120'000));

  if (reduction.steps) p.steps = *reduction.steps;
  if (reduction.clients) p.clients = *reduction.clients;
  if (reduction.workers) p.workers = *reduction.workers;
  p.features &= ~reduction.features;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if ((reduction.faults >> i & 1U) != 0) p.rate[i] = 0.0;
  }
  if (p.of(Fault::kCrash) == 0.0) p.crash.fill(0.0);
  return p;
}

std::string Profile::text() const {
  std::string out = "features:";
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if (has(static_cast<Feature>(i))) out += " " + std::string(kFeatureNames[i]);
  }
  out += "\nfaults:";
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (rate[i] == 0.0) continue;
    char text[64];
    std::snprintf(text, sizeof text, " %.*s=%.4f", static_cast<int>(kFaultNames[i].size()),
                  kFaultNames[i].data(), rate[i]);
    out += text;
  }
  out += "\nsizes: queues " + std::to_string(queues) + ", clients " + std::to_string(clients) +
         ", workers " + std::to_string(workers) + " x " + std::to_string(slots) + " slots, think " +
         std::to_string(think_ms) + " ms, work " + std::to_string(work_ms) + " ms, ttl to " +
         std::to_string(ttl_hi_ms) + " ms, delays to " + std::to_string(far_ms) + " ms, window " +
         std::to_string(window_rows) + " jobs or " + std::to_string(window_bytes) +
         " bytes in all, timers " + std::to_string(timer_window_rows) + ", page " +
         std::to_string(page_rows) + ", commands of a turn " + std::to_string(turn_commands) +
         ", grants " + std::to_string(max_grants);
  return out;
}

}  // namespace rota::sim
