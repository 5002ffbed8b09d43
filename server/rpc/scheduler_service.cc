// SPDX-License-Identifier: Apache-2.0
//
// SchedulerService: declare schedulers, look at them and their runs, pause and remove them.
#include <utility>

#include "base/limits.h"
#include "base/names.h"
#include "base/time_format.h"
#include "rota/v1/scheduler_service.grpc.pb.h"
#include "rpc/call.h"
#include "rpc/convert_job.h"
#include "rpc/convert_queue.h"
#include "rpc/convert_scheduler.h"
#include "rpc/convert_time.h"
#include "rpc/page_rows.h"
#include "rpc/page_token.h"
#include "rpc/services.h"

namespace rota::rpc {
namespace {

namespace limits = base::limits;
using grpc::CallbackServerContext;

constexpr int kNextTimesShown = 5;
// Of a declaration with a mask, when others change the scheduler at the same moment: a deploy of so
// many nodes.
constexpr int kMaskedTriesMax = 16;
constexpr int kPreviewDefault = 10;

v1::UpsertSchedulerResponse::Result declared_to_wire(core::Declared declared) {
  switch (declared) {
    case core::Declared::kCreated:
      return v1::UpsertSchedulerResponse::RESULT_CREATED;
    case core::Declared::kUnchanged:
      return v1::UpsertSchedulerResponse::RESULT_UNCHANGED;
    case core::Declared::kChanged:
      return v1::UpsertSchedulerResponse::RESULT_CHANGED;
    case core::Declared::kOlderRevision:
      return v1::UpsertSchedulerResponse::RESULT_OLDER_REVISION;
  }
  return v1::UpsertSchedulerResponse::RESULT_UNSPECIFIED;
}

// True for a mask that takes over everything.
bool is_whole(const google::protobuf::FieldMask& mask) {
  return mask.paths_size() == 0 || (mask.paths_size() == 1 && mask.paths(0) == "*");
}

base::Result<RunFilter> filter_from_wire(const v1::ListRunsRequest& request) {
  RunFilter filter;
  if (auto fault = base::check_name("scheduler_id", request.scheduler_id())) return *fault;
  filter.scheduler_id = request.scheduler_id();
  if (request.has_from_time()) {
    const auto ms = time_ms("from_time", request.from_time());
    if (!ms) return ms.error();
    filter.from_ms = *ms;
  }
  if (request.has_to_time()) {
    const auto ms = time_ms("to_time", request.to_time());
    if (!ms) return ms.error();
    filter.to_ms = *ms;
  }
  for (const auto outcome : request.outcomes()) {
    if (outcome == v1::Run::OUTCOME_UNSPECIFIED || !v1::Run::Outcome_IsValid(outcome)) {
      return base::invalid_field("outcomes", "unknown outcome " + std::to_string(outcome));
    }
    filter.outcomes.push_back(outcome);
  }
  if (!request.business_date().empty()) {
    if (const auto date = base::parse_date(request.business_date()); !date) {
      return base::in_field("business_date", date.error());
    }
    filter.business_date = request.business_date();
  }
  return filter;
}

class SchedulerService final : public v1::SchedulerService::CallbackService {
 public:
  explicit SchedulerService(Context& context) : context_(context) {}

  Reactor* UpsertScheduler(CallbackServerContext* call, const v1::UpsertSchedulerRequest* request,
                           v1::UpsertSchedulerResponse* response) override {
    const auto caller = context_.guard.admit(*call, Method::kSchedulerServiceUpsertScheduler,
                                             request->namespace_());
    if (!caller) return refuse(call, caller.error());
    auto tag = tag_of(request);
    if (!tag) return refuse(call, tag.error());
    const OpenCall open(context_, call, response);
    if (is_whole(request->update_mask())) {
      upsert(*caller, request->scheduler(), request->etag(), *std::move(tag), open, response);
    } else {
      upsert_masked(*caller, request, *std::move(tag), open, response, kMaskedTriesMax);
    }
    return open.reactor();
  }

  Reactor* GetScheduler(CallbackServerContext* call, const v1::GetSchedulerRequest* request,
                        v1::GetSchedulerResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kSchedulerServiceGetScheduler, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = base::check_name("scheduler_id", request->scheduler_id())) {
      return refuse(call, *fault);
    }
    return query({context_, call, response},
                 [this, request, response, name_space = caller->name_space]() -> base::Status {
                   const auto read = context_.schedulers.get(name_space, request->scheduler_id());
                   if (!read) return read.error();
                   put(*read, response->mutable_scheduler());
                   response->set_commit_seq(static_cast<std::int64_t>(read->at));
                   return {};
                 });
  }

