// SPDX-License-Identifier: Apache-2.0
//
// What all who call the server have in common: a connection, a seed, a history of their own, and
// how an answer that does not come is taken.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "blackbox/history.h"
#include "blackbox/plan.h"
#include "internal/raw_client.h"

namespace rota::blackbox {

// What the threads of a round share.
struct Shared {
  std::atomic<std::int64_t> acknowledged{0};  // jobs
  std::atomic<std::int64_t> ended{0};         // jobs, as the server counted last
  std::atomic<std::int64_t> answers{0};
  std::atomic<std::int64_t> clock_ms{0};  // how far the server's clock is ahead of the machine's
  std::atomic<bool> clock_steps{false};   // it is stepped in this round
  std::atomic<std::int64_t> revision{1};  // of kEdited, the highest that was sent
  std::atomic<bool> no_more{false};       // nothing new is begun
  std::atomic<bool> over{false};          // what is not answered stays open

  std::mutex mutex;
  std::condition_variable changed;  // together with the mutex, when `over` or `no_more` is set

  // As the server's clock has it; its time may stand still above that.
  std::int64_t server_ms() const;
  // Returns early when the round is over.
  void pause(std::int64_t ms);
  void stop_new();
  void end();
};

using Operations = std::map<std::string, std::int64_t>;  // answered calls, by name

class Actor {
 public:
  Actor(const std::string& address, std::string name, std::uint64_t seed, Shared& shared);
  virtual ~Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  // Until nothing more is to be begun. On a thread of its own.
  virtual void run() = 0;

  // After run().
  History take_history() { return std::move(history_); }
  const Operations& operations() const { return operations_; }

 protected:
  enum class Repeat {
    kUntilAnswered,  // the request id makes it one invocation, however often it is sent
    kOnce,           // every try is an invocation of its own
    kInsist,         // as kUntilAnswered, and given up at the end only
  };
  // Sends until there is an answer, fills the call, and tells whether it was done. A call with
  // repeats is given up now and then, and stays open.
  template <class Response, class Send>
  bool ask(const char* operation, Repeat repeat, Call* call, Response* response, const Send& send);

  std::string next_id() { return name_ + "-" + std::to_string(++ids_); }
  // For one try.
  internal::CallOptions once() const { return {.timeout = Millis(4'000), .repeat = false}; }

  const std::string name_;
  internal::RawClient client_;
  Random random_;
  Shared& shared_;
  History history_;
  Operations operations_;

 private:
  // What an error says about a call.
  enum class Heard { kRefused, kLater, kUnknown };
  static Heard hear(const Error& error);
  void refuse(Call* call, const Error& error);

  std::int64_t ids_ = 0;
};

template <class Response, class Send>
bool Actor::ask(const char* operation, Repeat repeat, Call* call, Response* response,
                const Send& send) {
  bool may_have_happened = false;
  call->invoked = mono_ns();
  while (true) {
    ++call->tries;
    Result<Response> answer = send();
    if (answer) {
      call->replied = mono_ns();
      call->answer = Call::Answer::kDone;
      call->seq = answer->commit_seq();
      *response = *std::move(answer);
      ++operations_[operation];
      ++shared_.answers;
      return true;
    }
    const Heard heard = hear(answer.error());
    if (heard == Heard::kRefused) {
      ++operations_[std::string(operation) + " refused"];
      ++shared_.answers;
      return refuse(call, answer.error()), false;
    }
    if (heard == Heard::kUnknown) {
      may_have_happened = true;
      if (repeat == Repeat::kOnce) return false;
      if (repeat == Repeat::kUntilAnswered && chance(random_, 4)) return false;
    }
    // It is certain that none of the tries was carried out.
    if (shared_.over) {
      if (!may_have_happened) refuse(call, Error{.reason = kNotNow});
      return false;
    }
    shared_.pause(10 + static_cast<std::int64_t>(below(random_, 50)));
  }
}

}  // namespace rota::blackbox
