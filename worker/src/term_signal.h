// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/event.h"

namespace rota::internal {

// While it lives, SIGTERM sets the event instead of ending the process; several may live at once. A
// program that handles SIGTERM itself is left alone: it calls stop().
class TermSignal {
 public:
  explicit TermSignal(Event& event);
  ~TermSignal();
  TermSignal(const TermSignal&) = delete;
  TermSignal& operator=(const TermSignal&) = delete;

  // How many came since this was made.
  int count() const;

 private:
  Event* event_;
  int slot_ = -1;
  int count_before_ = 0;
};

}  // namespace rota::internal
