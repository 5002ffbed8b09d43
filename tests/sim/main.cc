// SPDX-License-Identifier: Apache-2.0
//
// rota-sim: runs seeds of the simulator.
//
//   rota-sim --seed N [--trace] [--steps N] [--drop LIST] [--clients N] [--workers N]
//   rota-sim --seeds N | --minutes M [--first N] [--jobs J] [--until-broken]
//
// --until-broken ends with the first seed that breaks something, and does not shrink it.
//
// Exit code 0: nothing was broken; 1: an invariant was, a run did not repeat bit for bit, or a run
// of 5 minutes or more reached some place never, or made so few steps that this says nothing; 2:
// bad arguments.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sim/shrink.h"
#include "sim/world.h"

namespace {

using namespace rota::sim;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kTwiceEvery = 50;  // 2 % of the seeds are run twice
constexpr double kShrinkSeconds = 60;
constexpr double kFullCoverageMinutes = 5;
// What one core does in one minute when nothing else runs, sanitizers apart. A run with less shows
// nothing by what it never reached, however long the machine took for it.
constexpr std::uint64_t kFullCoverageSteps = 10'000'000;

struct Arguments {
  std::optional<std::uint64_t> seed;
  std::uint64_t seeds = 0;
  double minutes = 0;
  std::uint64_t first = 1;
  std::uint64_t jobs = 1;
  bool trace = false;
  bool until_broken = false;
  Reduction reduction;
};

struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::uint64_t twice = 0;
  std::uint64_t broken = 0;
  Coverage coverage;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool parse(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--trace") {
      out->trace = true;
      continue;
    }
    if (name == "--until-broken") {
      out->until_broken = true;
      continue;
    }
    if (i + 1 >= argc) return false;
    const char* value = argv[++i];
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(value, &end, 10);
    const bool whole = end != value && *end == '\0';
    if (name == "--drop") {
      if (!add_dropped(value, &out->reduction)) return false;
    } else if (name == "--minutes") {
      out->minutes = std::strtod(value, &end);
      if (end == value || *end != '\0') return false;
    } else if (!whole) {
      return false;
    } else if (name == "--seed") {
      out->seed = number;
    } else if (name == "--seeds") {
      out->seeds = number;
    } else if (name == "--first") {
      out->first = number;
    } else if (name == "--jobs") {
      out->jobs = std::max<std::uint64_t>(1, number);
    } else if (name == "--steps") {
      out->reduction.steps = number;
    } else if (name == "--clients") {
      out->reduction.clients = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, number));
    } else if (name == "--workers") {
      out->reduction.workers = static_cast<std::uint32_t>(number);
    } else {
      return false;
    }
  }
  return out->seed || out->seeds > 0 || out->minutes > 0;
}

// The engine ends the process rather than write what cannot be: the seed must not go with it.
std::string last_words;

