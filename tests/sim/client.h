// SPDX-License-Identifier: Apache-2.0
//
// A node of an application: enqueues, changes, cancels and redrives jobs, sets and pauses queues,
// declares the same schedulers as its neighbours do. It repeats what is not answered, with the same
// request id; a call without one is repeated too, as careless callers do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/network.h"
#include "sim/worker.h"

namespace rota::sim {

class Client {
 public:
  Client(Context& context, Network& network, Rumours& rumours, Rng rng, std::uint32_t number);

  void start();
  void rest() { resting_ = true; }  // begins nothing new
  // Sends until it is answered with anything that is not a refusal to serve.
  void insist(core::CommandBody body);
  std::size_t insisting() const { return insisting_; }

  // As a first declaration of the queue `index`.
  core::SetQueue first_settings(std::size_t index);

 private:
  void act();
  core::CommandBody draw();
  void send(core::CommandBody body, int tries, std::uint64_t number);
  void hear(const core::CommandBody& asked, const core::ReplyBody& answer);
  void hear_enqueue(const core::EnqueueJobs& asked, const core::EnqueueReply& answer);
  core::CommandBody enqueue();
  core::JobRequest job();
  core::CommandBody set_queue(const std::string& name);
  core::CommandBody scheduler_command();
  core::CommandBody update();
  void after(std::int64_t ms, core::CommandBody body);
  void replace(const std::string& queue);
  core::EnqueueJobs keyed_jobs(const std::string& queue, const std::string& name);
  core::CommandBody rare();
  core::JobKey some_job();
  std::string some_queue();
  core::RequestTag tag(const std::string& body);
  bool has(Feature f) const { return context_.profile.has(f); }
  model::RetryPolicy retry();

  Context& context_;
  Network& network_;
  Rumours& rumours_;
  Rng rng_;
  Rng heirs_;  // for what becomes of a queue that is deleted
  const std::uint32_t number_;
  bool resting_ = false;
  std::uint64_t next_ = 1;
  std::size_t insisting_ = 0;
  std::map<std::uint64_t, bool> open_;  // calls that are not answered, by number of ours
  // What an enqueue with a request id was answered first: a repeat is answered the same.
  std::map<std::string, std::vector<core::JobKey>> first_answers_;
};

}  // namespace rota::sim
