// SPDX-License-Identifier: Apache-2.0
//
// Jobs worked off by workers of the library: a backlog drained, whole lives at once, one job at a
// time handed from worker to worker, and the time from an enqueue to its handler.
#include <algorithm>

#include "bench/failure.h"
#include "bench/load.h"
#include "bench/workers.h"
#include "bench/workload.h"

namespace rota::bench {
namespace {

constexpr std::int64_t kPatienceMs = 600'000;

void fill_queue(RunContext& context, const PayloadMaker& payloads, std::uint64_t jobs) {
  LoadResult filled;
  enqueue_bulk(context.server.address(), payloads,
               {.queue_of = [&](std::uint64_t) { return context.queue; }, .jobs = jobs}, &filled);
  const auto count = static_cast<std::int64_t>(jobs);
  verify(context.raw(), context.queue, {.created = count, .ready = count});
}

void verify_all_succeeded(RunContext& context, std::uint64_t jobs) {
  const auto count = static_cast<std::int64_t>(jobs);
  verify(context.raw(), context.queue, {.created = count, .succeeded = count});
}

void define_workers(CLI::App& app, WorkersWish& wish) {
  app.add_option("--processes", wish.processes, "Worker processes")
      ->check(CLI::Range(1, Board::kSlots));
  app.add_option("--workers", wish.workers, "Workers in each process")->check(CLI::PositiveNumber);
  app.add_option("--concurrency", wish.concurrency, "Handlers at once of each worker")
      ->check(CLI::PositiveNumber);
}

// Workers empty a queue that was filled before.
Figures drain_queue(RunContext& context, WorkersWish wish, std::uint64_t jobs,
                    std::uint64_t running_max) {
  wish.queues = {context.queue};
  Workers workers(context.self, context.folder, context.server.address(), wish, jobs);
  const ServerMark before = context.server.mark();
  workers.go(jobs);
  workers.wait_target(kPatienceMs);
  workers.stop();
  Figures figures;
  figures.add("jobs_per_s", static_cast<double>(jobs) / workers.seconds());
  figures.add("client_cpu_s", workers.cpu_s());
  context.server.add_figures(before, &figures);
  verify_all_succeeded(context, jobs);
  require(workers.board().most_running() <= running_max,
          std::to_string(workers.board().most_running()) + " handlers ran at once, at most " +
              std::to_string(running_max) + " may");
  return figures;
}

class DrainWorkload : public Workload {
 public:
  DrainWorkload() { wish_.concurrency = 100; }
  const char* name() const override { return "drain"; }
  const char* sentence() const override {
    return "A backlog worked off by handlers that do nothing";
  }
  void define(CLI::App& app) override {
    app.add_option("--jobs", jobs_, "Jobs of a run")->check(CLI::PositiveNumber);
    define_workers(app, wish_);
  }

  Figures run(RunContext& context) override {
    make_queue(context.raw(), context.queue);
    fill_queue(context, PayloadMaker(context.seed), jobs_);
    const auto slots = static_cast<std::uint64_t>(wish_.processes) *
                       static_cast<std::uint64_t>(wish_.workers) *
                       static_cast<std::uint64_t>(wish_.concurrency);
    return drain_queue(context, wish_, jobs_, slots);
  }

 private:
  std::uint64_t jobs_ = 100'000;
  WorkersWish wish_;
};

class HandoffWorkload : public Workload {
 public:
  HandoffWorkload() { wish_ = {.processes = 2, .workers = 2, .concurrency = 1}; }
  const char* name() const override { return "handoff"; }
  const char* sentence() const override {
    return "One job of the queue at a time, handed from worker to worker";
  }
  void define(CLI::App& app) override {
    app.add_option("--jobs", jobs_, "Jobs of a run")->check(CLI::PositiveNumber);
    app.add_option("--limit", limit_, "Concurrency of the queue")->check(CLI::PositiveNumber);
    define_workers(app, wish_);
  }

  Figures run(RunContext& context) override {
    make_queue(context.raw(), context.queue, limit_);
    fill_queue(context, PayloadMaker(context.seed), jobs_);
    return drain_queue(context, wish_, jobs_, static_cast<std::uint64_t>(limit_));
  }

 private:
  std::uint64_t jobs_ = 5'000;
  int limit_ = 1;
  WorkersWish wish_;
};

class LifeWorkload : public Workload {
 public:
  const char* name() const override { return "life"; }
  const char* sentence() const override {
    return "Enqueue, lease and finish at once: from the first enqueue to the last outcome";
  }
  void define(CLI::App& app) override {
    app.add_option("--jobs", jobs_, "Jobs of a run")->check(CLI::PositiveNumber);
    app.add_option("--in-flight", in_flight_, "Enqueues without an answer at once")
        ->check(CLI::PositiveNumber);
    app.add_flag("--coalesce,!--no-coalesce", coalesce_,
                 "The client sends together what waits while a call is in flight");
    define_workers(app, wish_);
  }

