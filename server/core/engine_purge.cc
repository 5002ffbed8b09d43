// SPDX-License-Identifier: Apache-2.0
//
// Purge: an operation with a durable cursor and a barrier. Jobs that have waited since before the
// barrier's commit are removed in slices, running ones are left alone, jobs enqueued meanwhile
// survive; a grant that meets a job below the barrier removes it instead (engine_lease.cc).
#include <algorithm>

#include "base/limits.h"
#include "core/damage.h"
#include "core/engine_impl.h"
#include "core/job_page.h"
#include "core/request_answers.h"

namespace rota::core {

namespace keys = model::keys;

namespace {
constexpr std::size_t kOperationsKept = 1000;

Error too_many_operations(std::size_t open, const char* where, std::size_t limit) {
  Error e = base::make_error(Reason::kOverloaded,
                             std::to_string(open) + " purges are under way " + where +
                                 ", the limit is " + std::to_string(limit),
                             "queue");
  e.retry_after_ms = 1000;
  return e;
}
}  // namespace

void EngineImpl::put_operation(const model::Operation& operation) {
  batch().put(Keyspace::kMeta, keys::operation(operation.number), model::encode(operation));
}

bool EngineImpl::on(const PurgeQueue& c, const Command& cmd, Lookup& look) {
  std::string request;
  const std::string* row = nullptr;
  if (!c.request.id.empty()) {
    request = request_key(cmd, static_cast<std::uint8_t>(RequestMethod::kPurgeQueue), c.request);
    if (!look.get(Keyspace::kRequest, request, &row)) return false;
  }
  if (row != nullptr) {
    auto record = repeated_request(request, *row, c.request);
    if (!record) return reply(cmd.call, record.error()), true;
    std::uint64_t number = 0;
    if (!decode_answer(record->answer, &number)) damaged_row(Keyspace::kRequest, request);
    auto it = operations_.find(number);
    if (it == operations_.end()) {
      return reply_error(cmd.call, Reason::kOperationNotFound, "the operation is kept no longer"),
             true;
    }
    return reply(cmd.call, OperationReply{it->second}, record->seq), true;
  }
  QueueState* q = find_queue(cmd.name_space, c.queue);
  if (q == nullptr) return reply(cmd.call, queue_not_found(c.queue)), true;
  if (q->purges.size() >= options_.max_operations_per_queue) {
    return reply(cmd.call, too_many_operations(q->purges.size(), "in this queue",
                                               options_.max_operations_per_queue)),
           true;
  }
  if (open_operations_.size() >= options_.max_operations) {
    return reply(cmd.call, too_many_operations(open_operations_.size(), "at this server",
                                               options_.max_operations)),
           true;
  }
  model::Operation operation;
  operation.number = meta_.next_operation++;
  operation.kind = model::OperationKind::kPurge;
  operation.name_space = cmd.name_space;
  operation.queue = q->queue.number;
  operation.queue_name = c.queue;
  operation.barrier = building();
  operation.cursor = keys::queue_begin(q->queue.number);
  operation.principal = cmd.principal;
  operation.created_ms = now_.wall_ms;
  q->purges.push_back(operation.number);
  q->purge_barrier = operation.barrier;
  put_operation(operation);
  if (!request.empty()) remember_request(request, c.request, encode_answer(operation.number));
  reply(cmd.call, OperationReply{operation});
  open_operations_.insert(operation.number);
  operations_.emplace(operation.number, std::move(operation));
  forget_old_operations();
  return true;
}

bool EngineImpl::on(const GetOperation& c, const Command& cmd, Lookup&) {
  auto it = operations_.find(c.number);
  if (it == operations_.end() || it->second.name_space != cmd.name_space) {
    return reply_error(cmd.call, Reason::kOperationNotFound,
                       "no operation " + std::to_string(c.number), "id"),
           true;
  }
  reply(cmd.call, OperationReply{it->second});
  return true;
}

bool EngineImpl::on(const CancelOperation& c, const Command& cmd, Lookup&) {
  auto it = operations_.find(c.number);
  if (it == operations_.end() || it->second.name_space != cmd.name_space) {
    return reply_error(cmd.call, Reason::kOperationNotFound,
                       "no operation " + std::to_string(c.number), "id"),
           true;
  }
  if (it->second.done) {
    return reply_error(cmd.call, Reason::kOperationDone, "the operation has ended", "id"), true;
  }
  end_operation(it->second, /*cancelled=*/true);
  reply(cmd.call, OperationReply{it->second});
  return true;
}

void EngineImpl::end_operation(model::Operation& operation, bool cancelled) {
  operation.done = true;
  operation.cancelled = cancelled;
  operation.ended_ms = now_.wall_ms;
  open_operations_.erase(operation.number);
  put_operation(operation);
  if (auto it = queues_.find(operation.queue); it != queues_.end()) {
    QueueState& q = *it->second;
    std::erase(q.purges, operation.number);
    q.purge_barrier = 0;
    for (const std::uint64_t other : q.purges) {
      q.purge_barrier = std::max(q.purge_barrier, operations_.at(other).barrier);
    }
  }
}

void EngineImpl::forget_old_operations() {
  for (auto it = operations_.begin();
       it != operations_.end() && operations_.size() > kOperationsKept;) {
    if (!it->second.done) {
      ++it;
      continue;
    }
    batch().del(Keyspace::kMeta, keys::operation(it->first));
    it = operations_.erase(it);
  }
}

// A few reads at once, each operation in its turn.
void EngineImpl::run_purges() {
  auto next = open_operations_.upper_bound(purged_last_);
  for (std::size_t left = open_operations_.size();
       left > 0 && purging_.size() < options_.max_operation_reads; --left) {
    if (next == open_operations_.end()) next = open_operations_.begin();
    const std::uint64_t number = *next++;
    if (!purging_.insert(number).second) continue;
    purged_last_ = number;
    const model::Operation& operation = operations_.at(number);
    ScanSpec scan;
    scan.keyspace = Keyspace::kJob;
    scan.begin = operation.cursor;
    scan.end = keys::queue_end(operation.queue);
    scan.max_rows =
        std::min<std::uint32_t>(options_.page_rows, base::limits::kSweepRowsPerBatchMax);
    ReadSpec spec;
    spec.scans.push_back(scan);
    scan.keyspace = Keyspace::kSide;
    spec.scans.push_back(scan);
    issue_read(std::move(spec), [this, number, scan](ReadResult& result, CommitSeq) {
      purging_.erase(number);
      purge_page(number, result, scan.begin, scan.end);
    });
  }
}

void EngineImpl::purge_page(std::uint64_t number, ReadResult& result, const std::string& begin,
                            const std::string& end) {
  auto op = operations_.find(number);
  if (op == operations_.end() || op->second.done) return;
  model::Operation& operation = op->second;
  QueueState& q = *queues_.at(operation.queue);
  JobPage page = take_job_page(overlay_, result, begin, end);
  std::map<std::uint8_t, std::uint64_t> kept;  // the first READY one of each level in this page
  for (PagedJob& job : page.jobs) {
    if (job.state == JobState::kDead || leases_.contains(job.key)) continue;
    if (const Batch::Change* body = batch().find(Keyspace::kJob, keys::job(job.key));
        body != nullptr && !*body) {
      continue;  // removed at its other row, on this page
    }
    std::uint64_t waiting_seq = job.body->created_seq;
    if (job.side && job.side->waiting_seq != 0) waiting_seq = job.side->waiting_seq;
    if (waiting_seq >= operation.barrier) {
      if (job.state == JobState::kReady && job.at == job.ready_key()) {
        kept.try_emplace(job.at.priority, job.at.seq);
      }
      continue;
    }
    JobView view;
    view.where = JobView::Where::kLive;
    view.state = job.state;
    view.priority = job.priority;
    view.body = std::move(job.body);
    view.side = std::move(job.side);
    remove_job(take_job(job.key, view), view.state);
    ++operation.removed;
  }
  advance_purged_heads(q, kept, begin, page.upto);
  const std::string& upto = page.upto;
  operation.cursor = upto;
  if (upto >= end) {
    end_operation(operation, /*cancelled=*/false);
  } else {
    put_operation(operation);
  }
  want_match(q);
}

// What a purge leaves behind is hollow: the next refill begins where it found the first job that
// stays, not at the deleted rows. Pages follow each other, so a head moves from page to page.
void EngineImpl::advance_purged_heads(QueueState& q,
                                      const std::map<std::uint8_t, std::uint64_t>& kept,
                                      const std::string& begin, const std::string& upto) {
  const JobKey seen = first_job_key(upto);
  for (auto& [priority, level] : q.counters.levels) {
    const std::string head = keys::job({q.queue.number, priority, level.head});
    if (head < begin || head >= upto) continue;
    if (auto first = kept.find(priority); first != kept.end()) {
      level.head = std::max(level.head, first->second);
    } else if (seen.queue == q.queue.number && seen.priority == priority) {
      level.head = std::max(level.head, seen.seq);
    }
    touch(q);
  }
}

}  // namespace rota::core
