// SPDX-License-Identifier: Apache-2.0
//
// rota-bench-drain: one worker of the library with a handler that does nothing empties a queue.
// The time goes from the first lease call to the last finish answered: run() begins with the one
// and returns after the other.
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "internal/raw_client.h"
#include "rota/worker.h"

namespace {

struct Arguments {
  std::string server = "127.0.0.1:7500", queue = "bench";
  int concurrency = 100;
  long server_pid = 0;
};

// A figure of /proc/PID/status in MiB; 0 when it cannot be read.
double memory_mib(long pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind(name + ":", 0) == 0) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  return 0;
}

int fail(const rota::Error& error) {
  std::fprintf(stderr, "error: %s: %s\n", error.reason.c_str(), error.message.c_str());
  return 1;
}

int drain(const Arguments& arguments) {
  rota::ClientOptions options;
  options.address = arguments.server;
  auto raw = rota::internal::RawClient::create(options);
  if (!raw) return fail(raw.error());
  rota::v1::GetQueueRequest request;
  request.set_queue(arguments.queue);
  const auto queue = raw->get_queue(request);
  if (!queue) return fail(queue.error());
  const std::int64_t total = queue->queue().counters().ready();
  if (total == 0) {
    std::fprintf(stderr, "nothing waits in queue %s\n", arguments.queue.c_str());
    return 1;
  }
  auto client = rota::Client::create(options);
  if (!client) return fail(client.error());

  rota::Worker worker(*client, {.queues = {arguments.queue}, .concurrency = arguments.concurrency});
  std::atomic<std::int64_t> handled{0};
  worker.handle_any([&](rota::Context&) {
    if (++handled == total) worker.stop();
    return rota::Outcome::succeed();
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = worker.run();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!ended) return fail(ended.error());

  const auto after = raw->get_queue(request);
  if (!after) return fail(after.error());
  const std::int64_t succeeded = after->queue().counters().succeeded();
  std::printf("%lld jobs drained in %.3f s, %.0f jobs/s\n", static_cast<long long>(total), seconds,
              static_cast<double>(total) / seconds);
  if (arguments.server_pid != 0) {
    std::printf("server memory: %.1f MiB now, %.1f MiB at most\n",
                memory_mib(arguments.server_pid, "VmRSS"),
                memory_mib(arguments.server_pid, "VmHWM"));
  }
  if (succeeded < total) {
    std::fprintf(stderr, "error: only %lld of %lld jobs succeeded\n",
                 static_cast<long long>(succeeded), static_cast<long long>(total));
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Empties a queue with one worker whose handler does nothing.", "rota-bench-drain");
  app.add_option("--server", arguments.server, "HOST:PORT")->capture_default_str();
  app.add_option("--queue", arguments.queue, "Queue to empty")->capture_default_str();
  app.add_option("--concurrency", arguments.concurrency, "Handlers at once")->capture_default_str();
  app.add_option("--server-pid", arguments.server_pid, "Process whose memory is printed");
  CLI11_PARSE(app, argc, argv);
  return drain(arguments);
}
