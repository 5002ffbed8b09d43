// SPDX-License-Identifier: Apache-2.0
//
// Purge: an operation with a durable cursor and a barrier. Jobs that have waited since before the
// barrier's commit are removed in slices, running ones are left alone, jobs enqueued meanwhile
// survive; a grant that meets a job below the barrier removes it instead (engine_lease.cc).
#include <algorithm>

#include "base/limits.h"
#include "core/engine_impl.h"
#include "core/request_answers.h"

namespace rota::core {

namespace keys = model::keys;

namespace {
constexpr std::size_t kOperationsKept = 1000;
}

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
    auto record = repeated_request(*row, c.request);
    if (!record) return reply(cmd.call, record.error()), true;
    std::uint64_t number = 0;
    if (!decode_answer(record->answer, &number)) std::abort();
    auto it = operations_.find(number);
    if (it == operations_.end()) {
      return reply_error(cmd.call, Reason::kOperationNotFound, "the operation is kept no longer"),
             true;
    }
    return reply(cmd.call, OperationReply{it->second}), true;
  }
  QueueState* q = find_queue(cmd.name_space, c.queue);
  if (q == nullptr) return reply(cmd.call, queue_not_found(c.queue)), true;
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

void EngineImpl::run_purges() {
  for (auto& [number, operation] : operations_) {
    if (operation.done || purging_.contains(number)) continue;
    purging_.insert(number);
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
    issue_read(std::move(spec), [this, number = number, scan](ReadResult& result, CommitSeq) {
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
  std::string upto = end;
  for (const ScanPage& page : result.pages) {
    if (page.more) upto = std::min(upto, page.next);
  }
  std::map<std::string, std::string> bodies;
  std::map<std::string, std::string> sides;
  for (Row& row : result.pages[0].rows) bodies.insert(std::move(row));
  for (Row& row : result.pages[1].rows) sides.insert(std::move(row));
  overlay_.overlay(Keyspace::kJob, begin, upto, &bodies);
  overlay_.overlay(Keyspace::kSide, begin, upto, &sides);
  for (const auto& [key, row] : bodies) {
    if (key >= upto) break;
    if (model::is_pointer(row)) continue;  // its job is met at its body
    JobView view;
    view.where = JobView::Where::kLive;
    const JobKey job_key = *keys::parse_job(key);
    if (leases_.contains(job_key)) continue;
    auto body = std::make_shared<model::JobBody>();
    if (!model::decode(row, body.get())) std::abort();
    view.body = std::move(body);
    view.state = JobState::kReady;
    view.priority = job_key.priority;
    std::uint64_t waiting_seq = view.body->created_seq;
    if (auto s = sides.find(key); s != sides.end()) {
      auto side = std::make_shared<model::Side>();
      if (!model::decode(s->second, side.get())) std::abort();
      if (side->claim == model::Claim::kDead) continue;
      if (side->claim == model::Claim::kScheduled) view.state = JobState::kScheduled;
      if (side->claim == model::Claim::kBlocked) view.state = JobState::kBlocked;
      if (side->priority_changed) view.priority = side->priority;
      if (side->waiting_seq != 0) waiting_seq = side->waiting_seq;
      view.side = std::move(side);
    }
    if (waiting_seq >= operation.barrier) continue;
    remove_job(take_job(job_key, view), view.state);
    ++operation.removed;
  }
  operation.cursor = upto;
  if (upto >= end) {
    end_operation(operation, /*cancelled=*/false);
  } else {
    put_operation(operation);
  }
  want_match(q);
}

}  // namespace rota::core
