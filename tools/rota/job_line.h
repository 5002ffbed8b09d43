// SPDX-License-Identifier: Apache-2.0
// One line of `rota job enqueue -`: a JSON object with the fields of a job.
#pragma once

#include <string>
#include <string_view>

#include "rota/error.h"
#include "rota/v1/job.pb.h"

namespace rota::cli {

// Fills `job`, which must be empty, from an object with fields of rota.v1.JobSpec by their
// lowerCamelCase names:
//   queue, kind, payload, contentType, priority, runAt, delay, startDeadline, attemptTimeout,
//   noAttemptTimeout, retry {maxAttempts, giveUpAfter, backoff {mode, first, factor, cap, delays,
//   jitter}}, businessKey, businessKeyScope, labels, dedup {onDead}
// A payload that is a string is sent as that string, any other as its JSON text. Times are RFC
// 3339, durations "30s" or "1h30m"; null is the same as leaving a field out, except for the
// payload.
//
// False with `error` filled in: INVALID_JSON for text that is none, else INVALID_FIELD with the
// field, among it an unknown or repeated one. Values are left for the server to judge, but for a
// payload that no server could take (PAYLOAD_TOO_LARGE).
bool parse_job_line(std::string_view line, v1::JobSpec* job, Error* error);

// The server's name of a field as the lines have it: "retry.max_attempts" is retry.maxAttempts.
std::string line_field(std::string_view field);

// A message of the server with the names of fields as the lines have them.
std::string line_message(std::string_view message);

}  // namespace rota::cli