  Reactor* ListSchedulers(CallbackServerContext* call, const v1::ListSchedulersRequest* request,
                          v1::ListSchedulersResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kSchedulerServiceListSchedulers, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    const auto page = page_of("ListSchedulers", *request);
    if (!page) return refuse(call, page.error());
    return query(
        {context_, call, response},
        [this, request, response, page = *page, name_space = caller->name_space]() -> base::Status {
          PageRows<v1::Scheduler> rows(response,
                                       v1::ListSchedulersResponse::kSchedulersFieldNumber);
          const auto found = context_.schedulers.list(
              name_space, request->id_prefix(), page.position, page.size,
              [&](const SchedulerRead& read) {
                return rows.add([&](v1::Scheduler* wire) { put(read, wire); });
              });
          if (!found) return found.error();
          if (found->more) response->set_next_page_token(page.token(found->last));
          response->set_commit_seq(static_cast<std::int64_t>(found->at));
          return {};
        });
  }

  Reactor* ListRuns(CallbackServerContext* call, const v1::ListRunsRequest* request,
                    v1::ListRunsResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kSchedulerServiceListRuns, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    auto filter = filter_from_wire(*request);
    if (!filter) return refuse(call, filter.error());
    const auto page = page_of("ListRuns", *request);
    if (!page) return refuse(call, page.error());
    return query(
        {context_, call, response},
        [this, response, page = *page, filter = *std::move(filter),
         with_jobs = request->include_jobs(), name_space = caller->name_space]() -> base::Status {
          PageRows<v1::Run> rows(response, v1::ListRunsResponse::kRunsFieldNumber);
          const auto found = context_.schedulers.runs(
              name_space, filter, page.position, page.size, [&](const model::RunRecord& run) {
                return rows.add([&](v1::Run* wire) {
                  run_to_wire(filter.scheduler_id, run, wire);
                  if (with_jobs) put_job_of(name_space, run, wire);
                });
              });
          if (!found) return found.error();
          if (!found->position.empty()) {
            response->set_next_page_token(page.token(found->position));
          }
          response->set_commit_seq(static_cast<std::int64_t>(found->at));
          return {};
        });
  }

  Reactor* PreviewScheduler(CallbackServerContext* call, const v1::PreviewSchedulerRequest* request,
                            v1::PreviewSchedulerResponse* response) override {
    const auto caller = context_.guard.admit(*call, Method::kSchedulerServicePreviewScheduler,
                                             request->namespace_());
    if (!caller) return refuse(call, caller.error());
    return query({context_, call, response},
                 [this, request, response, name_space = caller->name_space]() -> base::Status {
                   return preview(name_space, *request, response);
                 });
  }

  Reactor* PauseScheduler(CallbackServerContext* call, const v1::PauseSchedulerRequest* request,
                          v1::PauseSchedulerResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kSchedulerServicePauseScheduler, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = base::check_name("scheduler_id", request->scheduler_id())) {
      return refuse(call, *fault);
    }
    if (auto fault = base::check_text("note", request->note(), limits::kNoteBytesMax)) {
      return refuse(call, *fault);
    }
    return command<core::SchedulerReply>(
        {context_, call, response}, *caller,
        core::PauseScheduler{request->scheduler_id(), request->note()},
        [response](const core::SchedulerReply& reply, std::int64_t seq) {
          scheduler_to_wire(reply.scheduler, reply.state, reply.next_ms,
                            response->mutable_scheduler());
          response->set_commit_seq(seq);
        });
  }

  Reactor* ResumeScheduler(CallbackServerContext* call, const v1::ResumeSchedulerRequest* request,
                           v1::ResumeSchedulerResponse* response) override {
    const auto caller = context_.guard.admit(*call, Method::kSchedulerServiceResumeScheduler,
                                             request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = base::check_name("scheduler_id", request->scheduler_id())) {
      return refuse(call, *fault);
    }
    return command<core::SchedulerReply>(
        {context_, call, response}, *caller, core::ResumeScheduler{request->scheduler_id()},
        [response](const core::SchedulerReply& reply, std::int64_t seq) {
          scheduler_to_wire(reply.scheduler, reply.state, reply.next_ms,
                            response->mutable_scheduler());
          response->set_commit_seq(seq);
        });
  }

  Reactor* DeleteScheduler(CallbackServerContext* call, const v1::DeleteSchedulerRequest* request,
                           v1::DeleteSchedulerResponse* response) override {
    const auto caller = context_.guard.admit(*call, Method::kSchedulerServiceDeleteScheduler,
                                             request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = base::check_name("scheduler_id", request->scheduler_id())) {
      return refuse(call, *fault);
    }
    return command<core::SchedulerReply>({context_, call, response}, *caller,
                                         core::DeleteScheduler{request->scheduler_id()},
                                         [response](const core::SchedulerReply&, std::int64_t seq) {
                                           response->set_commit_seq(seq);
                                         });
  }

