// SPDX-License-Identifier: Apache-2.0
//
// What the actors of a round agree on: queues, and which jobs are sent to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rota/v1/job.pb.h"
#include "rota/v1/queue_service.pb.h"
#include "rota/v1/scheduler_service.pb.h"
#include "support/seeded.h"

namespace rota::blackbox {

inline constexpr char kMain[] = "main";    // limited, its limit changes; workers of the library
inline constexpr char kFree[] = "free";    // no limit, is paused and resumed; the same workers
inline constexpr char kKeys[] = "keys";    // business keys, cancels; the same workers
inline constexpr char kRaw[] = "raw";      // workers that speak the protocol themselves
inline constexpr char kTicks[] = "ticks";  // what schedulers make
inline constexpr char kBrief[] = "brief";  // keeps few jobs that succeeded; raw workers
inline constexpr char kSwept[] = "swept";  // purged now and then, limited; raw workers
// All queues that ever have jobs.
inline constexpr const char* kQueues[] = {kMain, kFree, kKeys, kRaw, kTicks, kBrief, kSwept};
inline constexpr char kIdle[] = "storm";  // stays empty; ten thousand ask for its jobs

inline constexpr std::int64_t kBriefKeeps = 8;
inline constexpr char kEdited[] = "edited";  // the scheduler that several nodes declare

inline constexpr int kLeaseTtlMs = 5'000;  // the least that the server takes
inline constexpr int kPoisonExitCode = 42;

using support::below;
using support::chance;
using support::Random;

void set_ms(google::protobuf::Duration* out, std::int64_t ms);
void set_ms(google::protobuf::Timestamp* out, std::int64_t ms);

struct PlannedJob {
  std::string queue, kind, key, payload;
  int priority = 100, max_attempts = 15;
  int delay_ms = 0;
  // From when it is sent, in the server's time; 0: none.
  int run_in_ms = 0, deadline_in_ms = 0;
};

// The next job that a client sends, when so many were acknowledged in all: clients use the same
// keys at about the same time.
PlannedJob plan_job(Random& random, std::int64_t acknowledged);
v1::JobSpec spec_of(const PlannedJob& job, const std::string& op);
// A value as plan_job() draws it.
int plan_priority(Random& random);

std::vector<v1::SetQueueRequest> planned_queues();
std::vector<v1::UpsertSchedulerRequest> planned_schedulers();
// What every node declares of kEdited under this revision.
v1::SchedulerDeclaration declaration_of(std::int64_t revision);

}  // namespace rota::blackbox
