// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include "core/command_log.h"

namespace rota::core {
namespace {

Error misplaced(std::size_t entry, std::string fault) {
  return base::invalid_field("log[" + std::to_string(entry) + "]", std::move(fault));
}

// One function for each kind of input; a kind without one does not compile. Each returns what is
// wrong with the entry, or nothing.
class Replayer {
 public:
  explicit Replayer(Engine& engine) : engine_(engine) {}

  std::string operator()(const input::Load&) {
    return "an engine is loaded once; what follows is another log";
  }
  std::string operator()(const input::Apply& in) {
    engine_.apply(in.command, in.now);
    return {};
  }
  // The engine takes a result for what it asked; so an answer to another question must not reach
  // it.
  std::string operator()(const input::Read& in) {
    const auto issue = open_reads_.find(in.read.id);
    if (issue == open_reads_.end() || issue->second.gets != in.read.result.values.size() ||
        issue->second.scans != in.read.result.pages.size()) {
      return "answers read " + std::to_string(in.read.id) +
             ", which this engine did not issue: it has done something else than the one before";
    }
    open_reads_.erase(issue);
    engine_.apply(in.read, in.now);
    return {};
  }
  std::string operator()(const input::DropCall& in) {
    engine_.drop_call(in.call);
    return {};
  }
  std::string operator()(const input::Committed& in) {
    engine_.committed(in.seq, in.now);
    return {};
  }
  std::string operator()(const input::Stalled& in) {
    engine_.stalled(in.gap_ms, in.what);
    return {};
  }
  std::string operator()(const input::HoldTicks& in) {
    engine_.hold_ticks(in.hold);
    return {};
  }
  std::string operator()(const input::Drain&) {
    engine_.drain();
    return {};
  }
  std::string operator()(const input::Seal& in) {
    turns_.push_back(engine_.seal(in.now));
    for (const ReadIssue& issue : turns_.back().reads) {
      open_reads_[issue.id] = {issue.spec.gets.size(), issue.spec.scans.size()};
    }
    return {};
  }

  std::vector<Turn> take_turns() { return std::move(turns_); }

 private:
  struct Shape {
    std::size_t gets = 0;
    std::size_t scans = 0;
  };
  Engine& engine_;
  std::vector<Turn> turns_;
  std::map<std::uint64_t, Shape> open_reads_;
};

}  // namespace

base::Result<std::vector<Turn>> replay(const std::vector<LogEntry>& log, const ShardStore& store,
                                       Engine& engine) {
  const auto* load = log.empty() ? nullptr : std::get_if<input::Load>(&log[0].what);
  if (load == nullptr) return misplaced(0, "a log begins with the engine being loaded");
  auto loaded = engine.load(store, load->now);
  if (!loaded) return loaded.error();

  Replayer replayer(engine);
  for (std::size_t i = 1; i < log.size(); ++i) {
    std::string fault = std::visit(replayer, log[i].what);
    if (!fault.empty()) return misplaced(i, std::move(fault));
  }
  return replayer.take_turns();
}

}  // namespace rota::core
