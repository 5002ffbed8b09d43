// SPDX-License-Identifier: Apache-2.0
//
// The jobs of the workloads: a payload of 200 bytes each, half of it random from the seed, that
// begins with what its handler must know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rota/client.h"
#include "rota/v1/job.pb.h"

namespace rota::bench {

inline constexpr std::size_t kPayloadBytes = 200;
inline constexpr const char* kContentType = "application/octet-stream";
inline constexpr const char* kKind = "noop";
// Its first attempt fails.
inline constexpr const char* kFlakyKind = "flaky";

struct JobMark {
  std::uint64_t number = 0;
  std::int64_t sent_ns = 0;  // by now_ns(), before the call; 0: not of interest
  int histogram = 0;         // of the board, for the time from then to the handler's start
};

// Immutable after its making, and so thread-safe: the random half of a payload is a slice of random
// bytes chosen by the job's number.
class PayloadMaker {
 public:
  explicit PayloadMaker(std::uint64_t seed);
  std::string make(const JobMark& mark) const;

 private:
  std::string random_;
};

// Nothing for a payload that make() did not make.
std::optional<JobMark> read_mark(std::string_view payload);

// A job with that payload in the forms of the two interfaces.
JobSpec to_spec(const std::string& queue, std::string payload);
void fill(v1::JobSpec* spec, const std::string& queue, std::string payload);

}  // namespace rota::bench
