// SPDX-License-Identifier: Apache-2.0
//
// What a large backlog costs: the same work measured on a small and on a large one, one after the
// other on one server, then memory, and the way back after SIGKILL.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "bench/failure.h"
#include "bench/load.h"
#include "bench/workers.h"
#include "bench/workload.h"

namespace rota::bench {
namespace {

constexpr std::int64_t kBacklogPatienceMs = 3'600'000;
constexpr double kSettledShare = 0.05;  // of a core, in two looks of a second one after the other

class Backlog {
 public:
  Backlog(RunContext& context, const WorkersWish& wish, std::uint64_t reads)
      : context_(context), payloads_(context.seed), wish_(wish), reads_(reads) {
    wish_.queues = {context.queue};
    make_queue(context.raw(), context.queue);
  }

  std::int64_t waiting() const { return static_cast<std::int64_t>(created_) - succeeded_; }

  // Up to so many jobs waiting; jobs a second of it.
  double fill_to(std::uint64_t waiting_wanted) {
    const std::uint64_t jobs = waiting_wanted - static_cast<std::uint64_t>(waiting());
    LoadResult result;
    enqueue_bulk(context_.server.address(), payloads_,
                 {.queue_of = [this](std::uint64_t) { return context_.queue; },
                  .first = created_,
                  .jobs = jobs},
                 &result);
    created_ += jobs;
    verify_now();
    return static_cast<double>(jobs) / result.seconds;
  }

  // At least `jobs` of what waits, in jobs a second. What is on its way to a handler when the last
  // of them is done goes back.
  double drain(std::uint64_t jobs) {
    Workers workers(context_.self, context_.folder, context_.server.address(), wish_, created_);
    workers.go(jobs);
    workers.wait_target(kBacklogPatienceMs);
    workers.stop();
    const std::uint64_t done = workers.board().finished();
    succeeded_ += static_cast<std::int64_t>(done);
    verify_now();
    return static_cast<double>(done) / workers.seconds();
  }

  void add_reads(const std::string& prefix, Figures* figures) {
    Histogram pages, statistics, enqueues;
    v1::ListJobsRequest list;
    list.mutable_filter()->set_queue(context_.queue);
    list.mutable_filter()->add_states(v1::JOB_STATE_READY);
    // One page after the other, and again from the first; the last one may be empty.
    for (std::uint64_t tries = 0; pages.count() < reads_; ++tries) {
      require(tries < 3 * reads_, "most pages have no jobs");
      const std::int64_t begin = now_ns();
      const auto page = must(context_.raw().list_jobs(list), "list jobs");
      if (page.jobs_size() > 0) pages.record(now_ns() - begin);
      list.set_page_token(page.next_page_token());
    }
    for (std::uint64_t i = 0; i < reads_; ++i) {
      const std::int64_t begin = now_ns();
      const std::int64_t ready = counters(context_.raw(), context_.queue).ready();
      statistics.record(now_ns() - begin);
      require(ready == waiting(), "the queue counts otherwise");
    }
    auto clients =
        connect_clients(context_.server.address(), 1, /*coalesce=*/false, context_.queue);
    LoadResult result;
    enqueue_single(clients, payloads_, {.queue = context_.queue, .first = created_, .jobs = reads_},
                   &result);
    created_ += reads_;
    figures->add(prefix + "page_p50_ms", pages.percentile_ms(0.50));
    figures->add(prefix + "statistics_p50_ms", statistics.percentile_ms(0.50));
    figures->add(prefix + "enqueue_p50_ms", result.calls.percentile_ms(0.50));
    figures->add(prefix + "enqueue_p99_ms", result.calls.percentile_ms(0.99));
  }

  // Until the server has nothing to do by itself; false when that takes longer.
  bool settle(std::int64_t at_most_ms) {
    const std::int64_t until = now_ns() + at_most_ms * 1'000'000;
    int calm = 0;
    while (calm < 2 && now_ns() < until) {
      const ServerMark before = context_.server.mark();
      std::this_thread::sleep_for(std::chrono::seconds(1));
      const ServerMark after = context_.server.mark();
      const double seconds = static_cast<double>(after.at_ns - before.at_ns) / 1e9;
      const bool idle = after.usage->cpu_s - before.usage->cpu_s < kSettledShare * seconds;
      calm = idle ? calm + 1 : 0;
    }
    return calm == 2;
  }

