// SPDX-License-Identifier: Apache-2.0
//
// Very many queues, all with work, asked for in turn with as many to a lease call as it may name;
// beside them one queue with as many jobs, worked off by the same calls.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "bench/calls.h"
#include "bench/failure.h"
#include "bench/workload.h"

namespace rota::bench {
namespace {

// Lease calls that carry the outcomes of the one before, some of them in flight; each names the
// next few queues in rotation. Jobs are done as soon as they come.
class Rotation {
 public:
  Rotation(internal::RawClient& raw, std::vector<std::vector<std::string>> sets, int max_jobs,
           int in_flight, std::uint64_t jobs)
      : raw_(raw),
        sets_(std::move(sets)),
        max_jobs_(max_jobs),
        in_flight_(in_flight),
        jobs_(jobs),
        tally_(std::make_shared<Tally>(static_cast<std::int64_t>(jobs))) {}

  // Seconds from the first call to the last outcome answered.
  double run() {
    const std::int64_t begin = now_ns();
    for (int lane = 0; lane < in_flight_; ++lane) ask(lane, nullptr);
    tally_->wait();
    return static_cast<double>(now_ns() - begin) / 1e9;
  }
  double cpu_s() const { return own_cpu_s() - begin_cpu_s_; }

 private:
  void ask(int lane, const v1::LeaseJobsResponse* earlier) {
    v1::LeaseJobsRequest request;
    request.set_session_id("rotation-" + std::to_string(lane));
    request.mutable_worker()->set_worker_id("bench");
    const auto& set = sets_[next_.fetch_add(1) % sets_.size()];
    *request.mutable_queues() = {set.begin(), set.end()};
    request.set_max_jobs(max_jobs_);
    request.mutable_wait_duration();  // 0: there is always work, or it is the end
    const int carried = earlier == nullptr ? 0 : earlier->jobs_size();
    for (int i = 0; i < carried; ++i) {
      v1::FinishItem* item = request.add_outcomes();
      item->mutable_lease()->set_job_id(earlier->jobs(i).job_id());
      item->mutable_lease()->set_fencing_token(earlier->jobs(i).fencing_token());
      item->mutable_outcome()->mutable_success();
    }
    tally_->begin();
    raw_.lease_jobs_async(std::move(request), {},
                          [this, lane, carried](const Result<v1::LeaseJobsResponse>& answer) {
                            on_answer(lane, carried, answer);
                          });
  }

  void on_answer(int lane, int carried, const Result<v1::LeaseJobsResponse>& answer) {
    const auto tally = tally_;  // after the last done() this object may be gone
    if (!answer) return tally->fail_call(answer.error().reason + ": " + answer.error().message);
    const auto& finished = answer->finished();
    const bool all = finished.size() == carried &&
                     std::all_of(finished.begin(), finished.end(), [](const auto& one) {
                       return one.has_job() && !one.job().already_ended();
                     });
    if (!all) return tally->fail_call("an outcome was refused");
    const std::uint64_t granted =
        granted_.fetch_add(static_cast<std::uint64_t>(answer->jobs_size())) +
        static_cast<std::uint64_t>(answer->jobs_size());
    if (granted > jobs_) return tally->fail_call("more jobs were granted than there are");
    const bool more = answer->jobs_size() > 0 || granted < jobs_;
    if (more && !tally->failed()) ask(lane, &*answer);
    tally->done(carried);
  }

