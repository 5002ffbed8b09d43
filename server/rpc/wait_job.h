// SPDX-License-Identifier: Apache-2.0
//
// WaitJob: answered when the job is final or the wait is over, never by letting a deadline pass.
#pragma once

#include <grpcpp/grpcpp.h>

#include "rota/v1/job_service.pb.h"
#include "rpc/call.h"

namespace rota::rpc {

Reactor* wait_job(Context& context, grpc::CallbackServerContext* call, const Caller& caller,
                  const v1::WaitJobRequest& request, v1::WaitJobResponse* response);

}  // namespace rota::rpc
