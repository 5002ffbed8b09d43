// SPDX-License-Identifier: Apache-2.0
//
// Lease calls, heartbeats, outcomes and workers between wire and server.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/repeated_field.h>

#include "base/error.h"
#include "core/command.h"
#include "rota/v1/worker.pb.h"
#include "rota/v1/worker_service.pb.h"
#include "rpc/call_guard.h"
#include "runtime/worker_board.h"

namespace rota::rpc {

// Protocol numbers of LeaseJobs that this server speaks.
inline constexpr std::int32_t kProtocolMin = 1;
inline constexpr std::int32_t kProtocolMax = 1;

base::Result<core::LeaseJobs> lease_from_wire(const v1::LeaseJobsRequest& wire,
                                              const Caller& caller, std::int64_t now_mono_ms);
base::Result<runtime::WorkerSeen> worker_from_wire(const v1::LeaseJobsRequest& wire,
                                                   const Caller& caller);
// `server` and the names make the idempotency key that a job keeps over its attempts.
void lease_to_wire(core::LeaseReply& reply, std::string_view store_id, std::string_view name_space,
                   v1::LeaseJobsResponse* wire);

base::Result<core::Heartbeat> heartbeat_from_wire(const v1::HeartbeatRequest& wire);
void heartbeat_to_wire(const core::HeartbeatReply& reply, v1::HeartbeatResponse* wire);

// Takes the results out of `wire`. A bad item is marked and answered alone. Of a lease call, the
// outcomes that it carries: at least one.
base::Result<core::FinishJobs> finish_from_wire(v1::FinishJobsRequest* wire);
base::Result<core::FinishJobs> finish_from_wire(v1::LeaseJobsRequest* wire);
void finish_to_wire(const core::FinishReply& reply,
                    google::protobuf::RepeatedPtrField<v1::FinishResult>* wire);

void worker_to_wire(const runtime::WorkerSeen& seen, v1::Worker* wire);

}  // namespace rota::rpc
