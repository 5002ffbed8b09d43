// SPDX-License-Identifier: Apache-2.0
#include "app/accepted_loss.h"

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "core/damage.h"
#include "model/keys.h"
#include "model/queue.h"
#include "model/records.h"

namespace rota::app {

using core::Keyspace;

namespace {

base::Error cannot_accept(std::string text) {
  return base::make_error(base::Reason::kStoreFailed, std::move(text));
}

}  // namespace

base::Status jump_numbers(core::ShardStore& store) {
  core::ReadSpec spec;
  spec.gets.push_back({Keyspace::kMeta, model::keys::engine_meta()});
  core::ReadResult read;
  std::string detail;
  if (store.snapshot_read(spec, &read, &detail) != core::ReadError::kNone) {
    return cannot_accept("the engine's counters cannot be read: " + detail);
  }
  model::EngineMeta meta;
  if (read.values[0] && !model::decode(*read.values[0], &meta)) {
    return cannot_accept("the record of the engine's counters is damaged");
  }
  auto batch = std::make_shared<core::Batch>();
  std::string damaged;
  const auto jump_queue = [&](std::string_view key, std::string_view value) {
    if (!model::keys::is_queue_counters(key)) return true;
    model::QueueCounters counters;
    if (!model::decode(value, &counters)) {
      damaged = core::damage_text(Keyspace::kQueueState, key);
      return false;
    }
    counters.next_seq += kSequenceJump;
    batch->put(Keyspace::kQueueState, std::string(key), model::encode(counters));
    return true;
  };
  if (store.load(Keyspace::kQueueState, jump_queue, &detail) != core::ReadError::kNone) {
    return cannot_accept("the queues cannot be read: " + detail);
  }
  if (!damaged.empty()) return cannot_accept(std::move(damaged));
  meta.next_token += kTokenJump;
  meta.next_queue += kQueueJump;
  meta.next_operation += kOperationJump;
  batch->put(Keyspace::kMeta, model::keys::engine_meta(), model::encode(meta));
  std::promise<base::Status> done;
  store.commit(
      std::move(batch), store.last_committed() + 1,
      [&done](core::CommitSeq, core::Outcome outcome, const std::string& why) {
        done.set_value(outcome == core::Outcome::kCommitted
                           ? base::Status()
                           : cannot_accept("the jump of the numbers could not be stored: " + why));
      });
  return done.get_future().get();
}

}  // namespace rota::app
