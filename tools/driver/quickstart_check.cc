// SPDX-License-Identifier: Apache-2.0
#include "driver/quickstart_check.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <set>

namespace rota::driver {
namespace {

struct Row {
  std::vector<std::string> cells;
  std::int64_t integer(std::size_t i) const { return std::strtoll(cells[i].c_str(), nullptr, 10); }
};

std::vector<Row> query(const std::string& path, const std::string& sql) {
  std::vector<Row> rows;
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK) {
    sqlite3_busy_timeout(db, 5'000);
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK) {
      while (sqlite3_step(statement) == SQLITE_ROW) {
        Row row;
        for (int i = 0; i < sqlite3_column_count(statement); ++i) {
          const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
          row.cells.emplace_back(text == nullptr ? "" : text);
        }
        rows.push_back(std::move(row));
      }
    }
    sqlite3_finalize(statement);
  }
  sqlite3_close(db);
  return rows;
}

std::int64_t ms_of(const google::protobuf::Timestamp& t) {
  return t.seconds() * 1000 + t.nanos() / 1'000'000;
}

std::string outcome_text(const v1::Attempt& a) {
  switch (a.outcome()) {
    case v1::ATTEMPT_OUTCOME_SUCCEEDED:
      return "succeeded";
    case v1::ATTEMPT_OUTCOME_FAILED:
      return "failed";
    case v1::ATTEMPT_OUTCOME_TIMED_OUT:
      return "timed out";
    case v1::ATTEMPT_OUTCOME_LOST:
      return "lost, " + a.failure().message();
    case v1::ATTEMPT_OUTCOME_RELEASED:
      return "released";
    case v1::ATTEMPT_OUTCOME_SNOOZED:
      return "snoozed";
    case v1::ATTEMPT_OUTCOME_CANCELLED:
      return "cancelled";
    default:
      return "running";
  }
}

class Judge {
 public:
  Judge(const StoryOptions& options, const Story& story)
      : options_(options), story_(story), db_(options.folder + "/invoices.db") {}

  void print_runs() const {
    fmt::print("  {:<11} {:<18} {:<8} {:<7} {:<6} {:<5} {:<31} {}\n", "day", "run", "job",
               "attempt", "worker", "token", "outcome", "effect");
    for (std::size_t i = 0; i < story_.runs.size(); ++i) {
      const v1::Run& run = story_.runs[i];
      const int day = day_of(run);
      const v1::Job& job = story_.jobs[i];
      const double late_s =
          static_cast<double>(ms_of(run.decide_time()) - ms_of(run.nominal_time())) / 1000;
      std::string what = run.outcome() == v1::Run::OUTCOME_FIRED ? "fired" : "not fired";
      if (late_s >= 0.1) what += fmt::format(", late {:.1f} s", late_s);
      bool first = true;
      for (const v1::Attempt& a : job.attempts()) {
        const std::string fault =
            first && story_.faults.contains(day) ? "   << " + story_.faults.at(day) : std::string();
        fmt::print("  {:<11} {:<18} {:<8} {:<7} {:<6} {:<5} {:<31} {}{}\n",
                   first ? fmt::format("2026-11-{:02}", day) : "", first ? what : "",
                   first ? job.id() : "", a.number(), a.worker_id(), a.fencing_token(),
                   outcome_text(a), effect_of(job.id(), a.number()), fault);
        first = false;
      }
      if (day == kSuspendOnDay && story_.late_finish_token != 0) {
        fmt::print("  {:<11} {:<18} {:<8} {:<7} {:<6} {:<5} {:<31} {}\n", "", "", "", 1, "",
                   story_.late_finish_token, "late finish: " + story_.late_finish_reason,
                   stale_write());
      }
    }
  }

  std::vector<Promise> promises() {
    promises_.clear();
    one_schedule();
    one_at_once();
    overlaps();
    dead_workers();
    durable();
    stale_worker();
    tokens();
    one_invoice();
    second_insert();
    nothing_left();
    return promises_;
  }

  void print_what_kept_it() const {
    if (options_.guard) {
      fmt::print(
          "Not Rota alone: between \"invoice written\" and \"reported\" the database's unique "
          "constraint kept the invoice of day {} single.\n"
          "With --without-guard (no constraint, no token check) this run ends with 12 invoices "
          "and says so.\n",
          kDieOnDay);
    } else {
      fmt::print(
          "Without the guard {} customers were invoiced twice: once more by the retry of the "
          "killed worker, once more by the suspended one. The guard is the database's: see "
          "examples/invoices.\n",
          doubled());
    }
  }

 private:
  int day_of(const v1::Run& run) const {
    return static_cast<int>((ms_of(run.nominal_time()) - story_.first_tick_ms) / 1000 + 1);
  }

