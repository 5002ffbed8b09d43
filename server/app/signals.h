// SPDX-License-Identifier: Apache-2.0
//
// SIGTERM, SIGINT and SIGHUP (unless it is ignored, as under nohup) as something to wait for. A
// second one, while the server drains, ends the process at once.
#pragma once

namespace rota::app {

// Before the first thread is made: every thread inherits the mask. SIGPIPE is ignored.
void hold_stop_signals();

// Blocks until one of them arrives and returns its number; from then on the next one kills.
int wait_for_stop_signal();

// As if SIGTERM had arrived. Any thread.
void raise_stop_signal();

}  // namespace rota::app
