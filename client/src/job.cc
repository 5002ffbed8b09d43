// SPDX-License-Identifier: Apache-2.0
#include "rota/job.h"

namespace rota {

const char* to_string(JobState state) {
  switch (state) {
    case JobState::kUnknown:
      return "UNKNOWN";
    case JobState::kScheduled:
      return "SCHEDULED";
    case JobState::kBlocked:
      return "BLOCKED";
    case JobState::kReady:
      return "READY";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kSucceeded:
      return "SUCCEEDED";
    case JobState::kDead:
      return "DEAD";
    case JobState::kCancelled:
      return "CANCELLED";
    case JobState::kExpired:
      return "EXPIRED";
  }
  return "UNKNOWN";
}

bool is_final(JobState state) {
  switch (state) {
    case JobState::kSucceeded:
    case JobState::kDead:
    case JobState::kCancelled:
    case JobState::kExpired:
      return true;
    default:
      return false;
  }
}

}  // namespace rota
