// SPDX-License-Identifier: Apache-2.0
//
// The engine over a store, all on one thread and without checks: what is measured is the engine and
// nothing else. (The tests have support/engine_harness.h, which compares everything all the time.)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/engine.h"

namespace rota::measure {

class EngineDriver {
 public:
  using Opener = std::function<std::unique_ptr<core::ShardStore>(core::Executor&)>;
  // Without an opener: a fresh store in memory. Ends the process when it does not open.
  explicit EngineDriver(const Opener& opener = {});

  // Turns until the command is answered; ends the process when it is refused. Time goes on by a
  // millisecond with each call.
  template <class Reply>
  Reply call(core::CommandBody body) {
    core::ReplyBody reply = answer(std::move(body));
    if (auto* wanted = std::get_if<Reply>(&reply)) return std::move(*wanted);
    refuse(reply);
  }

  // `jobs` jobs of `payload_bytes` each into `queue`, in one command.
  void enqueue(const std::string& queue, int jobs, std::size_t payload_bytes);
  void make_queue(const std::string& queue);
  core::LeaseReply lease(const std::string& queue, int jobs);
  // All of them succeed.
  void finish(const core::LeaseReply& leased);

  const core::Engine& engine() const { return *engine_; }

 private:
  core::ReplyBody answer(core::CommandBody body);
  void turn();
  [[noreturn]] static void refuse(const core::ReplyBody& reply);

  class Utc final : public core::TimeZoneSource {
   public:
    core::TimeZonePtr find(std::string_view) const override { return nullptr; }
  };

  core::InlineExecutor executor_;
  Utc zones_;
  std::unique_ptr<core::ShardStore> store_;
  std::unique_ptr<core::Engine> engine_;
  core::Now now_{.wall_ms = 1'795'953'600'000, .mono_ms = 1'000'000};
  core::CallId next_call_ = 1;
  std::vector<core::ReadDone> reads_;
  std::vector<core::Reply> replies_;
};

}  // namespace rota::measure
