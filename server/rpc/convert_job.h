// SPDX-License-Identifier: Apache-2.0
//
// Jobs between wire and server. From the wire: complete checks, so that the engine gets only values
// within their limits. To the wire: one message for a job wherever its parts lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "core/command.h"
#include "model/job.h"
#include "rota/v1/job.pb.h"
#include "rota/v1/job_service.pb.h"
#include "runtime/lease_board.h"

namespace rota::rpc {

// INVALID_FIELD or BAD_JOB_ID (with `field`) for text that has no id's form, JOB_NOT_FOUND for one
// that no job can have.
base::Result<model::JobKey> job_key_from_wire(const std::string& text,
                                              const std::string& field = "job_id");
base::Error job_not_found(const std::string& id);

// Takes the payload out of `wire`. The engine's part (does the queue exist, is the key free) is not
// checked.
base::Result<core::JobRequest> job_from_wire(v1::JobSpec* wire, std::int64_t now_wall_ms,
                                             std::int64_t payload_limit_bytes);

// The command of an UpdateJob call.
base::Result<core::UpdateJob> update_from_wire(const v1::UpdateJobRequest& wire,
                                               std::int64_t now_wall_ms);

// `with_result`: false leaves it out, and says so.
void enqueued_to_wire(const core::EnqueuedJob& job, bool with_result, v1::EnqueuedJob* wire);

v1::JobState state_to_wire(model::JobState state);
model::JobState state_from_wire(int state);  // kUnknown for a value that names none
v1::AttemptOutcome outcome_to_wire(model::AttemptOutcome outcome);
void failure_to_wire(const model::Failure& failure, v1::Failure* wire);

// A job's parts, read at one point of the store.
struct JobRows {
  model::JobKey key;
  std::string queue;                   // its queue's name
  std::optional<model::JobBody> body;  // of a job that waits, runs or is DEAD
  std::optional<model::Side> side;
  std::optional<model::FinalRecord> final_record;
  std::optional<runtime::RunningAttempt> running;
};
// kUnknown when nothing of it is left.
model::JobState state_of(const JobRows& rows);
void job_to_wire(const JobRows& rows, bool with_payload, v1::Job* wire);

// "scheduler invoices/daily".
std::string blocker_text(const model::Blocker& blocker);

void explanation_to_wire(const core::ExplainReply& reply, v1::Explanation* wire);

}  // namespace rota::rpc
