// SPDX-License-Identifier: Apache-2.0
//
// A client of the soak: sends jobs until its share is acknowledged, and keeps what was said.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "internal/raw_client.h"
#include "soak/plan.h"

namespace rota::soak {

struct Acknowledged {
  std::string id;
  std::string kind;
  std::string key;
  bool created = false;
};

// What the threads of a round share.
struct Progress {
  std::atomic<std::int64_t> acknowledged{0};
  std::atomic<std::int64_t> ended{0};     // jobs, as the server counted last
  std::atomic<std::int64_t> unknown{0};   // calls whose answer did not come at first
  std::atomic<std::int64_t> repeated{0};  // of them, answered later
  std::atomic<int> in_flight{0};          // calls
  std::atomic<bool> burst{false};         // clients send without a break, whatever waits
  std::atomic<bool> server_up{false};
  std::atomic<bool> over{false};  // the round ends, done or not

  std::mutex mutex;
  std::condition_variable changed;  // together with mutex, when `over` is set

  // Returns early when the round is over.
  void pause(std::int64_t ms);
  void end();
};

class Submitter {
 public:
  // `backlog`: how far acknowledged jobs may be ahead of final ones.
  Submitter(const std::string& address, std::uint64_t seed, int share, std::int64_t backlog,
            Progress& progress);

  // Returns when the share is acknowledged, the round is over, or something went wrong.
  void run();

  const std::vector<Acknowledged>& acknowledged() const { return acknowledged_; }
  // Empty: nothing went wrong.
  const std::string& fault() const { return fault_; }

 private:
  v1::JobSpec next_spec();
  void send_single();
  void send_bulk(int count);
  // Sends again and again, with the same request id, until the server answers.
  template <class Response, class Call>
  bool until_answered(Call call, Response* response);
  void keep(const v1::JobSpec& spec, const v1::EnqueuedJob& job);

  internal::RawClient client_;
  Random random_;
  const std::uint64_t seed_;
  const int share_;
  const std::int64_t backlog_;
  Progress& progress_;
  int keys_ = 0;
  std::int64_t calls_ = 0;
  std::vector<Acknowledged> acknowledged_;
  std::string fault_;
};

}  // namespace rota::soak
