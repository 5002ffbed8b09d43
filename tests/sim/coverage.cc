// SPDX-License-Identifier: Apache-2.0
#include "sim/coverage.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace rota::sim {
namespace {

using core::JobState;

constexpr std::string_view kCommandNames[kCommands] = {
    "EnqueueJobs",     "UpdateJob",    "CancelJob",       "RedriveJob",     "DeleteJob",
    "ExplainJob",      "LeaseJobs",    "Heartbeat",       "FinishJobs",     "AbandonGrant",
    "SetQueue",        "PauseQueue",   "ResumeQueue",     "DeleteQueue",    "PurgeQueue",
    "CancelOperation", "GetOperation", "UpsertScheduler", "PauseScheduler", "ResumeScheduler",
    "DeleteScheduler"};
constexpr std::string_view kEventNames[kEventKinds] = {"",      "granted", "attempt-ended",
                                                       "final", "changed", "removed"};

// The commands that name one job, and so meet it in a state.
bool about_a_job(std::size_t command) {
  return command == command_index<core::UpdateJob>() ||
         command == command_index<core::CancelJob>() ||
         command == command_index<core::RedriveJob>() ||
         command == command_index<core::DeleteJob>() ||
         command == command_index<core::ExplainJob>() ||
         command == command_index<core::Heartbeat>() ||
         command == command_index<core::FinishJobs>() ||
         command == command_index<core::EnqueueJobs>();
}

// Pairs that cannot be, with the reason.
std::string_view unreachable(std::size_t command, JobState state) {
  if (command == command_index<core::EnqueueJobs>()) {
    // An enqueue meets the holder of its business key.
    if (state == JobState::kBlocked) {
      return "only scheduler runs are BLOCKED, and their keys hold the nominal time";
    }
    if (state == JobState::kCancelled || state == JobState::kExpired) {
      return "a job that ended so holds no key";
    }
  }
  return {};
}

bool never_refused(std::size_t command) {
  // A heartbeat and a finish answer each item; a grant given back has no answer.
  return command == command_index<core::Heartbeat>() ||
         command == command_index<core::FinishJobs>() ||
         command == command_index<core::EnqueueJobs>();
}

}  // namespace

template <class Visit>
void Coverage::each(const Visit& visit) {
  for (auto& n : faults_) visit(n);
  for (auto& n : points_) visit(n);
  for (auto& n : events_) visit(n);
  for (auto& row : pairs_) {
    for (auto& n : row) visit(n);
  }
  for (auto& n : done_) visit(n);
  for (auto& n : refused_) visit(n);
  visit(turns_);
  visit(crashes_);
  visit(full_checks_);
  visit(overdue_);
  visit(inherited_);
  visit(ticks_judged_);
  visit(holds_.by_step);
  visit(holds_.by_gap);
  visit(holds_.over_restart);
  visit(holds_.to_the_end);
}

void Coverage::holds(const HoldClock::Seen& seen) {
  holds_.by_step += seen.by_step;
  holds_.by_gap += seen.by_gap;
  holds_.over_restart += seen.over_restart;
  holds_.to_the_end += seen.to_the_end;
}

void Coverage::add(const Coverage& other) { add_numbers(other.numbers()); }

std::string Coverage::numbers() const {
  std::ostringstream out;
  const_cast<Coverage*>(this)->each([&](std::uint64_t n) { out << n << ' '; });
  return out.str();
}

bool Coverage::add_numbers(const std::string& line) {
  std::istringstream in(line);
  bool good = true;
  each([&](std::uint64_t& n) {
    std::uint64_t more = 0;
    good = static_cast<bool>(in >> more) && good;
    if (good) n += more;
  });
  return good;
}

