// SPDX-License-Identifier: Apache-2.0
// For the tests of those who write handlers and services.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rota/worker.h"

namespace rota::testing {

// A context whose stop and time left are set by the test.
class ROTA_EXPORT FakeContext : public Context {
 public:
  explicit FakeContext(Job job = {});
  ~FakeContext() override;

  const Job& job() const override { return job_; }
  std::stop_token stop() const override { return stop_.get_token(); }
  Millis time_left() const override;
  void log(std::string_view line) override;

  StopReason stop_reason() const override { return reason_.load(); }

  void request_stop(StopReason reason = StopReason::kCancel);
  void set_time_left(Millis left);
  std::vector<std::string> lines() const;

 private:
  const Job job_;
  std::stop_source stop_{};
  std::atomic<StopReason> reason_{StopReason::kNone};
  mutable std::mutex mutex_{};
  Millis time_left_{60'000};
  std::vector<std::string> lines_{};
};

struct LocalServerOptions {
  std::string binary{};                  // empty: ROTA_SERVER_BINARY, else rota-server on the PATH
  std::string data{};                    // empty: a directory of its own, removed at the end
  std::vector<std::string> arguments{};  // further arguments of rota-server
  Millis start_within{20'000};
};

// A rota-server of its own on a free port of 127.0.0.1. Ended by the destructor, and by the kernel
// when this process dies; start it from a thread that lives as long as the server is needed.
class ROTA_EXPORT LocalServer {
 public:
  static Result<LocalServer> start(LocalServerOptions options = {});

  LocalServer(LocalServer&&) noexcept;
  LocalServer& operator=(LocalServer&&) noexcept;
  ~LocalServer();

  const std::string& address() const;  // HOST:PORT
  const std::string& data() const;
  int pid() const;  // 0 while it is down

  // SIGKILL, and wait for the end. Nothing that was acknowledged is lost.
  void kill();
  // SIGTERM, and wait for the end; its exit code, 128 + N after signal N.
  int terminate();
  // On the same directory and port, after kill() or terminate().
  Result<Ok> restart();

 private:
  struct State;
  explicit LocalServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rota::testing
