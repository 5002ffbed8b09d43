// SPDX-License-Identifier: Apache-2.0
#include "app/accepted_loss.h"

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "model/keys.h"
#include "model/records.h"

namespace rota::app {

using core::Keyspace;

namespace {

base::Error cannot_accept(std::string text) {
  return base::make_error(base::Reason::kStoreFailed, std::move(text));
}

}  // namespace

base::Status jump_tokens(core::ShardStore& store) {
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
  meta.next_token += kTokenJump;
  auto batch = std::make_shared<core::Batch>();
  batch->put(Keyspace::kMeta, model::keys::engine_meta(), model::encode(meta));
  std::promise<base::Status> done;
  store.commit(
      std::move(batch), store.last_committed() + 1,
      [&done](core::CommitSeq, core::Outcome outcome, const std::string& why) {
        done.set_value(outcome == core::Outcome::kCommitted
                           ? base::Status()
                           : cannot_accept("the jump of the tokens could not be stored: " + why));
      });
  return done.get_future().get();
}

}  // namespace rota::app
