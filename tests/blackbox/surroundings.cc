// SPDX-License-Identifier: Apache-2.0
#include "blackbox/surroundings.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

namespace rota::blackbox {
namespace {

constexpr char kNear[] = "10.117.0.1/24", kFar[] = "10.117.0.2/24";
constexpr std::int64_t kCommandMs = 10'000;
constexpr std::uint64_t kMiB = 1U << 20U;
// What is written before a full disk is noticed is small with these; the limits leave room for it.
constexpr std::uint64_t kWriteBufferBytes = 8 * kMiB, kWalBytes = 16 * kMiB;
constexpr std::uint64_t kLowBytes = 96 * kMiB, kNoneBytes = 48 * kMiB, kUnderBytes = 8 * kMiB;
constexpr std::uint64_t kDiskBytes = 512 * kMiB;
constexpr std::int64_t kDiskMemoryKiB = 1'536 * 1024;  // free, for the disk to lie in
// Of a file system that others use: above what a server writes at its start; so far below that what
// it gives back when it stops does not help; and all that is taken.
constexpr std::uint64_t kNearBytes = 64 * kMiB, kFarUnderBytes = 48 * kMiB,
                        kFillBytesMax = 192 * kMiB;

std::string network_of(const std::string& pid) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/" + pid + "/ns/net", ignored).string();
}

std::int64_t available_memory_kib() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kib = 0;
  while (file >> name >> kib) {
    if (name == "MemAvailable:") return kib;
    file.ignore(100, '\n');
  }
  return 0;
}

}  // namespace

FarNetwork::FarNetwork(const std::string& log) : log_(log) {
  const int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (own < 0 || unshare(CLONE_NEWNET) != 0) {
    why_ = std::string("no network namespace: ") + std::strerror(errno);
  } else {
    enter(log);
    // An empty namespace, where not even this process can be reached, is worse than none.
    if (!available()) {
      holder_ = driver::Process();
      stranded_ = setns(own, CLONE_NEWNET) != 0;
    }
  }
  if (own >= 0) close(own);
}

void FarNetwork::enter(const std::string& log) {
  if (!run({"ip", "link", "set", "lo", "up"})) {
    why_ = "no network in a namespace of its own (is iproute2 installed?): see " + log;
  } else if (!set_up(log)) {
    why_ = "no link to a second network namespace: see " + log;
  }
}

bool FarNetwork::set_up(const std::string& log) {
  auto holder = driver::Process::start({"unshare", "--net", "sleep", "infinity"}, log, true);
  if (!holder) return false;
  holder_ = std::move(*holder);
  const std::string pid = std::to_string(holder_.pid()), own = network_of("self");
  const auto apart = [&] { return !network_of(pid).empty() && network_of(pid) != own; };
  if (!driver::wait_until(apart, kCommandMs)) return false;
  const std::string server = std::string(address()) + "/32";
  const auto far = [&](std::vector<std::string> command) {
    std::vector<std::string> all = prefix();
    all.insert(all.end(), command.begin(), command.end());
    return run(all);
  };
  return run({"ip", "address", "add", server, "dev", "lo"}) &&
         run({"ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", pid}) &&
         run({"ip", "address", "add", kNear, "dev", "near"}) &&
         run({"ip", "link", "set", "near", "up"}) &&
         far({"ip", "address", "add", kFar, "dev", "far"}) && set_link(true);
}

std::vector<std::string> FarNetwork::prefix() const {
  return {"nsenter", "--target", std::to_string(holder_.pid()), "--net", "--"};
}

// The far end, so that what this side listens on stays reachable on this side.
bool FarNetwork::set_link(bool up) {
  if (!holder_.running()) return false;
  std::vector<std::string> command = prefix();
  for (const char* word : {"ip", "link", "set", "far", up ? "up" : "down"}) command.push_back(word);
  if (!run(command)) return false;
  if (!up) return true;
  command = prefix();
  for (const char* word : {"ip", "route", "replace", address(), "via", "10.117.0.1"}) {
    command.push_back(word);
  }
  return run(command);
}

