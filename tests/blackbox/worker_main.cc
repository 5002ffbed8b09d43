// SPDX-License-Identifier: Apache-2.0
//
// A worker of the library, as a user would write one, which notes what its handlers do:
//
//   blackbox_worker SERVER NAME LOG
//
// A line is written at once and whole, so that a kill loses none:
//   B <ns> <token> <job> <attempt>   a handler begins
//   S <ns> <token>                   it is told to stop
//   E <ns> <token> <result>          it returns; the result of a success, else "-"
//   P <ns> <ns>                      the process did not run from the one to the other
#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "blackbox/checker.h"
#include "blackbox/plan.h"
#include "rota/worker.h"

namespace rota::blackbox {
namespace {

constexpr Millis kPulse(20);
constexpr Ns kStandstill = 150'000'000;

class Log {
 public:
  explicit Log(const std::string& path)
      : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}
  ~Log() { close(fd_); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool good() const { return fd_ >= 0; }
  void line(const std::string& text) const {
    const std::string all = text + "\n";
    [[maybe_unused]] const auto written = write(fd_, all.data(), all.size());
  }

 private:
  const int fd_;
};

// A process that was stopped, or for which the machine had no time, could not tell its handlers.
class Pulse {
 public:
  explicit Pulse(const Log& log)
      : thread_([this, &log](std::stop_token stop) { beat(stop, log); }) {}

 private:
  void beat(std::stop_token stop, const Log& log) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    Ns before = mono_ns();
    while (!stop.stop_requested()) {
      changed.wait_for(lock, stop, kPulse, [] { return false; });
      const Ns now = mono_ns();
      if (now - before > kStandstill) {
        log.line("P " + std::to_string(before) + " " + std::to_string(now));
      }
      before = now;
    }
  }
  std::jthread thread_;
};

void work_for(Context& context, Millis span) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, context.stop(), span, [] { return false; });
}

Outcome outcome_of(Context& context) {
  const Job& job = context.job();
  if (job.kind == kPoison) _exit(kPoisonExitCode);
  if (job.kind == kDoomed) return Outcome::fail("fails always");
  if (job.kind == kBroken) return Outcome::fail_for_good("fails for good");
  if (job.attempt == 1 && job.kind == kFlaky) return Outcome::fail("fails once");
  if (job.attempt == 1 && job.kind == kSnooze) {
    return Outcome::snooze(std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now()) +
                           Millis(100));
  }
  if (job.kind == kSlow) {
    work_for(context, Millis(150 + job.fencing_token % 8 * 200));
  } else if (job.fencing_token % 8 == 0) {
    work_for(context, Millis(3));
  }
  return Outcome::succeed(std::to_string(job.fencing_token) + "/" + std::to_string(getpid()));
}

Outcome handle(Context& context, const Log& log) {
  const Job& job = context.job();
  const std::string token = std::to_string(job.fencing_token);
  log.line("B " + std::to_string(mono_ns()) + " " + token + " " + job.id + " " +
           std::to_string(job.attempt));
  std::stop_callback told(context.stop(),
                          [&] { log.line("S " + std::to_string(mono_ns()) + " " + token); });
  Outcome outcome = outcome_of(context);
  const bool succeeded = outcome.kind() == Outcome::Kind::kSucceeded;
  log.line("E " + std::to_string(mono_ns()) + " " + token + " " +
           (succeeded ? outcome.result() : "-"));
  return outcome;
}

int run(const std::string& server, const std::string& name, const std::string& log_path) {
  const Log log(log_path);
  auto client = Client::create({.address = server, .log = [](int level, std::string_view line) {
                                  std::fprintf(stderr, "%d %.*s\n", level,
                                               static_cast<int>(line.size()), line.data());
                                }});
  if (!client || !log.good()) return 2;
  const Pulse pulse(log);
  Worker worker(*client, {.queues = {kMain, kFree, kKeys, kTicks},
                          .concurrency = 4,
                          .lease_ttl = Millis(kLeaseTtlMs),
                          .drain = Millis(10'000),
                          .id = name});
  worker.handle_any([&](Context& context) { return handle(context, log); });
  const auto ended = worker.run();
  if (!ended) std::fprintf(stderr, "failed: %s\n", ended.error().message.c_str());
  return ended ? 0 : 1;
}

}  // namespace
}  // namespace rota::blackbox

int main(int argc, char** argv) {
  return argc == 4 ? rota::blackbox::run(argv[1], argv[2], argv[3]) : 2;
}
