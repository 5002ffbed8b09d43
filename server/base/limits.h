// SPDX-License-Identifier: Apache-2.0
//
// Every limit of the system, with its unit in its name. Those that an operator may move (marked
// "option") are only the default here, and the bounds stand in options.inc; all others are the same
// on every server, so that a client can rely on them.
#pragma once

#include <cstdint>

namespace rota::base {

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;

inline constexpr std::int64_t kSecondMs = 1'000;
inline constexpr std::int64_t kMinuteMs = 60 * kSecondMs;
inline constexpr std::int64_t kHourMs = 60 * kMinuteMs;
inline constexpr std::int64_t kDayMs = 24 * kHourMs;
inline constexpr std::int64_t kYearMs = 366 * kDayMs;  // an upper bound, never a calendar year

namespace limits {

// --- names and texts -----------------------------------------------------------------------------
inline constexpr std::size_t kNameBytesMax = 128;      // namespace, queue, kind, scheduler, worker
inline constexpr std::size_t kTextKeyBytesMax = 256;   // business key, lock name, owner label
inline constexpr std::size_t kRequestIdBytesMax = 64;  // printable ASCII, at least 1
// Of one that stands for several calls, ID:0, ID:1, ...: leaves room for ten million.
inline constexpr std::size_t kBulkRequestIdBytesMax = 56;
inline constexpr std::size_t kContentTypeBytesMax = 128;  // printable ASCII
inline constexpr std::size_t kNoteBytesMax = 1024;        // why a queue is paused, a job cancelled
inline constexpr std::size_t kHostBytesMax = 256;         // worker info: host, version, library
inline constexpr std::size_t kSessionIdBytesMax = 64;     // printable ASCII
inline constexpr std::size_t kJobIdBytesMax = 32;         // ^[0-9a-z]{1,32}$
inline constexpr std::size_t kPageTokenBytesMax = 4 * kKiB;
inline constexpr std::size_t kLabelPairsMax = 32;
inline constexpr std::size_t kLabelBytesMax = 4 * kKiB;  // keys and values together

// --- sizes of a job ------------------------------------------------------------------------------
inline constexpr std::int64_t kPayloadBytesDefault = 256 * kKiB;  // option limits.payload_bytes
inline constexpr std::int64_t kPayloadBytesMax = 4 * kMiB;        // what the option may allow
inline constexpr std::int64_t kPayloadInlineBytesMax = 4 * kKiB;  // above: a payload row of its own
inline constexpr std::int64_t kResultBytesMax = 256 * kKiB;
inline constexpr std::int64_t kFailureTypeBytesMax = 256;
inline constexpr std::int64_t kFailureMessageBytesMax = 4 * kKiB;
inline constexpr std::int64_t kFailureDetailBytesMax = 16 * kKiB;
inline constexpr std::int64_t kLogTailBytesMax = 8 * kKiB;  // of each attempt

// --- jobs, attempts, retries ---------------------------------------------------------------------
inline constexpr int kPriorityMin = 0;
inline constexpr int kPriorityMax = 255;  // higher first
inline constexpr int kPriorityDefault = 100;
inline constexpr int kAttemptsMin = 1;
inline constexpr int kAttemptsMax = 1'000;
inline constexpr int kAttemptsDefault = 5;
inline constexpr int kUncountedGrantsMax = 1'000;  // released, snoozed, ungranted; then DEAD
inline constexpr int kAttemptHistoryMax = 20;      // attempts kept with a job
// Of the texts of all of them together: each end of an attempt writes them again. Beyond it the
// oldest lose what they say at length.
inline constexpr std::int64_t kAttemptHistoryBytesMax = 64 * kKiB;
inline constexpr std::int64_t kBackoffMsMax = 30 * kDayMs;
inline constexpr int kBackoffListMax = 32;
inline constexpr std::int64_t kBackoffFirstMsDefault = kSecondMs;
inline constexpr std::int64_t kBackoffCapMsDefault = kHourMs;
inline constexpr double kBackoffFactorDefault = 2.0;
inline constexpr double kBackoffFactorMax = 100.0;
inline constexpr double kBackoffJitterDefault = 0.2;
inline constexpr std::int64_t kLostRetryJitterMsMin = kSecondMs;  // a lost attempt waits 0 to this
inline constexpr std::int64_t kGiveUpAfterMsMax = 10 * kYearMs;
inline constexpr std::int64_t kAheadMsMax = 10 * kYearMs;  // run_at and start_deadline
inline constexpr std::int64_t kAttemptTimeoutMsMin = kSecondMs;
inline constexpr std::int64_t kAttemptTimeoutMsMax = 30 * kDayMs;
inline constexpr std::int64_t kAttemptTimeoutMsDefault = kHourMs;
inline constexpr std::int64_t kNoHandlerDelayMsMax = kMinuteMs;  // 1 s x 2^(n-1), capped here

// --- leases and workers --------------------------------------------------------------------------
inline constexpr std::int64_t kLeaseTtlMsMin = 5 * kSecondMs;
inline constexpr std::int64_t kLeaseTtlMsMax = kHourMs;
inline constexpr std::int64_t kLeaseTtlMsDefault = 30 * kSecondMs;
inline constexpr int kBeatsPerTtl = 3;
inline constexpr std::int64_t kHandlerGraceMsMax = 5 * kSecondMs;  // min(this, ttl / 5)
inline constexpr int kHandlerGraceTtlDivisor = 5;
inline constexpr std::int64_t kPollWaitMsMax = 30 * kSecondMs;
inline constexpr std::int64_t kPollWaitMsDefault = 20 * kSecondMs;
// Of a lease call that carries outcomes: they never wait for a long poll to be answered.
inline constexpr std::int64_t kPollWithOutcomesWaitMsMax = 10;
inline constexpr std::int64_t kPollDeadlineMarginMsMin =
    250;                                     // no grant to a call that is about to die
inline constexpr int kLeaseJobsMax = 1'000;  // of one reply
inline constexpr int kLeaseQueuesMax = 64;   // of one call
inline constexpr int kHeartbeatLeasesMax = 10'000;
inline constexpr int kParkedPollsDefault = 20'000;  // option limits.parked_polls
inline constexpr int kParkedPollsPerSessionMax = 64;

// --- calls ---------------------------------------------------------------------------------------
inline constexpr int kCallItemsMax = 1'000;  // jobs or outcomes
inline constexpr std::int64_t kCallBytesMax = 8 * kMiB;
// Of the jobs in a lease reply, where the call does not say: with what belongs to each job it stays
// below the receive limit of 4 MiB that gRPC sets unless told otherwise.
inline constexpr std::int64_t kLeaseReplyBytesDefault = 3 * kMiB + 512 * kKiB;
inline constexpr std::int64_t kLeaseReplyBytesMin = 64 * kKiB;
// What the answer to one outcome takes at most, next to the jobs of the same answer.
inline constexpr std::int64_t kFinishResultBytesMax = kKiB;
inline constexpr std::int64_t kReceiveBytesMax = kCallBytesMax + 256 * kKiB;
inline constexpr int kStreamsMax = 1'024;  // at once, of one connection
inline constexpr std::int64_t kRequestIdKeptMs = kHourMs;
inline constexpr int kPageSizeDefault = 100;
inline constexpr int kPageSizeMax = 1'000;
inline constexpr int kPageRowsExaminedMax = 10'000;
// Of one read that a listing sends to the engine; a page may take several.
inline constexpr std::uint32_t kReadRowsMax = 1'000;
inline constexpr std::size_t kReadBytesMax = kMiB;
inline constexpr int kPreviewTimesMax = 1'000;

// --- queues and schedulers -----------------------------------------------------------------------
inline constexpr std::int64_t kConcurrencyMin = 1;
inline constexpr std::int64_t kConcurrencyMax = 1'000'000;
inline constexpr std::int64_t kQueuesDefault = 100'000;  // option limits.queues, a namespace
inline constexpr std::int64_t kSchedulersDefault =
    100'000;  // option limits.schedulers, a namespace
inline constexpr std::int64_t kIntervalMsMin = kSecondMs;
inline constexpr std::int64_t kLateToleranceMsDefault = 10 * kSecondMs;  // option late_tolerance
inline constexpr int kTicksPerSchedulerBatchMax = 100;
inline constexpr std::int64_t kCatchUpWindowMsDefault = kYearMs;  // a tick a year ago is in it
inline constexpr std::int64_t kCatchUpWindowMsMax = 10 * kYearMs;
inline constexpr int kCatchUpRunsDefault = 1'000;
inline constexpr int kCatchUpRunsMax = 100'000;
inline constexpr int kRunRangeExactCountMax = 100'000;  // above: a lower bound
inline constexpr int kBusinessDayOffsetMax = 366;       // either way
inline constexpr std::size_t kCronBytesMax = 256;

// --- retention -----------------------------------------------------------------------------------
inline constexpr std::int64_t kRetentionAgeMsMin = 10 * kMinuteMs;  // or 0: keep nothing
inline constexpr std::int64_t kRetentionAgeMsMax = 100 * kYearMs;
inline constexpr std::int64_t kSucceededKeptMsDefault = kDayMs;
inline constexpr std::int64_t kSucceededKeptCountDefault = 100'000;
inline constexpr std::int64_t kCancelledKeptMsDefault = kDayMs;  // CANCELLED and EXPIRED
inline constexpr std::int64_t kDeadKeptMsDefault = 90 * kDayMs;
inline constexpr std::int64_t kRunsKeptMsDefault = 400 * kDayMs;
inline constexpr std::int64_t kRunsKeptCountDefault = 10'000;  // a scheduler
inline constexpr std::int64_t kLedgerKeptMsDefault = 400 * kDayMs;

// --- the engine's own work -----------------------------------------------------------------------
inline constexpr int kCommandQueueCommandsDefault = 65'536;  // option limits.command_queue_commands
inline constexpr std::int64_t kCommandQueueBytesDefault = 64 * kMiB;  // option ..._bytes
inline constexpr int kClosingReservePercent = 25;  // kept for finish, heartbeat, release, cancel
inline constexpr int kBatchCommandsMax = 1'000;
inline constexpr std::int64_t kBatchBytesMax = 4 * kMiB;
inline constexpr int kPromotionsPerBatchMax = 1'000;
inline constexpr int kSweepRowsPerBatchMax = 1'000;  // retention, purge, request ids, runs
inline constexpr int kExpiriesPerBatchMax = 1'000;
inline constexpr std::int64_t kScanPageBytesMax = kMiB;
inline constexpr int kScanPageRowsMax = 1'024;
// Reads of one command, one after the other: two that it needs by itself (a key, then the job that
// holds it), the others when what it has read names another row by the time it comes.
inline constexpr int kPrefetchRoundsMax = 5;
inline constexpr int kWindowRowsDefault = 4'096;                // of one queue
inline constexpr std::int64_t kWindowBytesDefault = 64 * kMiB;  // of all queues together
inline constexpr int kHeadAdvanceDeletes = 10'000;  // then the head is looked for without a poll

// --- the clock -----------------------------------------------------------------------------------
inline constexpr std::int64_t kForwardStepMs = 10 * kMinuteMs;
inline constexpr std::int64_t kBackwardStepMs = 5 * kSecondMs;
inline constexpr std::int64_t kStartGapMs = 30 * kDayMs;
inline constexpr std::int64_t kDeletionHoldMs = kHourMs;     // after a forward step
inline constexpr std::int64_t kSchedulerHoldMs = kMinuteMs;  // after a forward step

static_assert(kPayloadBytesDefault <= kPayloadBytesMax);
static_assert(kPayloadBytesMax + kLabelBytesMax + 4 * kKiB < kCallBytesMax,
              "the largest job fits into one call, and into one lease reply");
static_assert(kPayloadBytesMax + kLabelBytesMax + 4 * kKiB <
                  kCallBytesMax - kCallItemsMax * kFinishResultBytesMax,
              "the largest job fits next to the answers to all outcomes of a call");
static_assert(kLeaseReplyBytesMin <= kLeaseReplyBytesDefault &&
              kLeaseReplyBytesDefault <= kCallBytesMax);
static_assert(kPayloadBytesMax <= kBatchBytesMax, "the largest job fits into one batch");
static_assert(kCallBytesMax < kReceiveBytesMax, "our own refusal comes before the library's");
static_assert(kPayloadInlineBytesMax <= kPayloadBytesDefault);
static_assert(kResultBytesMax <= kPayloadBytesMax);
static_assert(kFailureMessageBytesMax + kFailureDetailBytesMax + kLogTailBytesMax +
                      kAttemptHistoryMax *
                          static_cast<std::int64_t>(kNameBytesMax + kSessionIdBytesMax +
                                                    kFailureTypeBytesMax + 64) <=
                  kAttemptHistoryBytesMax,
              "the last attempt keeps all it says, and each other one its names");
static_assert(kLeaseTtlMsMin <= kLeaseTtlMsDefault && kLeaseTtlMsDefault <= kLeaseTtlMsMax);
static_assert(kPollWaitMsDefault <= kPollWaitMsMax);
static_assert(kPollWithOutcomesWaitMsMax < kPollWaitMsDefault);
static_assert(kPollDeadlineMarginMsMin < kPollWaitMsMax);
static_assert(kHandlerGraceMsMax * 2 <= kLeaseTtlMsDefault,
              "a handler works longer than it is told to stop");
static_assert(kLeaseTtlMsMin / kHandlerGraceTtlDivisor < kLeaseTtlMsMin / kBeatsPerTtl,
              "a beat is due before the grace begins");
static_assert(kLeaseJobsMax <= kHeartbeatLeasesMax);
static_assert(kPageSizeDefault <= kPageSizeMax && kPageSizeMax <= kPageRowsExaminedMax);
static_assert(kAttemptTimeoutMsMin <= kAttemptTimeoutMsDefault &&
              kAttemptTimeoutMsDefault <= kAttemptTimeoutMsMax);
static_assert(kPriorityMin <= kPriorityDefault && kPriorityDefault <= kPriorityMax);
static_assert(kAttemptsMin <= kAttemptsDefault && kAttemptsDefault <= kAttemptsMax);
static_assert(kBackoffFirstMsDefault <= kBackoffCapMsDefault &&
              kBackoffCapMsDefault <= kBackoffMsMax);
static_assert(kCatchUpRunsDefault <= kCatchUpRunsMax);
static_assert(kIntervalMsMin >= kSecondMs, "nominal times are whole seconds");
static_assert(kClosingReservePercent > 0 && kClosingReservePercent < 100);
static_assert(kScanPageRowsMax <= kWindowRowsDefault);
static_assert(kRequestIdKeptMs < kSucceededKeptMsDefault, "a repeat finds the job its id created");

}  // namespace limits
}  // namespace rota::base
