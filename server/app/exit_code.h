// SPDX-License-Identifier: Apache-2.0
//
// How rota-server ends. Whoever restarts it can tell from the code whether that helps.
#pragma once

namespace rota::app {

inline constexpr int kExitOk = 0;       // drained, or an offline check found nothing
inline constexpr int kExitDamage = 65;  // stored data is not what was written
inline constexpr int kExitInUse = 69;   // data directory or address in use
inline constexpr int kExitDiskFull = 73;
inline constexpr int kExitIo = 74;
inline constexpr int kExitConfig = 78;  // a configuration that cannot be served
inline constexpr int kExitClock = 79;   // the wall clock contradicts the stored time

}  // namespace rota::app
