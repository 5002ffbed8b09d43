// SPDX-License-Identifier: Apache-2.0
#include "src/term_signal.h"

#include <signal.h>

#include <array>
#include <atomic>
#include <mutex>

namespace rota::internal {
namespace {

constexpr int kSlots = 64;
std::array<std::atomic<Event*>, kSlots> g_events{};
std::atomic<int> g_count{0};
std::mutex g_mutex;
int g_users = 0;           // under g_mutex
bool g_installed = false;  // under g_mutex

extern "C" void rota_on_term(int) {
  g_count.fetch_add(1);
  for (auto& slot : g_events) {
    if (Event* event = slot.load()) event->set();
  }
}

}  // namespace

TermSignal::TermSignal(Event& event) : event_(&event) {
  std::lock_guard lock(g_mutex);
  count_before_ = g_count.load();
  for (int i = 0; i < kSlots && slot_ < 0; ++i) {
    Event* empty = nullptr;
    if (g_events[static_cast<std::size_t>(i)].compare_exchange_strong(empty, event_)) slot_ = i;
  }
  if (g_users++ > 0) return;
  struct sigaction before {};
  sigaction(SIGTERM, nullptr, &before);
  if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) return;
  struct sigaction ours {};
  ours.sa_handler = rota_on_term;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  g_installed = sigaction(SIGTERM, &ours, nullptr) == 0;
}

TermSignal::~TermSignal() {
  std::lock_guard lock(g_mutex);
  if (--g_users == 0 && g_installed) {
    signal(SIGTERM, SIG_DFL);
    g_installed = false;
  }
  if (slot_ >= 0) g_events[static_cast<std::size_t>(slot_)].store(nullptr);
}

int TermSignal::count() const { return g_count.load() - count_before_; }

}  // namespace rota::internal
