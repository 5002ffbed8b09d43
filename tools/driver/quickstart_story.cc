// SPDX-License-Identifier: Apache-2.0
#include "driver/quickstart_story.h"

#include <sqlite3.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <thread>

#include "base/time_format.h"
#include "driver/process.h"
#include "internal/raw_client.h"

namespace rota::driver {
namespace {

namespace fs = std::filesystem;

internal::RawClient connect(const std::string& address) {
  ClientOptions options;
  options.address = address;
  options.timeout = Millis(15'000);
  return *internal::RawClient::create(options);
}

void set_time(google::protobuf::Timestamp* out, std::int64_t ms) {
  out->set_seconds(ms / 1000);
  out->set_nanos(static_cast<std::int32_t>(ms % 1000) * 1'000'000);
}

std::int64_t query_int(const std::string& db_path, const std::string& sql) {
  sqlite3* db = nullptr;
  std::int64_t value = -1;
  if (sqlite3_open_v2(db_path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK) {
    sqlite3_busy_timeout(db, 5'000);
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
      value = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
  }
  sqlite3_close(db);
  return value;
}

std::string date_of(int day) {
  char text[16];
  std::snprintf(text, sizeof text, "2026-11-%02d", day);
  return text;
}

// Everything that runs, in one place, so that leaving the story in any way ends it all.
class Stage {
 public:
  Stage(const StoryOptions& options, Story* story)
      : options_(options),
        story_(story),
        db_(options.folder + "/invoices.db"),
        server_(options.bin + "/rota-server", options.folder + "/data",
                options.folder + "/server.log", options.listen) {}

  bool run(std::string* error) {
    if (!start_server(error)) return false;
    story_->address = server_.address();
    if (!make_queues(error) || !declare(error) || !start_workers(error) || !play(error) ||
        !collect(error)) {
      return false;
    }
    end();
    return true;
  }

 private:
  bool start_server(std::string* error) {
    if (!server_.start(!options_.keep)) return *error = server_.error(), false;
    started_.emplace_back("rota-server", server_.process().pid());
    return true;
  }

  bool make_queues(std::string* error) {
    auto client = connect(server_.address());
    v1::SetQueueRequest set;
    set.set_namespace_("default");
    set.set_queue(kQueue);
    set.mutable_settings()->set_concurrency_limit(1);
    if (auto r = client.set_queue(set); !r) return *error = r.error().message, false;
    set = {};
    set.set_namespace_("default");
    set.set_queue("notes");
    if (auto r = client.set_queue(set); !r) return *error = r.error().message, false;
    return true;
  }

  // Three processes at the same instant, as three application nodes at a deploy.
  bool declare(std::string* error) {
    const std::int64_t at_ms = wall_ms() + 500;
    story_->first_tick_ms = (at_ms / 1000 + 3) * 1000;
    std::vector<Process> nodes;
    const std::vector<std::string> names = {"node-a", "node-b", "node-c"};
    for (const std::string& name : names) {
      const std::string log = options_.folder + "/" + name + ".log";
      fs::remove(log);
      auto node = Process::start({options_.self, "declare", server_.address(),
                                  std::to_string(story_->first_tick_ms), std::to_string(at_ms)},
                                 log, true);
      if (!node) return *error = "cannot start a node", false;
      started_.emplace_back(name, node->pid());
      nodes.push_back(std::move(*node));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto change = nodes[i].wait(10'000);
      std::string said = read_file(options_.folder + "/" + names[i] + ".log");
      while (!said.empty() && said.back() == '\n') said.pop_back();
      if (!change || change->exit_code != 0) return *error = names[i] + ": " + said, false;
      story_->declared.push_back(names[i] + " " + said);
    }
    return true;
  }

  bool start_workers(std::string* error) {
    for (int i = 1; i <= 3; ++i) {
      const std::string id = "w" + std::to_string(i);
      auto worker = Process::start({options_.bin + "/invoice-worker",
                                    "--id",
                                    id,
                                    "--server",
                                    server_.address(),
                                    "--queue",
                                    kQueue,
                                    "--db",
                                    db_,
                                    "--customers",
                                    options_.customers,
                                    "--guard",
                                    options_.guard ? "1" : "0",
                                    "--first-tick-ms",
                                    std::to_string(story_->first_tick_ms),
                                    "--lease-ttl-ms",
                                    "5000",
                                    "--die-on-day",
                                    std::to_string(kDieOnDay),
                                    "--suspend-on-day",
                                    std::to_string(kSuspendOnDay),
                                    "--slow-on-day",
                                    std::to_string(kServerDiesOnDay)},
                                   options_.folder + "/" + id + ".log", !options_.keep);
      if (!worker) return *error = "cannot start worker " + id, false;
      started_.emplace_back(id, worker->pid());
      workers_[id] = std::move(*worker);
    }
    return true;
  }

  // The faults, each when its moment comes.
  bool play(std::string* error) {
    const std::int64_t began = mono_ms();
    const auto began_day = [&](int day) {
      return query_int(db_, "SELECT COUNT(*) FROM executions WHERE day='" + date_of(day) +
                                "' AND ended_ms IS NULL") > 0;
    };
    bool server_done = false;
    bool all_done = false;
    while (!all_done) {
      if (mono_ms() - began > 80'000) return *error = "the ten jobs did not end within 80 s", false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (!server_done && began_day(kServerDiesOnDay)) {
        if (!kill_server(error)) return false;
        server_done = true;
      }
      watch_workers();
      if (!suspended_.empty() && !resumed_ && second_attempt_ended()) {
        workers_[suspended_].signal(SIGCONT);
        resumed_ = true;
        if (!send_late_finish(error)) return false;
      }
      all_done = server_done && finished_jobs() == kDays && (resumed_ || suspended_.empty());
    }
    // The resumed handler has tried its write by now, or will within moments.
    if (!suspended_.empty()) {
      const std::string ended = "SELECT COUNT(*) FROM executions WHERE attempt=1 AND worker='" +
                                suspended_ + "' AND day='" + date_of(kSuspendOnDay) +
                                "' AND ended_ms IS NOT NULL";
      if (!wait_until([&] { return query_int(db_, ended) >= 1; }, 10'000)) {
        return *error = "the resumed worker did not try its write", false;
      }
    }
    story_->took_ms = mono_ms() - began;
    return true;
  }

  // Writes go on until the very moment of the kill; each that was acknowledged must be there after.
  bool kill_server(std::string* error) {
    std::vector<std::string> ids;
    std::atomic<bool> stop{false};
    std::thread writer([&] {
      auto client = connect(server_.address());
      for (int i = 0; !stop; ++i) {
        v1::EnqueueJobRequest request;
        request.set_namespace_("default");
        request.mutable_job()->set_queue("notes");
        request.mutable_job()->set_kind("note");
        request.mutable_job()->mutable_payload()->set_data("note " + std::to_string(i));
        internal::CallOptions once;
        once.repeat = false;
        auto r = client.enqueue_job(request, once);
        if (!r) return;  // the server is gone: unknown, so not counted
        ids.push_back(r->job().id());
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    server_.kill();
    const std::int64_t down = mono_ms();
    stop = true;
    writer.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(1'800));
    if (!start_server(error)) return false;
    story_->server_down_ms = mono_ms() - down;
    story_->acknowledged = ids.size();
    auto client = connect(server_.address());
    for (const std::string& id : ids) {
      v1::GetJobRequest get;
      get.set_namespace_("default");
      get.set_job_id(id);
      if (client.get_job(get)) ++story_->found;
    }
    char text[64];
    std::snprintf(text, sizeof text, "server SIGKILL in mid-job, down %.1f s",
                  static_cast<double>(story_->server_down_ms) / 1000);
    story_->faults[kServerDiesOnDay] = text;
    return true;
  }

  void watch_workers() {
    for (auto& [id, worker] : workers_) {
      const auto change = worker.poll();
      if (!change) continue;
      if (change->stopped) {
        suspended_ = id;
        story_->faults[kSuspendOnDay] = id + " SIGSTOP beyond its lease, then SIGCONT";
      } else if (change->signal == SIGKILL) {
        story_->faults[kDieOnDay] = id + " SIGKILL after the invoice, before its report";
      }
    }
  }

  std::optional<v1::Job> job_of_day(int day) {
    auto client = connect(server_.address());
    for (const v1::Run& run : list_runs(client)) {
      const std::int64_t ms = run.nominal_time().seconds() * 1000;
      if (ms != story_->first_tick_ms + (day - 1) * 1000) continue;
      v1::GetJobRequest get;
      get.set_namespace_("default");
      get.set_job_id(run.job_id());
      if (auto r = client.get_job(get)) return r->job();
    }
    return std::nullopt;
  }

  bool second_attempt_ended() {
    const auto job = job_of_day(kSuspendOnDay);
    return job && job->state() == v1::JOB_STATE_SUCCEEDED;
  }

  // The library would not send it: the test of the server does.
  bool send_late_finish(std::string* error) {
    const auto job = job_of_day(kSuspendOnDay);
    if (!job || job->attempts().empty()) return *error = "no attempts of the suspended job", false;
    const v1::Attempt& first = job->attempts(0);
    story_->late_finish_token = static_cast<std::uint64_t>(first.fencing_token());
    v1::FinishJobsRequest finish;
    finish.set_namespace_("default");
    finish.set_session_id(first.session_id());
    v1::FinishItem* item = finish.add_items();
    item->mutable_lease()->set_job_id(job->id());
    item->mutable_lease()->set_fencing_token(first.fencing_token());
    item->mutable_outcome()->mutable_success()->mutable_result()->set_data("late");
    auto client = connect(server_.address());
    auto r = client.finish_jobs(finish);
    if (!r) return *error = r.error().message, false;
    const v1::FinishResult& result = r->results(0);
    story_->late_finish_reason = result.has_error() ? result.error().reason() : "accepted";
    return true;
  }

  std::vector<v1::Run> list_runs(internal::RawClient& client) {
    v1::ListRunsRequest list;
    list.set_namespace_("default");
    list.set_scheduler_id(kScheduler);
    list.set_page_size(100);
    auto r = client.list_runs(list);
    std::vector<v1::Run> runs;
    if (r) runs.assign(r->runs().begin(), r->runs().end());
    std::sort(runs.begin(), runs.end(), [](const v1::Run& a, const v1::Run& b) {
      return a.nominal_time().seconds() < b.nominal_time().seconds();
    });
    return runs;
  }

  int finished_jobs() {
    auto client = connect(server_.address());
    v1::GetQueueRequest get;
    get.set_namespace_("default");
    get.set_queue(kQueue);
    auto r = client.get_queue(get);
    if (!r) return 0;
    const v1::QueueCounters& c = r->queue().counters();
    return static_cast<int>(c.succeeded() + c.dead() + c.cancelled() + c.expired());
  }

  bool collect(std::string* error) {
    auto client = connect(server_.address());
    story_->runs = list_runs(client);
    for (const v1::Run& run : story_->runs) {
      if (run.outcome() != v1::Run::OUTCOME_FIRED) {
        story_->jobs.emplace_back();
        continue;
      }
      v1::GetJobRequest get;
      get.set_namespace_("default");
      get.set_job_id(run.job_id());
      auto r = client.get_job(get);
      if (!r) return *error = "run without a job: " + r.error().message, false;
      story_->jobs.push_back(r->job());
    }
    return true;
  }

  void end() {
    std::set<pid_t> kept;
    if (options_.keep) {
      keep_running("rota-server", &server_.process(), &kept);
      for (auto& [id, worker] : workers_) keep_running("worker " + id, &worker, &kept);
      story_->drained = true;
    } else {
      story_->drained = drain();
    }
    // Each was started in a group of its own, so that this also finds what it started itself.
    for (const auto& [name, pid] : started_) {
      if (kept.contains(pid) || !group_lives(pid)) continue;
      story_->left_behind.push_back(name + " pid " + std::to_string(pid));
    }
  }

  void keep_running(const std::string& name, Process* process, std::set<pid_t>* kept) {
    if (!process->running()) return;
    story_->left_running.push_back(name + " pid " + std::to_string(process->pid()));
    kept->insert(process->pid());
    process->let_go();
  }

  // False when something had to be killed, or the server said that it could not end well.
  bool drain() {
    bool clean = true;
    for (auto& [id, worker] : workers_) worker.signal(SIGTERM);
    for (auto& [id, worker] : workers_) {
      if (worker.running() && !worker.wait(10'000)) clean = false;
    }
    return server_.stop(10'000) == 0 && clean;
  }

  const StoryOptions& options_;
  Story* story_;
  const std::string db_;
  ServerProcess server_;
  std::map<std::string, Process> workers_;
  std::vector<std::pair<std::string, pid_t>> started_;  // each process ever started
  std::string suspended_;
  bool resumed_ = false;
};

}  // namespace

bool run_story(const StoryOptions& options, Story* story, std::string* error) {
  std::error_code ignored;
  for (const char* name : {"/data", "/invoices.db", "/invoices.db-wal", "/invoices.db-shm",
                           "/server.log", "/w1.log", "/w2.log", "/w3.log"}) {
    fs::remove_all(options.folder + name, ignored);
  }
  fs::create_directories(options.folder, ignored);
  Stage stage(options, story);
  return stage.run(error);
}

int declare_node(const std::string& address, std::int64_t first_tick_ms, std::int64_t at_ms) {
  auto client = connect(address);
  v1::UpsertSchedulerRequest upsert;
  upsert.set_namespace_("default");
  v1::SchedulerDeclaration* s = upsert.mutable_scheduler();
  s->set_id(kScheduler);
  s->set_revision(1);
  s->mutable_spec()->add_parts()->set_cron("* * * * * *");
  set_time(s->mutable_spec()->mutable_start_time(), first_tick_ms);
  set_time(s->mutable_spec()->mutable_end_time(), first_tick_ms + kDays * 1000);
  s->mutable_overlap()->set_mode(v1::OverlapPolicy::MODE_ALLOW);
  s->mutable_catch_up()->set_mode(v1::CatchUpPolicy::MODE_ALL);
  s->mutable_job()->set_queue(kQueue);
  s->mutable_job()->set_kind("daily-invoice");
  s->mutable_job()->set_business_key("invoice/{{nominal_time}}");
  s->mutable_job()->mutable_payload()->set_data(R"({"tick":"{{nominal_time}}"})");
  std::this_thread::sleep_for(
      std::chrono::milliseconds(std::max<std::int64_t>(0, at_ms - wall_ms())));
  auto r = client.upsert_scheduler(upsert);
  if (!r) {
    std::cout << r.error().reason << ": " << r.error().message << std::endl;
    return 1;
  }
  switch (r->result()) {
    case v1::UpsertSchedulerResponse::RESULT_CREATED:
      std::cout << "created" << std::endl;
      break;
    case v1::UpsertSchedulerResponse::RESULT_UNCHANGED:
      std::cout << "unchanged" << std::endl;
      break;
    default:
      std::cout << "changed" << std::endl;
      break;
  }
  return 0;
}

}  // namespace rota::driver
