// SPDX-License-Identifier: Apache-2.0
// A first job in C++: make a queue, put a job in it, handle it, see how it ended. Needs a
// rota-server (ROTA_ADDRESS).
#include <rota/worker.h>

#include <iostream>
#include <thread>

int fail(const std::string& why) {
  std::cerr << why << "\n";
  return 1;
}

int main() {
  auto client = rota::Client::create();
  if (!client) return fail(client.error().message);
  if (auto queue = client->declare_queue({.name = "hello"}); !queue) {
    return fail(queue.error().message);
  }
  auto job = client->enqueue({.queue = "hello", .kind = "greet", .payload = "world"});
  if (!job) return fail(job.error().message);

  rota::Worker worker(*client, {.queues = {"hello"}});
  worker.handle("greet", [](rota::Context& ctx) {
    return rota::Outcome::succeed("hello " + ctx.job().payload);
  });
  std::jthread works([&worker] {
    if (auto ended = worker.run(); !ended) std::cerr << ended.error().message << "\n";
  });
  // Another worker of this queue may take the job: what became of it is asked of the server.
  auto info = client->wait(job->id, std::chrono::seconds(30));
  worker.stop();
  if (!info) return fail(info.error().message);
  if (info->ref.state != rota::JobState::kSucceeded) {
    return fail("job " + job->id + " is " + to_string(info->ref.state) + "; rota job explain " +
                job->id + " says why");
  }
  std::cout << info->ref.result.value_or("") << "\n"
            << "done by " << info->attempts.back().worker << "\n";
}
