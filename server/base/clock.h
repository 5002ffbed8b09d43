// SPDX-License-Identifier: Apache-2.0
//
// The clocks of the process as an interface, so that a test can hold and move them. The engine
// never sees a clock: the runtime reads one and passes the time in.
#pragma once

#include <cstdint>

namespace rota::base {

// Thread-safe. No method fails.
class Clock {
 public:
  virtual ~Clock() = default;

  // Milliseconds since 1970-01-01T00:00:00Z. May step in either direction.
  virtual std::int64_t wall_ms() const = 0;

  // Milliseconds since some fixed moment; never goes back, stands still while the machine is
  // suspended. The server counts leases with it: a suspended server could not have seen heartbeats.
  virtual std::int64_t mono_ms() const = 0;

  // Like mono_ms(), but counts suspension. A worker counts its own deadlines with it: a suspended
  // worker has lost its leases.
  virtual std::int64_t boot_ms() const = 0;
};

// The clocks of the operating system. Stateless.
class SystemClock final : public Clock {
 public:
  std::int64_t wall_ms() const override;
  std::int64_t mono_ms() const override;
  std::int64_t boot_ms() const override;
};

}  // namespace rota::base
