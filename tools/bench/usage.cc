// SPDX-License-Identifier: Apache-2.0
#include "bench/usage.h"

#include <sys/resource.h>
#include <time.h>

#include <string>

#include "bench/failure.h"
#include "driver/process.h"

namespace rota::bench {
namespace {

// The number behind "NAME:" in a file of such lines.
std::int64_t number_behind(const std::string& text, const std::string& name) {
  const std::string mark = name + ":";
  std::size_t at = text.rfind(mark, 0) == 0 ? 0 : text.find("\n" + mark);
  require(at != std::string::npos, "no " + name + " in a file of /proc");
  if (text[at] == '\n') ++at;
  return std::stoll(text.substr(at + mark.size()));
}

std::string proc_file(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  std::string text = driver::read_file(path);
  require(!text.empty(), "cannot read " + path);
  return text;
}

std::int64_t clock_ns(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
}

}  // namespace

Usage usage_of(pid_t pid) {
  Usage usage;
  clockid_t clock = 0;
  require(clock_getcpuclockid(pid, &clock) == 0, "no process " + std::to_string(pid));
  usage.cpu_s = static_cast<double>(clock_ns(clock)) / 1e9;
  const std::string status = proc_file(pid, "status");
  usage.rss_bytes = number_behind(status, "VmRSS") * 1024;
  usage.peak_rss_bytes = number_behind(status, "VmHWM") * 1024;
  usage.written_bytes = number_behind(proc_file(pid, "io"), "write_bytes");
  return usage;
}

double own_cpu_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& at) {
    return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }
std::int64_t wall_ns() { return clock_ns(CLOCK_REALTIME); }

}  // namespace rota::bench
