// SPDX-License-Identifier: Apache-2.0
#include "runtime/payloads.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "model/keys.h"
#include "model/keyspace.h"

namespace rota::runtime {
namespace {

bool lies_apart(const core::GrantedJob& job) { return job.body && job.body->payload_apart; }

}  // namespace

bool needs_payloads(const core::LeaseReply& reply) {
  return std::any_of(reply.jobs.begin(), reply.jobs.end(), lies_apart);
}

bool fill_payloads(const core::ShardStore& store, core::LeaseReply* reply, std::string* fault) {
  core::ReadSpec spec;
  for (const core::GrantedJob& job : reply->jobs) {
    if (lies_apart(job))
      spec.gets.push_back({model::Keyspace::kPayload, model::keys::job(job.key)});
  }
  core::ReadResult read;
  if (store.snapshot_read(spec, &read, fault) != core::ReadError::kNone) return false;

  std::vector<core::GrantedJob> kept;
  kept.reserve(reply->jobs.size());
  std::size_t next = 0;
  for (core::GrantedJob& job : reply->jobs) {
    if (lies_apart(job)) {
      std::optional<std::string>& payload = read.values[next++];
      if (!payload) continue;
      auto body = std::make_shared<model::JobBody>(*job.body);
      body->payload = std::move(*payload);
      job.body = std::move(body);
    }
    kept.push_back(std::move(job));
  }
  reply->jobs = std::move(kept);
  return true;
}

}  // namespace rota::runtime
