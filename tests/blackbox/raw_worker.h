// SPDX-License-Identifier: Apache-2.0
//
// A worker that speaks the protocol itself, so that the commit of every answer is known, and that
// does what no good worker does: sends finishes twice and with another outcome, sleeps beyond its
// lease and reports all the same, forgets to beat.
#pragma once

#include <string>
#include <vector>

#include "blackbox/actor.h"

namespace rota::blackbox {

class RawWorker : public Actor {
 public:
  using Actor::Actor;

  // Takes jobs until nothing waits any more after no_more was set.
  void run() override;

 private:
  struct Held {
    v1::LeasedJob job;
    Ns asked = 0;  // when the call that brought it was sent
  };
  std::vector<Held> lease();
  void work(const std::vector<Held>& jobs);
  // False when an answer said that the lease is over.
  bool beat(const Held& held);
  v1::FinishJobsRequest outcomes_of(const std::vector<Held>& jobs);
  void choose_outcome(const Held& held, v1::Outcome* outcome);
  // All in one call.
  void finish(const std::vector<Held>& jobs);
  // False when there was no answer.
  bool send_finish(const v1::FinishJobsRequest& request, const std::vector<Held>& jobs);

  const std::string session_ = name_ + "-session";
};

}  // namespace rota::blackbox
