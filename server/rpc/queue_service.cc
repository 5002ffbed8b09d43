// SPDX-License-Identifier: Apache-2.0
//
// QueueService: make, set, pause, empty and remove queues.
#include <charconv>
#include <utility>

#include "base/limits.h"
#include "base/names.h"
#include "model/keys.h"
#include "rota/v1/queue_service.grpc.pb.h"
#include "rpc/call.h"
#include "rpc/convert_queue.h"
#include "rpc/page_rows.h"
#include "rpc/page_token.h"
#include "rpc/services.h"

namespace rota::rpc {
namespace {

namespace limits = base::limits;
namespace keys = model::keys;
using core::Keyspace;
using grpc::CallbackServerContext;

class QueueService final : public v1::QueueService::CallbackService {
 public:
  explicit QueueService(Context& context) : context_(context) {}

  Reactor* SetQueue(CallbackServerContext* call, const v1::SetQueueRequest* request,
                    v1::SetQueueResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kQueueServiceSetQueue, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = base::check_name("queue", request->queue())) return refuse(call, *fault);
    auto patch = queue_patch_from_wire(*request);
    if (!patch) return refuse(call, patch.error());
    auto tag = tag_of(request);
    if (!tag) return refuse(call, tag.error());
    return command<core::QueueReply>(
        {context_, call, response}, *caller,
        core::SetQueue{request->queue(), *std::move(patch), request->etag(), *std::move(tag)},
        [response](const core::QueueReply& reply, std::int64_t seq) {
          queue_to_wire(reply.queue, reply.counters, response->mutable_queue());
          response->set_created(reply.created);
          if (reply.before) {
            queue_changes_to_wire(reply.before->settings, reply.queue.settings,
                                  response->mutable_changes());
          }
          response->set_commit_seq(seq);
        });
  }

  Reactor* GetQueue(CallbackServerContext* call, const v1::GetQueueRequest* request,
                    v1::GetQueueResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kQueueServiceGetQueue, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = base::check_name("queue", request->queue())) return refuse(call, *fault);
    return query({context_, call, response},
                 [this, request, response, name_space = caller->name_space]() -> base::Status {
                   const auto rows = context_.queues.find(name_space, request->queue());
                   if (!rows) return rows.error();
                   queue_to_wire(rows->queue, rows->counters, response->mutable_queue());
                   response->set_commit_seq(static_cast<std::int64_t>(rows->at));
                   return {};
                 });
  }

  Reactor* ListQueues(CallbackServerContext* call, const v1::ListQueuesRequest* request,
                      v1::ListQueuesResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kQueueServiceListQueues, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    const auto page = page_of("ListQueues", *request);
    if (!page) return refuse(call, page.error());
    return query(
        {context_, call, response},
        [this, request, response, page = *page, name_space = caller->name_space]() -> base::Status {
          return list(name_space, request->name_prefix(), page, response);
        });
  }

  Reactor* PauseQueue(CallbackServerContext* call, const v1::PauseQueueRequest* request,
                      v1::PauseQueueResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kQueueServicePauseQueue, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = base::check_name("queue", request->queue())) return refuse(call, *fault);
    if (auto fault = base::check_text("note", request->note(), limits::kNoteBytesMax)) {
      return refuse(call, *fault);
    }
    return command<core::QueueReply>(
        {context_, call, response}, *caller, core::PauseQueue{request->queue(), request->note()},
        [response](const core::QueueReply& reply, std::int64_t seq) {
          queue_to_wire(reply.queue, reply.counters, response->mutable_queue());
          response->set_commit_seq(seq);
        });
  }

  Reactor* ResumeQueue(CallbackServerContext* call, const v1::ResumeQueueRequest* request,
                       v1::ResumeQueueResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kQueueServiceResumeQueue, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = base::check_name("queue", request->queue())) return refuse(call, *fault);
    return command<core::QueueReply>(
        {context_, call, response}, *caller, core::ResumeQueue{request->queue()},
        [response](const core::QueueReply& reply, std::int64_t seq) {
          queue_to_wire(reply.queue, reply.counters, response->mutable_queue());
          response->set_commit_seq(seq);
        });
  }

  Reactor* PurgeQueue(CallbackServerContext* call, const v1::PurgeQueueRequest* request,
                      v1::PurgeQueueResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kQueueServicePurgeQueue, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = base::check_name("queue", request->queue())) return refuse(call, *fault);
    auto tag = tag_of(request);
    if (!tag) return refuse(call, tag.error());
    return command<core::OperationReply>(
        {context_, call, response}, *caller, core::PurgeQueue{request->queue(), *std::move(tag)},
        [response](const core::OperationReply& reply, std::int64_t seq) {
          operation_to_wire(reply.operation, response->mutable_operation());
          response->set_commit_seq(seq);
        });
  }

  Reactor* DeleteQueue(CallbackServerContext* call, const v1::DeleteQueueRequest* request,
                       v1::DeleteQueueResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kQueueServiceDeleteQueue, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    if (auto fault = base::check_name("queue", request->queue())) return refuse(call, *fault);
    return command<core::QueueReply>(
        {context_, call, response}, *caller, core::DeleteQueue{request->queue()},
        [response](const core::QueueReply&, std::int64_t seq) { response->set_commit_seq(seq); });
  }

 private:
  // Queues by number, which is the order they were made in. The position is the last number seen.
  base::Status list(const std::string& name_space, const std::string& prefix, const Page& page,
                    v1::ListQueuesResponse* response) const {
    std::uint32_t last = 0;
    const char* end = page.position.data() + page.position.size();
    std::from_chars(page.position.data(), end, last);
    if (!page.position.empty() && (last == UINT32_MAX || std::to_string(last) != page.position)) {
      return not_of_this_listing();
    }
    PageRows<v1::Queue> rows(response, v1::ListQueuesResponse::kQueuesFieldNumber);
    int budget = limits::kPageRowsExaminedMax;
    bool more = true;
    bool full = false;
    while (!full && more && budget > 0 && rows.size() < page.size) {
      core::ReadResult result;
      std::string detail;
      const core::ReadSpec spec{.gets = {},
                                .scans = {{Keyspace::kQueueState, keys::queue_settings(last + 1),
                                           keys::after(keys::queue_settings(UINT32_MAX)),
                                           limits::kReadRowsMax, limits::kReadBytesMax}}};
      if (context_.server.store.snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
        return read_failed(detail);
      }
      response->set_commit_seq(static_cast<std::int64_t>(result.at));
      more = result.pages[0].more;
      if (result.pages[0].rows.empty() && more) --budget;
      for (const auto& [key, value] : result.pages[0].rows) {
        if (rows.size() == page.size) {
          more = true;
          break;
        }
        --budget;
        model::Queue queue;
        if (!model::decode(value, &queue))
          return damaged_row(context_.server.store, Keyspace::kQueueState, key);
        if (queue.name_space != name_space || queue.name.compare(0, prefix.size(), prefix) != 0) {
          last = queue.number;
          continue;
        }
        const auto read = context_.queues.by_number(name_space, queue.number);
        if (!read) return read.error();
        // Nothing: deleted meanwhile.
        full = *read && !rows.add([&](v1::Queue* wire) {
          queue_to_wire((*read)->queue, (*read)->counters, wire);
        });
        if (full) break;
        last = queue.number;
        if (*read) response->set_commit_seq(static_cast<std::int64_t>((*read)->at));
      }
    }
    if (more || full) response->set_next_page_token(page.token(std::to_string(last)));
    return {};
  }

  Context& context_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_queue_service(Context& context) {
  return std::make_unique<QueueService>(context);
}

}  // namespace rota::rpc
