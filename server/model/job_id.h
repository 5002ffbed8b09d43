// SPDX-License-Identifier: Apache-2.0
//
// The public text form of a job key. Users may rely on ^[0-9a-z]{1,32}$ and on nothing else.
//
// Inside: varint queue number, priority byte, varint sequence, in Crockford base32 (lower case, no
// i l o u), then one check character, so that a mistyped id is not found instead of naming another
// job.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/job.h"

namespace rota::model {

std::string job_id(const JobKey& key);

// True when the text has the form of an id at all; other text is a bad argument, not an unknown
// job.
bool is_job_id_form(std::string_view text);

// nullopt when the form is right but no key encodes to this text (a wrong check character).
std::optional<JobKey> parse_job_id(std::string_view text);

}  // namespace rota::model
