// SPDX-License-Identifier: Apache-2.0
#include "rpc/job_reader.h"

#include "model/job_id.h"
#include "model/keys.h"

namespace rota::rpc {
namespace {

using core::Keyspace;
namespace keys = model::keys;

// The rows that may hold something of a job, in this order.
constexpr std::size_t kRowsPerJob = 3;
void ask_for_job(const model::JobKey& key, core::ReadSpec* spec) {
  spec->gets.push_back({Keyspace::kJob, keys::job(key)});
  spec->gets.push_back({Keyspace::kSide, keys::job(key)});
  spec->gets.push_back({Keyspace::kFinal, keys::final_record(key)});
}

// The keyspace of the row that is damaged, if one is.
std::optional<Keyspace> take_rows(const core::ReadResult& result, std::size_t first,
                                  JobRows* rows) {
  const auto& body = result.values[first];
  const auto& side = result.values[first + 1];
  const auto& final_record = result.values[first + 2];
  if (final_record) {
    rows->final_record.emplace();
    if (!model::decode(*final_record, &*rows->final_record)) return Keyspace::kFinal;
    return std::nullopt;
  }
  if (!body || model::is_pointer(*body)) return std::nullopt;  // a pointer is another job's
  rows->body.emplace();
  if (!model::decode(*body, &*rows->body)) return Keyspace::kJob;
  if (side) {
    rows->side.emplace();
    if (!model::decode(*side, &*rows->side)) return Keyspace::kSide;
  }
  return std::nullopt;
}

base::Error damaged_job(const core::ShardStore& store, Keyspace keyspace,
                        const model::JobKey& key) {
  return damaged_row(store, keyspace,
                     keyspace == Keyspace::kFinal ? keys::final_record(key) : keys::job(key));
}

// The attempt that the board knew before the read, unless the rows show its end.
void take_running(std::optional<runtime::RunningAttempt> running, JobRows* rows) {
  if (!running || !rows->body) return;
  if (rows->side && rows->side->last_token >= running->token) return;
  rows->running = std::move(running);
}

bool nothing_left(const JobRows& rows) { return !rows.body && !rows.final_record; }

}  // namespace

base::Result<JobRead> JobReader::get(const std::string& name_space, const model::JobKey& key,
                                     bool with_payload) const {
  auto running = leases_.find(key);
  core::ReadSpec spec;
  ask_for_job(key, &spec);
  spec.gets.push_back({Keyspace::kQueueState, keys::queue_settings(key.queue)});
  if (with_payload) spec.gets.push_back({Keyspace::kPayload, keys::job(key)});
  core::ReadResult result;
  std::string detail;
  if (store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
    return read_failed(detail);
  }
  JobRead read;
  read.at = result.at;
  read.rows.key = key;
  const auto& queue_row = result.values[kRowsPerJob];
  model::Queue queue;
  if (!queue_row) return job_not_found(model::job_id(key));
  if (!model::decode(*queue_row, &queue)) {
    return damaged_row(store_, Keyspace::kQueueState, keys::queue_settings(key.queue));
  }
  if (queue.name_space != name_space) return job_not_found(model::job_id(key));
  read.rows.queue = queue.name;
  if (const auto damaged = take_rows(result, 0, &read.rows)) {
    return damaged_job(store_, *damaged, key);
  }
  if (nothing_left(read.rows)) return job_not_found(model::job_id(key));
  if (with_payload && read.rows.body && read.rows.body->payload_apart) {
    const auto& payload = result.values[kRowsPerJob + 1];
    if (!payload) return missing_row(store_, Keyspace::kPayload, keys::job(key));
    read.rows.body->payload = *payload;
  }
  take_running(std::move(running), &read.rows);
  return read;
}

base::Result<std::vector<JobRead>> JobReader::get_many(
    const model::Queue& queue, const std::vector<model::JobKey>& keys_wanted) const {
  std::vector<std::optional<runtime::RunningAttempt>> running;
  core::ReadSpec spec;
  for (const auto& key : keys_wanted) {
    running.push_back(leases_.find(key));
    ask_for_job(key, &spec);
  }
  core::ReadResult result;
  std::string detail;
  if (store_.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
    return read_failed(detail);
  }
  std::vector<JobRead> jobs;
  for (std::size_t i = 0; i < keys_wanted.size(); ++i) {
    JobRead read;
    read.at = result.at;
    read.rows.key = keys_wanted[i];
    read.rows.queue = queue.name;
    if (const auto damaged = take_rows(result, i * kRowsPerJob, &read.rows)) {
      return damaged_job(store_, *damaged, keys_wanted[i]);
    }
    if (nothing_left(read.rows)) continue;
    take_running(std::move(running[i]), &read.rows);
    jobs.push_back(std::move(read));
  }
  return jobs;
}

}  // namespace rota::rpc
