// SPDX-License-Identifier: Apache-2.0
#include "rota/worker_view.h"

#include <fmt/format.h>

#include "base/limits.h"

namespace rota::cli {
namespace {

// A worker that lives asks again at once, or after a pause of at most five seconds where it was
// refused.
constexpr std::int64_t kSilentMs = 10 * base::kSecondMs;

std::string seen_text(bool seen, const google::protobuf::Timestamp& time, const View& view) {
  return seen ? relative_text(to_ms(time), view.now_ms) : "-";
}

}  // namespace

std::string worker_state_text(const v1::Worker& worker, const View& view) {
  if (worker.parked_count() > 0) return "asking";
  if (worker.lease_count() > 0) return paint(view, Paint::kBusy, "working");
  const bool silent = view.now_ms - to_ms(worker.last_seen_time()) > kSilentMs;
  return silent ? paint(view, Paint::kFaint, "gone") : "not asking";
}

std::vector<std::string> worker_header() {
  return {"WORKER", "HOST", "QUEUES", "JOBS", "STATE", "LAST SEEN", "SINCE", "SESSION"};
}

std::vector<std::string> worker_cells(const v1::Worker& worker, const View& view) {
  const std::string queues = fmt::format("{}", fmt::join(worker.queues(), ","));
  return {printable(worker.info().worker_id()),
          worker.info().host().empty() ? "-" : printable(worker.info().host()),
          printable(queues, 60),
          fmt::format("{}/{}", worker.lease_count(), worker.info().concurrency()),
          worker_state_text(worker, view),
          seen_text(worker.has_last_seen_time(), worker.last_seen_time(), view),
          seen_text(worker.has_first_seen_time(), worker.first_seen_time(), view),
          worker.session_id().substr(0, 12)};
}

}  // namespace rota::cli
