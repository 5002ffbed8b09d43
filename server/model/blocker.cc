// SPDX-License-Identifier: Apache-2.0
#include "model/blocker.h"

#include "model/bytes.h"

namespace rota::model {
namespace {
constexpr std::uint8_t kScheduler = 1;
}  // namespace

Blocker scheduler_blocker(std::string_view name_space, std::string_view scheduler_id) {
  Writer w;
  w.str(name_space);
  w.str(scheduler_id);
  return {kScheduler, w.take()};
}

std::optional<std::string> blocking_scheduler(const Blocker& blocker) {
  if (blocker.kind != kScheduler) return std::nullopt;
  Reader r(blocker.id);
  r.view();  // its namespace is the job's
  std::string id = r.str();
  if (!r.at_end()) return std::nullopt;
  return id;
}

}  // namespace rota::model
