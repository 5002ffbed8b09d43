// SPDX-License-Identifier: Apache-2.0
//
// Faults that are a story of their own, with checks of their own: all others go on being served,
// and the server stays within its memory.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "blackbox/actor.h"
#include "blackbox/deaf_consumer.h"
#include "blackbox/stage.h"
#include "blackbox/swarm.h"

namespace rota::blackbox {

// What a server may take, in KiB: what its options and its transport allow (write buffers 64 MiB,
// block cache 32, windows 64, waiting commands 64, transport 192), for unread answers three times
// limits.reply_bytes, and 32 KiB for each connection.
inline constexpr std::int64_t kUnreadKiB = 3 * 64 * 1024;
inline constexpr std::int64_t kMemoryKiB = 416 * 1024 + kUnreadKiB;
// What one consumer that never reads may add to what the server has when it comes. Measured alone:
// 67 MiB, for 16 MiB of unread answers with their calls (276 while pages were kept as messages);
// in rounds 218 to 381, beside all others' work, with an allocator that gives free memory back
// after two seconds. What was there before is no matter of it: after a storm the allocator still
// holds what its connections took.
inline constexpr std::int64_t kOneDeafKiB = 448 * 1024;
inline constexpr std::int64_t kMemoryKiBPerConnection = 32;

// How long the others may be without any answer.
inline constexpr std::int64_t kSilenceMs = 15'000;

class Scenario {
 public:
  virtual ~Scenario() = default;
  // True: it is over.
  virtual bool step() = 0;
  // What was measured, one line.
  virtual std::string note() const = 0;
};

// Watches that answers go on coming.
class Service {
 public:
  explicit Service(const Shared& shared) : shared_(shared) {}
  void step();
  void begin_anew();  // the server was away
  std::int64_t longest_silence_ms() const { return longest_ms_; }
  std::int64_t answers() const { return answers_; }

 private:
  const Shared& shared_;
  std::int64_t seen_ = -1, answers_ = 0, longest_ms_ = 0;
  Ns since_ = 0;
};

// As many connections as the limit of open files allows, at most 10,000, each with a lease call;
// then the server is killed, and they all come back.
std::unique_ptr<Scenario> make_storm(Stage& stage, const Shared& shared,
                                     Contradictions* contradictions);
// Where the limit of open files does not allow 10,000, why.
std::optional<std::string> why_no_storm();

// A client asks for pages of jobs, 900 times at once, and reads none: the server must cut it and
// meanwhile hold no more for it than one connection may have of unread answers.
std::unique_ptr<Scenario> make_deaf_consumer(Stage& stage, const Shared& shared,
                                             Contradictions* contradictions);

}  // namespace rota::blackbox
