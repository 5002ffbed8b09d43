// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <algorithm>
#include <utility>

namespace rota::sim {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
// When faults have ended, everything that can end has ended by then, in virtual time.
constexpr std::int64_t kQuietMs = 3 * 60 * kMinuteMs;
constexpr std::int64_t kMessagesGoneMs = 70'000;
constexpr int kFreeSeconds = 30;
constexpr std::int64_t kAfterQuietMs = 3 * kMinuteMs;
constexpr std::int64_t kDayMs = 24 * 60 * kMinuteMs;
constexpr std::int64_t kDecadeMs = 3'652 * kDayMs;
constexpr int kLeaps = 4;                          // of a run
constexpr std::int64_t kSweptMs = 60 * kMinuteMs;  // what is due for deletion is gone by then
constexpr std::uint64_t kHealSteps = 3'000'000;

}  // namespace

World::World(const Profile& profile, bool print)
    : profile_(profile),
      agenda_(Rng(profile.seed).split("agenda")),
      trace_(print),
      context_{profile_, agenda_, trace_, coverage_, verdict_},
      checker_(context_),
      server_(context_, checker_, Rng(profile.seed).split("server")),
      network_(context_, server_, Rng(profile.seed).split("network")),
      rng_(Rng(profile.seed).split("chaos")) {
  const Rng root(profile.seed);
  for (std::uint32_t i = 0; i < profile_.workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(
        context_, network_, rumours_, root.split("worker", i), i,
        [this](const Worker& self, const core::JobKey& key) {
          return std::any_of(workers_.begin(), workers_.end(), [&](const auto& other) {
            return other.get() != &self && other->holds(key);
          });
        }));
  }
  for (std::uint32_t i = 0; i < profile_.clients; ++i) {
    clients_.push_back(
        std::make_unique<Client>(context_, network_, rumours_, root.split("client", i), i));
  }
  furthest_wall_ms_ = context_.clocks.wall_offset_ms;
}

