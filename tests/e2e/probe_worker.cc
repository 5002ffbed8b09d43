// SPDX-License-Identifier: Apache-2.0
//
// A worker of the library whose handlers say what they do, one line each on standard output:
//
//   probe_worker SERVER QUEUE NAME LEASE-TTL-MS
//
// It takes one job at a time: while it is busy no lease call of it waits at the server. A payload
// "hold" makes the first attempt run until it is told to stop; whatever else succeeds at once. What
// the library logs goes to standard output too.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>

#include "rota/worker.h"

namespace {

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

rota::Outcome handle(rota::Context& context) {
  const rota::Job& job = context.job();
  const std::string who = job.id + " attempt " + std::to_string(job.attempt);
  say("started " + who);
  if (job.payload == "hold" && job.attempt == 1) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, context.stop(), [] { return false; });
    say("told to stop " + who);
  }
  say("returned " + who);
  return rota::Outcome::succeed("attempt " + std::to_string(job.attempt));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  auto client = rota::Client::create({.address = argv[1], .log = [](int, std::string_view line) {
                                        say("library: " + std::string(line));
                                      }});
  if (!client) return 2;
  rota::Worker worker(*client, {.queues = {argv[2]},
                                .concurrency = 1,
                                .lease_ttl = rota::Millis(std::stol(argv[4])),
                                .id = argv[3]});
  worker.handle("task", handle);
  const auto ended = worker.run();
  say(ended ? "ended" : "failed: " + ended.error().message);
  return ended ? 0 : 1;
}
