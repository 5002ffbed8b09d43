// SPDX-License-Identifier: Apache-2.0
//
// Many schedulers that fire each second: how long after its nominal time a tick has its job, and
// the job its handler.
#include <algorithm>
#include <atomic>
#include <set>
#include <string>

#include "bench/calls.h"
#include "bench/failure.h"
#include "bench/workers.h"
#include "bench/workload.h"

namespace rota::bench {
namespace {

class SchedulersWorkload : public Workload {
 public:
  const char* name() const override { return "schedulers"; }
  const char* sentence() const override {
    return "Schedulers that fire each second: nominal time to job, and to handler start";
  }
  void define(CLI::App& app) override {
    app.add_option("--schedulers", schedulers_, "Schedulers")->check(CLI::PositiveNumber);
    app.add_option("--seconds", seconds_, "Ticks of each")->check(CLI::Range(1, 900));
    app.add_option("--processes", wish_.processes, "Worker processes")
        ->check(CLI::Range(1, Board::kSlots));
    app.add_option("--concurrency", wish_.concurrency, "Handlers at once of each worker")
        ->check(CLI::PositiveNumber);
  }

  Figures run(RunContext& context) override {
    make_queue(context.raw(), context.queue);
    const std::uint64_t ticks = schedulers_ * static_cast<std::uint64_t>(seconds_);
    WorkersWish wish = wish_;
    wish.queues = {context.queue};
    wish.nominal = true;
    Workers workers(context.self, context.folder, context.server.address(), wish, ticks);
    workers.go(ticks);
    // Time to declare them all, and then whole seconds.
    const auto declare_s = static_cast<std::int64_t>(2 + schedulers_ / 500);
    const std::int64_t first_s = wall_ns() / 1'000'000'000 + 1 + declare_s;
    declare_all(context, first_s);
    require(wall_ns() / 1'000'000'000 < first_s, "the schedulers were declared too slowly");
    const ServerMark before = context.server.mark();
    workers.wait_target((declare_s + seconds_ + 60) * 1'000);
    Figures figures;
    const Histogram& starts = workers.board().starts(0);
    figures.add("start_p50_ms", starts.percentile_ms(0.50));
    figures.add("start_p99_ms", starts.percentile_ms(0.99));
    figures.add("start_max_ms", starts.percentile_ms(1.0));
    context.server.add_figures(before, &figures);
    workers.stop();
    figures.add("client_cpu_s", workers.cpu_s());
    add_runs(context, first_s, &figures);
    const auto count = static_cast<std::int64_t>(ticks);
    verify(context.raw(), context.queue, {.created = count, .succeeded = count});
    for (std::uint64_t i = 0; i < schedulers_; ++i) {
      v1::DeleteSchedulerRequest request;
      request.set_scheduler_id(id_of(context, i));
      must(context.raw().delete_scheduler(request), "delete a scheduler");
    }
    return figures;
  }

 private:
  static std::string id_of(const RunContext& context, std::uint64_t number) {
    return context.queue + "/" + std::to_string(number);
  }

  void declare_all(RunContext& context, std::int64_t first_s) const {
    run_calls<v1::UpsertSchedulerResponse>(
        {.count = schedulers_, .send = [&](std::uint64_t i, auto done) {
           v1::UpsertSchedulerRequest request;
           auto& scheduler = *request.mutable_scheduler();
           scheduler.set_id(id_of(context, i));
           scheduler.mutable_spec()->add_parts()->set_cron("* * * * * *");
           scheduler.mutable_spec()->mutable_start_time()->set_seconds(first_s);
           scheduler.mutable_spec()->mutable_end_time()->set_seconds(first_s + seconds_);
           // Each tick runs, whatever became of the one before.
           scheduler.mutable_overlap()->set_mode(v1::OverlapPolicy::MODE_ALLOW);
           scheduler.mutable_job()->set_queue(context.queue);
           scheduler.mutable_job()->set_kind("tick");
           context.raw().upsert_scheduler_async(std::move(request), {}, std::move(done));
         }});
  }

  // The run records say when each tick was decided: its job is READY with the commit that follows.
  // They also prove that each tick ran exactly once.
  void add_runs(RunContext& context, std::int64_t first_s, Figures* figures) const {
    Histogram decided;
    std::atomic<std::uint64_t> wrong{0};
    run_calls<v1::ListRunsResponse>(
        {.count = schedulers_,
         .in_flight = 16,
         .send =
             [&](std::uint64_t i, auto done) {
               v1::ListRunsRequest request;
               request.set_scheduler_id(id_of(context, i));
               request.set_page_size(1'000);
               context.raw().list_runs_async(std::move(request), {}, std::move(done));
             },
         .look =
             [&](std::uint64_t, const v1::ListRunsResponse& answer) {
               std::set<std::int64_t> seen;
               for (const v1::Run& run : answer.runs()) {
                 if (run.outcome() != v1::Run::OUTCOME_FIRED) ++wrong;
                 seen.insert(run.nominal_time().seconds() - first_s);
                 decided.record(run.lateness().seconds() * 1'000'000'000 + run.lateness().nanos());
               }
               const bool all = answer.runs_size() == seconds_ &&
                                static_cast<int>(seen.size()) == seconds_ && *seen.begin() == 0 &&
                                *seen.rbegin() == seconds_ - 1;
               if (!all) ++wrong;
             }});
    require(wrong == 0, std::to_string(wrong) + " schedulers or ticks did not run exactly once");
    figures->add("decided_p50_ms", decided.percentile_ms(0.50));
    figures->add("decided_p99_ms", decided.percentile_ms(0.99));
  }

  std::uint64_t schedulers_ = 1'000;
  int seconds_ = 15;
  WorkersWish wish_;
};

}  // namespace

std::unique_ptr<Workload> make_schedulers() { return std::make_unique<SchedulersWorkload>(); }

}  // namespace rota::bench
