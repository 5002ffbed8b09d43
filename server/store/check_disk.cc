// SPDX-License-Identifier: Apache-2.0
#include "store/check_disk.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>

#include "store/data_directory.h"

namespace rota::store {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFastestDeviceUs = 8;

double micros_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// A file of this process that is gone when the check ends, also when it is killed.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& directory)
      : path_(directory + "/.check-disk." + std::to_string(::getpid())),
        fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
    if (fd_ >= 0) ::unlink(path_.c_str());
  }
  ~ScratchFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_;
};

std::optional<Failure> measure(const ScratchFile& file, std::uint32_t batch, std::size_t job_bytes,
                               std::chrono::milliseconds time, DiskSample* sample) {
  constexpr off_t kStartAgainAt = off_t{256} << 20;
  const std::string record(batch * job_bytes, 'r');
  std::vector<double> took;
  off_t size = ::lseek(file.fd(), 0, SEEK_END);
  const auto begin = Clock::now();
  while (Clock::now() - begin < time) {
    const auto start = Clock::now();
    if (::write(file.fd(), record.data(), record.size()) != static_cast<ssize_t>(record.size())) {
      return system_failure(errno == 0 ? ENOSPC : errno, "write " + file.path());
    }
    if (::fdatasync(file.fd()) != 0) return system_failure(errno, "sync " + file.path());
    took.push_back(micros_since(start));
    size += static_cast<off_t>(record.size());
    if (size > kStartAgainAt) {
      if (::ftruncate(file.fd(), 0) != 0 || ::lseek(file.fd(), 0, SEEK_SET) != 0) {
        return system_failure(errno, "truncate " + file.path());
      }
      size = 0;
    }
  }
  const double seconds = micros_since(begin) / 1e6;
  std::sort(took.begin(), took.end());
  sample->batch = batch;
  sample->syncs = took.size();
  if (took.empty()) return std::nullopt;
  sample->p50_us = took[took.size() / 2];
  sample->p99_us = took[took.size() * 99 / 100];
  sample->max_us = took.back();
  sample->jobs_per_s = static_cast<double>(took.size()) * batch / seconds;
  return std::nullopt;
}

}  // namespace

std::variant<DiskCheck, Failure> check_disk(const std::string& directory,
                                            const DiskCheckOptions& options) {
  DiskCheck check;
  check.directory = directory;
  struct statfs file_system {};
  if (::statfs(directory.c_str(), &file_system) != 0) {
    return Failure{FailureKind::kConfig, directory + ": " + std::strerror(errno)};
  }
  const auto network = network_file_system(static_cast<std::uint64_t>(file_system.f_type));
  if (network) check.file_system = *network;
  const ScratchFile file(directory);
  if (file.fd() < 0) {
    return Failure{FailureKind::kConfig, "create " + file.path() + ": " + std::strerror(errno)};
  }
  struct Part {
    std::uint32_t batch;
    std::int64_t share;  // of the time, in tenths
  };
  for (const Part part : {Part{1, 4}, Part{100, 3}, Part{1000, 3}}) {
    DiskSample sample;
    const std::chrono::milliseconds time(options.total_ms * part.share / 10);
    if (auto failure = measure(file, part.batch, options.job_bytes, time, &sample)) return *failure;
    check.samples.push_back(sample);
  }
  check.too_fast = check.samples.front().p50_us < kFastestDeviceUs;
  return check;
}

std::string to_text(const DiskCheck& check) {
  std::string text = "synced appends in " + check.directory + "\n";
  text += "  jobs a sync      syncs   median us      99 % us       max us     so at most jobs/s\n";
  for (const DiskSample& one : check.samples) {
    char line[160];
    std::snprintf(line, sizeof line, "%13u %10llu %11.0f %12.0f %12.0f %21.0f\n", one.batch,
                  static_cast<unsigned long long>(one.syncs), one.p50_us, one.p99_us, one.max_us,
                  one.jobs_per_s);
    text += line;
  }
  text +=
      "One call at a time is answered after one sync: the first line is its limit. Calls that "
      "arrive\ntogether share a sync, so under load the other lines apply. A job's whole life is "
      "three batched\nwrites: enqueue, lease, finish.\n";
  if (!check.file_system.empty()) {
    text += "warning: this is a network file system (" + check.file_system +
            "); rota-server refuses it as a data directory.\n";
  }
  if (check.too_fast) {
    text +=
        "warning: no device syncs that fast; something on the way answers without waiting for the "
        "disk,\nand acknowledged jobs may be lost with the power.\n";
  }
  return text;
}

}  // namespace rota::store
