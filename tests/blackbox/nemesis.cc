// SPDX-License-Identifier: Apache-2.0
#include "blackbox/nemesis.h"

#include <algorithm>
#include <utility>

namespace rota::blackbox {
namespace {

constexpr std::size_t kAtOnce = 2;
constexpr std::int64_t kQuietMs = 400, kQuietSpreadMs = 1'800;
constexpr std::int64_t kScenarioMs = 300'000;
// There must be something to list, and others to be disturbed.
constexpr std::int64_t kBeforeScenarioMs = 8'000;
constexpr int kFailPointMs = 6'000;
constexpr std::int64_t kByteMs = 3'000;  // for byte N to come
constexpr std::int64_t kAskMs = 100, kAnswerMs = 300;
constexpr std::int64_t kForwardSeenMs = 10'000;
constexpr std::int64_t kSharedDiskMs = 10'000;  // for a server to stop below a limit
constexpr std::int64_t kFullDiskMs = 120'000;   // until the server has seen it, drained and ended
// Request ids are kept for an hour of the server's time: in all, the clock goes no further forward.
constexpr std::int64_t kForwardMs = 9 * 60'000, kForwardInAllMs = 45 * 60'000;

// `most`: how often at least the place is reached in kFailPointMs, also on a slow machine.
struct FailPoint {
  const char* name;
  int most;
};
constexpr FailPoint kFailPoints[] = {
    {"before_commit", 60},       {"after_commit", 60},          {"before_enqueue_reply", 30},
    {"before_lease_reply", 20},  {"before_finish_reply", 30},   {"before_job_reply", 6},
    {"before_queue_reply", 2},   {"before_scheduler_reply", 3}, {"before_operation_reply", 1},
    {"store_before_commit", 60}, {"store_after_commit", 60}};

// Whether a fault of a line has met anything.
bool was_felt(Fault fault, const CuttingProxy::Figures& before, const CuttingProxy::Figures& now) {
  switch (fault) {
    case Fault::kLineCut:
    case Fault::kLineCutAtByte:
      return now.reset > before.reset;
    case Fault::kLineDelay:
      return now.delayed > before.delayed;
    case Fault::kLineOneWay:
      return now.held > before.held;
    case Fault::kLineHalfOpen:
      return now.abandoned > before.abandoned;
    default:
      return now.refused > before.refused;
  }
}

}  // namespace

const char* text_of(Fault fault) {
  static constexpr const char* kTexts[] = {
#define ROTA_FAULT(name, text, target) text,
#include "blackbox/faults.inc"
  };
  return kTexts[static_cast<std::size_t>(fault)];
}

Nemesis::Target Nemesis::target_of(Fault fault) {
  static constexpr Target kTargets[] = {
#define ROTA_FAULT(name, text, target) Target::target,
#include "blackbox/faults.inc"
  };
  return kTargets[static_cast<std::size_t>(fault)];
}

Nemesis::Nemesis(Stage& stage, Shared& shared, std::vector<Fault> kinds, std::vector<Fault> first,
                 std::uint64_t seed, Contradictions* contradictions)
    : stage_(stage),
      shared_(shared),
      kinds_(std::move(kinds)),
      first_(std::move(first)),
      random_(seed),
      contradictions_(contradictions),
      next_(in_ms(1'000)),
      next_scenario_(in_ms(kBeforeScenarioMs)) {
  for (const Fault one : {Fault::kStorm, Fault::kDeafConsumer}) {
    if (std::erase(kinds_, one) > 0) scenarios_.push_back(one);
  }
  std::erase(kinds_, Fault::kWorkerPoison);  // comes with the jobs
}

Nemesis::~Nemesis() = default;

std::int64_t Nemesis::between(std::int64_t least, std::int64_t most) {
  return least +
         static_cast<std::int64_t>(below(random_, static_cast<std::uint64_t>(most - least + 1)));
}

void Nemesis::step() {
  stage_.notice_deaths();
  struck_[static_cast<std::size_t>(Fault::kWorkerPoison)] += stage_.poisoned() - poisoned_;
  poisoned_ = stage_.poisoned();
  for (std::size_t i = 0; i < active_.size();) {
    if (mono_ns() < active_[i].until && !(active_[i].over && active_[i].over())) {
      ++i;
      continue;
    }
    Active ended = std::move(active_[i]);
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    heal(ended);
  }
  // A server that ended as it was to is started again by the fault that made it end.
  if (!finished_ && mono_ns() >= next_ && active_.size() < kAtOnce) strike_next();
}

bool Nemesis::is_in_the_midst() const {
  return scenario_ != nullptr || !scenarios_.empty() ||
         std::any_of(active_.begin(), active_.end(),
                     [](const Active& one) { return one.fault == Fault::kDiskFull; });
}

bool Nemesis::owes() const {
  return std::any_of(kinds_.begin(), kinds_.end(), [this](Fault kind) { return is_owed(kind); });
}

void Nemesis::only_what_is_owed() {
  if (only_owed_) return;
  only_owed_ = true;
  deck_.clear();
}

void Nemesis::finish() {
  finished_ = true;
  for (Active& one : active_) heal(one);
  active_.clear();
}

void Nemesis::heal(Active& active) {
  if (active.heal) active.heal();
}

bool Nemesis::free(Target target) const {
  return std::none_of(active_.begin(), active_.end(), [&](const Active& one) {
    // What fills the disk may end the server.
    const bool of_server = target == Target::kServer || target == Target::kDisk;
    return one.target == target ||
           (of_server && (one.target == Target::kServer || one.target == Target::kDisk));
  });
}

// All kinds, shuffled, so that none is left out for long; what is owed comes before the rest.
void Nemesis::deal() {
  deck_.assign(kinds_.begin(), kinds_.end());
  for (std::size_t i = deck_.size(); i > 1; --i) {
    std::swap(deck_[i - 1], deck_[static_cast<std::size_t>(below(random_, i))]);
  }
  const auto rank = [this](Fault fault) {
    if (!is_owed(fault)) return 2;
    return std::find(first_.begin(), first_.end(), fault) != first_.end() ? 0 : 1;
  };
  std::stable_sort(deck_.begin(), deck_.end(), [&](Fault a, Fault b) { return rank(a) < rank(b); });
  if (only_owed_) std::erase_if(deck_, [this](Fault fault) { return !is_owed(fault); });
}

std::optional<Fault> Nemesis::draw() {
  if (!scenarios_.empty() && mono_ns() >= next_scenario_ && free(Target::kServer)) {
    const Fault fault = scenarios_.front();
    scenarios_.pop_front();
    next_scenario_ = in_ms(kBeforeScenarioMs);
    return fault;
  }
  if (deck_.empty()) deal();
  const auto fits =
      std::find_if(deck_.begin(), deck_.end(), [&](Fault fault) { return free(target_of(fault)); });
  if (fits == deck_.end()) return std::nullopt;
  const Fault fault = *fits;
  deck_.erase(fits);
  return fault;
}

void Nemesis::strike_next() {
  next_ = in_ms(kQuietMs + between(0, kQuietSpreadMs));
  const auto fault = draw();
  if (!fault) return;
  Active active = strike(*fault);
  active.fault = *fault;
  active.target = target_of(*fault);
  if (active.heal) active_.push_back(std::move(active));
}

Nemesis::Active Nemesis::strike(Fault fault) {
  if (fault == Fault::kStorm || fault == Fault::kDeafConsumer) return begin_scenario(fault);
  switch (target_of(fault)) {
    case Target::kServer:
      return strike_server(fault);
    case Target::kWorker:
      return strike_worker(fault);
    case Target::kLine:
      return strike_line(fault);
    case Target::kFar:
      return strike_far(fault);
    case Target::kClock:
      return strike_clock(fault);
    case Target::kDisk:
      return strike_disk(fault);
    case Target::kNothing:
      break;
  }
  return {};
}

Nemesis::Active Nemesis::strike_server(Fault fault) {
  if (!stage_.server_runs()) return {};
  if (fault == Fault::kServerFailPoint) return strike_fail_point();
  count(fault);
  if (fault == Fault::kServerStop) {
    stage_.stop_server(true);
    return {.until = in_ms(between(200, chance(random_, 25) ? 8'000 : 2'000)),
            .heal = [this] { stage_.stop_server(false); }};
  }
  if (fault == Fault::kServerDrain) {
    stage_.drain_server();
  } else {
    stage_.kill_server();
  }
  return {.until = in_ms(between(0, 1'500)), .heal = [this] { stage_.start_server(); }};
}

Nemesis::Active Nemesis::strike_fail_point() {
  const FailPoint& point =
      kFailPoints[static_cast<std::size_t>(below(random_, std::size(kFailPoints)))];
  const std::int64_t ended_before = stage_.expected_exits();
  stage_.kill_server();
  stage_.start_server(std::string(point.name) + ":" + std::to_string(between(1, point.most)));
  return {.until = in_ms(kFailPointMs),
          .over = [this] { return !stage_.server_runs(); },
          .heal =
              [this, &point, ended_before] {
                stage_.kill_server();  // where the point was not reached
                if (stage_.expected_exits() > ended_before) {
                  count(Fault::kServerFailPoint);
                  ++points_[point.name];
                }
                stage_.start_server();
              }};
}

Nemesis::Active Nemesis::strike_worker(Fault fault) {
  const auto place = static_cast<std::size_t>(below(random_, Stage::kWorkers));
  if (!stage_.worker_runs(place)) return {};
  count(fault);
  if (fault == Fault::kWorkerStop) {
    stage_.suspend_worker(place, true);
    return {.until = in_ms(between(200, 9'000)),
            .heal = [this, place] { stage_.suspend_worker(place, false); }};
  }
  if (fault == Fault::kWorkerDrain) {
    stage_.drain_worker(place);
  } else {
    stage_.kill_worker(place);
  }
  return {.until = in_ms(between(0, 2'000)), .heal = [this, place] { stage_.start_worker(place); }};
}

Nemesis::Active Nemesis::strike_line(Fault fault) {
  CuttingProxy& line = stage_.proxy(static_cast<Line>(below(random_, kLines)));
  const auto direction = chance(random_, 50) ? Direction::kToServer : Direction::kToClient;
  const CuttingProxy::Figures before = line.figures();
  const auto felt = [&line, fault, before] { return was_felt(fault, before, line.figures()); };
  const auto count_if_felt = [this, fault, felt] {
    if (felt()) count(fault);
  };
  switch (fault) {
    case Fault::kLineCut:
      line.cut();
      count_if_felt();
      return {};
    case Fault::kLineCutAtByte:
      line.cut_after(direction, below(random_, chance(random_, 50) ? 64 : 4'000));
      return {.until = in_ms(kByteMs), .over = felt, .heal = count_if_felt};
    case Fault::kLineDelay:
      line.delay(direction, static_cast<int>(between(5, chance(random_, 30) ? 1'500 : 150)));
      return {.until = in_ms(between(500, 6'000)), .heal = [&line, direction, count_if_felt] {
                line.delay(direction, 0);
                count_if_felt();
              }};
    case Fault::kLineOneWay:
      line.hold(direction, true);
      return {.until = in_ms(between(200, 8'000)), .heal = [&line, direction, count_if_felt] {
                count_if_felt();
                line.hold(direction, false);
              }};
    case Fault::kLineHalfOpen: {
      // Now and then for so long that keepalive must end them, but not while others wait.
      const bool for_long = chance(random_, 30) && !owes();
      line.abandon();
      count_if_felt();
      return {.until = in_ms(for_long ? 45'000 : between(1'000, 12'000)),
              .heal = [&line] { line.cut(); }};
    }
    default:
      line.refuse(true);
      line.cut();
      return {.until = in_ms(between(200, 4'000)), .heal = [&line, count_if_felt] {
                line.refuse(false);
                count_if_felt();
              }};
  }
}

Nemesis::Active Nemesis::strike_far(Fault fault) {
  FarNetwork* far = stage_.options().far;
  if (fault == Fault::kFarMachineGone && !stage_.worker_runs(Stage::kFarWorker)) return {};
  count(fault);
  if (!far->set_link(false)) contradictions_->add("the link of the far network cannot be cut");
  const auto up = [this, far] {
    if (!far->set_link(true)) contradictions_->add("the link of the far network stays down");
    stage_.start_worker(Stage::kFarWorker);
  };
  // Its end reaches nobody: no packet tells of it.
  if (fault == Fault::kFarMachineGone) stage_.kill_worker(Stage::kFarWorker);
  return {.until = in_ms(between(500, 12'000)), .heal = up};
}

std::optional<v1::ServerInfo> Nemesis::ask_server() {
  if (!stage_.server_runs()) return std::nullopt;
  if (watch_ == nullptr) {
    watch_ = std::make_unique<internal::RawClient>(
        *internal::RawClient::create({.address = stage_.server_address()}));
  }
  auto answer = watch_->get_server_info({}, {.timeout = Millis(kAnswerMs), .repeat = false});
  if (!answer) return std::nullopt;
  return std::move(*answer->mutable_server());
}

std::function<bool()> Nemesis::watch_for(Fault fault,
                                         std::function<bool(const v1::ServerInfo&)> shows,
                                         bool is_over_then) {
  auto seen = std::make_shared<bool>(false);
  return [this, fault, shows = std::move(shows), is_over_then, seen] {
    if (!*seen && mono_ns() - asked_ >= kAskMs * 1'000'000) {
      const auto info = ask_server();
      asked_ = mono_ns();
      *seen = info && shows(*info);
      if (*seen) count(fault);
    }
    return *seen && is_over_then;
  };
}

Nemesis::Active Nemesis::strike_clock(Fault fault) {
  SteppingClock* clock = stage_.options().clock;
  const std::int64_t before = clock->ms(), left = kForwardInAllMs - before;
  const std::int64_t step = between(1'000, chance(random_, 40) ? kForwardMs : 30'000);
  if (fault == Fault::kClockForward) {
    if (step > left) return {};
    clock->set_ms(before + step);
    // Without the step the server's time would be behind this by half of it.
    const auto shows = [=](const v1::ServerInfo& info) {
      return ms_of(info.server_time()) >= driver::wall_ms() + before + step / 2;
    };
    return {.until = in_ms(kForwardSeenMs), .over = watch_for(fault, shows, true), .heal = [] {}};
  }
  clock->set_ms(before - step);
  const auto shows = [](const v1::ServerInfo& info) {
    return info.clock_state() == v1::ServerInfo::CLOCK_STATE_BEHIND;
  };
  // Time stands still in the server until the clock has caught up, so it must.
  return {.until = in_ms(between(1'000, 6'000)),
          .over = watch_for(fault, shows, false),
          .heal = [clock, before] { clock->set_ms(before); }};
}

Nemesis::Active Nemesis::strike_disk(Fault fault) {
  SmallDisk* disk = stage_.options().disk;
  if (!stage_.server_runs()) return {};
  const bool full = fault == Fault::kDiskFull;
  const auto limit = full ? SmallDisk::Limit::kNone : SmallDisk::Limit::kLow;
  const bool anew = disk->bring_near(limit);
  if (anew) {
    stage_.kill_server();
    stage_.start_server();
  }
  const std::int64_t ended_before = stage_.expected_exits();
  if (full) stage_.expect_exit(73);
  if (!disk->fill(limit)) {
    if (disk->mounted()) contradictions_->add("the small disk cannot be filled");
    notes_.push_back(std::string(text_of(fault)) + ": not reached, " + disk->why_not_filled());
  }
  if (!full) {
    const auto shows = [](const v1::ServerInfo& info) {
      return info.pressure() >= v1::ServerInfo::PRESSURE_REFUSE_NEW;
    };
    return {.until = in_ms(between(1'500, 6'000)),
            .over = watch_for(fault, shows, false),
            .heal = [this, disk, anew] {
              disk->clear();
              if (anew) stage_.kill_server();  // its limit is near
              stage_.start_server();
            }};
  }
  // Where others use the disk too, they may give space back; a server that stops does so for a
  // moment.
  const auto over = [this, disk, late = in_ms(kSharedDiskMs)] {
    return !stage_.server_runs() ||
           (!disk->mounted() && mono_ns() > late && !disk->is_below(SmallDisk::Limit::kNone));
  };
  return {.until = in_ms(kFullDiskMs), .over = over, .heal = [this, disk, ended_before] {
            if (stage_.waits_for_exit() && disk->is_below(SmallDisk::Limit::kNone)) {
              contradictions_->add("the server goes on below the hard limit of free space");
            }
            stage_.kill_server();
            if (stage_.expected_exits() > ended_before) count(Fault::kDiskFull);
            disk->clear();
            stage_.start_server();
          }};
}

Nemesis::Active Nemesis::begin_scenario(Fault fault) {
  count(fault);
  scenario_ = fault == Fault::kStorm ? make_storm(stage_, shared_, contradictions_)
                                     : make_deaf_consumer(stage_, shared_, contradictions_);
  return {.until = in_ms(kScenarioMs),
          .over = [this] { return scenario_->step(); },
          .heal =
              [this] {
                notes_.push_back(scenario_->note());
                scenario_.reset();
              }};
}

}  // namespace rota::blackbox
