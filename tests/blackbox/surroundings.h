// SPDX-License-Identifier: Apache-2.0
//
// What a round needs from the machine: a network of its own with a far part that can be cut off, a
// disk that can be filled, a clock that can be stepped. Each says why it is not available where the
// machine does not give it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "driver/process.h"

namespace rota::blackbox {

// A network namespace for this process and one behind a link for what shall run far away. All of
// them are gone when this process ends. Where the machine gives only some of it, this process is in
// the network that it came from.
class FarNetwork {
 public:
  // Before the process has any other thread. `log`: what the commands say.
  explicit FarNetwork(const std::string& log);
  ~FarNetwork() { set_link(true); }
  FarNetwork(const FarNetwork&) = delete;
  FarNetwork& operator=(const FarNetwork&) = delete;

  bool available() const { return why_.empty(); }
  const std::string& why() const { return why_; }
  // Not available, and there was no way back: nothing can be reached from here.
  bool stranded() const { return stranded_; }
  // Where a server must listen to be reached from both parts; private, so with
  // --allow-plaintext-private.
  static const char* address() { return "10.117.1.1"; }
  // To be put before a command that shall run far away.
  std::vector<std::string> prefix() const;
  // With the link down every packet is lost, and nobody is told. False: it could not be set.
  bool set_link(bool up);

 private:
  void enter(const std::string& log);
  bool set_up(const std::string& log);
  bool run(const std::vector<std::string>& command);

  std::string log_, why_;
  bool stranded_ = false;
  driver::Process holder_;  // keeps the far namespace
};

// A disk that can be filled until a server on it refuses new work, or stops. Where the machine
// allows a mount, a file system in memory, seen by this process and those it starts. Else the file
// system of the folder: then a server is given limits just below the space that is free there when
// it starts, so that a file of some MiB brings it below them.
class SmallDisk {
 public:
  // The limits of free space below which a server refuses new work, and stops.
  enum class Limit { kLow, kNone };

  // Before the process has any other thread. `path` exists and is empty.
  explicit SmallDisk(std::string path);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool available() const { return why_.empty(); }
  const std::string& why() const { return why_; }
  bool mounted() const { return why_no_mount_.empty(); }
  const std::string& why_no_mount() const { return why_no_mount_; }
  const std::string& path() const { return path_; }

  // For a server whose data lie here.
  std::vector<std::string> server_options() const;
  // Puts this limit within reach. True: for servers that are started from now on only.
  bool bring_near(Limit limit);
  // Takes space until the limit is passed. False: it could not, or too much would have to be taken
  // of a file system that others use.
  bool fill(Limit limit);
  const std::string& why_not_filled() const { return why_not_filled_; }
  bool is_below(Limit limit) const;
  // Gives the space back; servers that are started from now on have far limits.
  void clear();

 private:
  std::uint64_t free_bytes() const;
  std::uint64_t limit_of(Limit limit) const { return limit == Limit::kLow ? low_ : none_; }
  std::string filler() const { return path_ + "/filler"; }

  const std::string path_;
  std::string why_, why_no_mount_, why_not_filled_;
  std::uint64_t low_ = 0, none_ = 0;
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
  // A server that is started with these has this clock.
  std::vector<std::string> environment() const;

 private:
  const std::string library_, file_;
  std::string why_;
  std::atomic<std::int64_t> own_{0};
  std::atomic<std::int64_t>* shift_ = &own_;
};

}  // namespace rota::blackbox