  std::string effect_of(const std::string& job, int attempt) const {
    const std::string where = " WHERE job='" + job + "' AND attempt=" + std::to_string(attempt);
    const auto written = query(db_, "SELECT number FROM invoices" + where);
    if (!written.empty()) return "invoice " + written[0].cells[0];
    if (!query(db_, "SELECT 1 FROM refusals" + where + " AND kind='insert'").empty()) {
      return "none: found the invoice of attempt 1";
    }
    return "none";
  }

  std::string stale_write() const {
    const auto rows =
        query(db_, "SELECT token, newest_token FROM refusals WHERE kind='stale' LIMIT 1");
    if (rows.empty()) return options_.guard ? "none" : "a second invoice";
    return "write refused by the database, token " + rows[0].cells[0] + " < " + rows[0].cells[1];
  }

  void line(std::string name, std::string seen, bool holds, bool counts = true) {
    promises_.push_back({std::move(name), std::move(seen), holds, counts});
  }

  void one_schedule() {
    std::map<std::int64_t, int> fired;
    int late = 0;
    for (const v1::Run& run : story_.runs) {
      if (run.outcome() == v1::Run::OUTCOME_FIRED) ++fired[ms_of(run.nominal_time())];
      if (ms_of(run.decide_time()) - ms_of(run.nominal_time()) >= 500) ++late;
    }
    int twice = 0, lost = 0;
    for (int day = 0; day < kDays; ++day) {
      const int n = fired[story_.first_tick_ms + day * 1000];
      if (n == 0) ++lost;
      if (n > 1) ++twice;
    }
    std::set<std::string> succeeded;
    for (const v1::Job& job : story_.jobs) {
      if (job.state() == v1::JOB_STATE_SUCCEEDED) succeeded.insert(job.id());
    }
    int created = 0, unchanged = 0;
    for (const std::string& said : story_.declared) {
      if (said.ends_with(" created")) ++created;
      if (said.ends_with(" unchanged")) ++unchanged;
    }
    line("one schedule for 3 nodes, one run a tick",
         fmt::format("{} ticks, {} runs, {} twice, {} lost, {} late; {} created, {} unchanged",
                     kDays, story_.runs.size(), twice, lost, late, created, unchanged),
         story_.runs.size() == kDays && twice == 0 && lost == 0 && created == 1 && unchanged == 2);
    line("one job a run, each succeeded",
         fmt::format("{} jobs, {} of them succeeded", story_.jobs.size(), succeeded.size()),
         story_.jobs.size() == kDays && succeeded.size() == kDays);
  }

  void one_at_once() {
    // Live leases in commit order; what ends in a commit makes room for what is granted in it.
    std::vector<std::pair<std::int64_t, int>> changes;
    for (const v1::Job& job : story_.jobs) {
      for (const v1::Attempt& a : job.attempts()) {
        changes.emplace_back(a.granted_seq(), +1);
        if (a.ended_seq() != 0) changes.emplace_back(a.ended_seq(), -1);
      }
    }
    std::sort(changes.begin(), changes.end());
    int live = 0, most = 0;
    for (const auto& [seq, by] : changes) most = std::max(most, live += by);
    line("at most 1 running, in the server's order", fmt::format("most at once: {}", most),
         most == 1);
  }

  // Handlers, by the clock of the machine: the suspended one wakes up after its lease, so that it
  // must overlap with the one that took over, and no two others may.
  void overlaps() {
    const std::string suspended = suspended_execution();
    int with_it = 0, others = 0;
    for (const auto& [a, b] : overlapping())
      ++(a == suspended || b == suspended ? with_it : others);
    line("only the suspended handler overlaps",
         fmt::format("{} overlaps with the suspended one, {} of others", with_it, others),
         with_it > 0 && others == 0);
  }

  std::vector<std::pair<std::string, std::string>> overlapping() const {
    std::vector<std::pair<std::string, std::string>> pairs;
    const auto rows = query(db_,
                            "SELECT a.job || '/' || a.attempt, b.job || '/' || b.attempt"
                            " FROM executions a JOIN executions b ON a.id < b.id"
                            " WHERE a.ended_ms IS NOT NULL AND b.started_ms < a.ended_ms");
    for (const Row& row : rows) pairs.emplace_back(row.cells[0], row.cells[1]);
    return pairs;
  }

  std::string suspended_execution() const {
    for (std::size_t i = 0; i < story_.runs.size() && i < story_.jobs.size(); ++i) {
      if (day_of(story_.runs[i]) == kSuspendOnDay) return story_.jobs[i].id() + "/1";
    }
    return {};
  }