void World::set_up() {
  for (std::uint32_t i = 0; i < profile_.queues; ++i) {
    rumours_.queues.push_back("q" + std::to_string(i));
  }
  server_.boot();
  for (std::uint32_t i = 0; i < profile_.queues; ++i) {
    clients_[0]->insist(clients_[0]->first_settings(i));
  }
  for (auto& client : clients_) client->start();
  for (auto& worker : workers_) worker->start();
  agenda_.in(rng_.between(100, 1'000), [this] { chaos(); });
}

void World::chaos() {
  if (context_.healed) return;
  if (context_.strikes(Fault::kCrash, rng_)) server_.crash();
  if (context_.strikes(Fault::kStall, rng_)) {
    server_.stop_for(static_cast<std::int64_t>(rng_.log_uniform(100, 120'000)));
  }
  if (context_.strikes(Fault::kRestart, rng_)) server_.restart();
  if (context_.strikes(Fault::kHoldTicks, rng_)) {
    server_.press_disk(true);
    agenda_.in(rng_.between(500, 30'000), [this] { server_.press_disk(false); });
  }
  std::int64_t& offset = context_.clocks.wall_offset_ms;
  if (context_.strikes(Fault::kWallBack, rng_)) {
    offset -= static_cast<std::int64_t>(rng_.log_uniform(5, 5 * kMinuteMs));
    trace_.add("wall", {static_cast<std::uint64_t>(offset)});
  }
  if (forward_steps_ < 6 && context_.strikes(Fault::kWallForward, rng_)) {
    ++forward_steps_;
    offset += static_cast<std::int64_t>(rng_.log_uniform(5, 4 * kMinuteMs));
    trace_.add("wall", {static_cast<std::uint64_t>(offset)});
  }
  if (forward_steps_ < 6 && context_.strikes(Fault::kWallLeap, rng_)) {
    forward_steps_ += 3;
    context_.clocks.leapt = true;
    offset += static_cast<std::int64_t>(rng_.log_uniform(11 * kMinuteMs, 86'400'000));
    trace_.add("wall", {static_cast<std::uint64_t>(offset)});
  }
  // About as often more than the 30 days between two starts that are a jump, as less.
  leap(Fault::kWallMonth, rng_.between(29 * kDayMs, 31 * kDayMs));
  leap(Fault::kWallDecade, kDecadeMs);
  furthest_wall_ms_ = std::max(furthest_wall_ms_, offset);
  if (ahead_ms_ > 0 && context_.strikes(Fault::kWallReturn, rng_)) {
    offset -= std::exchange(ahead_ms_, 0);
    trace_.add("wall", {static_cast<std::uint64_t>(offset)});
  }
  for (auto& worker : workers_) {
    if (context_.strikes(Fault::kWorkerDeath, rng_)) worker->die();
    if (context_.strikes(Fault::kWorkerSuspend, rng_)) {
      worker->suspend(static_cast<std::int64_t>(rng_.log_uniform(500, 60'000)));
    }
  }
  agenda_.in(rng_.between(200, 800), [this] { chaos(); });
}

void World::leap(Fault fault, std::int64_t ms) {
  if (leaps_ >= kLeaps || !context_.strikes(fault, rng_)) return;
  ++leaps_;
  ahead_ms_ += ms;
  context_.clocks.leapt = true;
  context_.clocks.wall_offset_ms += ms;
  trace_.add("wall", {static_cast<std::uint64_t>(context_.clocks.wall_offset_ms)});
}

// False when the run is over: broken, or nothing is left to happen.
bool World::advance(std::uint64_t steps, std::int64_t until_ms) {
  for (std::uint64_t i = 0; i < steps; ++i) {
    if (!verdict_.ok() || agenda_.empty()) return false;
    if (agenda_.next_ms() > until_ms) return true;
    verdict_.at_step(++steps_);
    trace_.at(agenda_.next_ms());
    agenda_.run_next();
  }
  return verdict_.ok();
}

// All faults end. Whoever was in the way is told to step aside; the rest has to happen by itself.
// Told twice: a pause that was sent before may still be under way.
void World::heal() {
  context_.healed = true;
  trace_.add("healed", {});
  server_.press_disk(false);
  context_.clocks.wall_offset_ms = furthest_wall_ms_;
  for (auto& client : clients_) client->rest();
  open_gates();
  agenda_.in(kMessagesGoneMs, [this] {
    open_gates();
    watch_ticks();
  });
}

// Schedulers live on until nothing has kept them from ticking for a while: then they must be up to
// date. Now they are deleted, or jobs would come for ever.
void World::watch_ticks() {
  const bool free = server_.up() && !server_.stopped() && !checker_.ticks_held();
  free_seconds_ = free ? free_seconds_ + 1 : 0;
  if (free_seconds_ < kFreeSeconds) return agenda_.in(1'000, [this] { watch_ticks(); });
  checker_.judge_ticks();
  for (const char* id : {"s0", "s1", "s2"}) clients_[0]->insist(core::DeleteScheduler{id});
  gates_open_ms_ = context_.mono_ms();
}

void World::open_gates() {
  for (const char* id : {"s0", "s1", "s2"}) clients_[0]->insist(core::ResumeScheduler{id});
  for (const std::string& name : rumours_.queues) {
    core::SetQueue open;
    open.queue = name;
    open.patch.concurrency_limit = std::optional<std::uint32_t>();
    clients_[0]->insist(open);
    clients_[0]->insist(core::ResumeQueue{name});
  }
}

bool World::quiet() {
  if (context_.mono_ms() <= gates_open_ms_ || !server_.up() || clients_[0]->insisting() > 0 ||
      !server_.idle())
    return false;
  for (const auto& worker : workers_) {
    if (worker->handlers() > 0) return false;
  }
  return checker_.nothing_live();
}

// What a jump has held back goes when its hour is over. Nobody polls any more, or a run would have
// to count the polls of an hour.
void World::see_holds_end() {
  for (auto& worker : workers_) worker->leave();
  if (checker_.held_until_ms() > context_.mono_ms()) {
    advance(kHealSteps, checker_.held_until_ms() + kMinuteMs);
  }
  const std::int64_t until_ms = context_.mono_ms() + kSweptMs;
  while (verdict_.ok() && context_.mono_ms() < until_ms && !checker_.nothing_overdue()) {
    advance(kHealSteps, context_.mono_ms() + kMinuteMs);
  }
}

RunResult World::run() {
  set_up();
  advance(profile_.steps, INT64_MAX);
  if (verdict_.ok()) {
    heal();
    const std::int64_t until = context_.mono_ms() + kQuietMs;
    bool is_quiet = false;
    while (verdict_.ok() && context_.mono_ms() < until && steps_ < profile_.steps + kHealSteps) {
      advance(kHealSteps, context_.mono_ms() + 1'000);
      if ((is_quiet = verdict_.ok() && quiet())) break;
    }
    if (verdict_.ok() && !is_quiet) {
      verdict_.fail(
          17, "faults have ended and not everything comes to its end: " + checker_.what_is_live());
    }
  }
  if (verdict_.ok()) {
    advance(kHealSteps, context_.mono_ms() + kAfterQuietMs);
    see_holds_end();
    // Its own duties go on: a moment when none is under way.
    for (int i = 0; i < 10'000 && verdict_.ok() && !server_.idle(); ++i) {
      advance(1, INT64_MAX);
    }
    if (verdict_.ok() && !server_.idle()) verdict_.fail(17, "the engine never comes to rest");
    if (verdict_.ok() && server_.store() != nullptr) {
      checker_.judge(*server_.store(), *server_.engine());
    }
  }
  coverage_.holds(checker_.holds_seen());
  return {steps_, trace_.hash(), verdict_.first(), coverage_};
}

RunResult run_once(const Profile& profile, bool print, const Tamper& tamper) {
  World world(profile, print);
  world.tamper(tamper);
  return world.run();
}

}  // namespace rota::sim
