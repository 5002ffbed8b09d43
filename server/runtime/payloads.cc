// SPDX-License-Identifier: Apache-2.0
#include "runtime/payloads.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/damage.h"
#include "model/keys.h"
#include "model/keyspace.h"

namespace rota::runtime {
namespace {

using model::Keyspace;

bool lies_apart(const core::GrantedJob& job) { return job.body && job.body->payload_apart; }

std::optional<store::Failure> read_rows(const core::ShardStore& store, Keyspace keyspace,
                                        std::vector<std::string> keys,
                                        std::vector<std::optional<std::string>>* values) {
  core::ReadSpec spec;
  spec.gets.reserve(keys.size());
  for (std::string& key : keys) spec.gets.push_back({keyspace, std::move(key)});
  core::ReadResult read;
  std::string fault;
  if (store.snapshot_read(spec, &read, &fault) != core::ReadError::kNone) {
    return store::Failure{store::FailureKind::kIo, "a payload could not be read: " + fault};
  }
  *values = std::move(read.values);
  return std::nullopt;
}

// A job's rows go in one batch and never come back: one whose body is there now had its payload
// when that was read.
std::optional<store::Failure> judge_missing(const core::ShardStore& store,
                                            const std::vector<std::string>& keys) {
  std::vector<std::optional<std::string>> bodies;
  if (auto failure = read_rows(store, Keyspace::kJob, keys, &bodies)) return failure;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!bodies[i]) continue;
    return store::Failure{store::FailureKind::kDamage,
                          core::missing_text(Keyspace::kPayload, keys[i])};
  }
  return std::nullopt;
}

}  // namespace

bool needs_payloads(const core::LeaseReply& reply) {
  return std::any_of(reply.jobs.begin(), reply.jobs.end(), lies_apart);
}

std::optional<store::Failure> fill_payloads(const core::ShardStore& store,
                                            core::LeaseReply* reply) {
  std::vector<std::string> keys;
  for (const core::GrantedJob& job : reply->jobs) {
    if (lies_apart(job)) keys.push_back(model::keys::job(job.key));
  }
  std::vector<std::optional<std::string>> payloads;
  if (auto failure = read_rows(store, Keyspace::kPayload, std::move(keys), &payloads)) {
    return failure;
  }

  std::vector<core::GrantedJob> kept;
  std::vector<std::string> missing;
  kept.reserve(reply->jobs.size());
  std::size_t next = 0;
  for (core::GrantedJob& job : reply->jobs) {
    if (lies_apart(job)) {
      std::optional<std::string>& payload = payloads[next++];
      if (!payload) {
        missing.push_back(model::keys::job(job.key));
        continue;
      }
      auto body = std::make_shared<model::JobBody>(*job.body);
      body->payload = std::move(*payload);
      job.body = std::move(body);
    }
    kept.push_back(std::move(job));
  }
  reply->jobs = std::move(kept);
  if (missing.empty()) return std::nullopt;
  return judge_missing(store, missing);
}

}  // namespace rota::runtime
