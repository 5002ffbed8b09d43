// SPDX-License-Identifier: Apache-2.0
#include "support/shadow.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "model/bytes.h"
#include "model/job_id.h"
#include "model/keys.h"
#include "model/records.h"

namespace rota::testing {

using core::JobKey;
using core::Keyspace;

namespace {

std::string at(const JobKey& k) {
  return std::to_string(k.queue) + "/" + std::to_string(k.priority) + "/" + std::to_string(k.seq);
}

template <class T>
T decoded(const std::string& bytes) {
  T value;
  if (!model::decode(bytes, &value)) std::abort();
  return value;
}

}  // namespace

void Shadow::load(const core::ShardStore& store) {
  const std::uint64_t grants = grants_;
  const std::uint64_t max_token = max_token_;
  *this = Shadow{};
  grants_ = grants;
  max_token_ = max_token;
  std::string detail;
  for (const Keyspace keyspace :
       {Keyspace::kQueueState, Keyspace::kJob, Keyspace::kSide, Keyspace::kGrant}) {
    const auto error = store.load(
        keyspace,
        [&](std::string_view key, std::string_view value) {
          change(keyspace, std::string(key), std::string(value));
          return true;
        },
        &detail);
    if (error != core::ReadError::kNone) std::abort();
  }
  settle_touched();
}

void Shadow::change(Keyspace keyspace, const std::string& key,
                    const std::optional<std::string>& value) {
  switch (keyspace) {
    case Keyspace::kQueueState: {
      if (key.front() != 'q') return;
      const std::uint32_t number = model::Reader(key.substr(1)).u32();
      if (value) {
        queues_[number] = decoded<model::Queue>(*value);
      } else {
        queues_.erase(number);
      }
      return;
    }
    case Keyspace::kJob: {
      const JobKey job = *model::keys::parse_job(key);
      if (value && model::is_pointer(*value)) {
        pointers_.insert(job);
        touched_.insert({job.queue, decoded<model::Pointer>(*value).first_priority, job.seq});
      } else if (value) {
        bodies_.insert(job);
        touched_.insert(job);
      } else {
        pointers_.erase(job);
        bodies_.erase(job);
        touched_.insert(job);
      }
      return;
    }
    case Keyspace::kSide: {
      const JobKey job = *model::keys::parse_job(key);
      if (value) {
        sides_[job] = decoded<model::Side>(*value);
      } else {
        sides_.erase(job);
      }
      touched_.insert(job);
      return;
    }
    case Keyspace::kGrant: {
      const std::uint64_t number = model::Reader(key).u64();
      if (value) {
        const auto grant = decoded<model::Grant>(*value);
        for (const model::GrantEntry& entry : grant.entries) {
          grant_jobs_[number].push_back(entry.job);
          Lease& lease = leases_[entry.job];
          if (entry.token > lease.token) lease = {number, entry.token};
          touched_.insert(entry.job);
        }
      } else {
        for (const JobKey& job : grant_jobs_[number]) touched_.insert(job);
        grant_jobs_.erase(number);
      }
      return;
    }
    default:
      return;
  }
}

JobKey Shadow::ready_key(const JobKey& job) const {
  auto side = sides_.find(job);
  if (side == sides_.end() || side->second.claim != model::Claim::kMoved) return job;
  return {job.queue, side->second.priority, job.seq};
}

void Shadow::settle(const JobKey& job) {
  std::set<JobKey>& ready = ready_[job.queue];
  if (auto it = ready_at_.find(job); it != ready_at_.end()) {
    ready.erase(it->second);
    ready_at_.erase(it);
  }
  std::set<JobKey>& live = live_[job.queue];
  live.erase(job);
  if (!bodies_.contains(job)) {
    leases_.erase(job);
    return;
  }
  auto side = sides_.find(job);
  if (auto lease = leases_.find(job); lease != leases_.end()) {
    const bool ended = (side != sides_.end() && side->second.last_token >= lease->second.token) ||
                       !grant_jobs_.contains(lease->second.grant);
    if (!ended) {
      live.insert(job);
      return;
    }
    leases_.erase(lease);
  }
  const auto claim = side == sides_.end() ? model::Claim::kNone : side->second.claim;
  if (claim == model::Claim::kNone || claim == model::Claim::kMoved) {
    ready.insert(ready_key(job));
    ready_at_[job] = ready_key(job);
  }
}

void Shadow::settle_touched() {
  for (const JobKey& job : touched_) settle(job);
  touched_.clear();
}

std::vector<std::string> Shadow::take(const core::Turn& turn) {
  std::vector<std::string> faults;
  if (turn.batch) {
    for (const auto& [key, value] : turn.batch->changes()) change(key.first, key.second, value);
    settle_touched();
  }
  std::map<std::uint32_t, std::vector<JobKey>> granted;
  for (const core::JobEvent& event : turn.events) {
    if (event.kind != core::JobEvent::Kind::kGranted) continue;
    ++grants_;
    if (event.token <= max_token_) faults.push_back("token of " + at(event.key) + " did not grow");
    max_token_ = std::max(max_token_, event.token);
    auto side = sides_.find(event.key);
    const std::uint32_t before = side == sides_.end() ? 0 : side->second.attempts;
    if (event.attempt != before + 1) {
      faults.push_back("attempt " + std::to_string(event.attempt) + " of " + at(event.key) +
                       " follows " + std::to_string(before));
    }
    if (!is_live(event.key, event.token)) faults.push_back(at(event.key) + ": grant without lease");
    granted[event.key.queue].push_back(ready_key(event.key));
  }
  for (const auto& [number, keys] : granted) {
    const model::Queue& queue = queues_.at(number);
    if (queue.paused) faults.push_back("a grant from the paused queue " + queue.name);
    if (queue.settings.concurrency_limit && live(number) > *queue.settings.concurrency_limit) {
      faults.push_back("queue " + queue.name + ": " + std::to_string(live(number)) +
                       " leases live, limit " + std::to_string(*queue.settings.concurrency_limit));
    }
    if (!std::is_sorted(keys.begin(), keys.end())) {
      faults.push_back("queue " + queue.name + ": grants of one turn out of order");
    }
    const std::set<JobKey>& left = ready(number);
    const JobKey& last = *std::max_element(keys.begin(), keys.end());
    if (!left.empty() && *left.begin() < last) {
      faults.push_back("queue " + queue.name + ": " + at(last) + " was granted before " +
                       at(*left.begin()));
    }
  }
  return faults;
}

std::vector<std::string> Shadow::compare(const core::ShardStore& store) const {
  Shadow fresh;
  fresh.load(store);
  std::vector<std::string> faults;
  const auto same = [&](bool equal, const char* what) {
    if (!equal) faults.push_back(std::string("shadow and store differ in ") + what);
  };
  const auto trimmed = [](std::map<std::uint32_t, std::set<JobKey>> sets) {
    std::erase_if(sets, [](const auto& entry) { return entry.second.empty(); });
    return sets;
  };
  same(bodies_ == fresh.bodies_, "bodies");
  same(pointers_ == fresh.pointers_, "pointers");
  same(trimmed(ready_) == trimmed(fresh.ready_), "READY keys");
  same(trimmed(live_) == trimmed(fresh.live_), "live leases");
  return faults;
}

const std::set<JobKey>& Shadow::ready(std::uint32_t queue) const {
  static const std::set<JobKey> kNone;
  auto it = ready_.find(queue);
  return it == ready_.end() ? kNone : it->second;
}

std::size_t Shadow::live(std::uint32_t queue) const {
  auto it = live_.find(queue);
  return it == live_.end() ? 0 : it->second.size();
}

const model::Queue* Shadow::find_queue(const std::string& name) const {
  for (const auto& [number, queue] : queues_) {
    if (queue.name == name) return &queue;
  }
  return nullptr;
}

bool Shadow::is_live(const JobKey& job, std::uint64_t token) const {
  auto it = live_.find(job.queue);
  auto lease = leases_.find(job);
  return it != live_.end() && it->second.contains(job) && lease != leases_.end() &&
         lease->second.token == token;
}

}  // namespace rota::testing
