// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/lease_loop.h"

namespace rota::internal {

// The lease loops of one worker, each with its share of the slots. A worker with many slots has
// two: while the server works on what one half reports and asks for, the handlers work on the
// other half. Three or more only make the calls, and the commits, smaller. Thread-safe.
class LeaseLanes {
 public:
  struct Hooks {
    // As in LeaseLoop::Hooks; the slots of the grants are taken until they are freed in their lane.
    std::function<void(std::size_t lane, LeaseReply reply, BootTime sent)> granted{};
    std::function<void()> wake{};
    std::function<void()> ended{};
    std::function<Carried(BootTime now)> carry{};
  };

  // `options.concurrency` is that of the whole worker.
  LeaseLanes(WorkerPort& port, const LeaseLoop::Options& options, const Hooks& hooks,
             const LogFunction& log);

  void freed(std::size_t lane, int slots) { lanes_[lane]->freed(slots); }

  // A step of the pump.
  BootTime step(BootTime now);

  // As in LeaseLoop, of all of them.
  void stop();
  bool has_ended() const;
  std::optional<Error> error() const;  // of the first that has one

 private:
  std::vector<std::unique_ptr<LeaseLoop>> lanes_;
};

}  // namespace rota::internal
