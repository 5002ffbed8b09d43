// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into a server: shifts its wall clock by the milliseconds that stand in the file named
// by ROTA_CLOCK_SHIFT, from the instant they are written there. Only what the program's own code
// asks for is shifted. libfaketime shifts the clock for gRPC's threads too, whose timed waits are
// made in the kernel by the real clock: with the clock set back they never sleep, set forward they
// sleep on for as long as the step was, which no clock step on a real machine does to them.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

using ClockGettime = int (*)(clockid_t, timespec*);

struct Shift {
  ClockGettime real = nullptr;
  const std::atomic<std::int64_t>* ms = nullptr;
  std::uintptr_t begin = 0, end = 0;  // of the program, without its libraries

  Shift() {
    real = reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime"));
    const char* path = std::getenv("ROTA_CLOCK_SHIFT");
    const int fd = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void* page = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED) return;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {  // the program comes first
          auto* self = static_cast<Shift*>(data);
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& part = info->dlpi_phdr[i];
            if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
            self->begin = info->dlpi_addr + part.p_vaddr;
            self->end = self->begin + part.p_memsz;
          }
          return 1;
        },
        this);
    ms = static_cast<const std::atomic<std::int64_t>*>(page);
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t id,
                                                                    timespec* out) noexcept {
  static const Shift shift;
  const int result = shift.real(id, out);
  const auto caller = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (result != 0 || id != CLOCK_REALTIME || shift.ms == nullptr || caller < shift.begin ||
      caller >= shift.end) {
    return result;
  }
  const std::int64_t ms = shift.ms->load(std::memory_order_relaxed);
  out->tv_sec += ms / 1'000;
  out->tv_nsec += ms % 1'000 * 1'000'000;
  if (out->tv_nsec >= 1'000'000'000) {
    out->tv_nsec -= 1'000'000'000;
    ++out->tv_sec;
  } else if (out->tv_nsec < 0) {
    out->tv_nsec += 1'000'000'000;
    --out->tv_sec;
  }
  return 0;
}
