// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "internal/access.h"
#include "internal/worker_port.h"
#include "rota/worker.h"
#include "src/event.h"
#include "src/lease_table.h"
#include "src/line_budget.h"

namespace rota::internal {

class Executor;
class Keeper;
class LeaseLanes;
class Pump;
class Reporter;
class Stopper;
class TermSignal;

// Turns a worker's name into its connection; tests put a port of their own here.
using PortFactory = std::function<Result<std::unique_ptr<WorkerPort>>(WorkerIdentity)>;

// What a Worker holds: the parts and how they are wired.
//
//   LeaseLanes --grants--> Executor --outcomes--> Reporter     (calls are made by the Pump)
//        ^---------------- outcomes that go with a lease call ----'
//                  LeaseTable <-- Keeper (beats, deadlines) --> Stopper
class WorkerCore {
 public:
  WorkerCore(WorkerOptions options, PortFactory factory, LogFunction log);
  ~WorkerCore();

  void handle(std::string kind, Handler handler) {
    handlers_[std::move(kind)] = std::move(handler);
  }
  void handle_any(Handler handler) { any_ = std::move(handler); }
  Result<Ok> run();
  void stop();  // async-signal-safe

 private:
  struct Parts;

  void on_grants(std::size_t lane, LeaseReply reply, BootTime sent);
  void give_back(const LeasePtr& lease, ReleaseReason reason);
  void run_job(const LeasePtr& lease);
  Outcome call_handler(const Handler& handler, Lease& lease);
  void report(const LeasePtr& lease, Outcome outcome);
  void warn_of(const Lease& lease, const char* what, const std::string& why);
  const Handler* find_handler(const std::string& kind) const;
  void drain(TermSignal& signal);
  void wait_for(BootTime until, const std::function<bool()>& done);
  bool hurried(TermSignal& signal) const;

  const WorkerOptions options_;
  const PortFactory factory_;
  const LogFunction log_;
  LineBudget warnings_;
  std::map<std::string, Handler, std::less<>> handlers_{};
  Handler any_{};
  Event event_;
  std::atomic<int> stops_{0};
  std::atomic<bool> draining_{false}, started_{false};
  std::atomic<int> handlers_running_{0};  // or in line
  std::unique_ptr<Parts> parts_;
};

}  // namespace rota::internal
