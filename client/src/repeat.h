// SPDX-License-Identifier: Apache-2.0
// What a repeat of a call means whose first answer was lost.
//
// A call that found the server away is sent again with the same message. When an earlier try was
// carried out and only its answer was lost, the repeat must not happen twice and must not be
// answered with an error that only the first try has caused:
//
//   EnqueueJob, BulkEnqueueJobs,   request id: the server answers as it did the first time, for an
//   SetQueue, PurgeQueue,          hour
//   UpsertScheduler, RedriveJob,
//   LeaseJobs
//   FinishJobs                     fencing token: the same outcome, marked already_ended
//   Heartbeat, PauseQueue,         the same again: what is asked for already holds
//   ResumeQueue, PauseScheduler,
//   ResumeScheduler, UpdateJob,
//   CancelJob while the job waits
//   or runs
//   CancelJob                      ALREADY_FINAL with the state CANCELLED: done
//   DeleteJob, DeleteQueue,        *_NOT_FOUND of the thing itself: done
//   DeleteScheduler
//   all others                     change nothing
//
// Any other error after a lost answer comes with Error::may_have_happened: a job that was to be
// updated may run by now, or have ended, with the change or without; a CancelOperation that is
// answered OPERATION_DONE may be what ended it, and GetOperation tells.
#pragma once

#include "rota/v1/job_service.pb.h"
#include "rota/v1/queue_service.pb.h"
#include "rota/v1/scheduler_service.pb.h"
#include "src/status.h"

namespace rota::internal {

// Whether this refusal of a repeat says that an earlier try, whose answer was lost, has done what
// was asked; `response` is then filled with what is known. Its commit_seq stays 0: which commit it
// was is not known.
template <class Response>
bool done_by_earlier_try(const Fault&, Response*) {
  return false;
}
bool done_by_earlier_try(const Fault& fault, v1::CancelJobResponse* response);
bool done_by_earlier_try(const Fault& fault, v1::DeleteJobResponse* response);
bool done_by_earlier_try(const Fault& fault, v1::DeleteQueueResponse* response);
bool done_by_earlier_try(const Fault& fault, v1::DeleteSchedulerResponse* response);

}  // namespace rota::internal