  Figures run(RunContext& context) override {
    make_queue(context.raw(), context.queue);
    const PayloadMaker payloads(context.seed);
    WorkersWish wish = wish_;
    wish.queues = {context.queue};
    LoadResult result;
    Workers workers(context.self, context.folder, context.server.address(), wish, jobs_);
    auto clients = connect_clients(context.server.address(), 1, coalesce_, context.queue);
    const ServerMark before = context.server.mark();
    workers.go(jobs_);
    const std::int64_t begin = now_ns();
    enqueue_single(clients, payloads,
                   {.queue = context.queue, .jobs = jobs_, .in_flight = in_flight_}, &result);
    workers.wait_target(kPatienceMs);
    workers.stop();
    const double seconds = static_cast<double>(workers.ended_ns() - begin) / 1e9;
    Figures figures;
    figures.add("jobs_per_s", static_cast<double>(jobs_) / seconds);
    figures.add("enqueue_per_s", static_cast<double>(jobs_) / result.seconds);
    const Histogram& starts = workers.board().starts(0);
    figures.add("start_p50_ms", starts.percentile_ms(0.50));
    figures.add("start_p99_ms", starts.percentile_ms(0.99));
    figures.add("client_cpu_s", result.cpu_s + workers.cpu_s());
    context.server.add_figures(before, &figures);
    verify_all_succeeded(context, jobs_);
    return figures;
  }

 private:
  std::uint64_t jobs_ = 200'000;
  int in_flight_ = 1'000;
  bool coalesce_ = true;
  WorkersWish wish_;
};

class LatencyWorkload : public Workload {
 public:
  const char* name() const override { return "latency"; }
  const char* sentence() const override {
    return "From an enqueue to its handler's start, jobs coming at a fixed rate";
  }
  void define(CLI::App& app) override {
    app.add_option("--rate", rate_, "Jobs a second")->check(CLI::PositiveNumber);
    app.add_option("--seconds", seconds_, "Length of a run")->check(CLI::PositiveNumber);
    app.add_option("--warm-up", warm_up_s_, "Seconds before that are not counted")
        ->check(CLI::NonNegativeNumber);
    define_workers(app, wish_);
  }

  Figures run(RunContext& context) override {
    make_queue(context.raw(), context.queue);
    const PayloadMaker payloads(context.seed);
    const auto warm = static_cast<std::uint64_t>(rate_ * warm_up_s_);
    const auto jobs = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rate_ * seconds_));
    WorkersWish wish = wish_;
    wish.queues = {context.queue};
    LoadResult warmed, result;
    Workers workers(context.self, context.folder, context.server.address(), wish, warm + jobs);
    auto clients = connect_clients(context.server.address(), 1, /*coalesce=*/false, context.queue);
    workers.go(warm + jobs);
    PacedLoad load{.jobs = warm, .per_second = rate_};
    // From the call, as the one who enqueues sees it: the thread that sends is held up by nothing
    // but the machine, which would be measured otherwise.
    const auto make = [&](int histogram) {
      return [&, histogram](std::uint64_t number, std::int64_t) {
        const JobMark mark{.number = number, .sent_ns = now_ns(), .histogram = histogram};
        return to_spec(context.queue, payloads.make(mark));
      };
    };
    load.make = make(0);
    if (warm > 0) enqueue_paced(clients, load, &warmed);
    const ServerMark before = context.server.mark();
    load.first = warm;
    load.jobs = jobs;
    load.make = make(1);
    enqueue_paced(clients, load, &result);
    workers.wait_target(kPatienceMs);
    Figures figures;
    const Histogram& starts = workers.board().starts(1);
    figures.add("start_p50_ms", starts.percentile_ms(0.50));
    figures.add("start_p99_ms", starts.percentile_ms(0.99));
    figures.add("start_max_ms", starts.percentile_ms(1.0));
    figures.add("call_p50_ms", result.calls.percentile_ms(0.50));
    figures.add("call_p99_ms", result.calls.percentile_ms(0.99));
    figures.add("jobs_per_s", static_cast<double>(jobs) / result.seconds);
    context.server.add_figures(before, &figures);
    workers.stop();
    figures.add("client_cpu_s", result.cpu_s + workers.cpu_s());
    require(starts.count() == jobs, "the start of " + std::to_string(starts.count()) + " of " +
                                        std::to_string(jobs) + " jobs was seen");
    verify_all_succeeded(context, warm + jobs);
    return figures;
  }

 private:
  double rate_ = 200, seconds_ = 10, warm_up_s_ = 1;
  WorkersWish wish_;
};

}  // namespace

std::unique_ptr<Workload> make_drain() { return std::make_unique<DrainWorkload>(); }
std::unique_ptr<Workload> make_handoff() { return std::make_unique<HandoffWorkload>(); }
std::unique_ptr<Workload> make_life() { return std::make_unique<LifeWorkload>(); }
std::unique_ptr<Workload> make_latency() { return std::make_unique<LatencyWorkload>(); }

}  // namespace rota::bench
