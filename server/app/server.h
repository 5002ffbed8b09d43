// SPDX-License-Identifier: Apache-2.0
//
// The wiring: makes every part of the server in order and takes it down in the reverse one. After
// main.cc this is where a reader sees what the server consists of.
//
//   executor -> store -> engine -> boards, readers, timer -> loop -> services -> listener
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "app/listen_policy.h"
#include "base/clock.h"
#include "base/options.h"
#include "core/engine.h"
#include "rpc/context.h"
#include "rpc/grpc_server.h"
#include "runtime/event_ring.h"
#include "runtime/lease_board.h"
#include "runtime/local_zones.h"
#include "runtime/reader_pool.h"
#include "runtime/services.h"
#include "runtime/timer.h"
#include "runtime/waiters.h"
#include "runtime/worker_board.h"
#include "store/commit_executor.h"
#include "store/failure.h"
#include "store/memory_store.h"
#include "store/open.h"

namespace rota::app {

// Why the server did not start, or must stop: the exit code and one line that says what to do.
struct Stop {
  int exit_code = 0;
  std::string text;
};

struct ServerSetup {
  base::ServerOptions options = {};
  // Called when the server cannot go on (a failed write or read): nothing is acknowledged any more.
  // Unset: one line to the log, then the process ends with the code, without closing the store.
  // Any thread.
  std::function<void(const Stop&)> on_fatal = {};
  // Called when it should stop in an orderly way (an interface got a public address, the disk is
  // full). Any thread; may be called more than once.
  std::function<void(const Stop&)> on_stop_wanted = {};

  // For tests: a store in memory instead of options.data, other clocks, a smaller engine.
  std::shared_ptr<store::MemoryDisk> memory = {};
  const base::Clock* clock = nullptr;
  std::function<void(core::EngineOptions&)> adjust_engine = {};
};

class Server {
 public:
  // Opens, recovers, listens, and then says that it serves. Blocking.
  static std::variant<std::unique_ptr<Server>, Stop> start(ServerSetup setup);
  // Stops without waiting for anybody, if stop() was not called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // HOST:PORT, the bound port included.
  std::string address() const { return facts_.listen_addresses.get().front(); }
  const runtime::ServerFacts& facts() const { return facts_; }
  runtime::EngineLoop& loop() { return *loop_; }
  const core::ShardStore& store() const { return *store_; }
  runtime::LeaseBoard& leases() { return leases_; }
  const runtime::Waiters& waiters() const { return waiters_; }

  // Drains and closes: health NOT_SERVING, opening calls refused, parked calls answered, what is in
  // flight finished within `timeout_ms`, then the store is closed. Idempotent; not on a thread of
  // the server.
  void stop(std::int64_t timeout_ms);

 private:
  explicit Server(ServerSetup setup);
  std::optional<Stop> check_address();
  std::optional<Stop> open_store();
  std::optional<Stop> note_open(const store::StoreInfo& info);
  std::optional<Stop> check_clock();
  std::optional<Stop> load_engine();
  void start_loop();
  std::optional<Stop> listen();
  core::EngineOptions engine_options() const;
  void note_pressure(core::Pressure pressure);
  void look_around();
  void fail(const Stop& stop) const;

  ServerSetup setup_;
  base::SystemClock system_clock_;
  const base::Clock& clock_;
  HostPort listen_;
  runtime::LocalZones zones_;
  runtime::ServerFacts facts_;
  runtime::Warnings warnings_;
  store::AdaptiveExecutor executor_;
  std::unique_ptr<core::ShardStore> store_;
  std::unique_ptr<core::Engine> engine_;
  std::unique_ptr<runtime::EnginePort> port_;
  runtime::LeaseBoard leases_;
  runtime::EventRing events_;
  runtime::WorkerBoard workers_;
  runtime::Timer timer_;
  runtime::Waiters waiters_{timer_};
  runtime::ReaderPool readers_;
  std::unique_ptr<runtime::EngineLoop> loop_;
  std::unique_ptr<rpc::Context> context_;
  std::unique_ptr<rpc::GrpcServer> grpc_;
  bool stopped_ = false;
};

}  // namespace rota::app
