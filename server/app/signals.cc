// SPDX-License-Identifier: Apache-2.0
#include "app/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace rota::app {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  // A blocked signal is kept although it is ignored, so it is not to be waited for.
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

void hold_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int wait_for_stop_signal() {
  const sigset_t set = stop_signals();
  int number = 0;
  while (sigwait(&set, &number) != 0) {
  }
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  if (sigismember(&set, SIGHUP) != 0) signal(SIGHUP, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  return number;
}

void raise_stop_signal() { kill(getpid(), SIGTERM); }

}  // namespace rota::app
