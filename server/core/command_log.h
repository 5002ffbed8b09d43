// SPDX-License-Identifier: Apache-2.0
//
// Everything that enters the engine from outside, as values that can be written down, and the way
// back: the same entries given to a fresh engine give the same turns, bit for bit. For replaying
// what a simulator or a test did, and for a log that one day leads while a store follows.
//
// The pages and values that reads deliver are inputs like commands are: an engine is replayed from
// its log without a store to read from. Only `Load` needs one, as it was when the log began. Not in
// the log, and to be given again as they were: EngineOptions and the rules of time zones.
// Engine::take_immediate() changes no decision and is no entry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "core/command.h"
#include "core/effect.h"
#include "core/engine.h"
#include "core/store.h"

namespace rota::core {

// One for each call of the engine that changes it; see core/engine.h for what they mean.
namespace input {
struct Load {
  Now now;
};
struct Apply {
  Command command;
  Now now;
};
struct Read {
  ReadDone read;
  Now now;
};
struct DropCall {
  CallId call = 0;
};
struct Committed {
  CommitSeq seq = 0;
  Now now;
};
struct Stalled {
  std::int64_t gap_ms = 0;
  Stall what = Stall::kLoop;
};
struct HoldTicks {
  bool hold = false;
};
struct Drain {};
struct Seal {
  Now now;
};
}  // namespace input

using EngineInput =
    std::variant<input::Load, input::Apply, input::Read, input::DropCall, input::Committed,
                 input::Stalled, input::HoldTicks, input::Drain, input::Seal>;

struct LogEntry {
  EngineInput what;
};

// An envelope of model/bytes.h: a format byte, the entry, a checksum.
std::string encode(const LogEntry& entry);
// False, and `entry` is left as it is, for anything that encode() did not write: cut off, changed,
// longer, of another format, with numbers outside their enum. Takes memory in proportion to the
// bytes given, whatever they are.
bool decode(std::string_view bytes, LogEntry* entry);

// Gives the entries to an engine that was just made, in their order, and returns what it sealed,
// one turn for each Seal. The first entry, and no other, is a Load; it reads `store`, which is not
// written to. Answers that were taken early when the log was written are in the turn that follows.
// An error names the entry that cannot be (a read that this engine has not asked for shows that the
// log, the store or the options are others), or is that of Engine::load; the engine is of no use
// then.
base::Result<std::vector<Turn>> replay(const std::vector<LogEntry>& log, const ShardStore& store,
                                       Engine& engine);

}  // namespace rota::core
