// SPDX-License-Identifier: Apache-2.0
//
// Remembered answers: a call repeated with its request id gets the first answer again.
#include "core/engine_impl.h"
#include "core/request_answers.h"

namespace rota::core {

namespace keys = model::keys;

std::string EngineImpl::request_key(const Command& cmd, std::uint8_t method,
                                    const RequestTag& tag) const {
  return keys::request(method, cmd.name_space, tag.id);
}

// All leases that a lease call was granted have ended: its id never grants again, also after a
// restart.
void EngineImpl::spend_request(const std::string& hash) {
  if (!spent_set_.insert(hash).second) return;
  spent_now_.push_back(hash);
  if (spent_requests_.size() < kSpentRequestsKept) {
    spent_requests_.push_back(hash);
    return;
  }
  spent_set_.erase(spent_requests_[spent_next_]);
  spent_requests_[spent_next_] = hash;
  spent_next_ = (spent_next_ + 1) % spent_requests_.size();
}

void EngineImpl::remember_request(const std::string& key, const RequestTag& tag,
                                  std::string answer) {
  model::RequestRecord record;
  record.body_hash = tag.body_hash;
  record.created_ms = now_.wall_ms;
  record.seq = building();
  record.answer = std::move(answer);
  batch().put(Keyspace::kRequest, key, model::encode(record));
  remembered_.push_back(key);
}

}  // namespace rota::core
