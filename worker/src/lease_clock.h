// SPDX-License-Identifier: Apache-2.0
// When a worker must stop believing in a lease. Pure arithmetic: every result is earlier than the
// server's own deadline, whatever the network did, as long as both clocks run at nearly one rate.
#pragma once

#include <algorithm>

#include "base/limits.h"
#include "internal/clock.h"

namespace rota::internal {

// Kept clear of the server's deadline for pauses of the scheduler.
constexpr Millis lease_margin(Millis ttl) { return std::max(Millis(1'000), ttl / 10); }

// 5 % is allowed for clocks that run at different rates. `sent` is when the call left: the server's
// grant came later.
constexpr BootTime grant_deadline(BootTime sent, Millis granted_after, Millis ttl) {
  return sent + granted_after + ttl * 95 / 100 - lease_margin(ttl);
}

// A renewal shorter than the ttl ends at the attempt timeout; the full margin would leave nothing
// of it, so its share of the renewal is kept.
constexpr BootTime renewal_deadline(BootTime sent, Millis renewed_for, Millis ttl) {
  if (renewed_for >= ttl) return sent + renewed_for * 95 / 100 - lease_margin(ttl);
  return sent + renewed_for * 95 / 100 - std::min(lease_margin(ttl), renewed_for / 10);
}

// The attempt timeout: the server counts from the grant, which was not before this. A thousandth
// for the clocks' rates: over an hour 5 % would be minutes, and real clocks differ by far less.
constexpr BootTime cap_deadline(BootTime sent, Millis granted_after, Millis attempt_left) {
  return sent + granted_after + attempt_left * 999 / 1000;
}

// How long before its end a handler is told to stop.
constexpr Millis stop_grace(Millis ttl) {
  return std::min(Millis(base::limits::kHandlerGraceMsMax),
                  ttl / base::limits::kHandlerGraceTtlDivisor);
}
constexpr Millis cap_grace(Millis ttl, Millis attempt_left) {
  return std::min(stop_grace(ttl), attempt_left / 10);
}

// A beat that times out must leave time for another to go before handlers are told to stop.
constexpr Millis beat_interval(Millis ttl) { return ttl / base::limits::kBeatsPerTtl; }
constexpr Millis beat_timeout(Millis ttl) {
  return std::clamp(ttl / 6, Millis(500), Millis(10'000));
}

}  // namespace rota::internal
