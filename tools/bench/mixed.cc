// SPDX-License-Identifier: Apache-2.0
//
// The steady state of a service: jobs at a fixed rate, some of them delayed, some of other
// priorities, some failing at first. Looked at in windows of time, so that what grows is seen.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <thread>
#include <vector>

#include "bench/failure.h"
#include "bench/load.h"
#include "bench/workers.h"
#include "bench/workload.h"

namespace rota::bench {
namespace {

constexpr std::int64_t kMixedPatienceMs = 600'000;

// Evenly spread bits of a job's number: the same job is the same in each run of a seed.
std::uint64_t spread(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15U;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

// Mean memory of the server in each window, looked at several times in each.
class MemoryWatch {
 public:
  MemoryWatch(ServerUnderTest& server, std::int64_t begin_ns, std::int64_t window_ns, int windows)
      : server_(server), begin_ns_(begin_ns), window_ns_(window_ns), sums_(Count(windows)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }
  // After it nothing is looked at any more.
  void stop() {
    thread_.request_stop();
    thread_.join();
  }
  double mean(int window) const {
    const auto& [bytes, looks] = sums_[Count(window)];
    return looks == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(looks);
  }

 private:
  using Count = std::size_t;
  struct Sum {
    std::int64_t bytes = 0, looks = 0;
  };

  void watch(const std::stop_token& stop) {
    const auto pause =
        std::chrono::nanoseconds(std::min<std::int64_t>(window_ns_ / 8, 1'000'000'000));
    while (!stop.stop_requested()) {
      const auto window = static_cast<Count>((now_ns() - begin_ns_) / window_ns_);
      try {
        const std::int64_t bytes = server_.rss_bytes();
        if (window < sums_.size()) {
          sums_[window].bytes += bytes;
          ++sums_[window].looks;
        }
      } catch (const std::exception&) {
        return;  // the server is gone, which the load finds too
      }
      std::this_thread::sleep_for(pause);
    }
  }

  ServerUnderTest& server_;
  const std::int64_t begin_ns_, window_ns_;
  std::vector<Sum> sums_;
  std::jthread thread_;
};

class MixedWorkload : public Workload {
 public:
  const char* name() const override { return "mixed"; }
  const char* sentence() const override {
    return "A steady state with retries, delays and priorities, told window by window";
  }
  void define(CLI::App& app) override {
    app.add_option("--rate", rate_, "Jobs a second")->check(CLI::PositiveNumber);
    app.add_option("--minutes", minutes_, "Length of a run")->check(CLI::PositiveNumber);
    app.add_option("--window", window_minutes_, "Minutes of a window; at most 64 of them")
        ->check(CLI::PositiveNumber);
    app.add_option("--processes", wish_.processes, "Worker processes")
        ->check(CLI::Range(1, Board::kSlots));
    app.add_option("--concurrency", wish_.concurrency, "Handlers at once of each worker")
        ->check(CLI::PositiveNumber);
  }

  Figures run(RunContext& context) override {
    const auto jobs = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rate_ * minutes_ * 60));
    const auto window_ns = static_cast<std::int64_t>(window_minutes_ * 60e9);
    const int windows = static_cast<int>(std::ceil(minutes_ / window_minutes_));
    require(windows <= Board::kHistograms, "more windows than can be told apart");
    make_queue(context.raw(), context.queue);
    const PayloadMaker payloads(context.seed);
    WorkersWish wish = wish_;
    wish.queues = {context.queue};
    LoadResult result;
    Workers workers(context.self, context.folder, context.server.address(), wish, jobs);
    auto clients = connect_clients(context.server.address(), 1, /*coalesce=*/true, context.queue);
    const ServerMark before = context.server.mark();
    workers.go(jobs);
    const std::int64_t begin = now_ns();
    MemoryWatch memory(context.server, begin, window_ns, windows);
    std::uint64_t flaky = 0;
    enqueue_paced(
        clients,
        {.jobs = jobs,
         .per_second = rate_,
         .make =
             [&](std::uint64_t number, std::int64_t) {
               const std::int64_t sent = now_ns();
               const auto window = std::min<std::int64_t>((sent - begin) / window_ns, windows - 1);
               JobSpec spec = make_job(context, payloads, number, sent, static_cast<int>(window));
               flaky += spec.kind == kFlakyKind ? 1 : 0;
               return spec;
             }},
        &result);
    memory.stop();
    workers.wait_target(kMixedPatienceMs);
    Figures figures;
    figures.add("jobs_per_s", static_cast<double>(jobs) / result.seconds);
    add_windows(workers.board(), memory, windows, &figures);
    context.server.add_figures(before, &figures);
    if (context.server.is_own()) {
      figures.add("disk_bytes", static_cast<double>(bytes_below(context.server.data())));
    }
    workers.stop();
    figures.add("client_cpu_s", result.cpu_s + workers.cpu_s());
    require(workers.board().failures() == flaky,
            fmt::format("{} first attempts failed, {} were to fail",
                        workers.board().failures().load(), flaky));
    const auto count = static_cast<std::int64_t>(jobs);
    verify(context.raw(), context.queue, {.created = count, .succeeded = count});
    return figures;
  }

 private:
  // Of a hundred: ten of another priority, five that come later, five that fail at first.
  JobSpec make_job(RunContext& context, const PayloadMaker& payloads, std::uint64_t number,
                   std::int64_t sent_ns, int window) const {
    const std::uint64_t bits = spread(number ^ context.seed);
    const std::uint64_t lot = bits % 100;
    const bool later = lot >= 10 && lot < 15;
    const JobMark mark{.number = number, .sent_ns = later ? 0 : sent_ns, .histogram = window};
    JobSpec spec = to_spec(context.queue, payloads.make(mark));
    if (lot < 10) spec.priority = static_cast<int>(50 + bits / 100 % 4 * 50);
    if (later) {
      const Millis delay(200 + static_cast<std::int64_t>(bits / 100 % 1'800));
      spec.run_at = std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now()) + delay;
    }
    if (lot >= 15 && lot < 20) {
      spec.kind = kFlakyKind;
      spec.retry = Retry{.first = Millis(500), .cap = Millis(2'000)};
    }
    return spec;
  }

  static void add_windows(Board& board, const MemoryWatch& memory, int windows, Figures* figures) {
    Histogram all;
    for (int i = 0; i < windows; ++i) all.merge(board.starts(i));
    figures->add("start_p50_ms", all.percentile_ms(0.50));
    figures->add("start_p99_ms", all.percentile_ms(0.99));
    for (int i = 0; i < windows; ++i) {
      figures->add(fmt::format("window_{:02}_start_p99_ms", i + 1),
                   board.starts(i).percentile_ms(0.99));
      figures->add(fmt::format("window_{:02}_rss_bytes", i + 1), memory.mean(i));
    }
    if (windows < 3) return;
    // The first is the start: the last is compared with the second.
    figures->add("last_to_second_start_p99", board.starts(windows - 1).percentile_ms(0.99) /
                                                 board.starts(1).percentile_ms(0.99));
    if (memory.mean(1) > 0) {
      figures->add("last_to_second_rss", memory.mean(windows - 1) / memory.mean(1));
    }
  }

  static std::uint64_t bytes_below(const std::string& folder) {
    std::uint64_t bytes = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
      // What goes meanwhile counts nothing.
      if (entry.is_regular_file(error)) {
        const auto size = entry.file_size(error);
        if (!error) bytes += size;
      }
    }
    return bytes;
  }

  double rate_ = 5'000, minutes_ = 10, window_minutes_ = 10;
  WorkersWish wish_;
};

}  // namespace

std::unique_ptr<Workload> make_mixed() { return std::make_unique<MixedWorkload>(); }

}  // namespace rota::bench
