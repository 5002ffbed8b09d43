// SPDX-License-Identifier: Apache-2.0
//
// rota-bench: bounded, seeded workloads over real gRPC. Exit code 0: measured, and everything added
// up; 1: it did not, or could not be measured; 2: bad arguments.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/failure.h"
#include "bench/report.h"
#include "bench/workers.h"
#include "bench/workload.h"

namespace rota::bench {
namespace {

namespace fs = std::filesystem;

struct CommonOptions {
  std::string server, server_binary, data = "build/bench", json;
  std::vector<std::string> server_options;
  std::optional<pid_t> server_pid;
  int runs = 5;
  std::uint64_t seed = 1;
  bool keep = false;
};

void define_common(CLI::App& app, CommonOptions& common) {
  app.add_option("--runs", common.runs, "Runs, each on a fresh server and queue")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", common.seed, "Seed of the first run's payloads; the next has seed + 1");
  app.add_option("--json", common.json, "File for all runs and their summary");
  app.add_option("--data", common.data, "Folder, on the disk under test, for the runs' folders");
  app.add_flag("--keep", common.keep, "Keep the folders of the runs");
  app.add_option("--server-binary", common.server_binary,
                 "The rota-server to start; the one beside this program");
  app.add_option("--server-option", common.server_options,
                 "Passed on to it, as --server-option=--window-rows=1024");
  auto* server = app.add_option("--server", common.server,
                                "HOST:PORT of a server that runs already, to be measured instead");
  app.add_option("--server-pid", common.server_pid, "Its process, whose memory and CPU are told")
      ->needs(server);
}

// As they are in force, defaults included.
std::vector<std::pair<std::string, std::string>> options_of(const CLI::App& app) {
  std::vector<std::pair<std::string, std::string>> options;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_single_name();
    if (name == "help" || name == "json" || name == "keep") continue;
    std::string value = option->get_default_str();
    if (option->count() > 0) {
      value.clear();
      for (const std::string& one : option->results()) value += (value.empty() ? "" : " ") + one;
    }
    options.emplace_back(name, value);
  }
  return options;
}

// Thousands of connections need as many files, here and in the server that inherits the limit.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

class Bench {
 public:
  Bench(const CLI::App& app, Workload& workload, CommonOptions common)
      : workload_(workload), common_(std::move(common)) {
    self_ = fs::canonical("/proc/self/exe");
    if (common_.server_binary.empty()) {
      common_.server_binary = fs::path(self_).replace_filename("rota-server");
    }
    report_.workload = workload.name();
    report_.options = options_of(app);
  }

  void run() {
    require(common_.server.empty() || !workload_.ends_server(),
            std::string(workload_.name()) + " needs a server of its own");
    for (int number = 0; number < common_.runs; ++number) {
      report_.runs.push_back(run_once(number));
      const auto& first = report_.runs.back().values().front();
      std::fprintf(stderr, "%s, run %d of %d: %s %s\n", workload_.name(), number + 1, common_.runs,
                   first.first.c_str(), to_text(first.second).c_str());
    }
    std::printf("%s\n%s", workload_.name(), report_.to_table().c_str());
    if (common_.json.empty()) return;
    std::ofstream out(common_.json, std::ios::trunc);
    out << report_.to_json().dump(2) << '\n';
    out.close();
    require(out.good(), "cannot write " + common_.json);
  }

 private:
  Figures run_once(int number) {
    const std::string name = std::string(workload_.name()) + "-" + std::to_string(getpid()) + "-" +
                             std::to_string(number + 1);
    const std::string folder = fs::absolute(fs::path(common_.data) / name);
    fs::create_directories(fs::path(folder).parent_path());
    require(fs::create_directory(folder), folder + " exists already");
    Figures figures = [&] {
      std::optional<ServerUnderTest> server;
      if (common_.server.empty()) {
        std::vector<std::string> arguments = workload_.server_arguments();
        arguments.insert(arguments.end(), common_.server_options.begin(),
                         common_.server_options.end());
        server.emplace(common_.server_binary, folder, arguments);
      } else {
        server.emplace(common_.server, common_.server_pid);
      }
      RunContext context{.server = *server,
                         .self = self_,
                         .folder = folder,
                         .queue = "bench/" + name,
                         .seed = common_.seed + static_cast<std::uint64_t>(number)};
      Figures measured = workload_.run(context);
      if (server->is_own()) server->stop();
      return measured;
    }();
    // What failed is kept, to be looked at.
    if (!common_.keep) fs::remove_all(folder);
    return figures;
  }

  Workload& workload_;
  CommonOptions common_;
  std::string self_;
  Report report_;
};

int run(int argc, char** argv) {
  CLI::App app("Measures a rota-server over gRPC, on this machine, and verifies what it did.",
               "rota-bench");
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default();
  CommonOptions common;
  std::vector<std::pair<CLI::App*, std::unique_ptr<Workload>>> workloads;
  for (auto make : {make_enqueue, make_bulk, make_drain, make_life, make_handoff, make_latency,
                    make_mixed, make_schedulers, make_backlog, make_idle, make_queues}) {
    auto workload = make();
    CLI::App* command = app.add_subcommand(workload->name(), workload->sentence());
    workload->define(*command);
    define_common(*command, common);
    workloads.emplace_back(command, std::move(workload));
  }
  // What it starts itself as.
  WorkerArguments worker;
  CLI::App* worker_command = app.add_subcommand("worker", "A worker process")->group("");
  worker_command->add_option("--board", worker.board)->required();
  worker_command->add_option("--server", worker.server)->required();
  worker_command->add_option("--queues", worker.queues)->required();
  worker_command->add_option("--slot", worker.slot)->required();
  worker_command->add_option("--workers", worker.workers)->required();
  worker_command->add_option("--concurrency", worker.concurrency)->required();
  worker_command->add_flag("--nominal", worker.nominal);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (worker_command->parsed()) return run_worker_process(worker);
  raise_file_limit();
  try {
    for (auto& [command, workload] : workloads) {
      if (command->parsed()) Bench(*command, *workload, common).run();
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rota-bench: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace rota::bench

int main(int argc, char** argv) { return rota::bench::run(argc, argv); }
