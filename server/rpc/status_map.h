// SPDX-License-Identifier: Apache-2.0
//
// The one place where an error of the server becomes what a caller sees: a gRPC status with
// google.rpc details, or the error of one item of a call.
#pragma once

#include <string>

#include <grpcpp/grpcpp.h>

#include "base/error.h"
#include "rota/v1/common.pb.h"

namespace rota::rpc {

// Exactly one ErrorInfo, and by code at most one each of BadRequest, ResourceInfo,
// PreconditionFailure, QuotaFailure; RetryInfo for what may be tried again. The text of an INTERNAL
// error is logged here and replaced by the table's sentence: it may name what is nobody's business.
grpc::Status to_status(const base::Error& error);

// The same content for one item.
void put_item_error(const base::Error& error, v1::ItemError* item);

// An exception that reached the border: logged, INTERNAL.
base::Error internal_error(std::string what);

}  // namespace rota::rpc
