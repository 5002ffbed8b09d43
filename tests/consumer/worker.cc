// SPDX-License-Identifier: Apache-2.0
#include <rota/testing.h>
#include <rota/worker.h>

#include <cstdio>
#include <thread>

namespace {

rota::Outcome greet(rota::Context& context) {
  return rota::Outcome::succeed("hello " + context.job().payload);
}

}  // namespace

int main() {
  rota::testing::FakeContext context({.id = "j1", .kind = "greet", .payload = "world"});
  if (greet(context).result() != "hello world") return 1;

  auto client = rota::Client::create({.address = "127.0.0.1:1"});
  if (!client) return 1;
  rota::Worker worker(*client, {.queues = {"hello"}});
  worker.handle("greet", greet);
  std::thread stopper([&worker] { worker.stop(); });
  const bool ended = worker.run().has_value();
  stopper.join();
  std::puts(ended ? "ok" : "unexpected");
  return ended ? 0 : 1;
}
