// SPDX-License-Identifier: Apache-2.0
//
// The way between clients and server. A request and an answer may each be delayed, lost, doubled
// and overtaken; a caller may hang up; while the server is down nothing comes back.
#pragma once

#include <functional>

#include "sim/context.h"
#include "sim/server.h"

namespace rota::sim {

class Network {
 public:
  // Called for each copy of an answer that arrives: never, once or more often.
  using AnswerFn = std::function<void(const core::ReplyBody& body)>;

  Network(Context& context, Server& server, Rng rng)
      : context_(context), server_(server), rng_(rng) {}

  void send(core::CommandBody body, AnswerFn on_answer);

 private:
  std::int64_t delay_ms();
  void arrive(const core::CommandBody& body, const AnswerFn& on_answer);
  void carry_back(core::ReplyBody body, const AnswerFn& on_answer);

  Context& context_;
  Server& server_;
  Rng rng_;
};

}  // namespace rota::sim
