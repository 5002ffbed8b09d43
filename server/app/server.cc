// SPDX-License-Identifier: Apache-2.0
#include "app/server.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "app/accepted_loss.h"
#include "app/clock_check.h"
#include "app/exit_code.h"
#include "base/log.h"
#include "base/names.h"
#include "store/store_record.h"

namespace rota::app {

namespace log = base::log;

namespace {

constexpr std::int64_t kLookAroundMs = 60'000;
// Calls that were cut off by the end of the drain have this long to notice.
constexpr std::int64_t kLastCallsMs = 500;

// The store has already said what it is and what to do.
[[noreturn]] void end_process(const Stop& stop) {
  log::error("stopped", {{"reason", stop.text}, {"exit_code", stop.exit_code}});
  _exit(stop.exit_code);
}

Stop damaged(const base::Error& error) {
  return {kExitDamage, store::Failure{store::FailureKind::kDamage, error.message}.describe()};
}

Stop disk_full(const base::ServerOptions& options) {
  std::error_code error;
  const auto space = std::filesystem::space(options.data, error);
  const std::string free =
      error ? "too little" : base::format_bytes(static_cast<std::int64_t>(space.available));
  return {kExitDiskFull, store::Failure{store::FailureKind::kDiskFull,
                                        "the file system of " + options.data + " has " + free +
                                            " free, store.no_space_bytes is " +
                                            base::format_bytes(options.store_no_space_bytes)}
                             .describe()};
}

// Limits that may be meant so, on a disk of one's own, and are not what the defaults promise.
void warn_of_small_limits(const base::ServerOptions& options) {
  const std::int64_t still_to_write =
      options.store_max_wal_bytes + options.store_write_buffer_bytes * 3 / 2;
  if (options.store_no_space_bytes < still_to_write) {
    log::warn("store.no_space_bytes is small",
              {{"finding", "a disk that fills up may stop the server in the middle of a write; " +
                               base::format_bytes(still_to_write) +
                               " may still have to be written: store.max_wal_bytes and one and a "
                               "half times store.write_buffer_bytes"}});
  }
  if (options.store_ballast_bytes != 0 &&
      options.store_ballast_bytes <= options.store_no_space_bytes) {
    log::warn("store.ballast_bytes is small",
              {{"finding",
                "a server that stopped on a full disk cannot start in the room that it "
                "gives: store.no_space_bytes is " +
                    base::format_bytes(options.store_no_space_bytes)}});
  }
}

const char* pressure_sentence(core::Pressure pressure) {
  switch (pressure) {
    case core::Pressure::kOk:
      break;
    case core::Pressure::kSlow:
      return "The store is behind with its own work; writes are slower.";
    case core::Pressure::kRefuseNew:
      return "The disk is nearly full or too slow: new work is refused and schedulers wait; "
             "running work may end.";
    case core::Pressure::kReadOnly:
      return "The disk is full: nothing is accepted, and the server stops.";
    case core::Pressure::kFailed:
      return "The store has failed: nothing is accepted, and the server ends.";
  }
  return "";
}

}  // namespace

std::variant<std::unique_ptr<Server>, Stop> Server::start(ServerSetup setup) {
  std::unique_ptr<Server> self(new Server(std::move(setup)));
  if (auto stop = self->check_address()) return *stop;
  if (auto stop = self->open_store()) return *stop;
  if (auto stop = self->check_clock()) return *stop;
  if (auto stop = self->load_engine()) return *stop;
  self->start_loop();
  if (auto stop = self->listen()) return *stop;
  return self;
}

Server::Server(ServerSetup setup)
    : setup_(std::move(setup)), clock_(setup_.clock != nullptr ? *setup_.clock : system_clock_) {
  facts_.version = ROTA_VERSION;
  facts_.data_dir = setup_.options.data;
  facts_.zone_data_version = runtime::LocalZones::data_version();
  facts_.start_wall_ms = clock_.wall_ms();
  facts_.start_mono_ms = clock_.mono_ms();
}

Server::~Server() { stop(0); }

// ---- start, in order ------------------------------------------------------------------------

// Before anything is opened, so that a wrong address costs nothing and changes nothing.
std::optional<Stop> Server::check_address() {
  const auto listen = parse_listen(setup_.options.listen);
  if (!listen) return Stop{kExitConfig, base::to_string(listen.error())};
  listen_ = *listen;
  const auto interfaces = host_interfaces();
  if (!interfaces) return Stop{kExitConfig, base::to_string(interfaces.error())};
  if (const auto why =
          refuse_listen(listen_, setup_.options.allow_plaintext_private, *interfaces)) {
    return Stop{kExitConfig, "configuration: listen: " + *why};
  }
  if (const auto why = probe_bind(listen_)) {
    return Stop{kExitInUse, "address: " + *why};
  }
  facts_.plaintext_private = classify(listen_.host) != AddressKind::kLoopback;
  return std::nullopt;
}

std::optional<Stop> Server::open_store() {
  if (setup_.memory) {
    executor_.set_prefer_inline(true);
    store_ = setup_.memory->open(executor_);
    if (!store_) return Stop{kExitInUse, "another store has the disk in memory"};
    facts_.store_kind = "memory";
    facts_.store_id = "memory";
  } else {
    const base::ServerOptions& options = setup_.options;
    store::OpenOptions open;
    open.directory = options.data;
    open.allow_network_file_system = options.allow_network_file_system;
    open.sizes.write_buffers_bytes = static_cast<std::size_t>(options.store_write_buffer_bytes);
    open.sizes.block_cache_bytes = static_cast<std::size_t>(options.store_block_cache_bytes);
    open.sizes.wal_bytes = static_cast<std::uint64_t>(options.store_max_wal_bytes);
    open.sizes.low_space_bytes = static_cast<std::uint64_t>(options.store_low_space_bytes);
    open.sizes.no_space_bytes = static_cast<std::uint64_t>(options.store_no_space_bytes);
    open.sizes.ballast_bytes = static_cast<std::uint64_t>(options.store_ballast_bytes);
    if (open.sizes.low_space_bytes < open.sizes.no_space_bytes) {
      return Stop{kExitConfig,
                  "configuration: store.low_space_bytes is less than store.no_space_bytes"};
    }
    warn_of_small_limits(options);
    if (options.accept_loss_after > 0) {
      open.accept_loss_after = static_cast<core::CommitSeq>(options.accept_loss_after);
    }
    open.on_fatal = [this](const store::Failure& failure) {
      fail({failure.exit_code(), failure.describe()});
    };
    store::OpenResult opened = store::open_store(open, executor_);
    if (opened.failure) return Stop{opened.failure->exit_code(), opened.failure->describe()};
    store_ = std::move(opened.store);
    facts_.store_kind = "rocksdb";
    facts_.store_id = opened.info.store_id;
    facts_.format_version = static_cast<std::int32_t>(opened.info.format);
    log::info("store open", {{"data", options.data},
                             {"store_id", opened.info.store_id},
                             {"created", opened.info.created},
                             {"commit_seq", opened.info.recovered_seq},
                             {"open_ms", opened.info.open_ms}});
    if (auto stop = note_open(opened.info)) return stop;
  }
  facts_.server_epoch = store_->epoch();
  if (store_->pressure() == core::Pressure::kReadOnly) return disk_full(setup_.options);
  return std::nullopt;
}

// What an operator should know of how the store was found.
std::optional<Stop> Server::note_open(const store::StoreInfo& info) {
  if (!info.torn_log.empty()) log::warn("torn log", {{"finding", info.torn_log}});
  if (info.gave_up_ballast) {
    log::warn("ballast given up",
              {{"finding", "the disk was full; no new work is taken until there is room again"}});
  }
  if (!info.no_ballast.empty()) log::warn("no ballast", {{"reason", info.no_ballast}});
  if (!info.loss_accepted) return std::nullopt;
  log::warn("loss accepted",
            {{"last_batch", info.recovered_seq}, {"incarnation", store_->incarnation()}});
  executor_.set_prefer_inline(true);
  if (const auto jumped = jump_numbers(*store_); !jumped) {
    return Stop{kExitIo, jumped.error().message};
  }
  return std::nullopt;
}

std::optional<Stop> Server::check_clock() {
  const auto stored_ms = stored_time_ms(*store_);
  if (!stored_ms) return damaged(stored_ms.error());
  const std::int64_t wall_ms = clock_.wall_ms();
  const ClockVerdict verdict = judge_clock(*stored_ms, wall_ms);
  const auto held = stored_hold(*store_);
  if (!held) return damaged(held.error());
  if (verdict == ClockVerdict::kFine && !(setup_.options.trust_clock && *held)) {
    return std::nullopt;
  }
  const std::string sentence = verdict == ClockVerdict::kFine
                                   ? "deletion by age was held back after a jump of the clock"
                                   : clock_sentence(verdict, *stored_ms, wall_ms);
  if (setup_.options.trust_clock) {
    executor_.set_prefer_inline(true);
    if (const auto stored = set_stored_time(*store_, wall_ms); !stored) {
      return Stop{kExitIo, stored.error().message};
    }
    log::warn("clock trusted", {{"before", sentence}});
    return std::nullopt;
  }
  if (verdict == ClockVerdict::kRefuse) return Stop{kExitClock, "clock: " + sentence};
  warnings_.set("clock at start", sentence);
  log::warn("clock", {{"finding", sentence}});
  return std::nullopt;
}

std::optional<Stop> Server::load_engine() {
  engine_ = std::make_unique<core::Engine>(engine_options(), zones_);
  const core::Now now{clock_.wall_ms(), clock_.mono_ms()};
  if (const auto loaded = engine_->load(*store_, now); !loaded) return damaged(loaded.error());
  if (const auto loaded = leases_.load(*store_); !loaded) return damaged(loaded.error());
  port_ = std::make_unique<runtime::CoreEnginePort>(*engine_);
  return std::nullopt;
}

core::EngineOptions Server::engine_options() const {
  const base::ServerOptions& from = setup_.options;
  core::EngineOptions engine;
  engine.window_rows = static_cast<std::uint32_t>(from.window_rows);
  engine.page_rows = static_cast<std::uint32_t>(from.window_page_rows);
  engine.window_bytes = static_cast<std::size_t>(from.window_bytes);
  engine.late_tolerance_ms = from.late_tolerance_ms;
  engine.max_queues = static_cast<std::uint64_t>(from.queues);
  engine.max_schedulers = static_cast<std::uint64_t>(from.schedulers);
  engine.max_polls = static_cast<std::uint64_t>(from.parked_polls);
  if (setup_.adjust_engine) setup_.adjust_engine(engine);
  return engine;
}

void Server::start_loop() {
  runtime::EngineLoopOptions options;
  options.admission.commands = static_cast<std::size_t>(setup_.options.command_queue_commands);
  options.admission.bytes = static_cast<std::size_t>(setup_.options.command_queue_bytes);
  options.on_pressure = [this](core::Pressure pressure) { note_pressure(pressure); };
  loop_ = std::make_unique<runtime::EngineLoop>(
      *port_, *store_, &executor_, readers_, clock_, options,
      [this](const std::vector<core::JobEvent>& events) {
        leases_.publish(events);
        events_.publish(events);
        waiters_.publish(events);
      },
      [this](const store::Failure& failure) {
        fail({failure.exit_code(), failure.describe()});
      });
  loop_->start();
  timer_.after(kLookAroundMs, [this] { look_around(); });
}

// R4: the listener opens after the recovery.
std::optional<Stop> Server::listen() {
  context_ = std::make_unique<rpc::Context>(runtime::Services{
      .loop = *loop_,
      .store = *store_,
      .leases = leases_,
      .events = events_,
      .waiters = waiters_,
      .workers = workers_,
      .readers = readers_,
      .timer = timer_,
      .zones = zones_,
      .clock = clock_,
      .facts = facts_,
      .warnings = warnings_,
      .limits = {.payload_bytes = setup_.options.payload_bytes,
                 .reply_bytes = setup_.options.reply_bytes},
  });
  rpc::GrpcServerOptions options;
  options.addresses = {listen_.to_string()};
  options.reflection =
      setup_.options.reflection || classify(listen_.host) == AddressKind::kLoopback;
  auto started = rpc::GrpcServer::start(*context_, options);
  if (!started) return Stop{kExitInUse, "address: " + started.error().message};
  grpc_ = std::move(*started);
  facts_.listen_addresses.set(grpc_->addresses());
  grpc_->set_serving(true);
  log::info("serving", {{"address", address()},
                        {"version", facts_.version},
                        {"server_epoch", facts_.server_epoch},
                        {"zone_data", facts_.zone_data_version},
                        {"running_jobs", leases_.size()}});
  if (facts_.plaintext_private) {
    const std::string sentence = "Plain text without authentication is served on " + address() +
                                 ": everyone who can reach it can do everything.";
    warnings_.set("plaintext", sentence);
    log::warn("plain text on a private address", {{"address", address()}});
  }
  return std::nullopt;
}

// ---- the store ----------------------------------------------------------------------------

void Server::note_pressure(core::Pressure pressure) {
  if (pressure == core::Pressure::kOk) {
    warnings_.clear("store");
    return;
  }
  warnings_.set("store", pressure_sentence(pressure));
  if (pressure == core::Pressure::kSlow) return;  // comes and goes
  log::warn("store under pressure", {{"finding", pressure_sentence(pressure)}});
  // Nothing may be written any more: what runs is told by the end of its connection, and the rest
  // waits on the disk. A store that has failed ends the process itself.
  if (pressure == core::Pressure::kReadOnly && setup_.on_stop_wanted) {
    setup_.on_stop_wanted(disk_full(setup_.options));
  }
}

// ---- each minute ----------------------------------------------------------------------------

void Server::look_around() {
  workers_.forget_old(clock_.mono_ms());

  loop_->ask_stats([this](const runtime::LoopStats& stats) {
    if (stats.engine.behind_ms <= base::limits::kBackwardStepMs) {
      warnings_.clear("clock at start");
      warnings_.clear("clock");
      return;
    }
    warnings_.set("clock", "The wall clock is behind the server's time by " +
                               std::to_string(stats.engine.behind_ms / 1000) +
                               " s; time stands still until it has caught up.");
    log::warn("clock behind", {{"behind_ms", stats.engine.behind_ms}});
  });

  const auto interfaces = host_interfaces();
  if (interfaces) {
    if (const auto why =
            refuse_listen(listen_, setup_.options.allow_plaintext_private, *interfaces)) {
      log::error("address no longer allowed", {{"reason", *why}});
      if (setup_.on_stop_wanted) setup_.on_stop_wanted({kExitConfig, *why});
      return;
    }
  }
  timer_.after(kLookAroundMs, [this] { look_around(); });
}

void Server::fail(const Stop& stop) const {
  if (setup_.on_fatal) {
    setup_.on_fatal(stop);
  } else {
    end_process(stop);
  }
}

// ---- the end --------------------------------------------------------------------------------

void Server::stop(std::int64_t timeout_ms) {
  if (std::exchange(stopped_, true)) return;
  const std::int64_t began_ms = clock_.mono_ms();
  if (grpc_) grpc_->drain();
  waiters_.drain();
  if (loop_) {
    loop_->drain();
    const bool idle = loop_->wait_idle(timeout_ms);
    if (grpc_) grpc_->shutdown(idle ? kLastCallsMs : 0);
    loop_->stop();
  }
  readers_.stop();
  timer_.stop();
  executor_.drain();
  const bool failed = loop_ && loop_->failed();
  // After a failure nothing is flushed: the next open reads what the disk holds.
  if (store_ && !failed) store_->close();
  if (grpc_) {
    log::info("stopped", {{"drain_ms", clock_.mono_ms() - began_ms}, {"failed", failed}});
  }
  grpc_.reset();
  context_.reset();
  loop_.reset();
}

}  // namespace rota::app
