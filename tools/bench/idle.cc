// SPDX-License-Identifier: Apache-2.0
//
// Many workers with nothing to do: what their parked lease calls cost the server, and how soon one
// of them has the job that comes at last.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/failure.h"
#include "bench/load.h"
#include "bench/workload.h"

namespace rota::bench {
namespace {

constexpr std::int64_t kParkWithinMs = 120'000;
constexpr std::int64_t kLastJobsWithinMs = 30'000;
constexpr double kParkedShare = 0.99;  // a call that has just been answered is on its way back
constexpr Millis kBeyondWait{15'000};

// Sessions without any handler: each has one lease call parked, reports at once what it is given,
// and asks again.
class IdleFleet {
 public:
  IdleFleet(const std::string& address, std::string queue, int workers, int connections,
            Millis wait, std::uint64_t jobs)
      : queue_(std::move(queue)), wait_(wait), seen_(jobs) {
    for (int i = 0; i < connections; ++i) {
      clients_.push_back(
          must(internal::RawClient::create({.address = address}), "cannot make a client"));
    }
    for (int i = 0; i < workers; ++i) ask(i);
  }

  ~IdleFleet() { close(); }

  void close() {
    closing_ = true;
    for (internal::RawClient& client : clients_) client.close();
  }

  void require_unhurt() {
    std::lock_guard lock(mutex_);
    if (!fault_.empty()) throw Failed("an idle worker: " + fault_);
  }

  std::uint64_t finished() const { return finished_; }
  const Histogram& starts(int histogram) const { return starts_[histogram]; }

 private:
  std::string session(int worker) const { return "idle-" + std::to_string(worker); }
  internal::RawClient& client_of(int worker) {
    return clients_[static_cast<std::size_t>(worker) % clients_.size()];
  }

  void fault(const std::string& why) {
    if (closing_) return;
    std::lock_guard lock(mutex_);
    if (fault_.empty()) fault_ = why;
  }

  void ask(int worker) {
    if (closing_) return;
    v1::LeaseJobsRequest request;
    request.set_session_id(session(worker));
    request.mutable_worker()->set_worker_id(session(worker));
    request.add_queues(queue_);
    request.set_max_jobs(1);
    request.mutable_wait_duration()->set_seconds(wait_.count() / 1'000);
    request.mutable_wait_duration()->set_nanos(
        static_cast<std::int32_t>(wait_.count() % 1'000 * 1'000'000));
    client_of(worker).lease_jobs_async(
        std::move(request), {.timeout = wait_ + kBeyondWait},
        [this, worker](const Result<v1::LeaseJobsResponse>& answer) {
          const std::int64_t started_ns = now_ns();
          if (!answer) return fault(answer.error().reason + ": " + answer.error().message);
          for (const v1::LeasedJob& job : answer->jobs()) take(worker, job, started_ns);
          ask(worker);
        });
  }

  void take(int worker, const v1::LeasedJob& job, std::int64_t started_ns) {
    const auto mark = read_mark(job.payload().data());
    if (!mark || mark->number >= seen_.size() || mark->histogram > 1) {
      return fault("a job that nobody enqueued");
    }
    if (seen_[mark->number].exchange(true)) return fault("a job was granted twice");
    starts_[mark->histogram].record(started_ns - mark->sent_ns);
    v1::FinishJobsRequest request;
    request.set_session_id(session(worker));
    v1::FinishItem* item = request.add_items();
    item->mutable_lease()->set_job_id(job.job_id());
    item->mutable_lease()->set_fencing_token(job.fencing_token());
    item->mutable_outcome()->mutable_success();
    client_of(worker).finish_jobs_async(
        std::move(request), {}, [this](const Result<v1::FinishJobsResponse>& answer) {
          if (!answer) return fault(answer.error().message);
          if (answer->results_size() != 1 || !answer->results(0).has_job()) {
            return fault("an outcome was refused");
          }
          finished_.fetch_add(1);
        });
  }

  const std::string queue_;
  const Millis wait_;
  std::vector<std::atomic<bool>> seen_;
  std::vector<internal::RawClient> clients_;
  Histogram starts_[2];
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<bool> closing_{false};
  std::mutex mutex_;
  std::string fault_;
};

class IdleWorkload : public Workload {
 public:
  const char* name() const override { return "idle"; }
  const char* sentence() const override {
    return "Thousands of workers in parked lease calls, and a job now and then";
  }
  void define(CLI::App& app) override {
    app.add_option("--workers", workers_, "Sessions, each with a lease call parked")
        ->check(CLI::PositiveNumber);
    app.add_option("--connections", connections_, "Connections that they share")
        ->check(CLI::PositiveNumber);
    app.add_option("--wait", wait_s_, "Seconds that a lease call waits")->check(CLI::Range(1, 30));
    app.add_option("--rate", rate_, "Jobs a second")->check(CLI::PositiveNumber);
    app.add_option("--seconds", seconds_, "Length of a run, once all are parked")
        ->check(CLI::PositiveNumber);
  }

  Figures run(RunContext& context) override {
    make_queue(context.raw(), context.queue);
    const PayloadMaker payloads(context.seed);
    const auto jobs = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rate_ * seconds_));
    LoadResult result;
    const std::int64_t rss_before = context.server.rss_bytes();
    IdleFleet fleet(context.server.address(), context.queue, workers_, connections_,
                    Millis(wait_s_ * 1'000), jobs);
    const std::int64_t parked = wait_until_parked(context, fleet);
    auto clients = connect_clients(context.server.address(), 1, /*coalesce=*/false, context.queue);
    const ServerMark before = context.server.mark();
    enqueue_paced(clients,
                  {.jobs = jobs,
                   .per_second = rate_,
                   .make =
                       [&](std::uint64_t number, std::int64_t) {
                         const JobMark mark{.number = number, .sent_ns = now_ns()};
                         return to_spec(context.queue, payloads.make(mark));
                       }},
                  &result);
    const bool all = driver::wait_until(
        [&] {
          fleet.require_unhurt();
          return fleet.finished() == jobs;
        },
        kLastJobsWithinMs);
    require(all, fmt::format("{} of {} jobs were worked on", fleet.finished(), jobs));
    Figures figures;
    figures.add("start_p50_ms", fleet.starts(0).percentile_ms(0.50));
    figures.add("start_p99_ms", fleet.starts(0).percentile_ms(0.99));
    figures.add("start_max_ms", fleet.starts(0).percentile_ms(1.0));
    figures.add("parked_calls", static_cast<double>(parked));
    const ServerMark after = context.server.mark();
    if (after.usage && before.usage) {
      const double seconds = static_cast<double>(after.at_ns - before.at_ns) / 1e9;
      figures.add("server_cpu_share", (after.usage->cpu_s - before.usage->cpu_s) / seconds);
      figures.add("server_rss_of_workers_bytes",
                  static_cast<double>(after.usage->rss_bytes - rss_before));
    }
    figures.add("client_cpu_s", result.cpu_s);
    context.server.add_figures(before, &figures);
    fleet.close();
    const auto count = static_cast<std::int64_t>(jobs);
    verify(context.raw(), context.queue, {.created = count, .succeeded = count});
    return figures;
  }

 private:
  std::int64_t wait_until_parked(RunContext& context, IdleFleet& fleet) const {
    std::int64_t parked = 0;
    const bool all = driver::wait_until(
        [&] {
          fleet.require_unhurt();
          parked =
              must(context.raw().get_server_info({}), "server info").server().parked_poll_count();
          return static_cast<double>(parked) >= kParkedShare * workers_;
        },
        kParkWithinMs);
    require(all, fmt::format("only {} of {} lease calls are parked", parked, workers_));
    return parked;
  }

  int workers_ = 10'000, connections_ = 1'000, wait_s_ = 20;
  double rate_ = 10, seconds_ = 60;
};

}  // namespace

std::unique_ptr<Workload> make_idle() { return std::make_unique<IdleWorkload>(); }

}  // namespace rota::bench
