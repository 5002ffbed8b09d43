// SPDX-License-Identifier: Apache-2.0
//
// Queues and operations between wire and server.
#pragma once

#include <string>

#include "base/error.h"
#include "core/command.h"
#include "model/queue.h"
#include "model/records.h"
#include "rota/v1/common.pb.h"
#include "rota/v1/queue.pb.h"
#include "rota/v1/queue_service.pb.h"

namespace rota::rpc {

// What a SetQueue call changes: the paths of its mask, or without one the settings that are
// present.
base::Result<core::QueuePatch> queue_patch_from_wire(const v1::SetQueueRequest& wire);

// The text form of a version.
std::string etag_of(std::uint64_t version);

void queue_to_wire(const model::Queue& queue, const model::QueueCounters& counters,
                   v1::Queue* wire);
// One entry for each setting that differs.
void queue_changes_to_wire(const model::QueueSettings& before, const model::QueueSettings& after,
                           google::protobuf::RepeatedPtrField<v1::FieldChange>* wire);

std::string operation_id(std::uint64_t number);
// OPERATION_NOT_FOUND for text that names none.
base::Result<std::uint64_t> operation_from_wire(const std::string& id);
base::Error operation_not_found(const std::string& id);
void operation_to_wire(const model::Operation& operation, v1::Operation* wire);

}  // namespace rota::rpc
