// SPDX-License-Identifier: Apache-2.0
//
// LeaseJobs: a long poll that is parked in the engine, and whose grant goes back when its caller is
// gone before it was answered. Outcomes that it carries go to the engine with it, before it.
#pragma once

#include <grpcpp/grpcpp.h>

#include "rota/v1/worker_service.pb.h"
#include "rpc/call.h"

namespace rota::rpc {

Reactor* lease_jobs(Context& context, grpc::CallbackServerContext* call, const Caller& caller,
                    const v1::LeaseJobsRequest& request, v1::LeaseJobsResponse* response);

}  // namespace rota::rpc
