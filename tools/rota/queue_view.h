// SPDX-License-Identifier: Apache-2.0
// Queues as people read them. Pure functions; each text is complete with its line feeds.
#pragma once

#include <string>
#include <vector>

#include "rota/text.h"
#include "rota/v1/queue.pb.h"
#include "rota/v1/queue_service.pb.h"

namespace rota::cli {

std::string queue_text(const v1::Queue& queue, const View& view);

std::vector<std::string> queue_header();
std::vector<std::string> queue_cells(const v1::Queue& queue, const View& view);

// "invoices: concurrency 4 -> 1   3 running now; nothing is granted until 1 slot is free".
std::string queue_set_text(const v1::SetQueueResponse& response, const View& view);

// "5 attempts, back-off from 1 s, factor 2, cap 1 h".
std::string retry_text(const v1::RetryPolicy& retry);

}  // namespace rota::cli
