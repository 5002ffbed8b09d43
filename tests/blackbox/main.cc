// SPDX-License-Identifier: Apache-2.0
//
// rota-blackbox: rounds of real processes under real faults, each judged by its history. Exit code
// 1: something did not hold; the round's folder is kept.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "blackbox/round.h"

namespace rota::blackbox {
namespace {

namespace fs = std::filesystem;

// Rounds take turns with what cannot all be had in one: the scenarios, the clock, the disk.
constexpr std::uint64_t kTurns = 3;
// A run of this length plays each turn, and must strike every kind of fault that the machine can
// give, also where a slow machine has spent the time on the first turn: scenarios wait for what
// they wait for, at most 6 minutes, and a round for kinds that have not struck yet, at most one.
// Such a run takes some 5 to 9 minutes; at worst, with all that must end ending at the last
// moment, 20.
constexpr double kCompleteMinutes = 5;
constexpr std::int64_t kRoundMs = 75'000, kLeastRoundMs = 20'000;

struct Arguments {
  double minutes = 5;
  std::uint64_t seed = 0;
  std::string folder, server = ROTA_SERVER_BINARY, worker = ROTA_BLACKBOX_WORKER_BINARY,
                      clock = ROTA_CLOCK_SHIFT_LIBRARY;
  bool keep = false;
};

// What all rounds had together.
struct Sum {
  Operations operations;
  FaultCounts struck{};
  PointCounts points;
  std::set<Fault> due;  // of the rounds that were played
  std::map<Fault, std::string> unavailable;
  std::int64_t rounds = 0, most_memory_kib = 0;
  Figures figures;
};

void add(const Figures& from, Figures* to) {
  to->jobs += from.jobs;
  to->succeeded += from.succeeded;
  to->dead += from.dead;
  to->cancelled += from.cancelled;
  to->expired += from.expired;
  to->updated += from.updated;
  to->edited_ticks += from.edited_ticks;
  to->deleted += from.deleted;
  to->purged += from.purged;
  to->retired += from.retired;
  to->attempts += from.attempts;
  to->lost += from.lost;
  to->timed_out += from.timed_out;
  to->released += from.released;
  to->shortened += from.shortened;
  to->executions += from.executions;
  to->overlaps += from.overlaps;
  to->open += from.open;
  to->stale_refused += from.stale_refused;
  to->repeats += from.repeats;
  to->fired += from.fired;
  to->not_fired += from.not_fired;
  to->most_live = std::max(to->most_live, from.most_live);
}

void print(const char* name, std::int64_t count) {
  std::printf("  %-46s %10lld\n", name, static_cast<long long>(count));
}

void report(const Sum& sum) {
  std::printf("\noperations answered\n");
  for (const auto& [name, count] : sum.operations) print(name.c_str(), count);
  print("calls never answered", sum.figures.open);
  std::printf("faults struck\n");
  for (std::size_t i = 0; i < kFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    const auto why = sum.unavailable.find(fault);
    if (why == sum.unavailable.end()) {
      const bool played = sum.struck[i] > 0 || sum.due.contains(fault);
      if (!played) {
        std::printf("  %-46s not in these rounds\n", text_of(fault));
        continue;
      }
      print(text_of(fault), sum.struck[i]);
      if (fault != Fault::kServerFailPoint) continue;
      for (const auto& [name, count] : sum.points) print(("  " + name).c_str(), count);
    } else {
      std::printf("  %-46s not available: %s\n", text_of(fault), why->second.c_str());
    }
  }
  std::printf("what became of it\n");
  print("jobs", sum.figures.jobs);
  print("  succeeded", sum.figures.succeeded);
  print("  dead", sum.figures.dead);
  print("  cancelled", sum.figures.cancelled);
  print("  expired at their start deadline", sum.figures.expired);
  print("  deleted afterwards", sum.figures.deleted);
  print("jobs purged", sum.figures.purged);
  print("jobs not kept", sum.figures.retired);
  print("jobs changed while they waited", sum.figures.updated);
  print("attempts", sum.figures.attempts);
  print("  lost", sum.figures.lost);
  print("  given back", sum.figures.released);
  print("leases at once in one queue, at most", sum.figures.most_live);
  print("finishes and beats refused as stale", sum.figures.stale_refused);
  print("finishes and lease calls repeated", sum.figures.repeats);
  print("handlers run", sum.figures.executions);
  print("  that overlapped, explained by a fault", sum.figures.overlaps);
  print("ticks fired", sum.figures.fired);
  print("ticks skipped or missed, each recorded", sum.figures.not_fired);
  print("ticks between edits, each on record", sum.figures.edited_ticks);
  print("jobs whose first attempts are forgotten", sum.figures.shortened);
  print("memory of the server at most, MiB", sum.most_memory_kib / 1024);
}

bool always(Fault fault) {
  return fault <= Fault::kLineRefuse;  // processes and connections
}

class Program {
 public:
  explicit Program(const Arguments& arguments)
      : arguments_(arguments),
        disk_(made(arguments.folder + "/small-disk")),
        far_(arguments.folder + "/network.log"),
        clock_(arguments.clock, arguments.folder + "/clock") {
    const auto no = [&](Fault fault, const std::string& why) {
      if (!why.empty()) sum_.unavailable[fault] = why;
    };
    no(Fault::kFarLinkDown, far_.why());
    no(Fault::kFarMachineGone, far_.why());
    no(Fault::kClockForward, clock_.why());
    no(Fault::kClockBack, clock_.why());
    no(Fault::kDiskLow, disk_.why());
    no(Fault::kDiskFull, disk_.why());
    no(Fault::kStorm, why_no_storm().value_or(""));
  }

