// SPDX-License-Identifier: Apache-2.0
//
// Judges a history. There is one writer, and every answer names its commit, so no search for an
// order is needed: operations are replayed in the order of their commits, in the time of a sort.
// What cannot be ordered (several events of one job in one commit, a call whose answer never came)
// is tried in every order, which is a handful.
//
// Each function adds one sentence for each promise that the history breaks. Pure.
#pragma once

#include "blackbox/evidence.h"

namespace rota::blackbox {

// Kinds of jobs, by what a handler makes of them.
inline constexpr std::string_view kOk = "ok";          // succeeds
inline constexpr std::string_view kSlow = "slow";      // succeeds after a while
inline constexpr std::string_view kFlaky = "flaky";    // fails in its first attempt
inline constexpr std::string_view kSnooze = "snooze";  // asks for a later time in its first attempt
inline constexpr std::string_view kDoomed = "doomed";  // fails always
inline constexpr std::string_view kBroken = "broken";  // fails for good
inline constexpr std::string_view kPoison = "poison";  // ends the worker's process

// Of jobs that a scheduler makes; its template says so.
inline constexpr int kTickAttempts = 10;

// Of workers of the library with leases of kLeaseTtlMs: how long before a lease can end they have
// given it up, and told its handler to stop.
inline constexpr Ns kGivenUpAhead = 1'250'000'000;
// How long a handler that was told may go on while its process runs. Ours return at once.
inline constexpr Ns kStopGrace = 2'000'000'000;

// How late a record of a tick may come: the server's late tolerance, by default.
inline constexpr std::int64_t kLateMs = 10'000;

struct Figures {
  std::int64_t jobs = 0, succeeded = 0, dead = 0, cancelled = 0, expired = 0;
  std::int64_t updated = 0;                           // answered updates
  std::int64_t deleted = 0, purged = 0, retired = 0;  // jobs that left, by how
  std::int64_t attempts = 0, lost = 0, timed_out = 0, released = 0;
  std::int64_t shortened = 0;      // jobs with more attempts than the server remembers
  std::int64_t executions = 0;     // of handlers
  std::int64_t overlaps = 0;       // of two handlers of one job, each explained by a fault
  std::int64_t open = 0;           // calls whose answer never came
  std::int64_t stale_refused = 0;  // finishes and beats that came too late
  std::int64_t repeats = 0;        // finishes and lease calls that were sent again and answered
  std::int64_t fired = 0, not_fired = 0;  // ticks
  std::int64_t edited_ticks = 0;          // of an edited scheduler, held against what was declared
  int most_live = 0;                      // leases at once in one queue, in commit order
};

// All checks below.
Figures check(const History& history, Contradictions* contradictions);

// checker_time.cc: every commit lies within its call; epochs and commits grow together.
void check_real_time(const Evidence& evidence, Contradictions* contradictions);
void check_epochs(const Evidence& evidence, Contradictions* contradictions);

// checker_jobs.cc: each job's events, replayed in commit order, are a life that the rules allow,
// and explain every state that anyone was told.
void check_lives(const Evidence& evidence, Contradictions* contradictions);

// checker_grants.cc: tokens; what lease calls, finishes and beats were answered; what handlers did.
void check_tokens(const Evidence& evidence, Contradictions* contradictions);
void check_leases(const Evidence& evidence, Contradictions* contradictions);
void check_finishes(const Evidence& evidence, Contradictions* contradictions);
void check_beats(const Evidence& evidence, Contradictions* contradictions);
// Adds to figures->overlaps what a fault explains.
void check_executions(const Evidence& evidence, Figures* figures, Contradictions* contradictions);

// checker_queues.cc: limits, pauses, order, counters.
int check_limits(const Evidence& evidence, Contradictions* contradictions);
void check_pauses(const Evidence& evidence, Contradictions* contradictions);
void check_order(const Evidence& evidence, Contradictions* contradictions);
void check_counters(const Evidence& evidence, Contradictions* contradictions);

// checker_totals.cc: acknowledged jobs are there, no others, each once; business keys; ticks.
void check_existence(const Evidence& evidence, Contradictions* contradictions);
void check_keys(const Evidence& evidence, Contradictions* contradictions);
void check_ticks(const Evidence& evidence, Figures* figures, Contradictions* contradictions);

// checker_changes.cc: run times, updates, start deadlines.
void check_run_times(const Evidence& evidence, Contradictions* contradictions);
void check_updates(const Evidence& evidence, Contradictions* contradictions);
void check_deadlines(const Evidence& evidence, Contradictions* contradictions);

// checker_leaving.cc: what is gone stays gone; a purge removes what waited when it began, nothing
// else; retention keeps what it says.
void check_gone(const Evidence& evidence, Contradictions* contradictions);
void check_purges(const Evidence& evidence, Contradictions* contradictions);
void check_retention(const Evidence& evidence, Contradictions* contradictions);

// checker_edits.cc: a scheduler that several nodes declare, pause, resume, delete and make again.
// Adds to figures->edited_ticks.
void check_edits(const Evidence& evidence, Figures* figures, Contradictions* contradictions);

}  // namespace rota::blackbox
