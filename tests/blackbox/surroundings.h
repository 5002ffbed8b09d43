// SPDX-License-Identifier: Apache-2.0
//
// What a round needs from the machine: a network of its own with a far part that can be cut off, a
// small file system that can be filled, a clock that can be stepped. Each says why it is not
// available where the machine does not give it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "driver/process.h"

namespace rota::blackbox {

// A network namespace for this process and one behind a link for what shall run far away. All of
// them are gone when this process ends.
class FarNetwork {
 public:
  // Before the process has any other thread. `log`: what the commands say.
  explicit FarNetwork(const std::string& log);
  ~FarNetwork() { set_link(true); }
  FarNetwork(const FarNetwork&) = delete;
  FarNetwork& operator=(const FarNetwork&) = delete;

  bool available() const { return why_.empty(); }
  const std::string& why() const { return why_; }
  // Where a server must listen to be reached from both parts; private, so with
  // --allow-plaintext-private.
  static const char* address() { return "10.117.1.1"; }
  // To be put before a command that shall run far away.
  std::vector<std::string> prefix() const;
  // With the link down every packet is lost, and nobody is told. False: it could not be set.
  bool set_link(bool up);

 private:
  bool set_up(const std::string& log);
  bool run(const std::vector<std::string>& command);

  std::string log_, why_;
  driver::Process holder_;  // keeps the far namespace
};

// A file system in memory, seen by this process and those it starts.
class SmallDisk {
 public:
  // Before the process has any other thread. Mounts at `path`, which exists.
  explicit SmallDisk(std::string path);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool available() const { return why_.empty(); }
  const std::string& why() const { return why_; }
  const std::string& path() const { return path_; }
  // Takes space until so much is free. False: it could not.
  bool fill(std::uint64_t leave_free_bytes);
  void clear();
  std::uint64_t free_bytes() const;

  // Below these a server refuses new work, and stops.
  static constexpr std::uint64_t kLowSpace = 512U << 20U, kNoSpace = 192U << 20U;

 private:
  std::string filler() const { return path_ + "/filler"; }
  const std::string path_;
  std::string why_;
};

// The wall clock of the servers that are started with it.
class SteppingClock {
 public:
  // `library`: clock_shift.cc, built. `file`: where the shift stands.
  SteppingClock(std::string library, const std::string& file);
  ~SteppingClock();
  SteppingClock(const SteppingClock&) = delete;
  SteppingClock& operator=(const SteppingClock&) = delete;

  bool available() const { return why_.empty(); }
  const std::string& why() const { return why_; }
  void set_ms(std::int64_t shift) { *shift_ = shift; }
  std::int64_t ms() const { return *shift_; }
  // What is started between the two has this clock.
  void put_into_environment() const;
  static void take_from_environment();

 private:
  const std::string library_, file_;
  std::string why_;
  std::atomic<std::int64_t> own_{0};
  std::atomic<std::int64_t>* shift_ = &own_;
};

}  // namespace rota::blackbox
