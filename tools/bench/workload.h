// SPDX-License-Identifier: Apache-2.0
//
// What a subcommand of rota-bench is: options, and one run of it on a server. Each run verifies its
// own work and throws Failed when it does not add up.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/report.h"
#include "bench/server_under_test.h"

namespace rota::bench {

struct RunContext {
  ServerUnderTest& server;
  std::string self;    // this program, for processes of workers
  std::string folder;  // of this run, for what it must write
  std::string queue;   // a name that no other run uses; others begin with it
  std::uint64_t seed = 0;

  internal::RawClient& raw() { return server.raw(); }
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual const char* name() const = 0;
  virtual const char* sentence() const = 0;  // for --help
  virtual void define(CLI::App& app) = 0;
  virtual Figures run(RunContext& context) = 0;
  // Whether a run stops or kills its server, which must then be its own.
  virtual bool ends_server() const { return false; }
  // What its server is given besides.
  virtual std::vector<std::string> server_arguments() const { return {}; }
};

std::unique_ptr<Workload> make_enqueue();
std::unique_ptr<Workload> make_bulk();
std::unique_ptr<Workload> make_drain();
std::unique_ptr<Workload> make_life();
std::unique_ptr<Workload> make_handoff();
std::unique_ptr<Workload> make_latency();
std::unique_ptr<Workload> make_mixed();
std::unique_ptr<Workload> make_schedulers();
std::unique_ptr<Workload> make_backlog();
std::unique_ptr<Workload> make_idle();
std::unique_ptr<Workload> make_queues();

}  // namespace rota::bench
