// SPDX-License-Identifier: Apache-2.0
//
// Enqueue alone: single calls, and calls of a thousand jobs.
#include "bench/failure.h"
#include "bench/load.h"
#include "bench/workload.h"

namespace rota::bench {
namespace {

void add_load_figures(const LoadResult& result, std::uint64_t jobs, Figures* figures) {
  figures->add("jobs_per_s", static_cast<double>(jobs) / result.seconds);
  figures->add("call_p50_ms", result.calls.percentile_ms(0.50));
  figures->add("call_p99_ms", result.calls.percentile_ms(0.99));
  figures->add("client_cpu_s", result.cpu_s);
}

// What a run that only enqueues has shown; all its jobs must wait now.
Figures judge(RunContext& context, const LoadResult& result, const ServerMark& before,
              std::uint64_t jobs) {
  Figures figures;
  add_load_figures(result, jobs, &figures);
  context.server.add_figures(before, &figures);
  const auto all = static_cast<std::int64_t>(jobs);
  verify(context.raw(), context.queue, {.created = all, .ready = all});
  return figures;
}

class EnqueueWorkload : public Workload {
 public:
  const char* name() const override { return "enqueue"; }
  const char* sentence() const override {
    return "Single enqueues by one client process, as many in flight as wanted";
  }
  void define(CLI::App& app) override {
    app.add_option("--jobs", jobs_, "Jobs of a run")->check(CLI::PositiveNumber);
    app.add_option("--in-flight", in_flight_, "Enqueues without an answer at once")
        ->check(CLI::PositiveNumber);
    app.add_flag("--coalesce,!--no-coalesce", coalesce_,
                 "The client sends together what waits while a call is in flight");
    app.add_option("--connections", connections_, "Clients that take turns")
        ->check(CLI::PositiveNumber);
  }

  Figures run(RunContext& context) override {
    make_queue(context.raw(), context.queue);
    const PayloadMaker payloads(context.seed);
    LoadResult result;
    auto clients =
        connect_clients(context.server.address(), connections_, coalesce_, context.queue);
    const ServerMark before = context.server.mark();
    enqueue_single(clients, payloads,
                   {.queue = context.queue, .jobs = jobs_, .in_flight = in_flight_}, &result);
    return judge(context, result, before, jobs_);
  }

 private:
  std::uint64_t jobs_ = 100'000;
  int in_flight_ = 200, connections_ = 1;
  bool coalesce_ = true;
};

class BulkWorkload : public Workload {
 public:
  const char* name() const override { return "bulk"; }
  const char* sentence() const override { return "Bulk enqueues, a thousand jobs to a call"; }
  void define(CLI::App& app) override {
    app.add_option("--jobs", jobs_, "Jobs of a run")->check(CLI::PositiveNumber);
    app.add_option("--in-flight", in_flight_, "Calls at once")->check(CLI::PositiveNumber);
    app.add_option("--per-call", per_call_, "Jobs of a call")->check(CLI::Range(1, 1'000));
    app.add_option("--connections", connections_, "Connections that take turns")
        ->check(CLI::PositiveNumber);
  }

  Figures run(RunContext& context) override {
    make_queue(context.raw(), context.queue);
    const PayloadMaker payloads(context.seed);
    LoadResult result;
    const ServerMark before = context.server.mark();
    enqueue_bulk(context.server.address(), payloads,
                 {.queue_of = [&](std::uint64_t) { return context.queue; },
                  .jobs = jobs_,
                  .in_flight = in_flight_,
                  .per_call = per_call_,
                  .connections = connections_},
                 &result);
    return judge(context, result, before, jobs_);
  }

 private:
  std::uint64_t jobs_ = 500'000;
  int in_flight_ = 6, per_call_ = 1'000, connections_ = 1;
};

}  // namespace

std::unique_ptr<Workload> make_enqueue() { return std::make_unique<EnqueueWorkload>(); }
std::unique_ptr<Workload> make_bulk() { return std::make_unique<BulkWorkload>(); }

}  // namespace rota::bench