bool FarNetwork::run(const std::vector<std::string>& command) {
  auto process = driver::Process::start(command, log_, true);
  if (!process) return false;
  const auto change = process->wait(kCommandMs);
  return change && change->signal == 0 && change->exit_code == 0;
}

SmallDisk::SmallDisk(std::string path) : path_(std::move(path)) {
  const std::string size = "size=" + std::to_string(kDiskBytes);
  if (available_memory_kib() < kDiskMemoryKiB) {
    why_no_mount_ = "less than 1.5 GiB of memory are free for a file system in it";
  } else if (unshare(CLONE_NEWNS) != 0) {
    why_no_mount_ = std::string("no mount namespace: ") + std::strerror(errno);
  } else if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
             mount("tmpfs", path_.c_str(), "tmpfs", 0, size.c_str()) != 0) {
    why_no_mount_ = std::string("no mount: ") + std::strerror(errno);
  }
  clear();
  if (free_bytes() < 2 * kFillBytesMax) why_ = "no space is left in " + path_;
}

SmallDisk::~SmallDisk() {
  if (mounted()) umount2(path_.c_str(), MNT_DETACH);
}

std::uint64_t SmallDisk::free_bytes() const {
  struct statvfs space {};
  return statvfs(path_.c_str(), &space) == 0 ? space.f_bavail * space.f_frsize : 0;
}

std::vector<std::string> SmallDisk::server_options() const {
  return {"--store-write-buffer-bytes", std::to_string(kWriteBufferBytes),
          "--store-max-wal-bytes",      std::to_string(kWalBytes),
          "--store-low-space-bytes",    std::to_string(low_),
          "--store-no-space-bytes",     std::to_string(none_)};
}

bool SmallDisk::bring_near(Limit limit) {
  if (mounted()) return false;
  const std::uint64_t free = free_bytes();
  low_ = free > kNearBytes ? free - kNearBytes : 0;
  none_ = limit == Limit::kNone ? low_ : 0;
  return true;
}

bool SmallDisk::is_below(Limit limit) const { return free_bytes() < limit_of(limit); }

bool SmallDisk::fill(Limit limit) {
  const std::uint64_t under = mounted() ? kUnderBytes : kFarUnderBytes;
  const std::uint64_t free = free_bytes(), leave = std::max(limit_of(limit), under) - under;
  if (free <= leave) return true;
  if (!mounted() && free - leave > kFillBytesMax) {
    why_not_filled_ = "others gave back so much that " + std::to_string((free - leave) / kMiB) +
                      " MiB would have to be taken";
    return false;
  }
  const int fd = open(filler().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  int error = errno;
  if (fd >= 0) {
    const off_t begin = lseek(fd, 0, SEEK_END);
    error = posix_fallocate(fd, begin, static_cast<off_t>(free - leave));
    close(fd);
  }
  if (error != 0) why_not_filled_ = filler() + ": " + std::strerror(error);
  return error == 0;
}

void SmallDisk::clear() {
  std::error_code ignored;
  std::filesystem::remove(filler(), ignored);
  low_ = mounted() ? kLowBytes : 0;
  none_ = mounted() ? kNoneBytes : 0;
}

SteppingClock::SteppingClock(std::string library, const std::string& file)
    : library_(std::move(library)), file_(file) {
  if (!std::filesystem::exists(library_)) {
    why_ = "no " + library_;
    return;
  }
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  void* page = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, sizeof(std::int64_t)) == 0) {
    page = mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (fd >= 0) close(fd);
  if (page == MAP_FAILED) {
    why_ = file + ": " + std::strerror(errno);
    return;
  }
  shift_ = new (page) std::atomic<std::int64_t>(0);
}

SteppingClock::~SteppingClock() {
  if (shift_ != &own_) munmap(shift_, sizeof(std::int64_t));
}

std::vector<std::string> SteppingClock::environment() const {
  return {"LD_PRELOAD=" + library_, "ROTA_CLOCK_SHIFT=" + file_};
}

}  // namespace rota::blackbox
