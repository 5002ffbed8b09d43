// SPDX-License-Identifier: Apache-2.0
// A first job in C++: make a queue, put a job in it, handle it. Needs a rota-server (ROTA_ADDRESS).
#include <rota/worker.h>

#include <iostream>

int main() {
  auto client = rota::Client::create();
  if (auto queue = client->declare_queue({.name = "hello"}); !queue) {
    std::cerr << queue.error().message << "\n";
    return 1;
  }
  auto job = client->enqueue({.queue = "hello", .kind = "greet", .payload = "world"});
  rota::Worker worker(*client, {.queues = {"hello"}});
  worker.handle("greet", [&](rota::Context& ctx) {
    std::cout << "hello " << ctx.job().payload << "\n";
    worker.stop();  // one job is enough here
    return rota::Outcome::succeed("greeted");
  });
  return job && worker.run() ? 0 : 1;
}
