// SPDX-License-Identifier: Apache-2.0
//
// The five services. Each RPC begins with the call guard, checks its request completely, and hands
// over to the engine loop or to a reader thread; see call.h.
#pragma once

#include <memory>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/service_type.h>

#include "rpc/context.h"

namespace rota::rpc {

std::unique_ptr<grpc::Service> make_job_service(Context& context);
std::unique_ptr<grpc::Service> make_worker_service(Context& context);
std::unique_ptr<grpc::Service> make_queue_service(Context& context);
std::unique_ptr<grpc::Service> make_scheduler_service(Context& context);
std::unique_ptr<grpc::Service> make_admin_service(Context& context);

}  // namespace rota::rpc
