// SPDX-License-Identifier: Apache-2.0
#include "app/recount.h"

#include <utility>

#include "app/recount_state.h"
#include "model/job_id.h"

namespace rota::app {

void Recount::each(Keyspace keyspace, const RowFn& row) {
  if (!fault_.empty()) return;
  std::string detail;
  const core::ReadError error = store_.load(
      keyspace,
      [&](std::string_view key, std::string_view value) {
        ++report_.rows;
        row(key, value);
        return true;
      },
      &detail);
  if (error != core::ReadError::kNone) fault_ = detail.empty() ? "rows cannot be read" : detail;
}

void Recount::contradiction(std::string text) {
  ++report_.contradiction_count;
  if (report_.contradictions.size() < kContradictionsShown) {
    report_.contradictions.push_back(std::move(text));
  }
}

std::string Recount::name_of_queue(std::uint32_t number) const {
  const auto it = queues_.find(number);
  return it == queues_.end() ? "queue number " + std::to_string(number)
                             : "queue \"" + it->second.queue.name + "\"";
}

std::string Recount::name_of_job(const JobKey& key) const {
  return "job " + model::job_id(key) + " (" + name_of_queue(key.queue) + ")";
}

base::Result<RecountReport> Recount::run() {
  last_seq_ = store_.last_committed();
  read_meta();
  read_queues();
  read_sides();
  read_grants();
  read_pointers();
  read_bodies();
  leftovers();
  read_payloads();
  read_timers();
  read_blocked();
  read_final();
  read_schedulers();
  read_runs();
  read_ledger();
  read_requests();
  compare_counters();
  if (!fault_.empty()) return base::make_error(base::Reason::kStoreFailed, fault_);
  return std::move(report_);
}

base::Result<RecountReport> recount(const core::ShardStore& store) { return Recount(store).run(); }

namespace {

void put_queue(const QueueCount& queue, std::string* text) {
  *text += "queue " + queue.name_space + "/" + queue.name + ": created " +
           std::to_string(queue.created) + " =";
  const char* separator = " ";
  for (int i = 1; i < model::kJobStateCount; ++i) {
    *text += separator + std::to_string(queue.in_state[static_cast<std::size_t>(i)]) + " " +
             std::string(model::name_of(static_cast<model::JobState>(i)));
    separator = " + ";
  }
  *text += " + " + std::to_string(queue.removed) + " removed\n";
}

}  // namespace

std::string to_text(const RecountReport& report) {
  std::string text;
  for (const QueueCount& queue : report.queues) put_queue(queue, &text);
  text += "rows " + std::to_string(report.rows) + ", live leases " +
          std::to_string(report.live_leases) + ", schedulers " + std::to_string(report.schedulers) +
          ", run records " + std::to_string(report.run_records) + ", business keys " +
          std::to_string(report.ledger_entries) + ", remembered requests " +
          std::to_string(report.remembered_requests) + "\n";
  for (const std::string& line : report.contradictions) text += "contradiction: " + line + "\n";
  if (report.contradiction_count > report.contradictions.size()) {
    text += "and " + std::to_string(report.contradiction_count - report.contradictions.size()) +
            " more\n";
  }
  text += std::to_string(report.contradiction_count) + " contradictions\n";
  return text;
}

}  // namespace rota::app
