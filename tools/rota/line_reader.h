// SPDX-License-Identifier: Apache-2.0
// Lines from a file descriptor, without waiting when none is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "internal/clock.h"

namespace rota::cli {

class LineReader {
 public:
  enum class Got {
    kLine,
    kTooLong,   // a line over the limit, said as soon as it is; the calls after it pass over it
    kSkipping,  // a piece of such a line was passed over: the caller may have heard of a signal
    kNotYet,    // nothing can be read without waiting
    kEnd,
    kEndless,  // a line over the limit has no end within kSkipBytesMax either: no more is read
    kFault,    // the descriptor cannot be read; errno says why
  };

  // Of a line that is too long, what is passed over in search of its end.
  static constexpr std::size_t kSkipBytesMax = std::size_t{256} * 1024 * 1024;

  LineReader(int fd, std::size_t line_bytes_max) : fd_(fd), line_bytes_max_(line_bytes_max) {}

  // The next line without its end ("\n" or "\r\n"; the last one needs none); good until the next
  // call. Each call ends after a bounded amount of input, whatever that holds.
  Got next(std::string_view* line);

  // Of the line that next() gave last, from 1.
  std::int64_t line_number() const { return line_number_; }
  // When the first byte came; meaningless before.
  internal::BootTime first_byte_at() const { return first_byte_at_; }
  bool saw_bytes() const { return saw_bytes_; }

 private:
  // True when there is something new, or the end.
  Got fill();

  int fd_;
  std::size_t line_bytes_max_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what is read and not yet given out
  std::size_t searched_ = 0;         // up to here there is no line feed
  std::size_t skipped_ = 0;          // of the line that is passed over
  bool at_end_ = false, skipping_ = false, saw_bytes_ = false;
  std::int64_t line_number_ = 0;
  internal::BootTime first_byte_at_{};
};

}  // namespace rota::cli
