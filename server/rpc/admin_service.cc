// SPDX-License-Identifier: Apache-2.0
//
// AdminService: the server itself, and its long-running work.
#include <utility>

#include "rota/v1/admin_service.grpc.pb.h"
#include "rpc/call.h"
#include "rpc/convert_queue.h"
#include "rpc/convert_time.h"
#include "rpc/convert_worker.h"
#include "rpc/services.h"

namespace rota::rpc {
namespace {

using grpc::CallbackServerContext;

v1::ServerInfo::Pressure pressure_to_wire(core::Pressure pressure) {
  switch (pressure) {
    case core::Pressure::kOk:
      return v1::ServerInfo::PRESSURE_OK;
    case core::Pressure::kSlow:
      return v1::ServerInfo::PRESSURE_SLOW;
    case core::Pressure::kRefuseNew:
      return v1::ServerInfo::PRESSURE_REFUSE_NEW;
    case core::Pressure::kReadOnly:
    case core::Pressure::kFailed:  // the process is about to end
      return v1::ServerInfo::PRESSURE_READ_ONLY;
  }
  return v1::ServerInfo::PRESSURE_UNSPECIFIED;
}

v1::ServerInfo::ClockState clock_to_wire(const core::EngineStats& stats) {
  if (stats.behind_ms > 0) return v1::ServerInfo::CLOCK_STATE_BEHIND;
  // Schedulers are held back for less time after such a step, and on a nearly full disk as well.
  if (stats.deletions_held) return v1::ServerInfo::CLOCK_STATE_STEPPED_AHEAD;
  return v1::ServerInfo::CLOCK_STATE_OK;
}

class AdminService final : public v1::AdminService::CallbackService {
 public:
  explicit AdminService(Context& context) : context_(context) {}

  Reactor* GetServerInfo(CallbackServerContext* call, const v1::GetServerInfoRequest* request,
                         v1::GetServerInfoResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kAdminServiceGetServerInfo, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    const OpenCall open(context_, call, response);
    // The engine's numbers from its own thread, the rest on a reader thread.
    context_.server.loop.ask_stats([this, open, response](runtime::LoopStats stats) {
      complete(open, [this, response, stats = std::move(stats)]() -> base::Status {
        auto* info = response->mutable_server();
        put_facts(info);
        put_engine(stats, info);
        put_store(info);
        return {};
      });
    });
    return open.reactor();
  }

  Reactor* GetOperation(CallbackServerContext* call, const v1::GetOperationRequest* request,
                        v1::GetOperationResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kAdminServiceGetOperation, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    const auto number = operation_from_wire(request->operation_id());
    if (!number) return refuse(call, number.error());
    return command<core::OperationReply>(
        {context_, call, response}, *caller, core::GetOperation{*number},
        [response](const core::OperationReply& reply, std::int64_t seq) {
          operation_to_wire(reply.operation, response->mutable_operation());
          response->set_commit_seq(seq);
        });
  }

  Reactor* CancelOperation(CallbackServerContext* call, const v1::CancelOperationRequest* request,
                           v1::CancelOperationResponse* response) override {
    const auto caller =
        context_.guard.admit(*call, Method::kAdminServiceCancelOperation, request->namespace_());
    if (!caller) return refuse(call, caller.error());
    const auto number = operation_from_wire(request->operation_id());
    if (!number) return refuse(call, number.error());
    return command<core::OperationReply>(
        {context_, call, response}, *caller, core::CancelOperation{*number},
        [response](const core::OperationReply& reply, std::int64_t seq) {
          operation_to_wire(reply.operation, response->mutable_operation());
          response->set_commit_seq(seq);
        });
  }

 private:
  void put_facts(v1::ServerInfo* info) const {
    const auto& facts = context_.server.facts;
    info->set_version(facts.version);
    info->set_server_epoch(static_cast<std::int64_t>(facts.server_epoch));
    info->set_protocol(kProtocolMax);
    info->set_min_protocol(kProtocolMin);
    info->set_store_id(facts.store_id);
    info->set_store_kind(facts.store_kind);
    info->set_format_version(facts.format_version);
    info->set_data_dir(facts.data_dir);
    info->set_zone_data_version(facts.zone_data_version);
    for (const auto& address : facts.listen_addresses.get()) info->add_listen_addresses(address);
    info->set_plaintext_private(facts.plaintext_private);
    for (auto& sentence : context_.server.warnings.list()) info->add_warnings(std::move(sentence));
    put_time(facts.start_wall_ms, info->mutable_start_time());
    put_duration(context_.mono_ms() - facts.start_mono_ms, info->mutable_uptime());
    put_time(context_.wall_ms(), info->mutable_server_time());
    info->set_unread_reply_bytes(context_.replies.bytes());
    info->set_draining(context_.guard.draining() || context_.server.loop.draining());
  }

  void put_engine(const runtime::LoopStats& stats, v1::ServerInfo* info) const {
    const auto& engine = stats.engine;
    info->set_queue_count(static_cast<std::int64_t>(engine.queues));
    info->set_scheduler_count(static_cast<std::int64_t>(engine.schedulers));
    info->set_lease_count(static_cast<std::int64_t>(engine.live_leases));
    info->set_parked_poll_count(static_cast<std::int64_t>(engine.parked_polls));
    info->set_worker_count(
        static_cast<std::int64_t>(context_.server.workers.size(context_.mono_ms())));
    info->set_clock_state(clock_to_wire(engine));
  }

  void put_store(v1::ServerInfo* info) const {
    const auto& store = context_.server.store;
    const auto stats = store.stats();
    info->set_largest_scan_rows(static_cast<std::int64_t>(stats.largest_scan_rows));
    info->set_commit_count(static_cast<std::int64_t>(stats.commits));
    // In microseconds, which milliseconds would round to nothing.
    auto* last = info->mutable_last_commit_duration();
    last->set_seconds(static_cast<std::int64_t>(stats.last_commit_us / 1'000'000));
    last->set_nanos(static_cast<std::int32_t>(stats.last_commit_us % 1'000'000 * 1'000));
    info->set_commit_seq(static_cast<std::int64_t>(store.last_committed()));
    info->set_pressure(pressure_to_wire(store.pressure()));
  }

  Context& context_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_admin_service(Context& context) {
  return std::make_unique<AdminService>(context);
}

}  // namespace rota::rpc
