// SPDX-License-Identifier: Apache-2.0
#include "bench/server_under_test.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "bench/failure.h"

namespace rota::bench {
namespace {

constexpr Millis kCallTimeout{60'000};
constexpr std::int64_t kServerStopWithinMs = 120'000;

}  // namespace

ServerUnderTest::ServerUnderTest(const std::string& binary, const std::string& folder,
                                 const std::vector<std::string>& arguments)
    : data_(folder + "/data"), arguments_(arguments) {
  require(!std::filesystem::exists(data_), data_ + " exists already");
  process_.emplace(binary, data_, folder + "/server.log", "127.0.0.1:0");
  require(process_->start(/*dies_with_parent=*/true, arguments_), process_->error());
  address_ = process_->address();
  connect();
}

ServerUnderTest::ServerUnderTest(std::string address, std::optional<pid_t> pid)
    : address_(std::move(address)), foreign_pid_(pid) {
  connect();
}

void ServerUnderTest::connect() {
  raw_ = must(internal::RawClient::create({.address = address_, .timeout = kCallTimeout}),
              "cannot make a client");
  must(raw_->wait_for_server(Millis(20'000)), "the server at " + address_ + " does not answer");
}

std::optional<pid_t> ServerUnderTest::pid() {
  if (process_) return process_->process().pid();
  return foreign_pid_;
}

ServerMark ServerUnderTest::mark() {
  ServerMark mark;
  mark.commits = must(raw_->get_server_info({}), "server info").server().commit_count();
  if (const auto process = pid()) mark.usage = usage_of(*process);
  mark.at_ns = now_ns();
  return mark;
}

void ServerUnderTest::add_figures(const ServerMark& since, Figures* figures) {
  const ServerMark now = mark();
  if (now.usage && since.usage) {
    figures->add("server_cpu_s", now.usage->cpu_s - since.usage->cpu_s);
    figures->add("server_written_bytes",
                 static_cast<double>(now.usage->written_bytes - since.usage->written_bytes));
    figures->add("server_rss_bytes", static_cast<double>(now.usage->rss_bytes));
    figures->add("server_peak_rss_bytes", static_cast<double>(now.usage->peak_rss_bytes));
  }
  figures->add("server_commits", static_cast<double>(now.commits - since.commits));
}

std::int64_t ServerUnderTest::rss_bytes() {
  const auto process = pid();
  return process ? usage_of(*process).rss_bytes : 0;
}

std::int64_t ServerUnderTest::kill_and_restart() {
  require(process_.has_value(), "only a server of its own is killed");
  raw_.reset();
  require(process_->kill(), "the server could not be killed");
  const std::int64_t begin = now_ns();
  require(process_->start(/*dies_with_parent=*/true, arguments_), process_->error());
  connect();
  return begin;
}

void ServerUnderTest::stop() {
  raw_.reset();
  if (!process_) return;
  const auto exit_code = process_->stop(kServerStopWithinMs);
  require(exit_code == 0, "the server did not end with 0 after SIGTERM");
  process_.reset();
}

v1::QueueCounters counters(internal::RawClient& raw, const std::string& queue) {
  v1::GetQueueRequest request;
  request.set_queue(queue);
  return must(raw.get_queue(request), "queue " + queue).queue().counters();
}

void verify(internal::RawClient& raw, const std::string& queue, const Expected& expected) {
  const v1::QueueCounters seen = counters(raw, queue);
  const std::int64_t other = seen.scheduled() + seen.blocked() + seen.running() + seen.dead() +
                             seen.cancelled() + seen.expired();
  const bool holds = seen.created() == expected.created && seen.ready() == expected.ready &&
                     seen.succeeded() + seen.removed() == expected.succeeded && other == 0;
  require(holds,
          fmt::format("queue {} does not add up: {} created ({} expected), {} succeeded and "
                      "{} removed ({} expected together), {} ready ({} expected), {} in "
                      "other states (none expected)",
                      queue, seen.created(), expected.created, seen.succeeded(), seen.removed(),
                      expected.succeeded, seen.ready(), expected.ready, other));
}

void make_queue(internal::RawClient& raw, const std::string& name, std::optional<int> limit) {
  v1::SetQueueRequest request;
  request.set_queue(name);
  if (limit) request.mutable_settings()->set_concurrency_limit(*limit);
  must(raw.set_queue(request), "set queue " + name);
}

}  // namespace rota::bench
