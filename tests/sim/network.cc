// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

#include <memory>
#include <utility>

namespace rota::sim {

std::int64_t Network::delay_ms() {
  if (context_.strikes(Fault::kSlowNetwork, rng_)) {
    return static_cast<std::int64_t>(rng_.log_uniform(100, 30'000));
  }
  return rng_.between(0, context_.profile.network_ms);
}

void Network::send(core::CommandBody body, AnswerFn on_answer) {
  const int copies = context_.strikes(Fault::kDuplicateRequest, rng_) ? 2 : 1;
  const auto kept = std::make_shared<const core::CommandBody>(std::move(body));
  for (int i = 0; i < copies; ++i) {
    if (context_.strikes(Fault::kLoseRequest, rng_)) continue;
    context_.agenda.in(delay_ms(), [this, kept, on_answer] { arrive(*kept, on_answer); });
  }
}

void Network::arrive(const core::CommandBody& body, const AnswerFn& on_answer) {
  core::Command command;
  command.body = body;
  command.bytes = 200;
  const auto* lease = std::get_if<core::LeaseJobs>(&body);
  const core::CallId call = server_.submit(
      std::move(command),
      [this, on_answer](core::ReplyBody answer) { carry_back(std::move(answer), on_answer); });
  if (call != 0 && lease != nullptr && context_.strikes(Fault::kCallerGone, rng_)) {
    context_.agenda.in(rng_.between(0, 1 + lease->wait_ms),
                       [this, call] { server_.hang_up(call); });
  }
}

void Network::carry_back(core::ReplyBody body, const AnswerFn& on_answer) {
  const int copies = context_.strikes(Fault::kDuplicateAnswer, rng_) ? 2 : 1;
  const auto kept = std::make_shared<const core::ReplyBody>(std::move(body));
  for (int i = 0; i < copies; ++i) {
    if (context_.strikes(Fault::kLoseAnswer, rng_)) continue;
    context_.agenda.in(delay_ms(), [kept, on_answer] { on_answer(*kept); });
  }
}

}  // namespace rota::sim