std::string Coverage::table() const {
  std::string out;
  char line[160];
  const auto row = [&](std::string_view name, std::uint64_t n) {
    std::snprintf(line, sizeof line, "  %-22.*s %12llu\n", static_cast<int>(name.size()),
                  name.data(), static_cast<unsigned long long>(n));
    out += line;
  };
  out += "fault kinds\n";
  for (std::size_t i = 0; i < kFaults; ++i) row(name_of(static_cast<Fault>(i)), faults_[i]);
  out += "crash points\n";
  for (std::size_t i = 0; i < kCrashPoints; ++i) {
    row(name_of(static_cast<CrashPoint>(i)), points_[i]);
  }
  out += "events\n";
  for (std::size_t i = 1; i < kEventKinds; ++i) row(kEventNames[i], events_[i]);
  out += "commands                       done      refused\n";
  for (std::size_t i = 0; i < kCommands; ++i) {
    std::snprintf(line, sizeof line, "  %-18.*s %12llu %12llu\n",
                  static_cast<int>(kCommandNames[i].size()), kCommandNames[i].data(),
                  static_cast<unsigned long long>(done_[i]),
                  static_cast<unsigned long long>(refused_[i]));
    out += line;
  }
  out += "state x command  ";
  for (int s = 0; s < model::kJobStateCount; ++s) {
    const std::string_view name =
        s == 0 ? std::string_view("absent") : model::name_of(static_cast<JobState>(s));
    std::snprintf(line, sizeof line, " %9.*s",
                  static_cast<int>(std::min<std::size_t>(9, name.size())), name.data());
    out += line;
  }
  out += "\n";
  for (std::size_t i = 0; i < kCommands; ++i) {
    if (!about_a_job(i)) continue;
    std::snprintf(line, sizeof line, "  %-15.*s", static_cast<int>(kCommandNames[i].size()),
                  kCommandNames[i].data());
    out += line;
    for (int s = 0; s < model::kJobStateCount; ++s) {
      const bool never = !unreachable(i, static_cast<JobState>(s)).empty();
      std::snprintf(line, sizeof line, " %9s",
                    never ? "-" : std::to_string(pairs_[i][static_cast<std::size_t>(s)]).c_str());
      out += line;
    }
    out += "\n";
  }
  for (std::size_t i = 0; i < kCommands; ++i) {
    for (int s = 0; s < model::kJobStateCount; ++s) {
      const std::string_view why = unreachable(i, static_cast<JobState>(s));
      if (why.empty()) continue;
      out += "  - " + std::string(kCommandNames[i]) + " of a " +
             std::string(model::name_of(static_cast<JobState>(s))) + " job: " + std::string(why) +
             "\n";
    }
  }
  row("committed turns", turns_);
  row("crashes", crashes_);
  row("full checks", full_checks_);
  row("grants overdue again", overdue_);
  row("keys inherited", inherited_);
  row("ticks after healing", ticks_judged_);
  row("holds: a step", holds_.by_step);
  row("holds: a start", holds_.by_gap);
  row("holds: over a restart", holds_.over_restart);
  row("holds: to their end", holds_.to_the_end);
  return out;
}

std::vector<std::string> Coverage::zeros() const {
  std::vector<std::string> out;
  const auto want = [&](std::uint64_t n, const std::string& what) {
    if (n == 0) out.push_back(what);
  };
  for (std::size_t i = 0; i < kFaults; ++i) {
    want(faults_[i], "fault " + std::string(name_of(static_cast<Fault>(i))));
  }
  for (std::size_t i = 0; i < kCrashPoints; ++i) {
    want(points_[i], "crash point " + std::string(name_of(static_cast<CrashPoint>(i))));
  }
  for (std::size_t i = 1; i < kEventKinds; ++i) {
    want(events_[i], "event " + std::string(kEventNames[i]));
  }
  for (std::size_t i = 0; i < kCommands; ++i) {
    const std::string name(kCommandNames[i]);
    if (i == command_index<core::AbandonGrant>()) {
      want(done_[i], name);
      continue;
    }
    want(done_[i], name + " done");
    if (!never_refused(i)) want(refused_[i], name + " refused");
    if (!about_a_job(i)) continue;
    for (int s = 0; s < model::kJobStateCount; ++s) {
      const auto state = static_cast<JobState>(s);
      if (!unreachable(i, state).empty()) continue;
      want(pairs_[i][static_cast<std::size_t>(s)],
           name + " of a job that is " + std::string(s == 0 ? "absent" : model::name_of(state)));
    }
  }
  want(turns_, "committed turns");
  want(crashes_, "crashes");
  want(full_checks_, "full checks");
  want(overdue_, "grants overdue again");
  want(inherited_, "a key inherited from a job that is gone with its queue");
  want(ticks_judged_, "ticks judged after the healing");
  want(holds_.by_step, "a hold by a step of the clock");
  want(holds_.by_gap, "a hold by the gap before a start");
  want(holds_.over_restart, "a hold that goes on over a restart");
  want(holds_.to_the_end, "a hold that comes to its end");
  return out;
}

}  // namespace rota::sim
