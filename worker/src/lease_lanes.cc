// SPDX-License-Identifier: Apache-2.0
#include "src/lease_lanes.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace rota::internal {
namespace {

constexpr int kTwoLanesFrom = 32;  // slots; with fewer, calls are small enough as they are

// What one lane has to say of the server the other says too, unless it is not asking just then.
class OneVoice {
 public:
  explicit OneVoice(LogFunction log) : log_(std::move(log)) {}

  void say(int lane, int level, std::string_view line) {
    {
      std::lock_guard lock(mutex_);
      const BootTime now = BootClock::now();
      if (lane != lane_ && line == line_ && now - said_ < kEcho) return;
      lane_ = lane;
      line_ = line;
      said_ = now;
    }
    log_(level, line);
  }

 private:
  static constexpr Millis kEcho{30'000};
  const LogFunction log_;
  std::mutex mutex_{};
  int lane_ = -1;
  std::string line_{};
  BootTime said_{};
};

}  // namespace

LeaseLanes::LeaseLanes(WorkerPort& port, const LeaseLoop::Options& options, const Hooks& hooks,
                       const LogFunction& log) {
  const int lanes = options.concurrency >= kTwoLanesFrom ? 2 : 1;
  const auto voice = std::make_shared<OneVoice>(log);
  for (int lane = 0; lane < lanes; ++lane) {
    LeaseLoop::Options share = options;
    share.concurrency = (options.concurrency + lane) / lanes;
    LeaseLoop::Hooks own{.wake = hooks.wake, .ended = hooks.ended, .carry = hooks.carry};
    own.granted = [granted = hooks.granted, lane](LeaseReply reply, BootTime sent) {
      granted(static_cast<std::size_t>(lane), std::move(reply), sent);
    };
    lanes_.push_back(std::make_unique<LeaseLoop>(
        port, std::move(share), std::move(own),
        [voice, lane](int level, std::string_view line) { voice->say(lane, level, line); }));
  }
}

BootTime LeaseLanes::step(BootTime now) {
  BootTime next = BootTime::max();
  for (const auto& lane : lanes_) next = std::min(next, lane->step(now));
  return next;
}

void LeaseLanes::stop() {
  for (const auto& lane : lanes_) lane->stop();
}

bool LeaseLanes::has_ended() const {
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [](const auto& lane) { return lane->has_ended(); });
}

std::optional<Error> LeaseLanes::error() const {
  for (const auto& lane : lanes_) {
    if (auto error = lane->error()) return error;
  }
  return std::nullopt;
}

}  // namespace rota::internal
