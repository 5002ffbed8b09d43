// SPDX-License-Identifier: Apache-2.0
//
// rota-store-faults: the real store on a disk that fails, every kind of fault at every point, and
// what the next open makes of it. Without --minutes and --at-most a kind is done when all of its
// counted points were tried and, behind them, a run met no fault. Exit code 1: a wrong answer, a
// kind of which no point was tried, or one whose faults were missed too often to say that it was.
// "as torn" are opens without batches that had been synced, whose damage the files cannot tell from
// a write that a crash tore (image.h).
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "faults/campaign.h"

namespace rota::faults {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  double minutes = 0;  // 0: until every point is tried
  int jobs = 1;
  std::uint64_t seed = 0;
  std::uint64_t at_most = 0;  // points of a kind; 0: all
  std::string folder;
  std::string only;
  std::int64_t point = -1;
};

constexpr std::size_t kKindsMax = 128;
// Misses are counted points whose run came to its end before the fault's turn.
constexpr std::uint64_t kMissesJudgedFrom = 10;  // runs of a kind
constexpr std::uint64_t kMissesMaxPercent = 50;

// One line of the table, in memory shared by the processes that fill it.
struct Line {
  std::array<char, 64> kind{};  // written by the first share
  std::atomic<std::uint64_t> points{0}, tried{0}, recovered{0}, as_torn{0}, refused{0}, wrong{0},
      no_fault{0};

  bool missed_too_often() const {
    const std::uint64_t runs = tried + no_fault;
    return runs >= kMissesJudgedFrom && no_fault * 100 > runs * kMissesMaxPercent;
  }
};
struct Table {
  std::array<Line, kKindsMax> lines;
  std::atomic<std::uint64_t> said{0};
};

// A flipped bit comes back in the names that a refusal quotes.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

void note(const Campaign& campaign, std::uint64_t point, const Verdict& verdict,
          const Arguments& arguments, Line* line, Table* table) {
  switch (verdict.kind) {
    case Verdict::Kind::kNoFault:
      ++line->no_fault;
      return;
    case Verdict::Kind::kRecovered:
      ++line->recovered;
      break;
    case Verdict::Kind::kAsTorn:
      ++line->as_torn;
      break;
    case Verdict::Kind::kRefused:
      ++line->refused;
      break;
    case Verdict::Kind::kWrong:
      ++line->wrong;
      if (++table->said <= 20) {
        std::printf(
            "WRONG: %s, point %llu: %s\n  again: rota-store-faults --seed %llu --only \"%s\" "
            "--point %llu\n",
            campaign.kind.c_str(), static_cast<unsigned long long>(point),
            printable(verdict.text).c_str(), static_cast<unsigned long long>(arguments.seed),
            campaign.kind.c_str(), static_cast<unsigned long long>(point));
        std::fflush(stdout);
      }
      break;
  }
  ++line->tried;
}

// The kind of that name, else all whose name holds it.
bool is_wanted(const Campaign& campaign, const Campaigns& campaigns, const Arguments& arguments) {
  if (campaign.kind == arguments.only) return true;
  const bool one = std::any_of(campaigns.all.begin(), campaigns.all.end(),
                               [&](const Campaign& c) { return c.kind == arguments.only; });
  return !one && campaign.kind.find(arguments.only) != std::string::npos;
}

// What is wrong already there counts also in a run of other kinds.
void note_learned(const Campaigns& campaigns, const Arguments& arguments, Table* table) {
  for (std::size_t kind = 0; kind < campaigns.all.size(); ++kind) {
    const Campaign& campaign = campaigns.all[kind];
    for (const auto& [point, verdict] : campaign.learned) {
      if (verdict.kind != Verdict::Kind::kWrong && !is_wanted(campaign, campaigns, arguments)) {
        continue;
      }
      note(campaign, point, verdict, arguments, &table->lines[kind], table);
    }
  }
}

// Kind by kind in turns, so that whatever the time allows is spread over all of them.
void run_share(const Arguments& arguments, int share, Clock::time_point until, Table* table) {
  Bench bench(arguments.folder + "/" + std::to_string(share), arguments.seed);
  const Campaigns campaigns = make_campaigns(bench, arguments.seed);
  if (share == 0) {
    std::fputs(campaigns.text.c_str(), stdout);
    std::fflush(stdout);
  }
  note_learned(campaigns, arguments, table);
  const auto jobs = static_cast<std::uint64_t>(arguments.jobs);
  std::vector<bool> ended(campaigns.all.size(), false);  // a run behind all points met no fault
  bool more = true;
  for (auto i = static_cast<std::uint64_t>(share); more; i += jobs) {
    more = false;
    for (std::size_t kind = 0; kind < campaigns.all.size(); ++kind) {
      const Campaign& campaign = campaigns.all[kind];
      Line& line = table->lines[kind];
      if (share == 0 && line.kind[0] == '\0') {
        std::strncpy(line.kind.data(), campaign.kind.c_str(), line.kind.size() - 1);
      }
      line.points = campaign.points;
      if (!is_wanted(campaign, campaigns, arguments)) continue;
      const bool behind = i >= campaign.points;
      if (behind && (!campaign.open_ended || ended[kind])) continue;
      if (arguments.at_most != 0 && i >= arguments.at_most) continue;
      // One point of each kind is tried in any case.
      if (line.tried != 0 && Clock::now() >= until) continue;
      more = true;
      std::uint64_t point = behind ? i : spread(i, campaign.points, arguments.seed);
      if (arguments.point >= 0) point = static_cast<std::uint64_t>(arguments.point);
      if (campaign.learned.count(point) != 0) continue;
      const Verdict verdict = campaign.run(point);
      if (behind && verdict.kind == Verdict::Kind::kNoFault) {
        ended[kind] = true;
      } else {
        note(campaign, point, verdict, arguments, &line, table);
      }
    }
    if (arguments.point >= 0) return;
  }
}

