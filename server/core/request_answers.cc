// SPDX-License-Identifier: Apache-2.0
#include "core/request_answers.h"

#include "core/damage.h"

#include "model/bytes.h"
#include "model/fields.h"

namespace rota::core {

using model::Reader;
using model::Writer;

std::string encode_answer(const EnqueueReply& reply) {
  Writer w;
  w.varint(reply.items.size());
  for (const EnqueueItem& item : reply.items) {
    if (const auto* job = std::get_if<EnqueuedJob>(&item)) {
      w.u8(job->created ? 1 : 2);
      model::put_key(w, job->key);
      w.u8(static_cast<std::uint8_t>(job->state));
    } else {
      const Error& error = std::get<Error>(item);
      w.u8(3);
      w.str(base::reason_name(error.reason));
      w.str(error.field);
      w.str(error.message);
      model::Labels meta(error.meta.begin(), error.meta.end());
      model::put_labels(w, meta);
      w.svarint(error.retry_after_ms);
    }
  }
  return w.take();
}

bool decode_answer(std::string_view bytes, EnqueueReply* reply) {
  Reader r(bytes);
  reply->items.clear();
  const std::uint64_t n = r.count();
  for (std::uint64_t i = 0; i < n && r.ok(); ++i) {
    const std::uint8_t tag = r.u8();
    if (tag == 1 || tag == 2) {
      EnqueuedJob job;
      job.created = tag == 1;
      job.key = model::get_key(r);
      job.state = r.one_of(JobState::kUnknown, JobState::kExpired);
      reply->items.emplace_back(std::move(job));
    } else if (tag == 3) {
      Error error;
      error.reason = base::find_reason(r.view()).value_or(Reason::kInternal);
      error.field = r.str();
      error.message = r.str();
      for (auto& [k, v] : model::get_labels(r)) error.meta.emplace(k, v);
      error.retry_after_ms = r.svarint();
      reply->items.emplace_back(std::move(error));
    } else {
      return false;
    }
  }
  return r.at_end();
}

std::string encode_answer(const DeclaredAnswer& answer) {
  Writer w;
  w.u8(static_cast<std::uint8_t>(answer.declared));
  w.varint(answer.changed.size());
  for (const std::string& field : answer.changed) w.str(field);
  return w.take();
}

bool decode_answer(std::string_view bytes, DeclaredAnswer* answer) {
  Reader r(bytes);
  answer->declared = r.one_of(Declared::kCreated, Declared::kOlderRevision);
  answer->changed.clear();
  const std::uint64_t n = r.count();
  for (std::uint64_t i = 0; i < n && r.ok(); ++i) answer->changed.push_back(r.str());
  return r.at_end();
}

std::string encode_answer(std::uint64_t operation) {
  Writer w;
  w.varint(operation);
  return w.take();
}

bool decode_answer(std::string_view bytes, std::uint64_t* operation) {
  Reader r(bytes);
  *operation = r.varint();
  return r.at_end();
}

base::Result<model::RequestRecord> repeated_request(const std::string& key, const std::string& row,
                                                    const RequestTag& tag) {
  model::RequestRecord record;
  if (!model::decode(row, &record)) damaged_row(Keyspace::kRequest, key);
  if (record.body_hash != tag.body_hash) {
    return base::make_error(
        Reason::kRequestIdReused,
        "this request id was used for a call with other contents; use a new one", "request_id");
  }
  return record;
}

}  // namespace rota::core
