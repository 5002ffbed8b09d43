// SPDX-License-Identifier: Apache-2.0
#include "soak/round.h"

#include <csignal>
#include <sstream>
#include <utility>

namespace rota::soak {
namespace {

using driver::mono_ms;

constexpr std::size_t kWorkers = 3, kClients = 2, kThreadsOfAClient = 2;
constexpr std::int64_t kRoundMs = 300'000, kLookMs = 10, kAimMs = 500;

internal::CallOptions quick() { return {.timeout = Millis(1'000), .repeat = false}; }
internal::CallOptions patient() { return {.timeout = Millis(30'000)}; }

}  // namespace

Round::Round(RoundOptions options)
    : options_(std::move(options)),
      random_(options_.seed + 1),
      kills_(plan_kills(options_.seed)),
      server_(options_.server, options_.folder + "/data", options_.folder + "/server.log",
              "127.0.0.1:0") {
  for (const Kill& kill : kills_) {
    ++(kill.server ? conduct_.planned_server_kills : conduct_.planned_worker_kills);
  }
}

Round::~Round() { stop_clients(); }

bool Round::play() {
  began_ms_ = mono_ms();
  if (set_up()) {
    start_clients();
    for (std::size_t i = 0; i < kWorkers; ++i) {
      workers_.emplace_back();
      start_worker(i);
    }
    run_to_the_end();
    stop_clients();
    stop_workers();
    if (contradictions_.none()) judge_all();
    check_offline();
  }
  took_ms_ = mono_ms() - began_ms_;
  return contradictions_.none();
}

bool Round::set_up() {
  if (!server_.start(true)) return fault(server_.error()), false;
  progress_.server_up = true;
  ClientOptions options;
  options.address = server_.address();
  watch_ = std::make_unique<internal::RawClient>(*internal::RawClient::create(options));
  v1::SetQueueRequest request;
  request.set_queue(kQueue);
  request.mutable_settings()->set_concurrency_limit(kLimit);
  const auto made = watch_->set_queue(request, patient());
  if (!made) fault("no queue: " + made.error().message);
  return made.has_value();
}

void Round::start_clients() {
  const std::size_t threads = kClients * kThreadsOfAClient;
  const auto backlog = static_cast<std::int64_t>(300 + below(random_, 2'000));
  const int share = options_.jobs / static_cast<int>(threads);
  int left = options_.jobs;
  for (std::size_t i = 0; i < threads; ++i) {
    auto client = std::make_unique<Client>();
    const int own = i + 1 == threads ? left : share;
    left -= own;
    client->submitter = std::make_unique<Submitter>(server_.address(), options_.seed * 16 + i, own,
                                                    backlog, progress_);
    client->thread = std::thread([raw = client.get()] {
      raw->submitter->run();
      raw->done = true;
    });
    clients_.push_back(std::move(client));
  }
}

void Round::start_worker(std::size_t place) {
  const std::string name = "w" + std::to_string(++worker_names_);
  auto process = driver::Process::start({options_.worker, server_.address(), name},
                                        options_.folder + "/" + name + ".log", true);
  if (!process) return fault("cannot start " + options_.worker);
  workers_[place] = std::move(*process);
}

void Round::run_to_the_end() {
  while (contradictions_.none()) {
    look();
    if (clients_done() && next_kill_ == kills_.size() && unfinished_ == 0) return;
    kill_what_is_due();
    notice_deaths();
    progress_.pause(kLookMs);
    if (mono_ms() - began_ms_ > kRoundMs) {
      fault("not done after " + std::to_string(kRoundMs / 1000) +
            " s: " + std::to_string(progress_.acknowledged) + " acknowledged, " +
            std::to_string(progress_.ended) + " final, " + std::to_string(unfinished_) +
            " unfinished");
    }
  }
}

void Round::look() {
  // Before the counters are asked for: what is acknowledged by then is in them.
  const bool done = clients_done();
  v1::GetQueueRequest request;
  request.set_queue(kQueue);
  const auto answer = watch_->get_queue(request, quick());
  if (!answer) return;
  const v1::QueueCounters& now = answer->queue().counters();
  progress_.ended = now.succeeded() + now.dead();
  const std::int64_t waiting = now.scheduled() + now.blocked() + now.ready() + now.running();
  unfinished_ = done ? waiting : waiting + 1;
}

bool Round::clients_done() const {
  for (const auto& client : clients_) {
    if (!client->done) return false;
  }
  return true;
}

void Round::kill_what_is_due() {
  const double done = static_cast<double>(progress_.acknowledged + progress_.ended) /
                      (2.0 * static_cast<double>(options_.jobs));
  while (next_kill_ < kills_.size() && kills_[next_kill_].at <= done && contradictions_.none()) {
    const Kill& kill = kills_[next_kill_++];
    progress_.pause(kill.delay_ms);
    if (kill.server) {
      kill_server(kill);
    } else {
      kill_worker(kill);
    }
  }
}

void Round::kill_server(const Kill& kill) {
  if (kill.aimed) {
    progress_.burst = true;
    const std::int64_t begin_ms = mono_ms();
    while (progress_.in_flight < 2 && mono_ms() - begin_ms < kAimMs) std::this_thread::yield();
    progress_.pause(kill.delay_ms / 8);
  }
  if (server_.kill()) ++conduct_.server_kills;
  progress_.server_up = false;
  progress_.burst = false;
  progress_.pause(kill.down_ms);
  if (!server_.start(true)) return fault(server_.error());
  progress_.server_up = true;
}

void Round::kill_worker(const Kill&) {
  const auto place = static_cast<std::size_t>(below(random_, workers_.size()));
  workers_[place].signal(SIGKILL);
  const auto change = workers_[place].wait(5'000);
  if (change && change->signal == SIGKILL) ++conduct_.worker_kills;
  start_worker(place);
}

void Round::notice_deaths() {
  if (const auto change = server_.process().poll(); change && change->ended) {
    fault("the server ended by itself: exit code " + std::to_string(change->exit_code) +
          ", signal " + std::to_string(change->signal));
  }
  for (driver::Process& worker : workers_) {
    if (const auto change = worker.poll(); change && change->ended) {
      fault("a worker ended by itself: exit code " + std::to_string(change->exit_code) +
            ", signal " + std::to_string(change->signal));
    }
  }
  for (const auto& client : clients_) {
    if (client->done && !client->submitter->fault().empty()) fault(client->submitter->fault());
  }
}

void Round::stop_clients() {
  progress_.end();
  for (const auto& client : clients_) {
    if (client->thread.joinable()) client->thread.join();
  }
}

void Round::stop_workers() {
  for (const driver::Process& worker : workers_) worker.signal(SIGTERM);
  for (driver::Process& worker : workers_) {
    const auto change = worker.wait(60'000);
    if (!change || change->signal != 0 || change->exit_code != 0) {
      fault("a worker did not end with exit code 0 after SIGTERM");
    }
  }
}

void Round::judge_all() {
  std::vector<Acknowledged> acknowledged;
  for (const auto& client : clients_) {
    const auto& own = client->submitter->acknowledged();
    acknowledged.insert(acknowledged.end(), own.begin(), own.end());
  }
  if (static_cast<int>(acknowledged.size()) < options_.jobs) {
    fault("only " + std::to_string(acknowledged.size()) + " enqueues were acknowledged");
  }
  std::vector<v1::Job> jobs;
  v1::ListJobsRequest list;
  list.mutable_filter()->set_queue(kQueue);
  list.set_page_size(1'000);
  do {
    auto page = watch_->list_jobs(list, patient());
    if (!page) return fault("cannot list the jobs: " + page.error().message);
    for (v1::Job& job : *page->mutable_jobs()) jobs.push_back(std::move(job));
    list.set_page_token(page->next_page_token());
  } while (!list.page_token().empty());
  v1::GetQueueRequest get;
  get.set_queue(kQueue);
  const auto queue = watch_->get_queue(get, patient());
  if (!queue) return fault("cannot read the counters: " + queue.error().message);
  figures_ = judge(acknowledged, jobs, queue->queue().counters(), &contradictions_);
  conduct_.unknown = progress_.unknown;
  conduct_.repeated = progress_.repeated;
  judge_conduct(conduct_, figures_, &contradictions_);
}

void Round::check_offline() {
  watch_->close();
  if (server_.stop(60'000) != 0) fault("the server did not end with exit code 0 after SIGTERM");
  const std::string log = options_.folder + "/check.log";
  auto check =
      driver::Process::start({options_.server, "--check", options_.folder + "/data"}, log, true);
  if (!check) return fault("cannot start " + options_.server);
  const auto change = check->wait(60'000);
  if (!change || change->signal != 0 || change->exit_code != 0) {
    fault("rota-server --check finds contradictions:\n" + driver::read_file(log));
  }
}

std::string Round::summary() const {
  std::ostringstream out;
  out << progress_.acknowledged << " acknowledged, " << progress_.unknown << " unknown answers, "
      << progress_.repeated << " of them repeated, " << figures_.jobs
      << " jobs: " << figures_.succeeded << " succeeded, " << figures_.dead << " dead, "
      << figures_.attempts << " attempts, " << figures_.lost << " lost; killed "
      << conduct_.worker_kills << " workers, " << conduct_.server_kills << " servers; most live "
      << figures_.most_live << "; " << static_cast<double>(took_ms_ / 100) / 10 << " s";
  return out.str();
}

}  // namespace rota::soak