  // SIGKILL, then from the start of the new process to the first job in a worker's hands.
  double restart_to_lease_ms() {
    const std::int64_t begin = context_.server.kill_and_restart();
    v1::LeaseJobsRequest lease;
    lease.set_session_id("first-after-restart");
    lease.mutable_worker()->set_worker_id("bench");
    lease.add_queues(context_.queue);
    lease.set_max_jobs(1);
    const auto granted = must(context_.raw().lease_jobs(lease), "lease");
    const double took_ms = static_cast<double>(now_ns() - begin) / 1e6;
    require(granted.jobs_size() == 1, "no job was granted after the restart");
    v1::FinishJobsRequest finish;
    finish.set_session_id(lease.session_id());
    v1::FinishItem* item = finish.add_items();
    item->mutable_lease()->set_job_id(granted.jobs(0).job_id());
    item->mutable_lease()->set_fencing_token(granted.jobs(0).fencing_token());
    item->mutable_outcome()->mutable_success();
    const auto finished = must(context_.raw().finish_jobs(finish), "finish");
    require(finished.results_size() == 1 && finished.results(0).has_job(), "finish was refused");
    ++succeeded_;
    verify_now();
    return took_ms;
  }

  void verify_now() {
    verify(context_.raw(), context_.queue,
           {.created = static_cast<std::int64_t>(created_),
            .succeeded = succeeded_,
            .ready = waiting()});
  }

 private:
  RunContext& context_;
  const PayloadMaker payloads_;
  WorkersWish wish_;
  const std::uint64_t reads_;
  std::uint64_t created_ = 0;
  std::int64_t succeeded_ = 0;
};

class BacklogWorkload : public Workload {
 public:
  const char* name() const override { return "backlog"; }
  const char* sentence() const override {
    return "A large backlog: reads, enqueues and drains on it, memory, restart";
  }
  void define(CLI::App& app) override {
    app.add_option("--jobs", jobs_, "Jobs waiting at most")->check(CLI::PositiveNumber);
    app.add_option("--small", small_, "Jobs waiting when reads are measured for comparison")
        ->check(CLI::PositiveNumber);
    app.add_option("--drained", drained_, "Jobs of each measured drain")
        ->check(CLI::PositiveNumber);
    app.add_option("--reads", reads_, "Reads and enqueues of each measurement")
        ->check(CLI::PositiveNumber);
    app.add_option("--concurrency", wish_.concurrency, "Handlers at once of the worker")
        ->check(CLI::PositiveNumber);
    app.add_option("--settle", settle_s_, "Seconds at most until compaction is over")
        ->check(CLI::PositiveNumber);
  }
  bool ends_server() const override { return true; }

  Figures run(RunContext& context) override {
    require(
        small_ + reads_ <= drained_ && 3 * drained_ <= jobs_,
        "--drained must be at least --small and --reads together, and at most a third of --jobs");
    Figures figures;
    Backlog backlog(context, wish_, reads_);
    const ServerMark before = context.server.mark();
    backlog.fill_to(small_);
    backlog.add_reads("small_", &figures);
    backlog.fill_to(drained_);
    const double small_drain = backlog.drain(drained_);
    figures.add("small_drain_per_s", small_drain);

    figures.add("fill_per_s", backlog.fill_to(jobs_));
    figures.add("filled_rss_bytes", static_cast<double>(context.server.rss_bytes()));
    const double busy_drain = backlog.drain(drained_);
    figures.add("compacting_drain_per_s", busy_drain);
    figures.add("settled", backlog.settle(settle_s_ * 1'000) ? 1 : 0);
    figures.add("settled_rss_bytes", static_cast<double>(context.server.rss_bytes()));
    backlog.add_reads("", &figures);
    const double drain = backlog.drain(drained_);
    figures.add("drain_per_s", drain);
    figures.add("compacting_drain_to_small", busy_drain / small_drain);
    figures.add("drain_to_small", drain / small_drain);
    context.server.add_figures(before, &figures);
    figures.add("restart_to_lease_ms", backlog.restart_to_lease_ms());
    figures.add("restarted_rss_bytes", static_cast<double>(context.server.rss_bytes()));
    return figures;
  }

 private:
  std::uint64_t jobs_ = 1'000'000, small_ = 10'000, drained_ = 100'000, reads_ = 1'000;
  std::int64_t settle_s_ = 300;
  WorkersWish wish_;
};

}  // namespace

std::unique_ptr<Workload> make_backlog() { return std::make_unique<BacklogWorkload>(); }

}  // namespace rota::bench