int print_table(const Arguments& arguments, const Table& table) {
  std::printf("%-42s %8s %8s %10s %8s %8s %6s %7s\n", "kind", "points", "tried", "recovered",
              "as torn", "refused", "wrong", "missed");
  std::uint64_t tried = 0;
  std::uint64_t recovered = 0;
  std::uint64_t as_torn = 0;
  std::uint64_t refused = 0;
  std::uint64_t wrong = 0;
  std::uint64_t missed = 0;
  bool untried = false;
  bool missed_too_often = false;
  for (const Line& line : table.lines) {
    if (line.kind[0] == '\0') continue;
    if (line.tried == 0 && !arguments.only.empty()) continue;
    untried = untried || line.tried == 0;
    missed_too_often = missed_too_often || line.missed_too_often();
    std::printf("%-42s %8llu %8llu %10llu %8llu %8llu %6llu %7llu%s\n", line.kind.data(),
                static_cast<unsigned long long>(line.points.load()),
                static_cast<unsigned long long>(line.tried.load()),
                static_cast<unsigned long long>(line.recovered.load()),
                static_cast<unsigned long long>(line.as_torn.load()),
                static_cast<unsigned long long>(line.refused.load()),
                static_cast<unsigned long long>(line.wrong.load()),
                static_cast<unsigned long long>(line.no_fault.load()),
                line.missed_too_often() ? " too many" : "");
    tried += line.tried;
    recovered += line.recovered;
    as_torn += line.as_torn;
    refused += line.refused;
    wrong += line.wrong;
    missed += line.no_fault;
  }
  std::printf("%-42s %8s %8llu %10llu %8llu %8llu %6llu %7llu\n", "all", "",
              static_cast<unsigned long long>(tried), static_cast<unsigned long long>(recovered),
              static_cast<unsigned long long>(as_torn), static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(missed));
  if (untried) std::printf("of some kinds no point was tried\n");
  if (missed_too_often) {
    std::printf("of some kinds more than half of the faults did not strike\n");
  }
  return wrong == 0 && !untried && !missed_too_often ? 0 : 1;
}

int run(const Arguments& arguments) {
  std::printf("store faults: seed %llu\n", static_cast<unsigned long long>(arguments.seed));
  std::fflush(stdout);
  void* memory =
      ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::perror("mmap"), 1;
  auto* table = new (memory) Table();
  const auto began = Clock::now();
  auto until = Clock::time_point::max();
  if (arguments.minutes > 0) {
    until = began + std::chrono::milliseconds(static_cast<std::int64_t>(arguments.minutes * 60e3));
  }
  std::vector<pid_t> shares;
  for (int share = 0; share < arguments.jobs; ++share) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      run_share(arguments, share, until, table);
      std::fflush(stdout);
      ::_exit(0);
    }
    shares.push_back(pid);
  }
  bool ended_well = true;
  for (const pid_t pid : shares) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    ended_well = ended_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  int code = print_table(arguments, *table);
  const auto took = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began);
  std::printf("%lld s\n", static_cast<long long>(took.count()));
  if (!ended_well) {
    std::printf("a share of the work ended early\n");
    code = 1;
  }
  return code;
}

int main_of(int argc, char** argv) {
  Arguments arguments;
  arguments.seed = std::random_device{}();
  arguments.folder =
      (std::filesystem::temp_directory_path() / ("rota-store-faults-" + std::to_string(::getpid())))
          .string();
  CLI::App app("The store on a disk that fails: every kind of fault, and the open after it.",
               "rota-store-faults");
  app.add_option("--minutes", arguments.minutes, "Stop after this time; 0: at the last point");
  app.add_option("--seed", arguments.seed, "Repeats a run");
  app.add_option("--jobs", arguments.jobs, "Processes at once")->check(CLI::Range(1, 64));
  app.add_option("--at-most", arguments.at_most, "Points of a kind; 0: all");
  app.add_option("--folder", arguments.folder, "Where the stores go; removed at the end");
  app.add_option("--only", arguments.only, "Kinds whose name holds this");
  app.add_option("--point", arguments.point, "One point, with --only");
  CLI11_PARSE(app, argc, argv);
  const int code = run(arguments);
  std::error_code ignored;
  std::filesystem::remove_all(arguments.folder, ignored);
  return code;
}

}  // namespace
}  // namespace rota::faults

int main(int argc, char** argv) { return rota::faults::main_of(argc, argv); }
