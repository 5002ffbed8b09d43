// SPDX-License-Identifier: Apache-2.0
// Between the public values and the messages of rota.v1. What cannot be put into a message is
// refused here with its field; limits that the server may set otherwise are left to the server.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstddef>
#include <string>

#include "base/limits.h"
#include "rota/client.h"
#include "rota/v1/job.pb.h"
#include "rota/v1/job_service.pb.h"
#include "rota/v1/queue_service.pb.h"
#include "rota/v1/scheduler_service.pb.h"

namespace rota::internal {

// The jobs of one enqueue call, serialised: what is left of the limit beside the other fields.
inline constexpr std::size_t kCallJobBytes =
    static_cast<std::size_t>(base::limits::kCallBytesMax) - 1024;
// Around each job in it: its tag and length.
inline constexpr std::size_t kJobFrameBytes = 8;

void set_duration(google::protobuf::Duration& message, Millis value);
void set_time(google::protobuf::Timestamp& message, Time value);
// Never overflow: what a server says beyond 100 years, or outside the years 1 to 9999, is the
// nearest that is within.
Millis to_millis(const google::protobuf::Duration& message);
Time to_time(const google::protobuf::Timestamp& message);

JobState to_state(v1::JobState state);
const char* outcome_name(v1::AttemptOutcome outcome);  // "TIMED_OUT"; empty while it runs

// Moves the texts out of `spec`.
Result<Ok> to_message(JobSpec&& spec, v1::JobSpec& message);
Result<Ok> to_message(SchedulerSpec&& spec, v1::SchedulerDeclaration& message);
Result<Ok> to_message(QueueSpec&& spec, v1::SetQueueRequest& message);

JobRef to_ref(v1::EnqueuedJob&& message);
JobInfo to_info(v1::Job&& message);
Result<Declared> to_declared(v1::UpsertSchedulerResponse&& message);

}  // namespace rota::internal