  int run() {
    if (far_.stranded()) return std::printf("%s, and no way back\n", far_.why().c_str()), 1;
    const auto run_ms = static_cast<std::int64_t>(arguments_.minutes * 60'000);
    const std::int64_t end_ms = driver::mono_ms() + run_ms;
    const bool complete = arguments_.minutes >= kCompleteMinutes;
    std::printf("black box: seed %llu, %.1f minutes\n",
                static_cast<unsigned long long>(arguments_.seed), arguments_.minutes);
    if (!disk_.mounted()) {
      std::printf("the disk is that of the folder, with limits near what is free: %s\n",
                  disk_.why_no_mount().c_str());
    }
    bool holds = true;
    for (std::uint64_t number = 0; holds; ++number) {
      std::int64_t left_ms = end_ms - driver::mono_ms();
      const bool owed = number == 0 || (complete && number < kTurns);
      if (!owed && left_ms < kLeastRoundMs) break;
      if (complete && owed) left_ms /= static_cast<std::int64_t>(kTurns - number);
      holds = play(number, std::min(kRoundMs, std::max(left_ms, kLeastRoundMs)));
    }
    report(sum_);
    report_what_was_missing();
    if (holds && complete) holds = all_struck();
    std::printf("%lld rounds, %s\n", static_cast<long long>(sum_.rounds),
                holds ? "zero violations" : "VIOLATED");
    return holds ? 0 : 1;
  }

 private:
  // What was made do without, or not done at all, on this machine.
  void report_what_was_missing() const {
    std::printf("what could not be done\n");
    for (const auto& [fault, why] : sum_.unavailable) {
      std::printf("  %s: %s\n", text_of(fault), why.c_str());
    }
    if (!disk_.mounted() && disk_.available()) {
      std::printf(
          "  a disk of the server's own: %s. A server met the disk's faults only with limits\n"
          "    near what was free, after a restart: none was caught by them while it ran with\n"
          "    its usual limits\n",
          disk_.why_no_mount().c_str());
    }
    if (!far_.available()) {
      std::printf("  a far network: all workers were near, and no packet was lost\n");
    }
    if (sum_.unavailable.empty() && disk_.mounted()) std::printf("  nothing was missing\n");
  }

  static std::string made(const std::string& folder) {
    fs::create_directories(folder);
    return folder;
  }

  RoundOptions options_of(std::uint64_t number, std::int64_t fault_ms) {
    RoundOptions options;
    options.seed = arguments_.seed + number;
    options.fault_ms = fault_ms;
    options.stage.server = arguments_.server;
    options.stage.worker = arguments_.worker;
    // What a round of the same seed left, which did not hold, is none of this one's.
    const std::string folder = arguments_.folder + "/round-" + std::to_string(options.seed);
    fs::remove_all(folder);
    options.stage.folder = made(folder);
    if (far_.available()) options.stage.far = &far_;
    const std::uint64_t turn = options.seed % kTurns;
    if (turn == 1 && clock_.available()) options.stage.clock = &clock_;
    if (turn == 2 && disk_.available()) options.stage.disk = &disk_;
    for (std::size_t i = 0; i < kFaults; ++i) {
      const auto fault = static_cast<Fault>(i);
      const bool far = fault == Fault::kFarLinkDown || fault == Fault::kFarMachineGone;
      const bool clock = fault == Fault::kClockForward || fault == Fault::kClockBack;
      const bool disk = fault == Fault::kDiskLow || fault == Fault::kDiskFull;
      const bool scenario = fault == Fault::kStorm || fault == Fault::kDeafConsumer;
      const bool of_turn = (clock && turn == 1) || (disk && turn == 2) || (scenario && turn == 0);
      if (sum_.unavailable.contains(fault)) continue;
      if (of_turn) options.first.push_back(fault);
      if (of_turn || always(fault) || far) options.faults.push_back(fault);
    }
    return options;
  }

  bool play(std::uint64_t number, std::int64_t fault_ms) {
    const RoundOptions options = options_of(number, fault_ms);
    Round round(options);
    const bool holds = round.play();
    ++sum_.rounds;
    std::printf("round %llu, seed %llu: %s\n", static_cast<unsigned long long>(number + 1),
                static_cast<unsigned long long>(options.seed), round.summary().c_str());
    for (const std::string& note : round.notes()) std::printf("  %s\n", note.c_str());
    for (const auto& [name, count] : round.operations()) sum_.operations[name] += count;
    for (std::size_t i = 0; i < kFaults; ++i) sum_.struck[i] += round.struck()[i];
    for (const auto& [point, count] : round.points()) sum_.points[point] += count;
    sum_.due.insert(options.faults.begin(), options.faults.end());
    add(round.figures(), &sum_.figures);
    sum_.most_memory_kib = std::max(sum_.most_memory_kib, round.most_memory_kib());
    if (!holds) show(options, round.contradictions());
    std::error_code ignored;
    if (holds && !arguments_.keep) fs::remove_all(options.stage.folder, ignored);
    if (options.stage.disk != nullptr) fs::remove_all(disk_.path() + "/data", ignored);
    std::fflush(stdout);
    return holds;
  }

  void show(const RoundOptions& options, const Contradictions& contradictions) const {
    std::printf("%llu violations\n", static_cast<unsigned long long>(contradictions.count()));
    for (const std::string& text : contradictions.shown()) std::printf("  %s\n", text.c_str());
    std::error_code ignored;
    if (options.stage.disk != nullptr) {
      fs::copy(disk_.path() + "/data", options.stage.folder + "/data", fs::copy_options::recursive,
               ignored);
    }
    std::printf("kept: %s\nagain: tools/soak blackbox --minutes 1 --seed %llu\n",
                options.stage.folder.c_str(), static_cast<unsigned long long>(options.seed));
  }

  // A fault that never struck was not tested, however green the rest is.
  bool all_struck() const {
    bool all = true;
    for (const Fault fault : sum_.due) {
      if (sum_.struck[static_cast<std::size_t>(fault)] > 0) continue;
      std::printf("never struck: %s\n", text_of(fault));
      all = false;
    }
    return all;
  }

  const Arguments arguments_;
  SmallDisk disk_;
  FarNetwork far_;
  SteppingClock clock_;
  Sum sum_;
};

int run(int argc, char** argv) {
  Arguments arguments;
  arguments.seed =
      std::random_device{}() / kTurns * kTurns;  // begins with the round of the scenarios
  arguments.folder = (fs::temp_directory_path() / "rota-blackbox").string();
  CLI::App app("Runs a server, workers and clients under faults and judges their history.",
               "rota-blackbox");
  app.add_option("--minutes", arguments.minutes, "How long; at least one round is played")
      ->capture_default_str();
  app.add_option("--seed", arguments.seed, "Of the first round; the next has seed + 1");
  app.add_option("--folder", arguments.folder, "Where the rounds' folders go")
      ->capture_default_str();
  app.add_option("--server", arguments.server, "The rota-server to use");
  app.add_option("--worker", arguments.worker, "The blackbox_worker to use");
  app.add_option("--clock", arguments.clock, "The library that shifts a server's clock");
  app.add_flag("--keep", arguments.keep, "Keep the folder of every round");
  CLI11_PARSE(app, argc, argv);
  return Program(arguments).run();
}

}  // namespace
}  // namespace rota::blackbox

int main(int argc, char** argv) { return rota::blackbox::run(argc, argv); }
