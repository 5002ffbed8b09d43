// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "rota/worker.h"
#include "support/fake_server/fake_server.h"

namespace rota::test {

using namespace std::chrono_literals;

// Closed until opened once; for handlers that the test lets go on.
class Gate {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

inline void wait_for_stop(Context& context) {
  Gate gate;
  const std::stop_callback on_stop(context.stop(), [&] { gate.open(); });
  gate.wait();
}

// A worker of queue "q" against a fake server. Handlers are added before start().
class WorkerTest : public ::testing::Test {
 protected:
  Worker& make(int concurrency = 4, Millis drain = 60s) {
    auto client = Client::create({.address = server_.address()});
    EXPECT_TRUE(client);
    client_ = std::make_unique<Client>(*std::move(client));
    worker_ = std::make_unique<Worker>(*client_, WorkerOptions{.queues = {"q"},
                                                               .concurrency = concurrency,
                                                               .lease_ttl = 30s,
                                                               .drain = drain,
                                                               .id = "w1"});
    return *worker_;
  }
  void start() {
    run_ = std::async(std::launch::async, [this] { return worker_->run(); });
  }
  Result<Ok> stop() {
    worker_->stop();
    return run_.get();
  }
  void TearDown() override {
    if (run_.valid()) {
      EXPECT_TRUE(stop());
    }
  }
  // Until every lease loop of the worker waits at the server: outcomes then go by FinishJobs.
  void wait_for_parked_polls(int lanes = 1) {
    EXPECT_TRUE(server_.wait_until([&] { return server_.leases_at_once == lanes; }));
  }
  // The one outcome that was accepted.
  v1::FinishItem finished() {
    EXPECT_TRUE(server_.wait_until([&] { return !server_.finished.empty(); }));
    return server_.finished.empty() ? v1::FinishItem() : server_.finished[0];
  }

  FakeServer server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Worker> worker_;
  std::future<Result<Ok>> run_;
};

}  // namespace rota::test