  internal::RawClient& raw_;
  const std::vector<std::vector<std::string>> sets_;
  const int max_jobs_, in_flight_;
  const std::uint64_t jobs_;
  const double begin_cpu_s_ = own_cpu_s();
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> granted_{0};
  const std::shared_ptr<Tally> tally_;
};

class QueuesWorkload : public Workload {
 public:
  const char* name() const override { return "queues"; }
  const char* sentence() const override {
    return "Thousands of queues with work, leased in rotation, beside one queue with as much";
  }
  void define(CLI::App& app) override {
    app.add_option("--queues", queues_, "Queues")->check(CLI::PositiveNumber);
    app.add_option("--jobs", jobs_, "Jobs of each")->check(CLI::PositiveNumber);
    app.add_option("--in-call", in_call_, "Queues that a lease call names")
        ->check(CLI::Range(1, 64));
    app.add_option("--max-jobs", max_jobs_, "Jobs that a lease call asks for")
        ->check(CLI::Range(1, 1'000));
    app.add_option("--in-flight", in_flight_, "Lease calls at once")->check(CLI::PositiveNumber);
  }

  Figures run(RunContext& context) override {
    const PayloadMaker payloads(context.seed);
    const std::uint64_t jobs = queues_ * jobs_;
    const std::string one = context.queue + "/one";
    make_queue(context.raw(), one);
    make_all(context);
    fill(context, payloads, jobs, [&](std::uint64_t) { return one; });
    fill(context, payloads, jobs,
         [&](std::uint64_t number) { return name_of(context, number % queues_); });

    Rotation single(context.raw(), {{one}}, max_jobs_, in_flight_, jobs);
    const double single_s = single.run();
    const ServerMark before = context.server.mark();
    Rotation many(context.raw(), sets(context), max_jobs_, in_flight_, jobs);
    const double many_s = many.run();
    Figures figures;
    figures.add("jobs_per_s", static_cast<double>(jobs) / many_s);
    figures.add("one_queue_jobs_per_s", static_cast<double>(jobs) / single_s);
    figures.add("to_one_queue", single_s / many_s);
    figures.add("client_cpu_s", many.cpu_s());
    context.server.add_figures(before, &figures);
    verify_each(context);
    const auto count = static_cast<std::int64_t>(jobs);
    verify(context.raw(), one, {.created = count, .succeeded = count});
    return figures;
  }

 private:
  static std::string name_of(const RunContext& context, std::uint64_t number) {
    return context.queue + "/many/" + std::to_string(number);
  }

  void make_all(RunContext& context) const {
    run_calls<v1::SetQueueResponse>({.count = queues_, .send = [&](std::uint64_t i, auto done) {
                                       v1::SetQueueRequest request;
                                       request.set_queue(name_of(context, i));
                                       context.raw().set_queue_async(std::move(request), {},
                                                                     std::move(done));
                                     }});
  }

  static void fill(RunContext& context, const PayloadMaker& payloads, std::uint64_t jobs,
                   const std::function<std::string(std::uint64_t)>& queue_of) {
    LoadResult filled;
    enqueue_bulk(context.server.address(), payloads, {.queue_of = queue_of, .jobs = jobs}, &filled);
  }

  std::vector<std::vector<std::string>> sets(const RunContext& context) const {
    std::vector<std::vector<std::string>> all;
    for (std::uint64_t i = 0; i < queues_; ++i) {
      if (i % static_cast<std::uint64_t>(in_call_) == 0) all.emplace_back();
      all.back().push_back(name_of(context, i));
    }
    return all;
  }

  void verify_each(RunContext& context) const {
    v1::ListQueuesRequest request;
    request.set_name_prefix(context.queue + "/many/");
    request.set_page_size(1'000);
    std::uint64_t seen = 0;
    do {
      const auto page = must(context.raw().list_queues(request), "list queues");
      for (const v1::Queue& queue : page.queues()) {
        const auto& counted = queue.counters();
        const auto wanted = static_cast<std::int64_t>(jobs_);
        require(counted.created() == wanted && counted.succeeded() + counted.removed() == wanted,
                fmt::format("queue {}: {} created, {} succeeded and {} removed of {}", queue.name(),
                            counted.created(), counted.succeeded(), counted.removed(), wanted));
        ++seen;
      }
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    require(seen == queues_, fmt::format("{} of {} queues were found", seen, queues_));
  }

  std::uint64_t queues_ = 10'000, jobs_ = 10;
  int in_call_ = 64, max_jobs_ = 100, in_flight_ = 2;
};

}  // namespace

std::unique_ptr<Workload> make_queues() { return std::make_unique<QueuesWorkload>(); }

}  // namespace rota::bench
