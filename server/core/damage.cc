// SPDX-License-Identifier: Apache-2.0
#include "core/damage.h"

#include "model/job_id.h"
#include "model/keys.h"

namespace rota::core {
namespace {

std::string row_name(model::Keyspace keyspace, std::string_view key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "the row of keyspace ";
  text.append(model::name_of(keyspace)).append(" with key 0x");
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4U]);
    text.push_back(kDigits[byte & 15U]);
  }
  std::optional<model::JobKey> job;
  switch (keyspace) {
    case model::Keyspace::kJob:
    case model::Keyspace::kSide:
    case model::Keyspace::kPayload:
      job = model::keys::parse_job(key);
      break;
    case model::Keyspace::kFinal:
      job = model::keys::parse_final(key);
      break;
    default:
      break;
  }
  if (job) text.append(" (job ").append(model::job_id(*job)).append(")");
  return text;
}

}  // namespace

std::string damage_text(model::Keyspace keyspace, std::string_view key) {
  return row_name(keyspace, key) + " cannot be decoded";
}

std::string missing_text(model::Keyspace keyspace, std::string_view key) {
  return row_name(keyspace, key) + " is missing";
}

void damaged_row(model::Keyspace keyspace, std::string_view key) {
  throw DamagedRow{damage_text(keyspace, key)};
}

}  // namespace rota::core
