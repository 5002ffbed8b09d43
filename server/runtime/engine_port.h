// SPDX-License-Identifier: Apache-2.0
//
// What the loop drives: core::Engine, or a stand-in in tests of the loop. The contract is that of
// core/engine.h; everything is called on the loop thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/command.h"
#include "core/effect.h"
#include "core/engine.h"

namespace rota::runtime {

class EnginePort {
 public:
  virtual ~EnginePort() = default;
  virtual void apply(core::Command command, core::Now now) = 0;
  virtual void apply(core::ReadDone read, core::Now now) = 0;
  virtual void drop_call(core::CallId call) = 0;
  virtual void committed(core::CommitSeq seq, core::Now now) = 0;
  virtual void stalled(std::int64_t gap_ms, core::Stall what) = 0;
  virtual void hold_ticks(bool hold) = 0;
  virtual void drain() = 0;
  virtual std::vector<core::Reply> take_immediate() = 0;
  virtual bool full() const = 0;
  virtual core::Turn seal(core::Now now) = 0;
  virtual core::EngineStats stats() const = 0;
};

class CoreEnginePort final : public EnginePort {
 public:
  explicit CoreEnginePort(core::Engine& engine) : engine_(engine) {}
  void apply(core::Command command, core::Now now) override {
    engine_.apply(std::move(command), now);
  }
  void apply(core::ReadDone read, core::Now now) override { engine_.apply(std::move(read), now); }
  void drop_call(core::CallId call) override { engine_.drop_call(call); }
  void committed(core::CommitSeq seq, core::Now now) override { engine_.committed(seq, now); }
  void stalled(std::int64_t gap_ms, core::Stall what) override { engine_.stalled(gap_ms, what); }
  void hold_ticks(bool hold) override { engine_.hold_ticks(hold); }
  void drain() override { engine_.drain(); }
  std::vector<core::Reply> take_immediate() override { return engine_.take_immediate(); }
  bool full() const override { return engine_.full(); }
  core::Turn seal(core::Now now) override { return engine_.seal(now); }
  core::EngineStats stats() const override { return engine_.stats(); }

 private:
  core::Engine& engine_;
};

}  // namespace rota::runtime
