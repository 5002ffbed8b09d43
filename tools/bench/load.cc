// SPDX-License-Identifier: Apache-2.0
#include "bench/load.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "bench/failure.h"
#include "bench/usage.h"

namespace rota::bench {
namespace {

constexpr Millis kEnqueueTimeout{60'000};

std::string in_words(const Error& error) {
  return "an enqueue failed: " + error.reason + " " + error.field + ": " + error.message;
}

// Of one load; shared with the callbacks, the last of which may still be on its way out when the
// load has its answers.
struct SingleState {
  SingleState(std::vector<Client>& clients_, const PayloadMaker& payloads_, const SingleLoad& load_,
              Histogram& calls_)
      : clients(clients_),
        payloads(payloads_),
        load(load_),
        calls(calls_),
        tally(static_cast<std::int64_t>(load_.jobs)) {}

  std::vector<Client>& clients;
  const PayloadMaker& payloads;
  const SingleLoad load;
  Histogram& calls;
  Tally tally;
  std::atomic<std::uint64_t> next{0};
};

void send_next_single(const std::shared_ptr<SingleState>& state) {
  const std::uint64_t number = state->next.fetch_add(1);
  if (number >= state->load.jobs || state->tally.failed()) return;
  state->tally.begin();
  const std::int64_t sent = now_ns();
  const JobMark mark{
      .number = state->load.first + number, .sent_ns = sent, .histogram = state->load.histogram};
  Client& client = state->clients[number % state->clients.size()];
  client.enqueue_async(to_spec(state->load.queue, state->payloads.make(mark)),
                       [state, sent](const Result<JobRef>& answer) {
                         if (!answer) return state->tally.fail_call(in_words(answer.error()));
                         if (answer->existed)
                           return state->tally.fail_call("a job existed already");
                         state->calls.record(now_ns() - sent);
                         send_next_single(state);
                         state->tally.done();
                       });
}

struct BulkState {
  BulkState(const PayloadMaker& payloads_, const BulkLoad& load_, Histogram& calls_)
      : payloads(payloads_),
        load(load_),
        calls(calls_),
        tally(static_cast<std::int64_t>(load_.jobs)) {}

  std::vector<internal::RawClient> clients;
  const PayloadMaker& payloads;
  const BulkLoad load;
  Histogram& calls;
  Tally tally;
  std::atomic<std::uint64_t> next{0};
};

// Closing ends what is in flight and waits for its callbacks.
struct ClosesAll {
  std::vector<internal::RawClient>& clients;
  ~ClosesAll() {
    for (internal::RawClient& client : clients) client.close();
  }
};

void send_next_bulk(const std::shared_ptr<BulkState>& state) {
  const auto per_call = static_cast<std::uint64_t>(state->load.per_call);
  const std::uint64_t begin = state->next.fetch_add(per_call);
  if (begin >= state->load.jobs || state->tally.failed()) return;
  state->tally.begin();
  const std::uint64_t end = std::min(begin + per_call, state->load.jobs);
  v1::BulkEnqueueJobsRequest request;
  request.mutable_jobs()->Reserve(static_cast<int>(end - begin));
  for (std::uint64_t i = begin; i < end; ++i) {
    const std::uint64_t number = state->load.first + i;
    fill(request.add_jobs(), state->load.queue_of(number), state->payloads.make({number}));
  }
  const std::int64_t sent = now_ns();
  const std::size_t count = end - begin;
  state->clients[begin / per_call % state->clients.size()].bulk_enqueue_jobs_async(
      std::move(request), {},
      [state, sent, count](const Result<v1::BulkEnqueueJobsResponse>& answer) {
        if (!answer) return state->tally.fail_call(in_words(answer.error()));
        state->calls.record(now_ns() - sent);
        send_next_bulk(state);
        const auto& results = answer->results();
        const bool all = static_cast<std::size_t>(results.size()) == count &&
                         std::all_of(results.begin(), results.end(), [](const auto& one) {
                           return one.has_job() && one.job().created();
                         });
        if (!all) return state->tally.fail_call("not every job of a call was created");
        state->tally.done(static_cast<std::int64_t>(count));
      });
}

void wait_until_ns(std::int64_t at_ns) {
  const timespec at{.tv_sec = static_cast<time_t>(at_ns / 1'000'000'000),
                    .tv_nsec = static_cast<long>(at_ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

// Measures from its making to take().
class Stopwatch {
 public:
  void take(LoadResult* result) const {
    result->seconds = static_cast<double>(now_ns() - begin_ns_) / 1e9;
    result->cpu_s = own_cpu_s() - begin_cpu_s_;
  }

 private:
  const double begin_cpu_s_ = own_cpu_s();
  const std::int64_t begin_ns_ = now_ns();
};

}  // namespace

void Tally::done(std::int64_t items) {
  left_.fetch_sub(items);
  if (out_.fetch_sub(1) > 1) return;
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Tally::fail(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (!failed_.exchange(true)) why_ = why;
  changed_.notify_all();
}

void Tally::fail_call(const std::string& why) {
  fail(why);
  done(0);
}

void Tally::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (left_ == 0 || failed_) && out_ == 0; });
  if (failed_) throw Failed(why_);
}

std::vector<Client> connect_clients(const std::string& address, int connections, bool coalesce,
                                    const std::string& queue) {
  std::vector<Client> clients;
  for (int i = 0; i < connections; ++i) {
    clients.push_back(
        must(Client::create({.address = address, .timeout = kEnqueueTimeout, .coalesce = coalesce}),
             "cannot make a client"));
    must(clients.back().declare_queue({.name = queue}), "cannot connect");
  }
  return clients;
}

void enqueue_single(std::vector<Client>& clients, const PayloadMaker& payloads,
                    const SingleLoad& load, LoadResult* result) {
  const auto state = std::make_shared<SingleState>(clients, payloads, load, result->calls);
  const Stopwatch watch;
  for (int i = 0; i < load.in_flight; ++i) send_next_single(state);
  state->tally.wait();
  watch.take(result);
}

void enqueue_bulk(const std::string& address, const PayloadMaker& payloads, const BulkLoad& load,
                  LoadResult* result) {
  const auto state = std::make_shared<BulkState>(payloads, load, result->calls);
  // The last of the state must not go with a callback: connections are not closed on their own
  // threads.
  const ClosesAll closes{state->clients};
  for (int i = 0; i < load.connections; ++i) {
    state->clients.push_back(
        must(internal::RawClient::create({.address = address, .timeout = kEnqueueTimeout}),
             "cannot make a client"));
    must(state->clients.back().get_server_info({}), "cannot connect");
  }
  const Stopwatch watch;
  for (int i = 0; i < load.in_flight; ++i) send_next_bulk(state);
  state->tally.wait();
  watch.take(result);
}

void enqueue_paced(std::vector<Client>& clients, const PacedLoad& load, LoadResult* result) {
  struct State {
    explicit State(std::int64_t jobs) : tally(jobs) {}
    Tally tally;
    std::atomic<std::int64_t> in_flight{0};
  };
  const auto state = std::make_shared<State>(static_cast<std::int64_t>(load.jobs));
  const double step_ns = 1e9 / load.per_second;
  // A sleep for each of very many jobs would cost more than they do: they go in small bursts.
  const std::int64_t slack_ns = step_ns < 200'000 ? 500'000 : 0;
  const Stopwatch watch;
  const std::int64_t begin = now_ns();
  for (std::uint64_t i = 0; i < load.jobs && !state->tally.failed(); ++i) {
    const std::int64_t due = begin + static_cast<std::int64_t>(static_cast<double>(i) * step_ns);
    if (due > now_ns()) wait_until_ns(due + slack_ns);
    if (state->in_flight.fetch_add(1) >= load.in_flight_max) {
      state->tally.fail("more enqueues are due than the server answers");
      break;
    }
    state->tally.begin();
    clients[i % clients.size()].enqueue_async(
        load.make(load.first + i, due), [state, due, result](const Result<JobRef>& answer) {
          state->in_flight.fetch_sub(1);
          if (!answer) return state->tally.fail_call(in_words(answer.error()));
          result->calls.record(now_ns() - due);
          state->tally.done();
        });
  }
  state->tally.wait();
  watch.take(result);
}

}  // namespace rota::bench
