// SPDX-License-Identifier: Apache-2.0
//
// The worker of the soak: soak_worker SERVER NAME. Its handlers are short, and their results name
// the token of the attempt that succeeded.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>

#include "rota/worker.h"
#include "soak/plan.h"

namespace rota::soak {
namespace {

// Over early when the handler is told to stop.
void work_for(Context& context, Millis span) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, context.stop(), span, [] { return false; });
}

Outcome handle(Context& context) {
  const Job& job = context.job();
  if (job.kind == kDoomed) return Outcome::fail("fails always");
  if (job.kind == kBroken) return Outcome::fail_for_good("fails for good");
  if (job.attempt == 1) {
    if (job.kind == kFlaky) return Outcome::fail("fails once");
    if (job.kind == kSnooze) return Outcome::snooze();
  }
  if (job.kind == kSlow) {
    work_for(context, Millis(200));
  } else if (job.fencing_token % 8 == 0) {
    work_for(context, Millis(2));
  }
  return Outcome::succeed(std::to_string(job.fencing_token));
}

int run(const std::string& server, const std::string& name) {
  auto client = Client::create({.address = server, .log = [](int level, std::string_view line) {
                                  std::fprintf(stderr, "%d %.*s\n", level,
                                               static_cast<int>(line.size()), line.data());
                                }});
  if (!client) return 2;
  Worker worker(*client, {.queues = {kQueue},
                          .concurrency = 4,
                          .lease_ttl = Millis(kLeaseTtlMs),
                          .drain = Millis(20'000),
                          .id = name});
  for (const std::string_view kind : {kOk, kSlow, kFlaky, kSnooze, kDoomed, kBroken}) {
    worker.handle(std::string(kind), handle);
  }
  const auto ended = worker.run();
  if (!ended) std::fprintf(stderr, "failed: %s\n", ended.error().message.c_str());
  return ended ? 0 : 1;
}

}  // namespace
}  // namespace rota::soak

int main(int argc, char** argv) { return argc == 3 ? rota::soak::run(argv[1], argv[2]) : 2; }