  void dead_workers() {
    int lost = 0, second = 0;
    for (const v1::Job& job : story_.jobs) {
      if (job.attempts_size() > 1) ++second;
      for (const v1::Attempt& a : job.attempts()) {
        if (a.outcome() == v1::ATTEMPT_OUTCOME_LOST) ++lost;
      }
    }
    line("a dead worker's job goes to another",
         fmt::format("{} leases ended, {} second attempts", lost, second),
         lost == 2 && second == 2);
  }

  void durable() {
    line("acknowledged is durable",
         fmt::format("{} acknowledged writes before SIGKILL, {} found", story_.acknowledged,
                     story_.found),
         story_.acknowledged > 0 && story_.acknowledged == story_.found);
  }

  void stale_worker() {
    const auto stale = query(db_, "SELECT token, newest_token FROM refusals WHERE kind='stale'");
    const bool refused = story_.late_finish_reason == "LEASE_LOST";
    line("a stale worker changes nothing",
         fmt::format("finish answered {}, {} database write refused", story_.late_finish_reason,
                     stale.size()),
         refused && (stale.size() == 1 || !options_.guard));
  }

  void tokens() {
    std::vector<std::pair<std::int64_t, std::int64_t>> grants;
    for (const v1::Job& job : story_.jobs) {
      for (const v1::Attempt& a : job.attempts()) {
        grants.emplace_back(a.granted_seq(), a.fencing_token());
      }
    }
    std::sort(grants.begin(), grants.end());
    bool grow = true;
    for (std::size_t i = 1; i < grants.size(); ++i)
      grow = grow && grants[i - 1].second < grants[i].second;
    // Without a restart between two grants there is nothing to see.
    const bool restarted =
        story_.faults.contains(kServerDiesOnDay) && grants.size() > kServerDiesOnDay;
    line("tokens grow, also across the restart",
         grants.empty()
             ? "none"
             : fmt::format("{} to {} in {} grants, server restarted: {}", grants.front().second,
                           grants.back().second, grants.size(), restarted ? "yes" : "no"),
         grow && restarted);
  }

  std::int64_t count(const std::string& what_from) const {
    const auto rows = query(db_, "SELECT " + what_from);
    return rows.empty() ? 0 : rows[0].integer(0);
  }
  std::int64_t doubled() const {
    return count("COUNT(*) - COUNT(DISTINCT customer || '/' || day) FROM invoices");
  }

  void one_invoice() {
    std::size_t attempts = 0;
    for (const v1::Job& job : story_.jobs) {
      attempts += static_cast<std::size_t>(job.attempts_size());
    }
    const std::int64_t invoices = count("COUNT(*) FROM invoices");
    line("one invoice per customer and day",
         fmt::format("{} attempts, {} invoices, {} double", attempts, invoices, doubled()),
         invoices == kDays && doubled() == 0, options_.guard);
  }

  // The worker that was killed after its write must have been found out by the next attempt.
  void second_insert() {
    if (!options_.guard) {
      // The faults must show what the guard prevents, else this run has shown nothing.
      line("without the guard invoices are doubled", fmt::format("{} customers twice", doubled()),
           doubled() >= 2);
      return;
    }
    const std::int64_t refused = count("COUNT(*) FROM refusals WHERE kind='insert'");
    line("a second invoice is refused", fmt::format("{} second inserts refused", refused),
         refused >= 1);
  }

  void nothing_left() {
    std::string seen = "none";
    for (std::size_t i = 0; i < story_.left_behind.size(); ++i) {
      seen = i == 0 ? story_.left_behind[0] : seen + ", " + story_.left_behind[i];
    }
    if (!story_.drained) seen += "; not all ended by themselves after SIGTERM";
    if (options_.keep) seen += fmt::format("; {} kept on purpose", story_.left_running.size());
    line("no process left behind", seen, story_.left_behind.empty() && story_.drained);
  }

  const StoryOptions& options_;
  const Story& story_;
  const std::string db_;
  std::vector<Promise> promises_;
};

}  // namespace

std::vector<Promise> judge(const StoryOptions& options, const Story& story) {
  return Judge(options, story).promises();
}

bool print_and_check(const StoryOptions& options, const Story& story) {
  Judge judge(options, story);
  judge.print_runs();
  fmt::print("[5/5] {:<40} {:<69} {}\n", "promise", "seen", "holds");
  bool all_hold = true;
  for (const Promise& promise : judge.promises()) {
    fmt::print("      {:<40} {:<69} {}\n", promise.name, promise.seen,
               promise.holds ? "yes" : "NO");
    if (promise.counts && !promise.holds) all_hold = false;
  }
  judge.print_what_kept_it();
  return all_hold;
}

}  // namespace rota::driver
