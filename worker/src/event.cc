// SPDX-License-Identifier: Apache-2.0
#include "src/event.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace rota::internal {

Event::Event()
    : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (event_ < 0 || timer_ < 0) std::abort();  // out of descriptors: nothing could be supervised
}

Event::~Event() {
  close(event_);
  close(timer_);
}

void Event::set() {
  const int saved = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_, &one, sizeof(one));
  errno = saved;
}

bool Event::wait_until(BootTime until) {
  const bool timed = until != BootTime::max();
  itimerspec spec{};
  if (timed) {
    // Zero would disarm the timer, so the past is the first nanosecond.
    const auto ns = std::max<std::int64_t>(1, until.time_since_epoch().count());
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
  }
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr);
  while (true) {
    pollfd waits[2] = {{event_, POLLIN, 0}, {timer_, POLLIN, 0}};
    if (poll(waits, timed ? 2 : 1, -1) < 0) continue;  // EINTR
    std::uint64_t count = 0;
    if ((waits[0].revents & POLLIN) != 0 && read(event_, &count, sizeof(count)) > 0) return true;
    if (timed && (waits[1].revents & POLLIN) != 0) return false;
  }
}

void Event::wait() { wait_until(BootTime::max()); }

}  // namespace rota::internal
