// SPDX-License-Identifier: Apache-2.0
#include "blackbox/actor.h"

#include <chrono>

#include "driver/process.h"

namespace rota::blackbox {
namespace {

internal::RawClient connect(const std::string& address) {
  ClientOptions options;
  options.address = address;
  return *internal::RawClient::create(options);
}

}  // namespace

std::int64_t Shared::server_ms() const { return driver::wall_ms() + clock_ms; }

void Shared::pause(std::int64_t ms) {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::milliseconds(ms), [this] { return over.load(); });
}

void Shared::stop_new() { no_more = true; }

void Shared::end() {
  {
    const std::lock_guard lock(mutex);
    no_more = true;
    over = true;
  }
  changed.notify_all();
}

Actor::Actor(const std::string& address, std::string name, std::uint64_t seed, Shared& shared)
    : name_(std::move(name)), client_(connect(address)), random_(seed), shared_(shared) {}

Actor::Heard Actor::hear(const Error& error) {
  if (error.may_have_happened || error.reason == "STORE_FAILED") return Heard::kUnknown;
  switch (error.code) {
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kExhausted:
      return Heard::kLater;
    default:
      return Heard::kRefused;
  }
}

void Actor::refuse(Call* call, const Error& error) {
  call->replied = mono_ns();
  call->answer = Call::Answer::kRefused;
  call->reason = error.reason;
}

}  // namespace rota::blackbox
