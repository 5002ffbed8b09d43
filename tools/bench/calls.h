// SPDX-License-Identifier: Apache-2.0
//
// Many calls with a bounded number of them in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "bench/load.h"
#include "rota/error.h"

namespace rota::bench {

template <class Response>
struct Calls {
  std::uint64_t count = 0;
  int in_flight = 64;
  // Begins call i; its answer goes to `done`, on a thread of the client.
  std::function<void(std::uint64_t i, std::function<void(Result<Response>)> done)> send{};
  // Looks at the answer of call i; calls of it may overlap. Unset: any answer but an error will do.
  std::function<void(std::uint64_t i, const Response& answer)> look{};
};

template <class Response>
struct CallsState {
  explicit CallsState(const Calls<Response>& calls_)
      : calls(calls_), tally(static_cast<std::int64_t>(calls_.count)) {}
  const Calls<Response> calls;
  Tally tally;
  std::atomic<std::uint64_t> next{0};
};

template <class Response>
void send_next_call(const std::shared_ptr<CallsState<Response>>& state) {
  const std::uint64_t i = state->next.fetch_add(1);
  if (i >= state->calls.count || state->tally.failed()) return;
  state->tally.begin();
  state->calls.send(i, [state, i](Result<Response> answer) {
    if (!answer) {
      return state->tally.fail_call("a call failed: " + answer.error().reason + " " +
                                    answer.error().field + ": " + answer.error().message);
    }
    if (state->calls.look) state->calls.look(i, *answer);
    send_next_call(state);
    state->tally.done();
  });
}

// Returns when all are answered; throws Failed with the first error.
template <class Response>
void run_calls(const Calls<Response>& calls) {
  if (calls.count == 0) return;
  const auto state = std::make_shared<CallsState<Response>>(calls);
  for (int i = 0; i < calls.in_flight; ++i) send_next_call(state);
  state->tally.wait();
}

}  // namespace rota::bench
