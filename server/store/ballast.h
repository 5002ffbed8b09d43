// SPDX-License-Identifier: Apache-2.0
//
// Room on the disk that is held back for the day on which there is none: a file that holds nothing.
// To take a job out of a queue needs room too, so a server that stopped on a full disk could not
// even be drained. The open after that gives the file up, and the backlog can be worked off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/failure.h"

namespace rota::store {

class Ballast {
 public:
  // `bytes` 0: none is wanted. Looks at the directory, changes nothing.
  Ballast(const std::string& data_directory, std::uint64_t bytes);

  // Whether the file is there with the size that is wanted.
  bool complete() const { return bytes_ != 0 && held_ == bytes_; }
  // What giving it up would bring; 0 when there is no file.
  std::uint64_t held_bytes() const { return held_; }
  std::uint64_t wanted_bytes() const { return bytes_; }
  // It was given up and has not been made again.
  bool given_up() const { return bytes_ != 0 && held_ == 0 && there_; }

  // Reserves the room, durable when it returns nothing; a file of another size is replaced.
  // Blocking, some milliseconds on most file systems. A failure is none of the store: where a file
  // system cannot reserve room there is no ballast.
  std::optional<Failure> make();
  // Frees the room, durable when it returns nothing.
  std::optional<Failure> give_up();
  // Frees what a make() that was cut short may have left, which nobody would give up.
  void drop_unfinished();
  // Removes the file, if there is one.
  std::optional<Failure> remove();

 private:
  std::string directory_;
  std::string path_;
  std::uint64_t bytes_;
  std::uint64_t held_ = 0;
  bool there_ = false;
};

}  // namespace rota::store
