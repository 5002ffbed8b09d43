// SPDX-License-Identifier: Apache-2.0
//
// The compact form in which answers are remembered under their request id: what was decided, not
// what can be looked up again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/command.h"
#include "model/records.h"

namespace rota::core {

// Which method a request id belongs to; stored in keys, never renumber.
enum class RequestMethod : std::uint8_t {
  kEnqueue = 1,
  kBulkEnqueue = 2,
  kSetQueue = 3,
  kPurgeQueue = 4,
  kUpsertScheduler = 5,
  kRedrive = 6,
};

std::string encode_answer(const EnqueueReply& reply);
// False when the bytes are damaged. Results of business effects are not in it.
bool decode_answer(std::string_view bytes, EnqueueReply* reply);

struct DeclaredAnswer {  // of SetQueue and UpsertScheduler
  Declared declared = Declared::kUnchanged;
  std::vector<std::string> changed;
};
std::string encode_answer(const DeclaredAnswer& answer);
bool decode_answer(std::string_view bytes, DeclaredAnswer* answer);

std::string encode_answer(std::uint64_t operation);
bool decode_answer(std::string_view bytes, std::uint64_t* operation);

// Reads a request row: nullopt when its body is another one (the error says so), or the record.
base::Result<model::RequestRecord> repeated_request(const std::string& key, const std::string& row,
                                                    const RequestTag& tag);

}  // namespace rota::core