 private:
  // The stored declaration fills in what the mask leaves out; its etag makes sure that nobody
  // changes it in between. A caller without an etag does not care who was first: it is tried again.
  void upsert_masked(const Caller& caller, const v1::UpsertSchedulerRequest* request,
                     const core::RequestTag& tag, const OpenCall& open,
                     v1::UpsertSchedulerResponse* response, int tries) {
    const bool accepted = context_.server.readers.submit([=, this] {
      const auto stored = context_.schedulers.get(caller.name_space, request->scheduler().id());
      if (!stored) return open.finish(stored.error());
      v1::SchedulerDeclaration merged;
      declaration_to_wire(stored->scheduler, &merged);
      const auto status = merge_declaration(request->update_mask(), request->scheduler(), &merged);
      if (!status) return open.finish(status);
      if (!request->etag().empty()) {
        return upsert(caller, merged, request->etag(), tag, open, response);
      }
      std::function<void()> again;
      if (tries > 1) {
        again = [=, this] { upsert_masked(caller, request, tag, open, response, tries - 1); };
      }
      upsert(caller, merged, etag_of(stored->scheduler.version), tag, open, response, again);
    });
    if (!accepted) open.finish(too_many_queries());
  }

  // Checks a whole declaration and sends it to the engine; finishes the reactor in any case.
  // `changed_meanwhile`, where there is one, runs in place of the answer ETAG_MISMATCH.
  void upsert(const Caller& caller, const v1::SchedulerDeclaration& declaration,
              const std::string& etag, core::RequestTag tag, const OpenCall& open,
              v1::UpsertSchedulerResponse* response, std::function<void()> changed_meanwhile = {}) {
    auto body = declaration_from_wire(declaration, context_.server.zones,
                                      context_.server.limits.payload_bytes);
    if (!body) return open.finish(body.error());
    body->etag = etag;
    body->request = std::move(tag);
    body->next_count = kNextTimesShown;
    submit(open, caller, *std::move(body),
           [this, open, response, changed_meanwhile](core::Reply reply) {
             const auto* value = std::get_if<core::SchedulerReply>(&reply.body);
             if (value == nullptr) {
               const base::Error error = unexpected_reply(reply.body);
               if (changed_meanwhile && error.reason == base::Reason::kEtagMismatch) {
                 return changed_meanwhile();
               }
               return open.finish(error);
             }
             response->set_result(declared_to_wire(value->declared));
             scheduler_to_wire(value->scheduler, value->state, value->next_ms,
                               response->mutable_scheduler());
             for (const auto& field : value->changed) response->add_changed_fields(field);
             const auto schedule =
                 core::Schedule::compile(value->scheduler.settings.spec, context_.server.zones);
             if (schedule) {
               for (const auto ms : value->next_ms) {
                 tick_to_wire(schedule->describe(ms), response->add_next_ticks());
               }
             }
             response->set_commit_seq(static_cast<std::int64_t>(reply.seq));
             open.finish({});
           });
  }

  // With the next times, unless it is paused or its zone is not known any more.
  void put(const SchedulerRead& read, v1::Scheduler* wire) const {
    std::vector<std::int64_t> next;
    if (!read.scheduler.paused) {
      const auto schedule =
          core::Schedule::compile(read.scheduler.settings.spec, context_.server.zones);
      if (schedule) next = schedule->next_times(context_.wall_ms(), kNextTimesShown);
    }
    scheduler_to_wire(read.scheduler, read.state, next, wire);
  }

  void put_job_of(const std::string& name_space, const model::RunRecord& run, v1::Run* wire) const {
    if (!run.job.valid()) return;
    const auto job = context_.jobs.get(name_space, run.job, /*with_payload=*/false);
    if (job) job_to_wire(job->rows, /*with_payload=*/false, wire->mutable_job());
  }

  base::Status preview(const std::string& name_space, const v1::PreviewSchedulerRequest& request,
                       v1::PreviewSchedulerResponse* response) const {
    model::ScheduleSpec spec;
    if (request.has_scheduler_id()) {
      if (auto fault = base::check_name("scheduler_id", request.scheduler_id())) return *fault;
      auto read = context_.schedulers.get(name_space, request.scheduler_id());
      if (!read) return read.error();
      spec = read->scheduler.settings.spec;
      response->set_commit_seq(static_cast<std::int64_t>(read->at));
    } else if (request.has_spec()) {
      auto given = spec_from_wire(request.spec(), request.business_day_offset());
      if (!given) return given.error();
      spec = *std::move(given);
    } else {
      return base::make_error(base::Reason::kMissingField, "one of scheduler_id, spec must be set",
                              "scheduler_id");
    }
    int count = kPreviewDefault;
    if (request.count() != 0) {
      if (auto fault = base::check_range("count", request.count(), 1, limits::kPreviewTimesMax)) {
        return *fault;
      }
      count = request.count();
    }
    std::int64_t after = context_.wall_ms();
    if (request.has_after()) {
      const auto ms = time_ms("after", request.after());
      if (!ms) return ms.error();
      after = *ms;
    }
    const auto schedule = core::Schedule::compile(spec, context_.server.zones);
    if (!schedule) return schedule.error();
    for (const auto ms : schedule->next_times(after, count)) {
      tick_to_wire(schedule->describe(ms), response->add_ticks());
    }
    return {};
  }

  Context& context_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_scheduler_service(Context& context) {
  return std::make_unique<SchedulerService>(context);
}

}  // namespace rota::rpc
