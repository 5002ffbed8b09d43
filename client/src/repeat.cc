// SPDX-License-Identifier: Apache-2.0
#include "src/repeat.h"

namespace rota::internal {

bool done_by_earlier_try(const Fault& fault, v1::CancelJobResponse* response) {
  if (fault.error.reason != "ALREADY_FINAL" || fault.state != "CANCELLED") return false;
  response->set_state(v1::JOB_STATE_CANCELLED);
  return true;
}

bool done_by_earlier_try(const Fault& fault, v1::DeleteJobResponse*) {
  return fault.error.reason == "JOB_NOT_FOUND";
}

bool done_by_earlier_try(const Fault& fault, v1::DeleteQueueResponse*) {
  return fault.error.reason == "QUEUE_NOT_FOUND";
}

bool done_by_earlier_try(const Fault& fault, v1::DeleteSchedulerResponse*) {
  return fault.error.reason == "SCHEDULER_NOT_FOUND";
}

}  // namespace rota::internal
