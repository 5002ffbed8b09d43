// SPDX-License-Identifier: Apache-2.0
// The client of a service that submits jobs. Standard types only; nothing throws across the border.
//
//   auto client = rota::Client::create();
//   auto job = client->enqueue({.queue = "mail", .kind = "welcome", .payload = R"({"user":42})"});
//   if (!job) return report(job.error());
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rota/error.h"
#include "rota/export.h"
#include "rota/job.h"
#include "rota/scheduler.h"
#include "rota/version.h"

namespace rota {

namespace internal {
class ClientCore;
struct ClientAccess;
}  // namespace internal

struct ClientOptions {
  std::string address{};     // HOST:PORT; empty: ROTA_ADDRESS, else 127.0.0.1:7500
  std::string name_space{};  // empty: "default"
  Millis timeout{10'000};    // of one call, from its begin, all its retries and waits included
  // True: what arrives while an enqueue call is in flight goes together in the next one, without
  // waiting to gather more. Many threads that enqueue at once then share calls.
  bool coalesce = false;
  // Gets the library's own lines; level 0 debug, 1 info, 2 warning, 3 error. Called from any
  // thread.
  std::function<void(int level, std::string_view line)> log{};
};

// Thread-safe. A call that finds the server away or shutting down is repeated with the same request
// id until the timeout passes, and so is one answered OVERLOADED, after the time that asks for; no
// other error that the server gave is. When the retries are used up and the answer is unknown,
// Error::may_have_happened is set.
class ROTA_EXPORT Client {
 public:
  // Does no I/O. kInvalid when an option is out of its bounds.
  static Result<Client> create(ClientOptions options = {});

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();  // close(1 s)

  // Returns when the job is durable.
  Result<JobRef> enqueue(JobSpec spec);

  // `done` is called exactly once, on a thread of the client; it must not block.
  void enqueue_async(JobSpec spec, std::function<void(Result<JobRef>)> done);

  // One result for each spec, in order. Split into calls of at most 1,000 jobs and 8 MiB, sent one
  // after the other, with the request ids REQUEST_ID:0, REQUEST_ID:1, ... Repeated whole with the
  // same request id it creates nothing twice. An empty request id: the client makes one; else 1 to
  // 56 printable ASCII characters, or every result is kInvalid and nothing is sent. The timeout
  // holds for each call; after one whose server was away the rest is not sent.
  std::vector<Result<JobRef>> enqueue_bulk(std::vector<JobSpec> specs, std::string request_id = {});

  Result<JobInfo> get(std::string_view id);

  // Returns when the job is final, else after `at_most` with the state it has then.
  Result<JobInfo> wait(std::string_view id, Millis at_most);

  // A waiting job is cancelled at once; a running one is told and ends as it will: the state is
  // that at the answer. kPrecondition ALREADY_FINAL when it had ended.
  Result<JobState> cancel(std::string_view id, std::string why);

  Result<Declared> declare(SchedulerSpec spec);
  Result<Ok> declare_queue(QueueSpec spec);

  // Flushes what was coalesced; true when nothing was left after `at_most`. What is left is
  // answered kUnavailable, and calls made afterwards are too.
  bool close(Millis at_most);

 private:
  friend struct internal::ClientAccess;
  explicit Client(std::shared_ptr<internal::ClientCore> core);
  std::shared_ptr<internal::ClientCore> core_;
};

}  // namespace rota
