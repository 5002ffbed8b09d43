// SPDX-License-Identifier: Apache-2.0
//
// rota-soak: rounds of a server, clients and workers that are killed at random points, and what
// must hold afterwards. Exit code 1: something did not hold; the round's folder is kept.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>

#include "soak/round.h"

namespace rota::soak {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  int rounds = 1, jobs = 10'000;
  std::uint64_t seed = 0;
  std::string folder, server = ROTA_SERVER_BINARY, worker = ROTA_SOAK_WORKER_BINARY;
  bool keep = false;
};

void report_fault(const Arguments& arguments, int number, const RoundOptions& options,
                  const Round& round) {
  std::printf("round %d, seed %llu: %llu contradictions\n", number,
              static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(round.contradictions().count()));
  for (const std::string& text : round.contradictions().shown()) {
    std::printf("  %s\n", text.c_str());
  }
  std::printf("kept: %s\nagain: tools/soak chaos --rounds 1 --jobs %d --seed %llu\n",
              options.folder.c_str(), arguments.jobs,
              static_cast<unsigned long long>(options.seed));
}

int chaos(const Arguments& arguments) {
  std::printf("soak chaos: seed %llu, %d rounds of %d acknowledged enqueues\n",
              static_cast<unsigned long long>(arguments.seed), arguments.rounds, arguments.jobs);
  const std::int64_t began_ms = driver::mono_ms();
  for (int number = 1; number <= arguments.rounds; ++number) {
    RoundOptions options;
    options.server = arguments.server;
    options.worker = arguments.worker;
    options.jobs = arguments.jobs;
    options.seed = arguments.seed + static_cast<std::uint64_t>(number) - 1;
    options.folder = arguments.folder + "/round-" + std::to_string(options.seed);
    fs::remove_all(options.folder);
    fs::create_directories(options.folder);
    {
      Round round(options);
      const bool holds = round.play();
      std::printf("round %d, seed %llu: %s\n", number,
                  static_cast<unsigned long long>(options.seed), round.summary().c_str());
      std::fflush(stdout);
      if (!holds) return report_fault(arguments, number, options, round), 1;
    }
    if (!arguments.keep) fs::remove_all(options.folder);
  }
  std::printf("%d rounds, no contradiction, %lld s\n", arguments.rounds,
              static_cast<long long>((driver::mono_ms() - began_ms) / 1000));
  return 0;
}

int run(int argc, char** argv) {
  Arguments arguments;
  arguments.seed = std::random_device{}();
  arguments.folder = (fs::temp_directory_path() / "rota-soak").string();
  CLI::App app("Kills servers and workers at random points and checks what must hold.",
               "rota-soak");
  app.require_subcommand(1);
  CLI::App* command = app.add_subcommand("chaos", "Rounds, each on a fresh data directory");
  command->add_option("--rounds", arguments.rounds, "Rounds")->capture_default_str();
  command->add_option("--jobs", arguments.jobs, "Acknowledged enqueues of a round")
      ->capture_default_str();
  command->add_option("--seed", arguments.seed, "Seed of the first round; the next has seed + 1");
  command->add_option("--folder", arguments.folder, "Where the rounds' folders go")
      ->capture_default_str();
  command->add_option("--server", arguments.server, "The rota-server to use");
  command->add_option("--worker", arguments.worker, "The soak worker to use");
  command->add_flag("--keep", arguments.keep, "Keep the folder of every round");
  CLI11_PARSE(app, argc, argv);
  return chaos(arguments);
}

}  // namespace
}  // namespace rota::soak

int main(int argc, char** argv) { return rota::soak::run(argc, argv); }