void say_last_words(int signal) {
  if (write(STDOUT_FILENO, last_words.data(), last_words.size()) < 0) _exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void report(std::uint64_t seed, const Reduction& reduction, const Violation& violation,
            bool may_shrink) {
  std::printf("\nVIOLATION of I%d by seed %llu at step %llu: %s\n", violation.invariant,
              static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(violation.step), violation.text.c_str());
  std::printf("%s\n", Profile::draw(seed, reduction).text().c_str());
  std::printf("replay: rota-sim --seed %llu --trace%s\n", static_cast<unsigned long long>(seed),
              arguments_of(reduction).c_str());
  std::fflush(stdout);
  if (!may_shrink) return;
  const auto begin = Clock::now();
  const Shrunk small = shrink(
      seed, reduction, violation, [](const Profile& p) { return run_once(p, false); },
      [&] { return seconds_since(begin) < kShrinkSeconds; });
  std::printf("shrunk in %d runs to I%d at step %llu: %s\n", small.runs, small.violation.invariant,
              static_cast<unsigned long long>(small.violation.step), small.violation.text.c_str());
  std::printf("replay: rota-sim --seed %llu --trace%s\n\n", static_cast<unsigned long long>(seed),
              arguments_of(small.reduction).c_str());
  std::fflush(stdout);
}

void run_seed(std::uint64_t seed, const Arguments& arguments, Totals* totals) {
  const Profile profile = Profile::draw(seed, arguments.reduction);
  const std::string number = std::to_string(seed);
  last_words = "\nthe engine ended the process in seed " + number + "\nreplay: rota-sim --seed " +
               number + " --trace" + arguments_of(arguments.reduction) + "\n";
  const RunResult result = run_once(profile, arguments.trace);
  ++totals->seeds;
  totals->steps += result.steps;
  totals->coverage.add(result.coverage);
  if (result.violation) {
    ++totals->broken;
    // The first few in full; a fault that breaks many seeds is the same one.
    report(seed, arguments.reduction, *result.violation,
           totals->broken <= 3 && !arguments.until_broken);
  }
  if (seed % kTwiceEvery != 0 && !arguments.seed) return;
  if (arguments.seed) {
    std::printf("trace %016llx of seed %llu, %llu steps\n",
                static_cast<unsigned long long>(result.trace_hash),
                static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(result.steps));
  }
  if (arguments.trace) return;
  ++totals->twice;
  const RunResult again = run_once(profile, false);
  if (again.trace_hash != result.trace_hash || again.steps != result.steps) {
    ++totals->broken;
    std::printf("seed %llu does not repeat: trace %016llx, then %016llx\n",
                static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(result.trace_hash),
                static_cast<unsigned long long>(again.trace_hash));
  }
}

Totals run_range(const Arguments& arguments, std::uint64_t offset) {
  Totals totals;
  const auto begin = Clock::now();
  for (std::uint64_t i = offset;; i += arguments.jobs) {
    if (arguments.seeds > 0 && i >= arguments.seeds) break;
    if (arguments.minutes > 0 && seconds_since(begin) >= arguments.minutes * 60) break;
    run_seed(arguments.first + i, arguments, &totals);
    if (arguments.until_broken && totals.broken > 0) break;
  }
  return totals;
}

// One process for each job, with seeds of its own; what they counted comes back through pipes.
bool run_jobs(const Arguments& arguments, Totals* totals) {
  std::vector<std::pair<pid_t, FILE*>> children;
  for (std::uint64_t job = 0; job < arguments.jobs; ++job) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    const pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
      close(ends[0]);
      const Totals own = run_range(arguments, job);
      const std::string line = std::to_string(own.seeds) + " " + std::to_string(own.steps) + " " +
                               std::to_string(own.twice) + " " + std::to_string(own.broken) + "\n" +
                               own.coverage.numbers() + "\n";
      std::size_t sent = 0;
      while (sent < line.size()) {
        const ssize_t n = write(ends[1], line.data() + sent, line.size() - sent);
        if (n <= 0) break;
        sent += static_cast<std::size_t>(n);
      }
      std::fflush(stdout);
      _exit(sent == line.size() ? 0 : 1);
    }
    close(ends[1]);
    children.emplace_back(child, fdopen(ends[0], "r"));
  }
  bool good = true;
  for (const auto& [child, pipe] : children) {
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    std::fclose(pipe);
    int status = 0;
    waitpid(child, &status, 0);
    unsigned long long seeds = 0, steps = 0, twice = 0, broken = 0;
    const auto line = text.find('\n');
    if (status != 0 || line == std::string::npos ||
        std::sscanf(text.c_str(), "%llu %llu %llu %llu", &seeds, &steps, &twice, &broken) != 4 ||
        !totals->coverage.add_numbers(text.substr(line + 1))) {
      std::printf("a job died with status %d\n", status);
      good = false;
      continue;
    }
    totals->seeds += seeds;
    totals->steps += steps;
    totals->twice += twice;
    totals->broken += broken;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "usage: rota-sim --seed N [--trace] [--steps N] [--drop LIST] [--clients N] "
                 "[--workers N]\n"
                 "       rota-sim --seeds N | --minutes M [--first N] [--jobs J] "
                 "[--until-broken]\n");
    return 2;
  }
  std::signal(SIGABRT, say_last_words);
  const auto begin = Clock::now();
  Totals totals;
  bool good = true;
  if (arguments.seed) {
    run_seed(*arguments.seed, arguments, &totals);
    if (!arguments.trace) {
      std::printf("%s\n", Profile::draw(*arguments.seed, arguments.reduction).text().c_str());
    }
  } else if (arguments.jobs == 1) {
    totals = run_range(arguments, 0);
  } else {
    good = run_jobs(arguments, &totals);
  }
  const double seconds = seconds_since(begin);
  if (!arguments.seed) std::printf("%s", totals.coverage.table().c_str());
  std::printf(
      "%llu seeds from %llu, %llu of them twice, %llu steps, %.0f steps/s, %llu broken\n",
      static_cast<unsigned long long>(totals.seeds),
      static_cast<unsigned long long>(arguments.seed.value_or(arguments.first)),
      static_cast<unsigned long long>(totals.twice), static_cast<unsigned long long>(totals.steps),
      static_cast<double>(totals.steps) / seconds, static_cast<unsigned long long>(totals.broken));
  good = good && totals.broken == 0;
  if (arguments.minutes >= kFullCoverageMinutes && totals.steps < kFullCoverageSteps) {
    std::printf(
        "too few steps to say what is never reached: this takes %llu; give it more --minutes, or "
        "more of the machine\n",
        static_cast<unsigned long long>(kFullCoverageSteps));
    good = false;
  } else if (arguments.minutes >= kFullCoverageMinutes) {
    for (const std::string& what : totals.coverage.zeros()) {
      std::printf("never reached: %s\n", what.c_str());
      good = false;
    }
  }
  return good ? 0 : 1;
}
