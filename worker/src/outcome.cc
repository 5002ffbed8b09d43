// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "rota/worker.h"

namespace rota {

Outcome Outcome::succeed(std::string result) {
  Outcome outcome(Kind::kSucceeded);
  outcome.text_ = std::move(result);
  return outcome;
}

Outcome Outcome::fail(std::string why) {
  Outcome outcome(Kind::kFailed);
  outcome.text_ = std::move(why);
  return outcome;
}

Outcome Outcome::fail_for_good(std::string why) {
  Outcome outcome = fail(std::move(why));
  outcome.retryable_ = false;
  return outcome;
}

Outcome Outcome::retry_in(Millis delay, std::string why) {
  Outcome outcome = fail(std::move(why));
  outcome.retry_after_ = delay;
  return outcome;
}

Outcome Outcome::snooze(Time until) {
  Outcome outcome(Kind::kSnoozed);
  outcome.until_ = until;
  return outcome;
}

Outcome Outcome::snooze() { return Outcome(Kind::kSnoozed); }

Outcome Outcome::with_type(std::string type) && {
  type_ = std::move(type);
  return std::move(*this);
}

Outcome Outcome::truncated() && {
  truncated_ = true;
  return std::move(*this);
}

}  // namespace rota
