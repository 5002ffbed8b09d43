// SPDX-License-Identifier: Apache-2.0
#include "rota/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rota::cli {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

}  // namespace

LineReader::Got LineReader::fill() {
  pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, 0) == 0) return Got::kNotYet;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    searched_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kReadBytes) buffer_.resize(std::max(2 * end_, end_ + kReadBytes));
  ssize_t got = 0;
  do {
    got = read(fd_, buffer_.data() + end_, buffer_.size() - end_);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN ? Got::kNotYet : Got::kFault;
  if (got == 0) {
    at_end_ = true;
    return Got::kEnd;
  }
  if (!saw_bytes_) {
    saw_bytes_ = true;
    first_byte_at_ = internal::BootClock::now();
  }
  end_ += static_cast<std::size_t>(got);
  return Got::kLine;
}

LineReader::Got LineReader::next(std::string_view* line) {
  while (true) {
    const void* feed = searched_ < end_
                           ? std::memchr(buffer_.data() + searched_, '\n', end_ - searched_)
                           : nullptr;
    const bool last = feed == nullptr && at_end_ && begin_ < end_;
    if (feed != nullptr || last) {
      const auto stop =
          feed == nullptr
              ? end_
              : static_cast<std::size_t>(static_cast<const char*>(feed) - buffer_.data());
      *line = std::string_view(buffer_.data() + begin_, stop - begin_);
      begin_ = searched_ = std::min(stop + 1, end_);
      if (skipping_) {  // the end of a line that was too long
        skipping_ = false;
        continue;
      }
      ++line_number_;
      if (line->size() > line_bytes_max_) return Got::kTooLong;
      if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
      return Got::kLine;
    }
    searched_ = end_;
    if (at_end_) return Got::kEnd;
    if (skipping_ || end_ - begin_ > line_bytes_max_) {
      // What came of it is dropped, so that memory stays bounded; the rest follows.
      skipped_ = skipping_ ? skipped_ + end_ - begin_ : 0;
      begin_ = searched_ = end_;
      if (!skipping_) {
        skipping_ = true;
        ++line_number_;
        return Got::kTooLong;
      }
      if (skipped_ > kSkipBytesMax) return Got::kEndless;
    }
    const bool skipping = skipping_;
    const Got got = fill();
    if (got == Got::kNotYet || got == Got::kFault) return got;
    if (skipping && got == Got::kLine) return Got::kSkipping;
  }
}

}  // namespace rota::cli
