// SPDX-License-Identifier: Apache-2.0
// Jobs as people read them. Pure functions; each text is complete with its line feeds.
#pragma once

#include <string>
#include <vector>

#include "rota/text.h"
#include "rota/v1/job.pb.h"
#include "rota/v1/job_service.pb.h"

namespace rota::cli {

// One job with its attempts, newest first.
std::string job_text(const v1::Job& job, const View& view);

// Header and cells of a listing.
std::vector<std::string> job_header();
std::vector<std::string> job_cells(const v1::Job& job, const View& view);

// "0g7m2 created, READY" or what the business key found.
std::string enqueued_text(const v1::EnqueuedJob& job, const View& view);

// One line for `job wait`: id, state and result or failure.
std::string ended_text(const v1::Job& job, const View& view);

// Why it is not running, in words.
// `ended`: the job itself, when it is in a final state and known.
std::string explanation_text(const v1::Explanation& explanation, const View& view,
                             const v1::Job* ended = nullptr);

// "{"user":42}  (11 bytes, application/json)".
std::string payload_text(const v1::Payload& payload);
// "a=1 b=2", sorted by key.
std::string labels_text(const google::protobuf::Map<std::string, std::string>& labels);

}  // namespace rota::cli
