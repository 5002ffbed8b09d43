// SPDX-License-Identifier: Apache-2.0
#include "bench/workers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <thread>

#include "bench/failure.h"
#include "bench/jobs.h"
#include "bench/usage.h"
#include "rota/worker.h"

namespace rota::bench {
namespace {

constexpr std::int64_t kWorkersStartWithinMs = 60'000;
constexpr std::int64_t kWorkersStopWithinMs = 120'000;
constexpr std::int64_t kLookEveryMs = 200;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

// The handler of all kinds: it takes no time, and verifies.
class BenchHandler {
 public:
  BenchHandler(Board& board, bool nominal) : board_(board), nominal_(nominal) {}

  Outcome operator()(Context& context) {
    const std::int64_t started_ns = now_ns();
    const Job& job = context.job();
    board_.handler_begins();
    Outcome outcome = nominal_ ? of_scheduler(job) : of_load(job, started_ns);
    board_.handler_ends();
    return outcome;
  }

 private:
  Outcome of_load(const Job& job, std::int64_t started_ns) {
    const std::optional<JobMark> mark = read_mark(job.payload);
    if (!mark || mark->histogram >= Board::kHistograms) {
      board_.handler_succeeds(~std::uint64_t{0});
      return Outcome::fail_for_good("not a job of rota-bench");
    }
    if (mark->sent_ns != 0 && job.attempt == 1) {
      board_.starts(mark->histogram).record(started_ns - mark->sent_ns);
    }
    if (job.kind == kFlakyKind && job.attempt == 1) {
      board_.failures().fetch_add(1);
      return Outcome::fail("its first attempt always does");
    }
    board_.handler_succeeds(mark->number);
    return Outcome::succeed();
  }

  // Which tick it was is told by the run records; here each job counts by itself.
  Outcome of_scheduler(const Job& job) {
    if (!job.nominal_times.empty()) {
      const auto nominal =
          std::chrono::nanoseconds(job.nominal_times.front().time_since_epoch()).count();
      board_.starts(0).record(wall_ns() - nominal);
    }
    board_.handler_succeeds(board_.next_number());
    return Outcome::succeed();
  }

  Board& board_;
  const bool nominal_;
};

}  // namespace

int run_worker_process(const WorkerArguments& arguments) {
  try {
    Board board(arguments.board);
    BenchHandler handler(board, arguments.nominal);
    Client client =
        must(Client::create({.address = arguments.server,
                             .log =
                                 [](int level, std::string_view line) {
                                   if (level < 1) return;
                                   std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()),
                                                line.data());
                                 }}),
             "cannot make a client");
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < arguments.workers; ++i) {
      workers.push_back(std::make_unique<Worker>(
          client, WorkerOptions{
                      .queues = split(arguments.queues),
                      .concurrency = arguments.concurrency,
                      .id = "bench-" + std::to_string(arguments.slot) + "-" + std::to_string(i)}));
      workers.back()->handle_any([&handler](Context& context) { return handler(context); });
    }
    board.say_ready();
    board.wait_go();
    WorkerSlot& slot = board.slot(arguments.slot);
    const double cpu_s = own_cpu_s();
    slot.began_ns = now_ns();
    std::vector<std::thread> running;
    for (auto& worker : workers) {
      running.emplace_back([&worker] {
        const auto ended = worker->run();
        if (ended) return;
        // The bench waits for what this process will not do, unless it ends.
        std::fprintf(stderr, "worker failed: %s\n", ended.error().message.c_str());
        std::_Exit(1);
      });
    }
    board.wait_stop();
    for (auto& worker : workers) worker->stop();
    for (std::thread& one : running) one.join();
    slot.cpu_us = static_cast<std::int64_t>((own_cpu_s() - cpu_s) * 1e6);
    slot.ended_ns = now_ns();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rota-bench worker: %s\n", error.what());
    return 1;
  }
}

Workers::Workers(const std::string& self, const std::string& folder, const std::string& server,
                 const WorkersWish& wish, std::uint64_t jobs)
    : wish_(wish), folder_(folder) {
  require(wish.processes >= 1 && wish.processes <= Board::kSlots,
          "worker processes must be 1 to " + std::to_string(Board::kSlots));
  const std::string board = folder + "/board";
  std::filesystem::remove(board);
  board_ = std::make_unique<Board>(board, jobs);
  for (int i = 0; i < wish.processes; ++i) {
    std::vector<std::string> command = {self,
                                        "worker",
                                        "--board",
                                        board,
                                        "--server",
                                        server,
                                        "--queues",
                                        joined(wish.queues),
                                        "--slot",
                                        std::to_string(i),
                                        "--workers",
                                        std::to_string(wish.workers),
                                        "--concurrency",
                                        std::to_string(wish.concurrency)};
    if (wish.nominal) command.emplace_back("--nominal");
    auto process = driver::Process::start(command, folder + "/worker-" + std::to_string(i) + ".log",
                                          /*dies_with_parent=*/true);
    require(process.has_value(), "cannot start a worker process");
    processes_.push_back(std::move(*process));
  }
  for (int i = 0; i < wish.processes; ++i) {
    const std::int64_t until_ns = now_ns() + kWorkersStartWithinMs * 1'000'000;
    while (!board_->wait_ready(kLookEveryMs)) {
      require_running();
      require(now_ns() < until_ns, "the workers do not start");
    }
  }
}

Workers::~Workers() = default;

void Workers::require_running() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const auto change = processes_[i].poll();
    require(!change || !change->ended,
            "worker process " + std::to_string(i) + " ended:\n" +
                driver::read_file(folder_ + "/worker-" + std::to_string(i) + ".log"));
  }
}

void Workers::go(std::uint64_t target) {
  board_->set_target(target);
  board_->go(wish_.processes);
}

void Workers::wait_target(std::int64_t at_most_ms) {
  const std::int64_t until_ns = now_ns() + at_most_ms * 1'000'000;
  while (!board_->wait_target(kLookEveryMs)) {
    require_running();
    require(now_ns() < until_ns, "only " + std::to_string(board_->finished()) +
                                     " jobs were worked on in " +
                                     std::to_string(at_most_ms / 1000) + " s");
  }
}

void Workers::stop() {
  board_->stop(wish_.processes);
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const auto change = processes_[i].wait(kWorkersStopWithinMs);
    require(change && change->signal == 0 && change->exit_code == 0,
            "worker process " + std::to_string(i) + " failed:\n" +
                driver::read_file(folder_ + "/worker-" + std::to_string(i) + ".log"));
  }
  require(board_->doubled() == 0,
          std::to_string(board_->doubled()) + " jobs had effect more than once");
  require(board_->unknown() == 0,
          std::to_string(board_->unknown()) + " jobs were worked on that nobody enqueued");
}

double Workers::seconds() const {
  std::int64_t first = INT64_MAX;
  for (int i = 0; i < wish_.processes; ++i) {
    first = std::min(first, board_->slot(i).began_ns.load());
  }
  return static_cast<double>(ended_ns() - first) / 1e9;
}

std::int64_t Workers::ended_ns() const {
  std::int64_t last = 0;
  for (int i = 0; i < wish_.processes; ++i) last = std::max(last, board_->slot(i).ended_ns.load());
  return last;
}

double Workers::cpu_s() const {
  double sum = 0;
  for (int i = 0; i < wish_.processes; ++i) {
    sum += static_cast<double>(board_->slot(i).cpu_us.load()) / 1e6;
  }
  return sum;
}

}  // namespace rota::bench
